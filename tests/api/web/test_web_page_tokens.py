"""Page tokens that an earlier release issued: each list still reads them.

Never change a row: callers hold such tokens.
"""

from datetime import UTC, datetime

import httpx
import pytest

from app.kernel.errors import Reason
from app.kernel.paging import KeyPart, Query, encode_token
from tests.support.bank import ok
from tests.support.errors import refusal
from tests.support.operations import USER
from tests.support.sessions import create_session
from tests.support.tasks import MEMORY, NAMESPACE, store, text_output

_WHEN = datetime(2020, 1, 1, tzinfo=UTC)
_LATE = datetime(2090, 1, 1, tzinfo=UTC)
_LOCATION = "projects/default/locations/local"
_ENGINE = {"engine": 1, "filter": None}
_DESCENDING = "create_time True"
_TOKENS: list[tuple[str, dict[str, object], list[KeyPart]]] = [
    ("http://test/v1/keys", {"list": "keys"}, [_LATE, "1"]),
    (
        "http://test/v1/auditEvents",
        {"list": "auditEvents", "engine": None, "filter": None},
        [_LATE, "1", 1],
    ),
    ("auditEvents", {"list": "auditEvents", **_ENGINE}, [_LATE, "1", 1]),
    (
        f"http://test/v1beta1/{_LOCATION}/reasoningEngines",
        {"list": "engines", "parent": _LOCATION, "filter": None},
        [_LATE, 1],
    ),
    ("operations", {"list": "operations", **_ENGINE}, ["9" * 18]),
    ("sessions", {"list": "sessions", **_ENGINE, "order": _DESCENDING}, [_LATE, "s"]),
    (
        "sessions?orderBy=updateTime&filter=user_id=42",
        {"list": "sessions", "engine": 1, "filter": "user_id=42", "order": "update_time False"},
        [_WHEN, "s"],
    ),
    (
        "sessions/s/events",
        {"list": "events", "session": "1/s", "filter": "", "order": "False"},
        [_WHEN, 1],
    ),
    (
        "sessions/s/events?orderBy=timestamp desc&filter=timestamp>0",
        {"list": "events", "session": "1/s", "filter": "timestamp>0", "order": "True"},
        [_LATE, 1],
    ),
    (
        "sessions/s/summaries",
        {"list": "summaries", "session": "1/s", "state": "", "policy": ""},
        ["1"],
    ),
    (
        "sessions/s/summaries?state=active&policyKey=p",
        {"list": "summaries", "session": "1/s", "state": "active", "policy": "p"},
        ["1"],
    ),
    ("streams", {"list": "streams", **_ENGINE}, [_LATE, b"\x01" * 32, "s"]),
    ("memories", {"list": "memories", **_ENGINE, "order": _DESCENDING}, [_LATE, "m"]),
    (
        "memories?showDeleted=true&orderBy=deleteTime",
        {"list": "memories", **_ENGINE, "order": "delete_time False", "deleted": True},
        [None, "m"],
    ),
    ("/memories:listScopes", {"list": "scopes", **_ENGINE, "deleted": False}, [b"\x01" * 32]),
    (
        "/memories:listScopes?showDeleted=true",
        {"list": "scopes", **_ENGINE, "deleted": True},
        [b"\x01" * 32],
    ),
    ("memories/-/revisions", {"list": "revisions", **_ENGINE, "memory": "-"}, [_LATE, 1]),
    ("memories/m/revisions", {"list": "revisions", **_ENGINE, "memory": "m"}, [9]),
    (
        "memories/-/revisions:listLabels",
        {"list": "revisionLabels", "engine": 1, "key": None, "prefix": ""},
        ["a"],
    ),
    (
        "memories/-/revisions:listLabels?key=k&prefix=p",
        {"list": "revisionLabels", "engine": 1, "key": "k", "prefix": "p"},
        ["pa"],
    ),
    ("taskMemories", {"list": "taskMemories", "engine": 1}, ["a"]),
    (f"{MEMORY}/toolPolicies", {"list": "toolPolicies", "memory": "1/tools"}, ["a"]),
    (f"{MEMORY}/namespaces", {"list": "namespaces", "memory": "1/tools"}, [_LATE, "n"]),
    (f"{NAMESPACE}/artifacts", {"list": "artifacts", "namespace": "1/tools/n"}, [0, "0"]),
]
"""A list, the query of its tokens, and the key of a row."""


async def test_tokens_of_an_earlier_release_are_read(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    await create_session(client, "s")
    ok(await client.post("/memories", json={"fact": "x", "scope": USER}, params={"memoryId": "m"}))
    ok(await store(client, text_output("x")))
    for path, query, key in _TOKENS:
        with subtests.test(path):
            assert await _read(client, path, query, key) is None
            other = {**query, "list": "others"}
            assert await _read(client, path, other, key) == Reason.PAGE_TOKEN_INVALID


async def _read(
    client: httpx.AsyncClient, url: str, query: Query, key: list[KeyPart]
) -> Reason | None:
    """Return why a list refuses a token, if it does."""
    link = "&" if "?" in url else "?"
    answer = await client.get(f"{url}{link}pageToken={encode_token(query, key)}")
    return None if answer.status_code == 200 else refusal(answer)[2]

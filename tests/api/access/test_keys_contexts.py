"""What a key needs to be told what events say: to list them."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.support.cases import in_one_test
from tests.support.keys import make_key

_CANARY = "4711"


Headers = Callable[..., Awaitable[dict[str, str]]]


@pytest.fixture
def having(database: Database, clock: FixedClock) -> Headers:
    """Make a key with these permissions, and return the headers that bear it."""

    async def make(*permissions: str) -> dict[str, str]:
        key = await make_key(database, clock.now(), permissions=list(permissions))
        return {"Authorization": f"Bearer {key}"}

    return make


@pytest.fixture
async def session(client: httpx.AsyncClient) -> str:
    await client.post("sessions", params={"sessionId": "s"}, json={"userId": "42"})
    said = {"input": f"My code is {_CANARY}.", "output": "Noted."}
    assert (await client.post("sessions/s/exchanges", json=said)).status_code == 200
    return "sessions/s"


@in_one_test("permissions", [["sessions.update"], ["sessions.get", "sessions.update"]])
@in_one_test(
    ("path", "body"),
    [
        (":recall", {"query": "What is my code?"}),
        (":context", {}),
        ("/summaries", None),
        ("/summaries/1", None),
    ],
)
async def test_without_it_nothing_is_told(
    client: httpx.AsyncClient,
    having: Headers,
    session: str,
    permissions: list[str],
    path: str,
    body: dict[str, Any] | None,
) -> None:
    method = "GET" if body is None else "POST"
    headers = await having(*permissions)
    answer = await client.request(method, session + path, json=body, headers=headers)
    assert answer.status_code == 403
    assert _CANARY not in answer.text


async def test_passages_need_no_more(
    client: httpx.AsyncClient, having: Headers, session: str
) -> None:
    asked, headers = {"query": "What is my code?"}, await having("events.list")
    answer = await client.post(f"{session}:recall", json=asked, headers=headers)
    assert answer.status_code == 200
    assert _CANARY in answer.text


@pytest.mark.parametrize(
    ("path", "body"), [(":recall", {"query": "code?", "mode": "summary"}), (":context", {})]
)
async def test_what_may_take_a_model_needs_more(
    client: httpx.AsyncClient, having: Headers, session: str, path: str, body: dict[str, Any]
) -> None:
    headers = await having("events.list")
    answer = await client.post(session + path, json=body, headers=headers)
    assert answer.status_code == 403
    assert "sessions.update" in answer.text


async def test_a_preview_needs_no_more_but_for_memories(
    client: httpx.AsyncClient, having: Headers, session: str
) -> None:
    headers = await having("events.list")
    answer = await client.post(f"{session}:context", json={"preview": True}, headers=headers)
    assert answer.status_code == 200
    assert _CANARY in answer.text
    body = {"preview": True, "includeMemories": {}}
    answer = await client.post(f"{session}:context", json=body, headers=headers)
    assert answer.status_code == 403
    assert "memories.retrieve" in answer.text

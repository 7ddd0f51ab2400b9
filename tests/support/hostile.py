"""Hostile requests: good ones with values put in that are wrong, huge, empty or strange."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_from_bytes

from hypothesis import strategies as st

from tests.support.asgi import ADMIN, JSON, Sent

Json = Any

_SCOPE = {"user_id": "42"}
_TEXTS = [
    "", " ", "0", "-1", "1", "true", "null", "*", "-", "%", "\n", "\x7f", "'", '"', "\\", "{}", "[]",
    "é", "😀", "\u202e", "ﬀ", "İ", "\ufeff", "\uffff", "a" * 300, "😀" * 5000, "1" * 20, "9" * 400,
    "../..", "a/b", "a:b", "a=1", "fact", "fact,", "*,fact", "create_time desc", "update_time  asc x",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59", "2030-02-30T00:00:00Z", "2030-01-01T00:00:00", "2030-01-01",
    "2030-01-01T00:00:60Z", "1s", "0s", "-1s", "0.000000001s", "0.000001s", "315576000000s",
    "999999999999s", "60s", "1e3s", "nans", "STRUCTURED_PROFILE", "MEMORY_TYPE_UNSPECIFIED",
    "GREATER_THAN", "user_id", "Europe/Berlin", "../etc/passwd", "Europe", "projects/p/locations/l",
    "projects/default/locations/local/reasoningEngines/1/memories/x/revisions/1", "٣", "²",
]  # fmt: skip
_FILTERS = [
    'fact="x"', "fact:*", 'fact=~".*"', 'fact=~"(a*)*b"', 'fact=~"(?i)[^\\x00]{255}"', 'fact!~"\\b"',
    'fact=~"\\p{L}+"', 'fact=~"("', 'scope="{}"', 'scope="{\\"user_id\\": \\"42\\"}"',
    'scope.user_id="42"', "scope.user_id=42", 'scope."a.b":*', 'scope:""', 'labels.k="v"', "labels:k",
    'create_time>"0001-01-01T00:00:00Z"', 'create_time<"9999-12-31T23:59:59Z"', "create_time>1",
    "update_time>-999999999999999999", "create_time>999999999999999999", 'expire_time!="x"',
    "topics.managed_memory_topic: USER_PREFERENCES", 'topics.custom_memory_topic_label="😀"',
    "NOT fact:x", "-fact:x", "fact", "(" * 40, "fact:x AND " * 101 + "fact:x", "a" * 5000,
    'display_name="\\u0000"', 'display_name="\\ud800"', 'fact="' + "\\\\" * 1000 + '"', "fact:x OR",
]  # fmt: skip
_NUMBERS = [0, -1, 1, 2, 100, 1001, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**400]
_FLOATS = [0.5, -0.0, 1e308, -1e308, 5e-324, 1e16, 3.0]
_TOKENS = [
    "eyJ", "W10", "WzFd", "W251bGxd", "Wy0xLDFd", "WyJhIiwiYiJd", "W3RydWVd", "W1tdXQ", "e30", "_" * 5000,
]  # fmt: skip

_CONTENT = {
    "role": "user",
    "parts": [
        {"text": "I live in Paris and I like tea."},
        {"inline_data": {"mime_type": "text/plain", "data": "aGVsbG8"}, "thought": False},
        {"function_call": {"name": "f", "args": {}}, "video_metadata": {"fps": 1}},
    ],
}
_TOPICS = [{"managedMemoryTopic": "USER_PREFERENCES"}, {"customMemoryTopicLabel": "jargon"}]
_METADATA = {
    "src": {"stringValue": "a"},
    "score": {"double_value": 1.5},
    "ok": {"boolValue": True},
    "when": {"timestampValue": "2030-01-02T03:04:05+00:00"},
}
_REVISION = {"revisionLabels": {"k": "v"}, "revisionTtl": "3600s"}
_MEMORY = {
    "fact": "I prefer a window seat.", "scope": _SCOPE, "displayName": "d", "description": "d",
    "topics": _TOPICS, "metadata": _METADATA, "memoryType": "NATURAL_LANGUAGE_COLLECTION",
    "structuredContent": {"data": {"a": [1, None, {"b": 1.5}]}, "schemaId": "s"}, "context": "c",
    "ttl": "3600s", **_REVISION,
}  # fmt: skip
_GROUPS = [
    {
        "filters": [
            {"key": key, "op": "GREATER_THAN", "value": value, "negate": True}
            for key, value in _METADATA.items()
            if key in {"score", "when"}
        ]
    },
    {"filters": [{"key": key, "value": value} for key, value in _METADATA.items()]},
]
_CONFIG = {
    "generationConfig": {
        "model": "m",
        "generationTriggerConfig": {
            "generationRule": {"idleDuration": "60s", "eventCount": 5, "overlapEventCount": 2}
        },
    },
    "similaritySearchConfig": {"embeddingModel": "e"},
    "ttlConfig": {
        "granularTtlConfig": {"createTtl": "60s", "generateCreatedTtl": "60s"},
        "memoryRevisionDefaultTtl": "60s",
    },
    "disableMemoryRevisions": False,
    "customizationConfigs": [
        {
            "scopeKeys": ["user_id"],
            "memoryTopics": [
                {"managedMemoryTopic": {"managedTopicEnum": "USER_PREFERENCES"}},
                {"customMemoryTopic": {"label": "jargon", "description": "d"}},
            ],
            "generateMemoriesExamples": [
                {
                    "conversationSource": {"events": [{"content": _CONTENT}]},
                    "generatedMemories": [{"fact": "f", "topics": _TOPICS}],
                }
            ],
            "enableThirdPersonMemories": True,
            "consolidationConfig": {"revisionsPerCandidateCount": 2},
        }
    ],
    "structuredMemoryConfigs": [
        {"scopeKeys": [], "schemaConfigs": [{"id": "s", "schema": {"type": "OBJECT"}}]}
    ],
}
_ENGINE = {
    "displayName": "d", "description": "d", "labels": {"k": "v"}, "etag": "1",
    "contextSpec": {"memoryBankConfig": _CONFIG}, "encryptionSpec": {"kmsKeyName": "k"},
}  # fmt: skip
_GENERATE = {
    "scope": _SCOPE, "directContentsSource": {
        "events": [{"content": _CONTENT, "eventId": "e", "eventTime": "2026-01-02T03:04:05Z"}]
    },
    "disableConsolidation": False, "metadata": _METADATA, "metadataMergeStrategy": "MERGE",
    "allowedTopics": _TOPICS, "timeZone": "Europe/Berlin", **_REVISION,
}  # fmt: skip
_DIRECT = {
    "scope": _SCOPE,
    "directMemoriesSource": {"directMemories": [{"fact": "I like tea.", "topics": _TOPICS}]},
}
_SEARCH = {
    "scope": _SCOPE, "similaritySearchParams": {"searchQuery": "q", "topK": 3},
    "filter": 'fact="x"', "filterGroups": _GROUPS, "memoryTypes": ["NATURAL_LANGUAGE_COLLECTION"],
}  # fmt: skip
_SIMPLE = {"scope": _SCOPE, "simpleRetrievalParams": {"pageSize": 1, "pageToken": ""}}
_PURGE = {"filter": 'fact="x"', "filterGroups": _GROUPS, "force": True, "permanent": False}

_M, _O, _R = "/memories/known", "/operations/1", "/memories/known/revisions/1"
_PAGES = ["pageSize", "pageToken"]
_TEMPLATES: list[tuple[str, str, Json, list[str]]] = [
    ("POST", "", _ENGINE, ["requestId"]),
    ("GET", "", None, ["filter", *_PAGES]),
    ("GET", "/1", None, []),
    ("PATCH", "/1", _ENGINE, ["updateMask"]),
    ("DELETE", "/2", {"force": True}, ["force"]),
    ("POST", "/1/memories", _MEMORY, ["memoryId", "requestId"]),
    ("GET", "/1/memories", None, ["filter", "orderBy", *_PAGES]),
    ("GET", "/1" + _M, None, []),
    ("PATCH", "/1" + _M, {**_MEMORY, "etag": "1"}, ["updateMask", "memoryId"]),
    ("DELETE", "/1/memories/other", {}, ["permanent", "requestId"]),
    ("POST", "/1" + _M + ":rollback", {"targetRevisionId": "1"}, ["requestId"]),
    ("GET", "/1" + _M + "/revisions", None, ["filter", *_PAGES]),
    ("GET", "/1/memories/-/revisions", None, ["filter", *_PAGES]),
    ("GET", "/1" + _R, None, []),
    ("POST", "/1/memories:retrieve", _SEARCH, []),
    ("POST", "/1/memories:retrieve", _SIMPLE, []),
    ("POST", "/1/memories:generate", _GENERATE, ["requestId"]),
    ("POST", "/1/memories:generate", _DIRECT, []),
    ("POST", "/1/memories:purge", _PURGE, ["requestId"]),
    ("GET", "/1/operations", None, _PAGES),
    ("GET", "/1" + _O, None, []),
    ("POST", "/1" + _O + ":cancel", {}, []),
    ("DELETE", "/1" + _O, None, []),
    ("POST", "/1/sessions", {}, []),
    ("GET", "/healthz", None, []),
]

_any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TEXTS = st.sampled_from(_TEXTS + _FILTERS + _TOKENS) | _any_text
_leaves: st.SearchStrategy[Json] = (
    TEXTS | st.sampled_from([*_NUMBERS, *_FLOATS, None, True, False, [], {}]) | st.floats()
)
VALUES = _leaves | st.lists(_leaves, max_size=3) | st.dictionaries(TEXTS, _leaves, max_size=3)


def _places(value: Json, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += _places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _places(item, (*path, index))
    return found


def _changed(value: Json, path: tuple[Any, ...], change: Callable[[Json], Json]) -> Json:
    if not path:
        return change(value)
    copied = value.copy()
    copied[path[0]] = _changed(value[path[0]], path[1:], change)
    return copied


@st.composite
def _bodies(draw: st.DrawFn, template: Json) -> bytes:
    kind = draw(st.integers(0, 20))
    if kind == 0:
        return draw(st.binary(max_size=40))
    if template is None and kind < 19:
        return b""
    value: Json = {} if template is None else template
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.sampled_from(_places(value)))
        new = draw(VALUES)
        if draw(st.booleans()) and place:
            value = _changed(value, place, lambda _, new=new: new)  # type: ignore[misc]
        elif draw(st.booleans()):
            key = draw(TEXTS)
            add = lambda old, key=key, new=new: (  # noqa: E731
                {**old, key: new} if isinstance(old, dict) else new
            )
            value = _changed(value, place, add)
        elif place:
            without = lambda old, key=place[-1]: (  # noqa: E731
                {name: item for name, item in old.items() if name != key}
                if isinstance(old, dict)
                else []
            )
            value = _changed(value, place[:-1], without)
    return json.dumps(value).encode()


@st.composite
def _queries(draw: st.DrawFn, names: list[str]) -> bytes:
    if draw(st.integers(0, 15)) == 0:
        return draw(st.binary(max_size=30)).replace(b"#", b"")
    known = [*names, *map(_snake, names)]
    parts = []
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from(known)) if known and draw(st.integers(0, 9)) else draw(TEXTS)
        parts.append(f"{quote(name[:50])}={quote(draw(TEXTS)[:6000])}")
    return "&".join(parts).encode()


def _snake(name: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in name)


@st.composite
def _paths(draw: st.DrawFn, path: str) -> bytes:
    version = draw(st.sampled_from(["/v1beta1", "/v1"]))
    middle = draw(
        st.sampled_from(["/projects/default/locations/local", "/projects/-/locations/-", ""])
    )
    collection = draw(st.sampled_from(["/reasoningEngines", "/memoryBanks"]))
    if path == "/healthz":
        parts = ["healthz"]
    else:
        parts = (version + middle + collection + path).split("/")[1:]
    raw = [quote(part, safe=":-").encode() for part in parts]
    for _ in range(draw(st.integers(0, 6)) // 5):
        index = draw(st.integers(0, len(raw) - 1))
        strange = st.binary(max_size=20) | TEXTS.map(lambda text: text[:2000].encode())
        verb = draw(st.sampled_from(["", ":purge", ":wait", ":cancel", ":rollback"]))
        raw[index] = quote_from_bytes(draw(strange), safe="").encode() + verb.encode()
    return b"/" + b"/".join(raw)


@st.composite
def requests(draw: st.DrawFn) -> Sent:
    """Requests that are good but for up to a few strange parts."""
    method, path, template, names = draw(st.sampled_from(_TEMPLATES))
    if draw(st.integers(0, 30)) == 0:
        method = draw(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "X"]))
    headers = [ADMIN]
    if draw(st.integers(0, 20)):
        headers.append(JSON)
    if draw(st.integers(0, 8)) == 0:
        name = draw(
            st.sampled_from(
                [
                    b"if-match",
                    b"idempotency-key",
                    b"x-request-id",
                    b"content-length",
                    b"content-type",
                    b"accept",
                    b"x-goog-api-key",
                    b"authorization",
                ]  # fmt: skip
            )
        )
        headers.insert(0, (name, draw(st.binary(max_size=200))))
    return Sent(method, draw(_paths(path)), draw(_queries(names)), headers, draw(_bodies(template)))

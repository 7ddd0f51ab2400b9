"""What hostile requests are made of: strange values, and good requests to put them into."""

from typing import Any

Json = Any

_SCOPE = {"user_id": "42"}
TEXTS = [
    "",
    " ",
    "0",
    "-1",
    "1",
    "true",
    "null",
    "*",
    "-",
    "%",
    "\n",
    "\x7f",
    "'",
    '"',
    "\\",
    "{}",
    "[]",
    "é",
    "😀",
    "\u202e",
    "ﬀ",
    "İ",
    "\ufeff",
    "\uffff",
    "a" * 300,
    "😀" * 5000,
    "1" * 20,
    "9" * 400,
    "../..",
    "a/b",
    "a:b",
    "a=1",
    "fact",
    "fact,",
    "*,fact",
    "create_time desc",
    "update_time  asc x",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59",
    "2030-02-30T00:00:00Z",
    "2030-01-01T00:00:00",
    "2030-01-01",
    "2030-01-01T00:00:60Z",
    "1s",
    "0s",
    "-1s",
    "0.000000001s",
    "0.000001s",
    "315576000000s",
    "999999999999s",
    "60s",
    "1e3s",
    "nans",
    "STRUCTURED_PROFILE",
    "MEMORY_TYPE_UNSPECIFIED",
    "GREATER_THAN",
    "user_id",
    "Europe/Berlin",
    "../etc/passwd",
    "Europe",
    "projects/p/locations/l",
    "projects/default/locations/local/reasoningEngines/1/memories/x/revisions/1",
    "٣",
    "²",
]
FILTERS = [
    'fact="x"',
    "fact:*",
    'fact=~".*"',
    'fact=~"(a*)*b"',
    'fact=~"(?i)[^\\x00]{255}"',
    'fact!~"\\b"',
    'fact=~"\\p{L}+"',
    'fact=~"("',
    'scope="{}"',
    'scope="{\\"user_id\\": \\"42\\"}"',
    'scope.user_id="42"',
    "scope.user_id=42",
    'scope."a.b":*',
    'scope:""',
    'labels.k="v"',
    "labels:k",
    'create_time>"0001-01-01T00:00:00Z"',
    'create_time<"9999-12-31T23:59:59Z"',
    "create_time>1",
    "update_time>-999999999999999999",
    "create_time>999999999999999999",
    'expire_time!="x"',
    "delete_time:*",
    "topics.managed_memory_topic: USER_PREFERENCES",
    'topics.custom_memory_topic_label="😀"',
    "NOT fact:x",
    "-fact:x",
    "fact",
    "(" * 40,
    "fact:x AND " * 101 + "fact:x",
    "a" * 5000,
    'display_name="\\u0000"',
    'caller="jwt:\\ud800"',
    'resource:"memories" AND result!="OK"',
    "engine=99999999999999999999",
    "address:*",
    'display_name="\\ud800"',
    'fact="' + "\\\\" * 1000 + '"',
    "fact:x OR",
]
NUMBERS = [0, -1, 1, 2, 100, 1001, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**400]
FLOATS = [0.5, -0.0, 1e308, -1e308, 5e-324, 1e16, 3.0]
TOKENS = [
    "eyJ",
    "W10",
    "WzFd",
    "W251bGxd",
    "Wy0xLDFd",
    "WyJhIiwiYiJd",
    "W3RydWVd",
    "W1tdXQ",
    "e30",
    "_" * 5000,
]

_CONTENT = {
    "role": "user",
    "parts": [
        {"text": "I live in Paris and I like tea."},
        {"inline_data": {"mime_type": "text/plain", "data": "aGVsbG8"}, "thought": False},
        {"function_call": {"name": "f", "args": {}}, "video_metadata": {"fps": 1}},
        {"artifact_ref": {"memory": "m", "namespace": "n", "artifacts": [{"name": "a"}]}},
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
    "fact": "I prefer a window seat.",
    "scope": _SCOPE,
    "displayName": "d",
    "description": "d",
    "topics": _TOPICS,
    "metadata": _METADATA,
    "memoryType": "NATURAL_LANGUAGE_COLLECTION",
    "structuredContent": {"data": {"a": [1, None, {"b": 1.5}]}, "schemaId": "s"},
    "context": "c",
    "ttl": "3600s",
    **_REVISION,
}
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
    "displayName": "d",
    "description": "d",
    "labels": {"k": "v"},
    "etag": "1",
    "contextSpec": {"memoryBankConfig": _CONFIG},
}
_GENERATE = {
    "scope": _SCOPE,
    "directContentsSource": {
        "events": [{"content": _CONTENT, "eventId": "e", "eventTime": "2026-01-02T03:04:05Z"}]
    },
    "disableConsolidation": False,
    "metadata": _METADATA,
    "metadataMergeStrategy": "MERGE",
    "allowedTopics": _TOPICS,
    "timeZone": "Europe/Berlin",
    **_REVISION,
}
_DIRECT = {
    "scope": _SCOPE,
    "directMemoriesSource": {"directMemories": [{"fact": "I like tea.", "topics": _TOPICS}]},
}
_INGEST = {
    "scope": _SCOPE,
    "streamId": "s",
    "directContentsSource": _GENERATE["directContentsSource"],
    "generationTriggerConfig": {
        "generation_rule": {
            "event_count": 3,
            "idle_duration": "300s",
            "overlap_event_count": 2,
        }
    },
    "forceFlush": False,
    "metadata": _METADATA,
    "metadataMergeStrategy": "MERGE",
    **_REVISION,
}
_SEARCH = {
    "scope": _SCOPE,
    "similaritySearchParams": {"searchQuery": "q", "topK": 3},
    "filter": 'fact="x"',
    "filterGroups": _GROUPS,
    "memoryTypes": ["NATURAL_LANGUAGE_COLLECTION"],
}
_SIMPLE = {"scope": _SCOPE, "simpleRetrievalParams": {"pageSize": 1, "pageToken": ""}}
_SESSION = {
    "userId": "42",
    "displayName": "d",
    "labels": {"k": "v"},
    "sessionState": {"a_b": [1, None, {"c": 1.5}]},
    "ttl": "3600s",
}
_EVENT = {
    "author": "user",
    "invocationId": "i",
    "timestamp": "2026-01-02T03:04:05+00:00",
    "content": _CONTENT,
    "actions": {
        "state_delta": {"k": 1},
        "artifact_delta": {"a.txt": 1},
        "transferAgent": "t",
        "escalate": True,
        "skip_summarization": False,
        "requested_auth_configs": {"k": {}},
    },
    "errorCode": "E",
    "errorMessage": "m",
    "eventMetadata": {
        "partial": False,
        "branch": "b",
        "custom_metadata": {"c": None},
        "long_running_tool_ids": ["t"],
        "grounding_metadata": {"web_search_queries": ["q"]},
        "input_transcription": {"text": "t"},
    },
    "rawEvent": {"id": "e", "x": [None, 1.5]},
}
_PURGE = {"filter": 'fact="x"', "filterGroups": _GROUPS, "force": True, "permanent": False}
_COUNT = {"filter": 'fact="x"', "sampleSize": 2, **_REVISION}
_ROLLBACK = {"targetRevisionId": "1", "validateOnly": True, **_REVISION}
_UNDO = {"revisionLabels": {"source": "a"}, "validateOnly": True}
_KEY = {
    "displayName": "k",
    "roles": ["viewer"],
    "permissions": ["memories.create"],
    "projects": ["default"],
    "engines": ["1", "projects/default/locations/local/reasoningEngines/2"],
    "scopeConditions": {"user_id": ["42", "43"], "team": "a"},
    "ttl": "3600s",
}

_M, _O, _R = "/memories/known", "/operations/1", "/memories/known/revisions/1"
_S = "/sessions/known"
_PAGES = ["pageSize", "pageToken"]
_BATCH: Json = {"requests": [{"memory": _MEMORY, "memoryId": "b"}, {"memory": _MEMORY}]}
TEMPLATES: list[tuple[str, str, Json, list[str]]] = [
    ("POST", "", _ENGINE, ["requestId"]),
    ("GET", "", None, ["filter", *_PAGES]),
    ("GET", "/1", None, []),
    ("PATCH", "/1", _ENGINE, ["updateMask"]),
    ("DELETE", "/2", {"force": True}, ["force"]),
    ("POST", "/1/memories", _MEMORY, ["memoryId", "requestId"]),
    ("POST", "/1/memories:batchCreate", _BATCH, ["requestId"]),
    ("POST", "/1/memories:import", {**_MEMORY, "memoryId": "known"}, []),
    ("GET", "/1/memories", None, ["filter", "orderBy", "showDeleted", *_PAGES]),
    ("GET", "/1" + _M, None, ["showDeleted"]),
    ("PATCH", "/1" + _M, {**_MEMORY, "etag": "1"}, ["updateMask", "memoryId"]),
    ("DELETE", "/1/memories/other", _REVISION, ["permanent", "requestId"]),
    ("POST", "/1" + _M + ":undelete", _REVISION, ["requestId"]),
    ("POST", "/1" + _M + ":rollback", _ROLLBACK, ["requestId"]),
    ("GET", "/1" + _M + "/revisions", None, ["filter", *_PAGES]),
    ("GET", "/1/memories/-/revisions", None, ["filter", *_PAGES]),
    ("GET", "/1/memories/-/revisions:export", None, ["filter"]),
    ("GET", "/1/memories/-/revisions:listLabels", None, ["key", "prefix", *_PAGES]),
    ("GET", "/1" + _R, None, []),
    ("POST", "/1/memories:retrieve", _SEARCH, []),
    ("POST", "/1/memories:retrieve", _SIMPLE, []),
    ("POST", "/1/memories:generate", _GENERATE, ["requestId"]),
    ("POST", "/1/memories:generate", _DIRECT, []),
    ("POST", "/1/memories:ingestEvents", _INGEST, ["requestId"]),
    ("POST", "/1:ingestEvents", {"scope": _SCOPE, "forceFlush": True}, []),
    ("POST", "/1/memories:purge", _PURGE, ["requestId"]),
    ("POST", "/1/memories:purge", _COUNT, ["requestId"]),
    ("GET", "/1/operations", None, _PAGES),
    ("GET", "/1" + _O, None, []),
    ("POST", "/1" + _O + ":cancel", {}, []),
    ("POST", "/1" + _O + ":undo", _UNDO, ["requestId"]),
    ("DELETE", "/1" + _O, None, []),
    ("POST", "/1/sessions", _SESSION, ["sessionId", "requestId"]),
    ("GET", "/1/sessions", None, ["filter", "orderBy", *_PAGES]),
    ("GET", "/1" + _S, None, []),
    ("PATCH", "/1" + _S, {**_SESSION, "userId": "42", "etag": "1"}, ["updateMask", "sessionId"]),
    ("DELETE", "/1/sessions/other", {}, ["requestId"]),
    ("POST", "/1" + _S + ":appendEvent", _EVENT, ["requestId"]),
    ("GET", "/1" + _S + "/events", None, ["filter", "orderBy", *_PAGES]),
    ("POST", "!/v1/keys", _KEY, []),
    ("GET", "!/v1/keys", None, _PAGES),
    ("GET", "!/v1/keys/1", None, []),
    ("POST", "!/v1/keys/1:rotate", {"gracePeriod": "60s"}, []),
    ("POST", "!/v1/keys/1:revoke", {}, []),
    ("GET", "/1/auditEvents", None, ["filter", *_PAGES]),
    ("GET", "/1/auditEvents:export", None, ["filter"]),
    ("GET", "!/v1/auditEvents", None, ["filter", *_PAGES]),
    ("GET", "!/v1/auditEvents:export", None, ["filter"]),
    ("GET", "!/healthz", None, []),
    ("GET", "!/docs/assets/swagger-ui.css", None, []),
    ("GET", "!/openapi.json", None, []),
]

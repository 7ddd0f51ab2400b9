"""What each method demands of its caller: the one table of permissions and costs.

A method that is not here is not served: routes look themselves up when they are made.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from app.kernel.limits import Counted
from app.kernel.permissions import Permission

# A read by key costs one unit; the others are weighed by the time that they take of the database
# and of the models, as measured side by side with such a read.
_READ = 1
_LIST = 2
_WRITE = 3
_SEARCH = 4
_WORK = 20


@dataclass(frozen=True)
class Demand:
    """What a method demands.

    Attributes:
        permission: None: any key will do.
        cost: units taken from the rate of the key and of the engine.
        is_change: whether it changes anything; the audit log has every such request.
        is_costly: whether it holds one of the key's few places while it runs.
        adds: what it adds to, beside bytes: it is refused where one of these quotas is used up.
    """

    permission: Permission | None
    cost: int = _READ
    is_change: bool = False
    is_costly: bool = False
    adds: tuple[Counted, ...] = ()


def _change(
    permission: Permission,
    cost: int = _WRITE,
    *,
    adds: tuple[Counted, ...] = (),
    is_costly: bool = False,
) -> Demand:
    return Demand(permission, cost, is_change=True, is_costly=is_costly, adds=adds)


DEMANDS: Mapping[str, Demand] = {
    # Service
    "getMetrics": Demand(Permission.METRICS_GET),
    "getDocs": Demand(None),
    "getOpenApi": Demand(None),
    # Keys and audit
    "createKey": _change(Permission.KEYS_MANAGE),
    "listKeys": Demand(Permission.KEYS_MANAGE, _LIST),
    "getKey": Demand(Permission.KEYS_MANAGE),
    "revokeKey": _change(Permission.KEYS_MANAGE),
    "rotateKey": _change(Permission.KEYS_MANAGE),
    "listAllAuditEvents": Demand(Permission.AUDIT_LIST_ALL, _LIST),
    "exportAllAuditEvents": Demand(Permission.AUDIT_LIST_ALL, _WORK, is_costly=True),
    "listAuditEvents": Demand(Permission.AUDIT_LIST, _LIST),
    "exportAuditEvents": Demand(Permission.AUDIT_LIST, _WORK, is_costly=True),
    # Engines
    "createReasoningEngine": _change(Permission.ENGINES_CREATE),
    "listReasoningEngines": Demand(Permission.ENGINES_LIST, _LIST),
    "getReasoningEngine": Demand(Permission.ENGINES_GET),
    "updateReasoningEngine": _change(Permission.ENGINES_UPDATE),
    "reembedReasoningEngine": _change(Permission.ENGINES_UPDATE, _WORK),
    "deleteReasoningEngine": _change(Permission.ENGINES_DELETE),
    "getUsage": Demand(Permission.USAGE_GET, _LIST),
    # Operations
    "listOperations": Demand(Permission.OPERATIONS_LIST, _LIST),
    "getOperation": Demand(Permission.OPERATIONS_GET),
    "waitOperation": Demand(Permission.OPERATIONS_GET, is_costly=True),
    "cancelOperation": _change(Permission.OPERATIONS_CANCEL),
    "deleteOperation": _change(Permission.OPERATIONS_DELETE),
    "undoOperation": _change(Permission.OPERATIONS_UNDO, _WORK, adds=(Counted.BYTES,)),
    # Memories and their revisions
    "createMemory": _change(Permission.MEMORIES_CREATE, adds=(Counted.MEMORIES,)),
    "batchCreateMemories": _change(
        Permission.MEMORIES_CREATE, _WORK, adds=(Counted.MEMORIES,), is_costly=True
    ),
    # So much again for each further chunk.
    "importMemories": _change(
        Permission.MEMORIES_CREATE, _WORK, adds=(Counted.MEMORIES,), is_costly=True
    ),
    "listMemories": Demand(Permission.MEMORIES_LIST, _LIST),
    "getMemory": Demand(Permission.MEMORIES_GET),
    "updateMemory": _change(Permission.MEMORIES_UPDATE, adds=(Counted.BYTES,)),
    "deleteMemory": _change(Permission.MEMORIES_DELETE),
    "rollbackMemory": _change(Permission.MEMORIES_ROLLBACK, adds=(Counted.BYTES,)),
    "listAllRevisions": Demand(Permission.REVISIONS_LIST, _LIST),
    "listMemoryRevisions": Demand(Permission.REVISIONS_LIST, _LIST),
    "getMemoryRevision": Demand(Permission.REVISIONS_GET),
    "retrieveMemories": Demand(Permission.MEMORIES_RETRIEVE, _SEARCH, is_costly=True),
    "retrieveProfiles": Demand(Permission.MEMORIES_RETRIEVE, _LIST),
    "generateMemories": _change(
        Permission.MEMORIES_GENERATE, _WORK, adds=(Counted.MEMORIES,), is_costly=True
    ),
    "ingestEvents": _change(
        Permission.MEMORIES_INGEST,
        _WRITE,
        # Events now, memories later.
        adds=(Counted.EVENTS, Counted.MEMORIES),
        is_costly=True,
    ),
    "purgeMemories": _change(Permission.MEMORIES_PURGE, _WORK, is_costly=True),
    # Sessions and their events
    "createSession": _change(Permission.SESSIONS_CREATE, adds=(Counted.SESSIONS,)),
    "listSessions": Demand(Permission.SESSIONS_LIST, _LIST),
    "getSession": Demand(Permission.SESSIONS_GET),
    "updateSession": _change(Permission.SESSIONS_UPDATE, adds=(Counted.BYTES,)),
    "deleteSession": _change(Permission.SESSIONS_DELETE),
    "appendEvent": _change(Permission.EVENTS_APPEND, adds=(Counted.EVENTS,)),
    "createExchange": _change(Permission.EVENTS_APPEND, adds=(Counted.EVENTS,)),
    "batchAppendEvents": _change(
        Permission.EVENTS_APPEND, _WORK, adds=(Counted.EVENTS,), is_costly=True
    ),
    "deleteEvent": _change(Permission.SESSIONS_UPDATE),
    "listEvents": Demand(Permission.EVENTS_LIST, _LIST),
    # It may have summaries made, for which another permission is asked; no event is changed.
    "composeContext": Demand(Permission.EVENTS_LIST, _SEARCH, is_costly=True),
    "compactSession": _change(Permission.SESSIONS_UPDATE, _WORK, is_costly=True),
    # Contexts of sessions
    "clearSession": _change(Permission.SESSIONS_UPDATE),
    # They tell what events say.
    "listSummaries": Demand(Permission.EVENTS_LIST, _LIST),
    "getSummary": Demand(Permission.EVENTS_LIST),
    "regenerateSummary": _change(
        Permission.SESSIONS_UPDATE, _WORK, adds=(Counted.BYTES,), is_costly=True
    ),
    "getSessionUsage": Demand(Permission.SESSIONS_GET, _LIST),
    "recallSession": Demand(Permission.EVENTS_LIST, _WORK, is_costly=True),
    "estimateContextCosts": Demand(Permission.ENGINES_GET, _WORK, is_costly=True),
    # Task memory
    "listTaskMemories": Demand(Permission.ARTIFACTS_REFERENCE, _LIST),
    "getTaskMemory": Demand(Permission.ARTIFACTS_REFERENCE, _LIST),
    "deleteTaskMemory": _change(Permission.ARTIFACTS_WRITE, _WORK),
    "processOutput": _change(Permission.ARTIFACTS_WRITE, adds=(Counted.ARTIFACT_BYTES,)),
    "listToolPolicies": Demand(Permission.ARTIFACTS_REFERENCE, _LIST),
    "getToolPolicy": Demand(Permission.ARTIFACTS_REFERENCE),
    "updateToolPolicy": _change(Permission.ENGINES_UPDATE),
    "deleteToolPolicy": _change(Permission.ENGINES_UPDATE),
    "listNamespaces": Demand(Permission.ARTIFACTS_REFERENCE, _LIST),
    "getNamespace": Demand(Permission.ARTIFACTS_REFERENCE),
    "updateNamespace": _change(Permission.ARTIFACTS_WRITE),
    "deleteNamespace": _change(Permission.ARTIFACTS_WRITE),
    "storeArtifacts": _change(
        Permission.ARTIFACTS_WRITE, adds=(Counted.ARTIFACT_BYTES,), is_costly=True
    ),
    "exportNamespace": _change(Permission.ARTIFACTS_DERIVE, _WORK, is_costly=True),
    # What is kept off the prompt is counted where it is stored.
    "queryNamespace": _change(Permission.ARTIFACTS_DERIVE, _WORK, is_costly=True),
    "summarizeNamespace": _change(Permission.ARTIFACTS_DERIVE, _WORK, is_costly=True),
    "getToolSpecs": Demand(Permission.ARTIFACTS_REFERENCE),
    "listArtifacts": Demand(Permission.ARTIFACTS_REFERENCE, _LIST),
    "getArtifact": Demand(Permission.ARTIFACTS_REFERENCE),
    "uploadArtifact": _change(
        Permission.ARTIFACTS_WRITE, _WORK, adds=(Counted.ARTIFACT_BYTES,), is_costly=True
    ),
    "downloadArtifact": Demand(Permission.ARTIFACTS_CONTENT, _LIST, is_costly=True),
    "deleteArtifact": _change(Permission.ARTIFACTS_WRITE),
}
"""By operation id."""

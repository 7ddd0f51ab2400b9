"""Start of a scan: check the requested kinds, and queue the operation."""

from app.adapters.db.conditions import check_scope, scopes_of
from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.auth import of_one
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName
from app.memory.scans.schemas import ScanPrivacyRequest
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow, privacy_of
from app.platform.operations.logic.states import SCAN_PRIVACY
from app.platform.operations.services.mutation import Method, mutate
from app.platform.operations.store.tables import OperationRow
from app.platform.privacy.logic import kinds_sought, known_kinds

_METHOD = Method(SCAN_PRIVACY, "ScanPrivacy")


async def start(
    resources: Resources, name: EngineName, request: ScanPrivacyRequest, once: IdempotencyKey | None
) -> OperationRow:
    """Queue a scan. Scans of one engine run one after another.

    Raises:
        InvalidArgument: the request has no kind or an unknown kind, or lacks a scope that its
            key requires.
        NotFound: the engine does not exist, or the caller has no access to the scope.
        ResourceExhausted: the engine has the maximum number of waiting operations.
    """
    scopes = None if request.scope is None else of_one(request.scope)
    locked = engines.locked(name)
    async with mutate(resources, locked, _METHOD, once, scopes=scopes) as change:
        _check_reach(change.session, request)
        kinds = _kinds(resources, change.engine, request)
        if change.replayed is not None:
            return change.replayed
        await change.check_queue()
        # The kinds are fixed now, so later changes of the engine's rules have no effect.
        queued = request.model_copy(update={"kinds": kinds})
        return await change.queue(SCAN_PRIVACY, queued.wire())


def _kinds(resources: Resources, engine: EngineRow, request: ScanPrivacyRequest) -> list[str]:
    own, defaults = privacy_of(engine), resources.settings.privacy_defaults
    known = known_kinds(own, defaults)
    for number, kind in enumerate(request.kinds or ()):
        if kind not in known:
            raise InvalidArgument.of_field(
                f"kinds[{number}]",
                f"must be one of {', '.join(sorted(known))}; got {kind!r}.",
            )
    kinds = set(request.kinds or kinds_sought(own, defaults))
    if not kinds:
        raise InvalidArgument.of_field(
            "kinds", "is required: the engine has no rule that masks or refuses anything."
        )
    return sorted(kinds)


def _check_reach(session: Session, request: ScanPrivacyRequest) -> None:
    if request.scope is None and scopes_of(session) is not None:
        raise InvalidArgument.of_field(
            "scope", "is required: this key is bound to some scopes, and must name one of them."
        )
    check_scope(session, request.scope or {})

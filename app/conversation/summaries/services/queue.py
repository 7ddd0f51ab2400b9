"""Enqueueing of summarise operations, after new events or when a context needs summaries."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.conversation.strategies.logic.policies import Combine, Rules, rules_of
from app.conversation.strategies.logic.schedule import is_reached, next_target
from app.conversation.strategies.logic.turns import Fixed
from app.conversation.summaries.store import lookups, repository
from app.kernel.limits import exhausted
from app.kernel.names import SessionName
from app.kernel.wire.memory_policy import MemoryPolicy
from app.platform.engines.store.tables import EngineRow, memory_policy_of, name_of
from app.platform.operations.logic.states import SUMMARIZE
from app.platform.operations.store import leases
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.sessions.services.history import Appended, ErasedEvent
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow
from app.settings.settings import Settings

REGENERATE: Final = "sessions.regenerateSummary"
"""Kind of the operation that regenerates one summary."""
NOTHING_FIXED = Fixed()


async def ask(
    session: Session,
    engine: EngineRow,
    owner: SessionRow | Appended,
    policy: MemoryPolicy,
    now: datetime,
    settings: Settings,
    fixed: Fixed = NOTHING_FIXED,
) -> OperationRow:
    """Return the unfinished operation that makes a policy's due summaries, or enqueue one.

    The caller must hold the session's lock. A running operation takes the same lock for its last
    check before it ends. `fixed` are the tokens of the other content of the context; they matter
    only if the token budget decides when summaries are due.

    Raises:
        ResourceExhausted: the policy is not the session's own, and the session's limit of policies
            with summaries is reached.
    """
    policy_key = rules_of(policy).key
    key = key_of(owner.session_id, policy_key)
    unfinished = await leases.unfinished(session, engine.engine_id, SUMMARIZE, key)
    if unfinished is not None:
        return unfinished
    keep = settings.operation_retention
    new = NewOperation.of(name_of(engine), SUMMARIZE, "SummarizeSession", now, keep)
    new = new.concerning({"user_id": owner.user_id})
    name = SessionName(name_of(engine), owner.session_id)
    own = policy_of(owner.memory_policy, engine)
    own_key = None if own is None else rules_of(own).key
    is_own = own_key == policy_key
    # The limit of queued operations is not checked here: each session and policy has at most one
    # operation, and the number of policies is limited.
    if not is_own:
        most = settings.tuning.max_session_policies
        await _check_policies(session, name, policy_key, own_key, most)
    request = {
        "session": str(name),
        "policy": policy.wire(),
        "fixed": {"system": fixed.system, "pending": fixed.pending},
        "isOwn": is_own,
    }
    return await operations.insert(session, new.queued(key, request))


async def _check_policies(
    session: Session, name: SessionName, key: str, own: str | None, most: int
) -> None:
    used = await lookups.list_policies(session, name)
    used |= await lookups.list_waiting(session, name.engine.engine, key_of(name.session, ""))
    if key not in used and len(used - {own}) >= most:
        raise exhausted(
            f"sessions/{name.session} has summaries by as many policies besides its own as the"
            f" setting max_session_policies allows: {most}. Send one of these, or none, which means"
            " the session's own; or clear the session's context.",
            "sessionPolicies",
            limit=most,
        )


async def run_now(
    session: Session, engine_id: int, session_id: str, policy_keys: Iterable[str], now: datetime
) -> None:
    """Run summarise operations now that wait to retry after a failure."""
    waiting = []
    for policy_key in policy_keys:
        key = key_of(session_id, policy_key)
        operation_row = await leases.unfinished(session, engine_id, SUMMARIZE, key)
        if operation_row is not None:
            waiting.append(operation_row.operation_id)
    if waiting:
        await leases.run_now(session, engine_id, waiting, now)


def key_of(session_id: str, policy_key: str) -> str:
    """Return the operation key, which serialises the operations of one session and policy."""
    return f"summaries/{session_id}/{policy_key}"


@dataclass(frozen=True)
class Watch:
    """Observer of session events that enqueues summaries."""

    settings: Settings

    async def appended(self, session: Session, change: Appended) -> None:
        """Enqueue a summary if the appended exchanges make one due; reads at most one summary."""
        policy = policy_of(change.memory_policy, change.engine)
        rules = _by_exchange(policy)
        if rules is None or policy is None:
            return
        covered = await repository.last_exchange(
            session, change.engine.engine_id, change.session_id, rules.key
        )
        reached = max(change.cleared_exchange, covered or 0)
        if is_due(rules, change.place.complete, reached):
            await ask(session, change.engine, change, policy, change.now, self.settings)

    async def erased(self, session: Session, change: ErasedEvent) -> None:
        """Erase summaries that cover an erased event; enqueue new ones of the session's policy."""
        engine_id = change.engine.engine_id
        keys = await repository.mark_stale(
            session, engine_id, change.name.session, change.seq, change.now
        )
        if not keys:
            return
        row = await sessions.get(session, change.name, change.now)
        policy = policy_of(row.memory_policy, change.engine)
        rules = _by_exchange(policy)
        if policy is not None and rules is not None and rules.key in keys:
            await ask(session, change.engine, row, policy, change.now, self.settings)


def is_due(rules: Rules, complete: int, reached: int) -> bool:
    """Return True if enough complete exchanges follow `reached`, the last one covered."""
    if rules.summarising is None:
        return False
    target = next_target(rules.summarising, reached)
    return is_reached(rules.summarising, complete, target)


def policy_of(stored: Any, engine: EngineRow) -> MemoryPolicy | None:  # noqa: ANN401 - JSON of a row
    """Return the policy of a session or its engine; None: the default, without summaries."""
    policy = stored or memory_policy_of(engine)
    return MemoryPolicy.model_validate(policy) if policy else None


def _by_exchange(policy: MemoryPolicy | None) -> Rules | None:
    rules = None if policy is None else rules_of(policy)
    if rules is None or rules.summarising is None:
        return None
    return None if rules.summarising.combine is Combine.SPLIT else rules


def watch_events(resources: Resources) -> None:
    """Register the observer of session events, in place of any registered earlier."""
    watch = Watch(resources.settings)
    resources.registry.event_listeners[:] = [watch.appended]
    resources.registry.event_erasers[:] = [watch.erased]

"""Has the worker make the summaries that are due: after events, or because a context asks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.conversation.strategies.logic.composing import Fixed
from app.conversation.strategies.logic.due import is_reached, next_target
from app.conversation.strategies.logic.policies import Combine, Rules, rules_of
from app.conversation.summaries.store import erasure, lookups, repository
from app.kernel.limits import exhausted
from app.kernel.names import SessionName
from app.kernel.wire.memory_policy import MemoryPolicy
from app.platform.engines.store.rows import name_of
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import type_url
from app.platform.operations.store import claims
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.sessions.services.changes import Appended, Erased
from app.platform.sessions.store import repository as sessions
from app.settings.settings import Settings

SUMMARIZE = claims.SUMMARIZE
"""The kind of the operation that makes what is due of one session and policy."""
REGENERATE: Final = "sessions.regenerateSummary"
"""The kind of the operation that makes one summary once more."""


class Owner(Protocol):
    """A session, as far as an operation concerns it: its row, or what was appended to it."""

    @property
    def session_id(self) -> str:
        """Its id."""
        ...

    @property
    def user_id(self) -> str:
        """Whose it is."""
        ...

    @property
    def memory_policy(self) -> Mapping[str, Any] | None:
        """Its own policy; None: that of the engine holds."""
        ...


@dataclass(frozen=True)
class Asked:
    """By which policy summaries are to be made.

    Attributes:
        fixed: what is shown besides; it only matters where summaries depend on the budget.
    """

    policy: MemoryPolicy
    fixed: Fixed = field(default_factory=Fixed)

    def wire(self, name: SessionName, *, is_own: bool) -> dict[str, Any]:
        """Return the request of the operation; `is_own`: the policy is that of the session."""
        fixed = {"system": self.fixed.system, "pending": self.fixed.pending}
        request = {"session": str(name), "policy": self.policy.wire(), "fixed": fixed}
        return {**request, "isOwn": is_own}


async def ask(
    session: Session,
    engine: EngineRow,
    owner: Owner,
    asked: Asked,
    now: datetime,
    settings: Settings,
) -> OperationRow:
    """Return the operation that makes what is due by a policy: the one under way, or a new one.

    The caller holds the session's lock, under which one that runs looks for the last time whether
    more is due before it ends.

    Raises:
        ResourceExhausted: the policy is not the session's own, and there are summaries by as many
            others as there may be.
    """
    policy_key = rules_of(asked.policy).key
    key = key_of(owner.session_id, policy_key)
    found = await claims.unfinished(session, engine.engine_id, SUMMARIZE, key)
    if found is not None:
        return found
    new = operation(engine, SUMMARIZE, now, settings).concerning({"user_id": owner.user_id})
    name = SessionName(name_of(engine), owner.session_id)
    own = policy_of(owner.memory_policy, engine)
    own_key = None if own is None else rules_of(own).key
    is_own = own_key == policy_key
    # Not refused where the queue is full, as an append would be then: of a session and policy there
    # is one at most, and of policies there are so many.
    if not is_own:
        keys = (policy_key, own_key)
        await _check_policies(session, name, keys, settings.max_session_policies)
    return await operations.insert(session, new.queued(key, asked.wire(name, is_own=is_own)))


async def _check_policies(
    session: Session, name: SessionName, keys: tuple[str, str | None], most: int
) -> None:
    """Make sure that a session may be summarised by one more policy, or that it is already.

    `keys` are those of the policy and of the session's own, which does not count.

    Raises:
        ResourceExhausted: it may not.
    """
    key, own = keys
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


async def hurry(
    session: Session, engine_id: int, session_id: str, policy_keys: Iterable[str], now: datetime
) -> None:
    """Let what waits, since the summariser has failed, run at once: its failure is given up."""
    waiting = []
    for policy_key in policy_keys:
        key = key_of(session_id, policy_key)
        found = await claims.unfinished(session, engine_id, SUMMARIZE, key)
        if found is not None:
            waiting.append(found.operation_id)
    if waiting:
        await claims.hurry(session, engine_id, waiting, now)


def key_of(session_id: str, policy_key: str) -> str:
    """Return the key under which summaries of one session and policy are made one by one."""
    return f"summaries/{session_id}/{policy_key}"


def operation(engine: EngineRow, kind: str, now: datetime, settings: Settings) -> NewOperation:
    """Return an operation on summaries, without a key."""
    method = "SummarizeSession" if kind == SUMMARIZE else "RegenerateSummary"
    return NewOperation(
        engine_id=engine.engine_id,
        engine_name=str(name_of(engine)),
        kind=kind,
        now=now,
        keep=settings.operation_retention,
        details={"@type": type_url(f"{method}OperationMetadata")},
    )


@dataclass(frozen=True)
class Watch:
    """Told of what happens to events; has made of them what is due then."""

    settings: Settings

    async def appended(self, session: Session, change: Appended) -> None:
        """Ask for a summary where the exchanges that have come make one due.

        Looks up one summary, and only where the session's policy makes any by exchange.
        """
        policy = policy_of(change.memory_policy, change.engine)
        rules = _by_exchange(policy)
        if rules is None or policy is None:
            return
        covered = await repository.last_exchange(
            session, change.engine.engine_id, change.session_id, rules.key
        )
        reached = max(change.cleared_exchange, covered or 0)
        if is_due(rules, change.place.complete, reached):
            await ask(session, change.engine, change, Asked(policy), change.now, self.settings)

    async def erased(self, session: Session, change: Erased) -> None:
        """Erase what summaries say of an event, and have those of the session's policy remade."""
        engine_id = change.engine.engine_id
        keys = await erasure.mark_stale(
            session, engine_id, change.name.session, change.seq, change.now
        )
        if not keys:
            return
        row = await sessions.get(session, change.name, change.now)
        policy = policy_of(row.memory_policy, change.engine)
        rules = _by_exchange(policy)
        if policy is not None and rules is not None and rules.key in keys:
            await ask(session, change.engine, row, Asked(policy), change.now, self.settings)


def is_due(rules: Rules, complete: int, reached: int) -> bool:
    """Say whether so many complete exchanges after the last that is covered make a summary due."""
    made = rules.summarising
    return made is not None and is_reached(made, complete, next_target(made, reached))


def policy_of(stored: Any, engine: EngineRow) -> MemoryPolicy | None:  # noqa: ANN401 - JSON of a row
    """Return the policy of a session, else its engine's; None: the default, without summaries."""
    found = stored or (engine.bank_config or {}).get("memoryPolicy")
    return MemoryPolicy.model_validate(found) if found else None


def _by_exchange(policy: MemoryPolicy | None) -> Rules | None:
    """Return the rules of a policy that makes summaries when exchanges have come."""
    rules = None if policy is None else rules_of(policy)
    if rules is None or rules.summarising is None:
        return None
    return None if rules.summarising.combine is Combine.SPLIT else rules


def watch_events(resources: Resources) -> None:
    """Have summaries follow the events of sessions; once, however many applications there are."""
    watch = Watch(resources.settings)
    resources.registry.event_listeners[:] = [watch.appended]
    resources.registry.event_erasers[:] = [watch.erased]

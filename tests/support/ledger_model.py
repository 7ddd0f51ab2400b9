"""What the ledger of memories must hold, in plain dictionaries. Source: wire sections 5, 6, 8, 10.

Written from the specification, without a line of the service: a second opinion.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

RECOVERY = timedelta(hours=48)
REVISION_TTL = timedelta(days=365)


@dataclass(frozen=True)
class Bank:
    """The configuration of a bank, as far as lives go."""

    default_ttl: timedelta | None = None
    create_ttl: timedelta | None = None
    generate_created_ttl: timedelta | None = None
    generate_updated_ttl: timedelta | None = None
    revision_ttl: timedelta | None = None
    keeps_revisions: bool = True

    def life(self, granular: timedelta | None) -> timedelta | None:
        return granular or self.default_ttl


@dataclass(frozen=True)
class Revising:
    """What a request says of the revision that it makes."""

    ttl: timedelta | None = None
    keep: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Revision:
    """A revision."""

    action: str
    fact: str | None
    title: str | None
    labels: Mapping[str, str]
    memory_expires: datetime | None
    expires: datetime
    operation: str
    restores: int | None = None
    """The version that it put back."""


@dataclass(frozen=True)
class Memory:
    """A memory, live, expired or a tombstone, with the revisions that were kept."""

    scope: str
    fact: str | None
    title: str | None
    created: datetime
    updated: datetime
    expires: datetime | None
    version: int = 1
    deleted: datetime | None = None
    recoverable_until: datetime | None = None
    revisions: Mapping[int, Revision] = field(default_factory=dict)

    def is_live(self, now: datetime) -> bool:
        return self.deleted is None and (self.expires is None or self.expires > now)

    def is_tombstone(self, now: datetime) -> bool:
        return self.recoverable_until is not None and self.recoverable_until > now

    def is_known(self, now: datetime) -> bool:
        return self.is_live(now) or self.is_tombstone(now)

    def can_read(self, version: int, now: datetime) -> bool:
        revision = self.revisions.get(version)
        return self.is_known(now) and revision is not None and revision.expires > now


class Ledger:
    """The memories of one bank."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self.memories: dict[str, Memory] = {}
        self.operation = ""
        """What the changes to come belong to."""

    def live(self, now: datetime) -> dict[str, Memory]:
        return {name: one for name, one in self.memories.items() if one.is_live(now)}

    def known(self, now: datetime) -> dict[str, Memory]:
        return {name: one for name, one in self.memories.items() if one.is_known(now)}

    def ends(self, now: datetime) -> list[datetime]:
        """Return when something will end: a memory, a window of recovery, a revision."""
        moments = {
            moment
            for one in self.memories.values()
            for moment in (
                one.expires,
                one.recoverable_until,
                *(revision.expires for revision in one.revisions.values()),
            )
            if moment is not None and moment > now
        }
        return sorted(moments)

    def create(
        self, name: str, memory: Memory, revising: Revising, ttl: timedelta | None = None
    ) -> None:
        """Write a new memory, which takes the place of one that nothing can read any more."""
        assert not self.memories.get(name) or not self.memories[name].is_known(memory.created)
        life = ttl or self.bank.life(self.bank.create_ttl)
        self._born(name, memory, revising, life)

    def generated(self, name: str, memory: Memory, revising: Revising) -> None:
        assert name not in self.memories
        self._born(name, memory, revising, self.bank.life(self.bank.generate_created_ttl))

    def _born(self, name: str, memory: Memory, revising: Revising, life: timedelta | None) -> None:
        expires = memory.created + life if life else None
        self.memories[name] = replace(memory, expires=expires)
        self._record(name, "CREATED", memory.created, revising)

    def update(
        self,
        name: str,
        now: datetime,
        content: tuple[str | None, str | None],
        revising: Revising,
        expiry: tuple[bool, timedelta | None] = (False, None),
    ) -> None:
        """Change fact and title; `expiry` says whether the request sets it, and to what life."""
        is_set, life = expiry
        before = None if is_set else self.memories[name].expires
        life = life or self.bank.default_ttl
        expires = now + life if life else before
        self._change(name, "UPDATED", now, content, (expires, revising))

    def regenerated(self, name: str, now: datetime, fact: str, revising: Revising) -> None:
        old = self.memories[name]
        life = self.bank.life(self.bank.generate_updated_ttl)
        expires = now + life if life else old.expires
        self._change(name, "UPDATED", now, (fact, old.title), (expires, revising))

    def roll_back(self, name: str, now: datetime, version: int) -> None:
        """Restore a revision; an expiry that has passed meanwhile is dropped."""
        target = self.memories[name].revisions[version]
        content = (target.fact, target.title)
        rest = (self._recomputed_expiry(name, now), Revising())
        self._change(name, "ROLLED_BACK", now, content, rest, version)

    def undelete(self, name: str, now: datetime, revising: Revising) -> None:
        """Bring a tombstone back with the content that it kept."""
        old = self.memories[name]
        rest = (self._recomputed_expiry(name, now), revising)
        self._change(name, "UNDELETED", now, (old.fact, old.title), rest)

    def _recomputed_expiry(self, name: str, now: datetime) -> datetime | None:
        if self.bank.default_ttl:
            return now + self.bank.default_ttl
        present = self.memories[name].expires
        return None if present is not None and present <= now else present

    def traces(self, operation: str, now: datetime) -> dict[str, int]:
        """Return the versions that an operation is known to have written, by memory.

        An operation on one memory is known by the tombstone that it left, too.
        """
        own = operation.rpartition("/")[2]
        found = [
            (name, version, memory, revision)
            for name, memory in self.memories.items()
            for version, revision in memory.revisions.items()
            if revision.operation == own
        ]
        kept = {name: version for name, version, _, one in found if one.expires > now}
        if kept or "/memories/" not in operation:
            return kept
        return {
            name: version
            for name, version, memory, _ in found
            if memory.is_tombstone(now) and version == memory.version
        }

    def undo(self, operation: str, now: datetime, revising: Revising) -> dict[str, str]:
        """Take an operation back; return what became of each memory that it changed."""
        traces = self.traces(operation, now)
        return {name: self._undo(name, traces[name], now, revising) for name in sorted(traces)}

    def _undo(self, name: str, version: int, now: datetime, revising: Revising) -> str:
        memory = self.memories[name]
        before = memory.revisions.get(version - 1)
        if (obstacle := self._obstacle(memory, version, now)) is not None:
            return obstacle
        if version > 1 and (before is None or before.expires <= now):
            return self._undo_deletion(name, version, now, revising)
        if before is None or before.action == "DELETED":
            self.delete(name, now, revising)
            return "DELETED"
        expires = before.memory_expires
        is_over = expires is not None and expires <= now
        if is_over and memory.deleted:
            return "EXPIRED"
        expires = self._recomputed_expiry(name, now) if is_over else expires
        content = (before.fact, before.title)
        self._change(name, "ROLLED_BACK", now, content, (expires, revising), version - 1)
        return "RESTORED" if memory.deleted else "UPDATED"

    def _undo_deletion(self, name: str, version: int, now: datetime, revising: Revising) -> str:
        """Restore what a tombstone kept, since no revision tells of what was before."""
        memory = self.memories[name]
        if not memory.deleted or version != memory.version:
            return "REVISION_NOT_KEPT"
        expires = memory.expires
        if expires is not None and expires <= now:
            expires = self._recomputed_expiry(name, now)
        self._change(name, "UNDELETED", now, (memory.fact, memory.title), (expires, revising))
        return "RESTORED"

    def _obstacle(self, memory: Memory, version: int, now: datetime) -> str | None:
        if version not in self._same(memory, now):
            return "CHANGED_SINCE"
        if memory.is_known(now):
            return None
        return "NOT_RECOVERABLE" if memory.deleted else "EXPIRED"

    def _same(self, memory: Memory, now: datetime) -> set[int]:
        """Return the present version, and those that it has put back, as far as is known."""
        found = {memory.version}
        revision = memory.revisions.get(memory.version)
        while revision and revision.expires > now and revision.restores:
            before = memory.revisions.get(revision.restores)
            if before and before.expires > now:
                found.add(revision.restores)
            revision = before
        return found

    def _change(
        self,
        name: str,
        action: str,
        now: datetime,
        content: tuple[str | None, str | None],
        rest: tuple[datetime | None, Revising],
        restores: int | None = None,
    ) -> None:
        old = self.memories[name]
        self.memories[name] = replace(
            old,
            fact=content[0],
            title=content[1],
            expires=rest[0],
            version=old.version + 1,
            updated=now,
            deleted=None,
            recoverable_until=None,
        )
        self._record(name, action, now, rest[1], restores)

    def delete(self, name: str, now: datetime, revising: Revising | None = None) -> None:
        old = self.memories[name]
        self.memories[name] = replace(
            old,
            version=old.version + 1,
            updated=now,
            deleted=now,
            recoverable_until=now + RECOVERY,
        )
        self._record(name, "DELETED", now, revising or Revising())

    def _record(
        self,
        name: str,
        action: str,
        now: datetime,
        revising: Revising,
        restores: int | None = None,
    ) -> None:
        if not (revising.keep and self.bank.keeps_revisions):
            return
        memory = self.memories[name]
        revision = Revision(
            action=action,
            fact=None if action == "DELETED" else memory.fact,
            title=memory.title,
            labels=revising.labels,
            memory_expires=memory.expires,
            expires=now + (revising.ttl or self.bank.revision_ttl or REVISION_TTL),
            operation=self.operation,
            restores=restores,
        )
        # A memory in the place of another does not inherit its history.
        before = {} if memory.version == 1 else memory.revisions
        self.memories[name] = replace(memory, revisions={**before, memory.version: revision})

    def erase(self, name: str) -> None:
        del self.memories[name]

    def sweep(self, now: datetime) -> None:
        """Remove what nothing can read: memories past all, and revisions past their time."""
        self.memories = {
            name: replace(
                one, revisions={v: r for v, r in one.revisions.items() if r.expires > now}
            )
            for name, one in self.memories.items()
            if one.is_known(now)
        }

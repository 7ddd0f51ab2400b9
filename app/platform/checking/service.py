"""The checks of `memory-bank check`, which verify that a database is whole."""

import asyncio
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from app.adapters.db.clock import DatabaseClock, Skew
from app.adapters.db.schema import wanted_revision
from app.adapters.db.session import Database, Session
from app.kernel.checks import QUICK, Batches, CheckName, CountedRows, Examination, Level
from app.kernel.clock import SystemClock
from app.kernel.errors import FailedPrecondition, NotFound, Reason
from app.platform.checking import store
from app.platform.checking.logic import MAX_NAMES, CheckFinding, CheckOutcome, CheckReport
from app.platform.checking.store import MissingError
from app.platform.operations.store import leases
from app.platform.processes import store as processes
from app.settings.settings import Settings

_BATCH_ROWS = 10_000
_SAMPLE = 0.01
_SKEW_SECONDS = {Level.FAILED: 30, Level.WARNING: 5}
_ABSENT = "what it reads is missing"
_OTHER_SCHEMA = "the schema is not that of this release"


@dataclass(frozen=True)
class CheckOptions:
    """Options of a run, for one engine or all.

    Attributes:
        is_quick: True to run only the checks that read few rows.
        is_full: True to recompute every digest, not only a sample.
        after_restore: True to end the leases and fill the rate buckets that a restore brought back.
    """

    engine_id: int | None = None
    is_quick: bool = False
    is_full: bool = False
    after_restore: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of every examination."""
        return {"engine": self.engine_id, "share": 1.0 if self.is_full else _SAMPLE}


@dataclass
class CheckService:
    """One run of the checks on one database; it writes only after a restore.

    Attributes:
        examinations: the checks of rows that features register.
        counted: the rows that features count.
        examined: called with the number of rows, after each batch.
    """

    db: Database
    settings: Settings
    options: CheckOptions
    examinations: Sequence[Examination]
    counted: Sequence[CountedRows]
    examined: Callable[[int], None] = lambda _: None
    _outcomes: dict[CheckName, CheckOutcome] = field(default_factory=dict)

    async def run(self) -> CheckReport:
        """Run the checks, or raise FailedPrecondition if the restored database is in use."""
        self._outcomes.update(
            (check, CheckOutcome(check))
            for check in CheckName
            if check in QUICK or not self.options.is_quick
        )
        await self._check_clocks()
        await self._check_extension()
        if await self._check_revision():
            await self._check_objects()
            if self.options.after_restore and self._is_whole_so_far:
                await self._clear()
            await self._check_rows()
        return CheckReport(list(self._outcomes.values()))

    @property
    def _is_whole_so_far(self) -> bool:
        return all(outcome.level is not Level.FAILED for outcome in self._outcomes.values())

    async def _check_extension(self) -> None:
        async with self.db.snapshot() as session:
            version = await store.find_extension(session)
        finding = CheckFinding(Level.NOTE, f"pgvector {version}")
        if version is None:
            finding = CheckFinding(Level.FAILED, "the extension vector is missing")
        elif _numbers(version) < (0, 7):
            finding = CheckFinding(Level.FAILED, f"pgvector must be 0.7 or later; got {version}")
        self._outcomes[CheckName.EXTENSION].add([finding])

    async def _check_revision(self) -> bool:
        wanted = await asyncio.to_thread(wanted_revision)
        revisions: Collection[str]
        try:
            async with self.db.snapshot() as session:
                revisions = await store.list_revisions(session)
        except MissingError:
            revisions = set()
        outcome = self._outcomes[CheckName.REVISION]
        if set(revisions) == {wanted}:
            outcome.add([CheckFinding(Level.NOTE, wanted)])
            return True
        problem = f"the schema must be {wanted}; got {', '.join(sorted(revisions)) or 'none'}"
        outcome.add([CheckFinding(Level.FAILED, problem)])
        for later in list(self._outcomes.values()):
            if later.check not in {CheckName.EXTENSION, CheckName.REVISION, CheckName.CLOCKS}:
                later.skipped = _OTHER_SCHEMA
        return False

    async def _check_objects(self) -> None:
        async with self.db.snapshot() as session:
            missing = await store.list_missing(session)
        if missing:
            problem = "missing, invalid, disabled or of another text"
            names = tuple(missing[:MAX_NAMES])
            finding = CheckFinding(Level.FAILED, problem, len(missing), names)
            self._outcomes[CheckName.OBJECTS].add([finding])

    async def _check_clocks(self) -> None:
        skew = Skew()
        await DatabaseClock(SystemClock(), skew).measure(self.db)
        seconds = None if skew.found is None else abs(skew.found.total_seconds())
        level = next(
            (level for level, most in _SKEW_SECONDS.items() if seconds and seconds > most),
            Level.NOTE,
        )
        measure = "not measured" if seconds is None else f"this process is {skew}"
        self._outcomes[CheckName.CLOCKS].add([CheckFinding(level, measure)])

    async def _clear(self) -> None:
        """End all leases, and fill the rate buckets, unless a running process may hold leases."""
        seen = self.settings.tuning.process_seen_seconds
        async with self.db.transaction() as session:
            live = await processes.list_live(session, timedelta(seconds=seen))
            if live:
                raise FailedPrecondition(
                    f"The database is in use, or was less than {seen:g} s before its backup, by"
                    f" {len(live)} of the service's processes; stop them, wait as long, then check"
                    " again.",
                    Reason.NOT_READY,
                )
            await leases.release_all(session)
            await store.clear_rates(session)

    async def _check_rows(self) -> None:
        for examination in self.examinations:
            if examination.batches is None and examination.check in self._outcomes:
                async with self._snapshot() as session:
                    await self._examine(session, examination, self.options.values)
        if self.options.is_quick:
            return
        await self._check_orphans()
        for engine_id in await self._engines():
            await self._compare_totals(engine_id)
            for batches in dict.fromkeys(one.batches for one in self.examinations):
                after = None if batches is None else ""
                while batches is not None and after is not None:
                    after = await self._examine_batch(engine_id, batches, after)

    async def _check_orphans(self) -> None:
        with self._skipped_if_absent(CheckName.ORPHANS):
            async with self._snapshot() as session:
                for findings in await store.list_orphans(session, self.options.engine_id):
                    self._outcomes[CheckName.ORPHANS].add(findings)

    async def _engines(self) -> Sequence[int]:
        engine_id = self.options.engine_id
        try:
            async with self._snapshot() as session:
                engines = await store.list_engines(session, engine_id)
        except MissingError:
            return ()
        if engine_id is not None and not engines:
            raise NotFound.of(f"reasoningEngines/{engine_id}")
        return engines

    async def _compare_totals(self, engine_id: int) -> None:
        with self._skipped_if_absent(CheckName.TOTALS):
            async with self._snapshot() as session:
                findings = await store.compare_totals(session, engine_id, self.counted)
            self._outcomes[CheckName.TOTALS].add(findings)

    async def _examine_batch(self, engine_id: int, batches: Batches, after: str) -> str | None:
        """Examine the next rows in one snapshot; return the last one's key, or None at the end."""
        own = [one for one in self.examinations if one.batches == batches]
        values = {**self.options.values, "engine": engine_id, "after": after, "size": _BATCH_ROWS}
        last = None
        async with self._snapshot() as session:
            with self._skipped_if_absent(*(one.check for one in own)):
                last, rows = await store.find_batch(session, batches, values)
                for examination in own if rows else ():
                    await self._examine(session, examination, {**values, "last": last})
                self.examined(rows)
        return last

    async def _examine(
        self, session: Session, examination: Examination, values: Mapping[str, Any]
    ) -> None:
        with self._skipped_if_absent(examination.check):
            findings = await store.examine(session, examination, values)
            self._outcomes[examination.check].add(findings)

    @contextmanager
    def _skipped_if_absent(self, *checks: CheckName) -> Iterator[None]:
        try:
            yield
        except MissingError:
            if self._is_whole_so_far:
                raise
            for check in checks:
                self._outcomes[check].skipped = _ABSENT

    def _snapshot(self) -> AbstractAsyncContextManager[Session]:
        return self.db.snapshot(statement_seconds=0)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))

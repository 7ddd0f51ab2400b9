"""The report of the checks of a database."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from app.kernel.checks import CheckName, Level

MAX_NAMES = 20
"""Maximum number of names in a report of one problem."""
_PASSED = "passed"
_SKIPPED = "skipped"
_STATES = {Level.FAILED: "FAILED", Level.WARNING: "warning", Level.NOTE: _PASSED}
_LEVELS = list(Level)


@dataclass(frozen=True)
class CheckFinding:
    """One problem, with the number of affected objects and some names; no text of a user."""

    level: Level
    problem: str
    count: int = 1
    names: tuple[str, ...] = ()

    def __add__(self, other: "CheckFinding") -> "CheckFinding":
        names = (*self.names, *other.names)[:MAX_NAMES]
        return CheckFinding(self.level, self.problem, self.count + other.count, names)

    @override
    def __str__(self) -> str:
        counted = f"{self.count:,}: " if self.count != 1 or self.names else ""
        more = self.count - len(self.names)
        further = [f"and {more:,} more"] if self.names and more else []
        names = f": {', '.join([*self.names, *further])}" if self.names else ""
        return f"{counted}{self.problem}{names}"


@dataclass
class CheckOutcome:
    """The outcome of one check; `skipped` is the reason why it was not made, if it was not."""

    check: CheckName
    skipped: str | None = None
    _found: dict[tuple[Level, str], CheckFinding] = field(default_factory=dict)

    def add(self, findings: Iterable[CheckFinding]) -> None:
        """Add findings; merge findings of the same problem."""
        for finding in findings:
            key = finding.level, finding.problem
            known = self._found.get(key)
            self._found[key] = finding if known is None else known + finding

    @property
    def findings(self) -> Sequence[CheckFinding]:
        """The findings, the worst first."""
        return sorted(self._found.values(), key=lambda one: (_LEVELS.index(one.level), one.problem))

    @property
    def level(self) -> Level:
        """The level of the worst finding."""
        return next((finding.level for finding in self.findings), Level.NOTE)

    @property
    def state(self) -> str:
        """The outcome in one word."""
        if self.skipped is not None and self.level is Level.NOTE:
            return _SKIPPED
        return _STATES[self.level]

    def lines(self) -> Iterator[str]:
        """Return the lines that show the outcome on a terminal."""
        lines = [*map(str, self.findings), *([self.skipped] if self.skipped else [])]
        head = f"{self.check.number:>2}  {self.check:<15}  {self.state:<7}"
        yield f"{head}  {lines[0]}" if lines else head.rstrip()
        for further in lines[1:]:
            yield f"{'':<{len(head)}}  {further}"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "number": self.check.number,
            "name": str(self.check),
            "state": self.state.upper(),
            **({} if self.skipped is None else {"skipped": self.skipped}),
            "findings": [
                {
                    "level": str(finding.level),
                    "problem": finding.problem,
                    "count": finding.count,
                    "names": list(finding.names),
                }
                for finding in self.findings
            ],
        }


@dataclass(frozen=True)
class CheckReport:
    """The outcomes of all requested checks, in order."""

    outcomes: Sequence[CheckOutcome]

    @property
    def is_whole(self) -> bool:
        """True if no check failed or was skipped; warnings do not count."""
        return all(
            outcome.skipped is None and outcome.level is not Level.FAILED
            for outcome in self.outcomes
        )

    def named(self) -> Mapping[CheckName, CheckOutcome]:
        """Return the outcomes by their checks."""
        return {outcome.check: outcome for outcome in self.outcomes}

    def lines(self) -> Iterator[str]:
        """Return the lines that show the report on a terminal; the last one has the result."""
        for outcome in self.outcomes:
            yield from outcome.lines()
        failed = [str(failure.check) for failure in self.outcomes if failure.level is Level.FAILED]
        if self.is_whole:
            yield f"The database is whole by {len(self.outcomes)} checks."
        else:
            yield f"The database is not whole: {', '.join(failed)} failed."

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "isWhole": self.is_whole,
            "checks": [outcome.to_json() for outcome in self.outcomes],
        }

"""Talks of the ledger's machine that come again: whole, as a window, or with a turn more."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from app.kernel.wire.scalars import format_timestamp
from tests.support.ledger_bench import Bench
from tests.support.telling import IDS, SESSION, TIMES

LEAST = 3
"""Lines of a talk: with fewer, lines without ids and times are only perhaps known."""
KNOWN = timedelta(days=89)
"""Time for which lines are surely known."""


@dataclass
class Talk:
    """A talk of one scope, sent in one way, and when it was read last."""

    name: str
    scope: str
    way: str
    lines: list[str] = field(default_factory=list)
    times: list[datetime] = field(default_factory=list)
    session: str = ""
    appended: int = 0
    read: datetime | None = None

    def is_known(self, now: datetime) -> bool:
        """Return True if its lines are surely known."""
        return self.read is not None and now - self.read < KNOWN

    def say(self, now: datetime, *lines: str) -> None:
        """Add lines."""
        self.lines += lines
        self.times += [now] * len(lines)

    def source(self, bench: Bench, engine: str, first: int) -> dict[str, Any]:
        """Return the source of the lines from one on; those of a session are appended."""
        if self.way != SESSION:
            events = [self._event(n) for n in range(first, len(self.lines))]
            return {"directContentsSource": {"events": events}}
        if not self.session:
            body = {"userId": self.scope}
            made = bench.ask("POST", f"{engine}/sessions", body).json()["response"]
            self.session = made["name"]
        for n in range(self.appended, len(self.lines)):
            event = {"author": "user", "invocationId": "i", "content": _content(self.lines[n])}
            event |= {"timestamp": format_timestamp(self.times[n])}
            answer = bench.ask("POST", f"{self.session}:appendEvent", event)
            assert answer.status_code == 200, answer.text
        self.appended = len(self.lines)
        start = {"startTime": format_timestamp(self.times[first])} if first else {}
        return {"vertexSessionSource": {"session": self.session, **start}}

    def sent(self, first: int) -> int:
        """Return the number of lines that a source from one on has."""
        if self.way != SESSION:
            return len(self.lines) - first
        return sum(time >= self.times[first] for time in self.times)

    def _event(self, number: int) -> dict[str, Any]:
        event: dict[str, Any] = {"content": _content(self.lines[number])}
        if self.way == IDS:
            event["eventId"] = f"{self.name}-{number}"
        if self.way == TIMES:
            event["eventTime"] = format_timestamp(self.times[number])
        return event


def _content(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


@dataclass
class Talks:
    """The talks of one run; each line is said in one of them alone."""

    bench: Bench
    engine: str
    talks: dict[tuple[str, str], Talk] = field(default_factory=dict)
    lines: int = 0

    def known(self, scope: str, way: str) -> Talk:
        """Return a talk whose lines are known, or a new one that has no lines yet."""
        talk = self.talks.get((scope, way))
        if talk is None or not talk.is_known(self.bench.clock.now()):
            talk = self.talks[scope, way] = Talk(f"t{self.lines}", scope, way)
        return talk

    def new_line(self, kind: str) -> str:
        """Return a line that was never said: a like, a home, or a request to forget a like."""
        self.lines += 1
        number = self.lines
        if kind == "forget":
            return f"Please forget that I like tea number {number - 1}."
        return f"I live in Town{number}." if kind == "home" else f"I like tea number {number}."

"""Sessions without a database: what strategies make of them, as the worker and contexts do."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from app.conversation.strategies.logic.policies import Rules, rules_of
from app.conversation.strategies.logic.rendering import compose, shares_of
from app.conversation.strategies.logic.schedule import next_due
from app.conversation.strategies.logic.turns import (
    Composition,
    ContextTurn,
    Due,
    Fixed,
    History,
    TurnSummary,
)
from app.kernel.wire.memory_policy import MemoryPolicy
from app.platform.sessions.logic.event_text import ExchangePlace, Step

Writer = Callable[[Due], int | None]
"""Says how many tokens a summary has; None: the summariser fails."""
NOTHING_FIXED = Fixed()


def rules(strategy: str, **settings: object) -> Rules:
    """Return the rules of a policy, its settings as they are on the wire or in Python."""
    return rules_of(MemoryPolicy.model_validate({"strategy": strategy, **settings}))


def longest(due: Due) -> int:
    """Write summaries that are as long as they may be."""
    return due.tokens


def stub(due: Due) -> int:
    """Write summaries of 1,000 characters, as the fixtures of the published figures do."""
    del due
    return 250


def failing(due: Due) -> None:
    """Fail."""
    del due


@dataclass
class Talk:
    """A session: its events that are not erased, and its active summaries by policy key."""

    turns: dict[int, ContextTurn] = field(default_factory=dict)
    last_seq: int = 0
    place: ExchangePlace = field(default_factory=ExchangePlace)
    cleared_seq: int = 0
    cleared_exchange: int = 0
    active: dict[str, list[TurnSummary]] = field(default_factory=dict)
    framing: int = 0
    """Tokens of the marks around the summaries."""
    made: list[Due] = field(default_factory=list)
    """Everything that a summariser was called for and did not fail."""

    def say(self, tokens: int, step: Step) -> int:
        """Append an event; return its seq."""
        self.place = self.place.after(step)
        self.last_seq += 1
        self.turns[self.last_seq] = ContextTurn(self.last_seq, self.place.exchange, tokens)
        return self.last_seq

    def exchange(self, *, count: int = 1, user: int = 50, agent: int = 50) -> None:
        """Append complete exchanges."""
        for _ in range(count):
            self.say(user, Step.ASKS)
            self.say(agent, Step.ANSWERS)

    def events(self, count: int, tokens: int = 100) -> None:
        """Append events of one length, by turns the user's and the agent's."""
        for _ in range(count):
            self.say(tokens, Step.ANSWERS if self.last_seq % 2 else Step.ASKS)

    def erase(self, seq: int) -> None:
        """Erase an event: it stays a seq, and no summary that covers it stays active."""
        self.turns.pop(seq, None)
        for key, found in self.active.items():
            self.active[key] = [one for one in found if not one.first_seq <= seq <= one.last_seq]

    def clear(self) -> None:
        """Show nothing of all so far, and count anew."""
        self.cleared_seq, self.cleared_exchange = self.last_seq, self.place.exchange
        self.active = {}

    def history(self, given: Rules, tail: int | None = None) -> History:
        """Return what is known of the session; `tail`: only so many of the newest events."""
        summaries: list[TurnSummary] = []
        reached, until = self.cleared_seq, None
        for one in self.active.get(given.key, ()) if given.summarising is not None else ():
            if one.first_seq != reached + 1:
                until = one.first_seq - 1
                break
            summaries.append(one)
            reached = one.last_seq
        turns = [turn for seq, turn in sorted(self.turns.items()) if seq > reached]
        start = 0 if tail is None else max(0, len(turns) - tail)
        covered = (turn for seq, turn in self.turns.items() if self.cleared_seq < seq <= reached)
        return History(
            turns=turns[start:],
            summaries=summaries,
            last_seq=self.last_seq,
            complete=self.place.complete,
            cleared_seq=self.cleared_seq,
            cleared_exchange=self.cleared_exchange,
            is_tail=start > 0,
            covered=sum(turn.tokens for turn in covered),
            until=until,
            frame=self.framing,
        )

    def due(self, given: Rules, fixed: Fixed = NOTHING_FIXED) -> Due | None:
        """Return the summary that is to be made next."""
        return next_due(given, self.history(given), shares_of(given, fixed))

    def work(
        self, given: Rules, fixed: Fixed = NOTHING_FIXED, writer: Writer = longest
    ) -> list[Due]:
        """Make what is due, as the worker does, until nothing is or the summariser fails."""
        done: list[Due] = []
        most = 2 * self.last_seq + len(self.active.get(given.key, ()))
        while (due := self.due(given, fixed)) is not None:
            assert len(done) < most, "there is no end of what is due"
            tokens = writer(due)
            if tokens is None:
                break
            self.make(given, due, tokens)
            done.append(due)
        return done

    def make(self, given: Rules, due: Due, tokens: int) -> None:
        """Write a summary; it supersedes those that it overlaps."""
        self.made.append(due)
        covered = (due.first_seq, due.last_seq, due.last_exchange)
        new = TurnSummary(f"s{len(self.made)}", *covered, tokens)
        found = self.active.get(given.key, [])
        kept = [
            one for one in found if one.last_seq < new.first_seq or one.first_seq > new.last_seq
        ]
        self.active[given.key] = sorted([*kept, new], key=lambda one: one.first_seq)

    def context(
        self, given: Rules, fixed: Fixed = NOTHING_FIXED, tail: int | None = None
    ) -> Composition:
        """Return what a prompt shows."""
        return compose(given, self.history(given, tail), shares_of(given, fixed))


def shown_seqs(composition: Composition) -> list[int]:
    """Return the events that are shown word for word, in order."""
    return [turn.seq for turn in composition.turns]


def covers(composition: Composition) -> list[tuple[int, int]]:
    """Return what the summaries that are shown cover, in order."""
    return [(one.first_seq, one.last_seq) for one in composition.summaries]


def tokens_of(composition: Composition, fixed: Fixed = NOTHING_FIXED) -> int:
    """Return the tokens of a whole prompt."""
    turns = (composition.cut.get(turn.seq, turn.tokens) for turn in composition.turns)
    summaries = (one.cost for one in composition.summaries)
    return fixed.system + fixed.pending + composition.frame + sum(summaries) + sum(turns)


def kinds(dues: Iterable[Due]) -> list[str]:
    """Return the kinds of summaries, in order."""
    return [due.kind.value for due in dues]

"""CPU time of a generation beyond its models: `python -m benchmarks.overhead`.

A bank with 1,000 memories in the scope hears six things in one conversation (of direct memories,
five at most): some new, some that change what is stored, one said before. From the request to the
end of its operation, this process's CPU time is measured, without that of Postgres, the embedder
and the text model. The floor is an operation that does nothing. Parsing HTTP from a socket is not
part of it.

What was worked out of a memory's text is kept for the next generation that meets it; one variant
does without, as the first generation over a scope does.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from app.language.relations import read
from app.memory.generation.schemas import MAX_DIRECT_MEMORIES
from app.process.serving import run
from benchmarks.overhead.bank import Bank, Json, open_bank
from benchmarks.overhead.talk import known, said
from benchmarks.overhead.timeline import Spent
from benchmarks.surroundings import data_folder, unread_logs

MEMORIES = 1_000
_WARM_UP = 10
_TURNS = 40
_MOST_TOKENS = 1.3
"""Times the tokens of sending each turn once that a talk sent whole after each turn may cost."""


def _conversation(scope: dict[str, str], texts: list[str]) -> Json:
    events = [
        {"content": {"role": role, "parts": [{"text": text}]}}
        for user in texts
        for role, text in (("user", user), ("model", "Thank you, I will keep that in mind."))
    ]
    return {"scope": scope, "directContentsSource": {"events": events}}


def _direct(scope: dict[str, str], texts: list[str]) -> Json:
    facts = [{"fact": text} for text in texts[:MAX_DIRECT_MEMORIES]]
    return {"scope": scope, "directMemoriesSource": {"directMemories": facts}}


@dataclass(frozen=True)
class _Variant:
    """One kind of generation."""

    title: str
    body: Callable[[dict[str, str], list[str]], Json] = _conversation
    by_model: bool = False
    met_anew: bool = False
    """Whether nothing is kept of the memories that the generation before compared with."""

    async def measure(self, bank: Bank, rounds: int) -> float:
        """Measure it in a scope of its own; print its table; return its median."""
        scope, stored = {"user_id": self.title}, known(MEMORIES)
        await bank.fill(scope, stored)
        writer = bank.written_by_model() if self.by_model else bank
        found: list[Spent] = []
        changed: list[int] = []
        for turn in range(_WARM_UP + rounds):
            if self.met_anew:
                read.cache_clear()
            spent, operation = await writer.generate(self.body(scope, said(turn, stored)))
            found.append(spent)
            changed.append(len(operation["response"].get("generatedMemories", [])))
        print(f"\n{self.title}: {median(changed[_WARM_UP:]):g} memories changed per generation")
        return _report(found[_WARM_UP:])


_VARIANTS = (
    _Variant("built-in rules"),
    _Variant("built-in rules, memories met anew", met_anew=True),
    _Variant("direct memories", _direct),
    _Variant("a text model", by_model=True),
)


async def _floor(bank: Bank, rounds: int) -> float:
    body = _conversation({"user_id": "floor"}, said(0, known(MEMORIES)))
    totals = [(await bank.idle(body)).total for _ in range(_WARM_UP + rounds)]
    return median(totals[_WARM_UP:])


def _report(rounds: list[Spent]) -> float:
    """Print the medians of each phase; return that of the whole."""
    totals = [spent.total for spent in rounds]
    print(f"  {'milliseconds of CPU, by transaction':<44}{'in it':>8}{'after it':>10}")
    for name in rounds[-1].phases:
        found = [spent.phases.get(name, (0.0, 0.0)) for spent in rounds]
        inside, after = (median(column) for column in zip(*found, strict=True))
        print(f"  {name:<44}{inside:>8.2f}{after:>10.2f}")
    print(
        f"  median in all {median(totals):.1f}, 90th percentile {quantiles(totals, n=10)[-1]:.1f}"
    )
    return median(totals)


async def _tokens_of_a_talk(bank: Bank, user: str, *, whole: bool) -> int:
    """Return the tokens of a talk that is generated from after each turn, or from all so far."""
    writer, scope, tokens = bank.written_by_model(), {"user_id": user}, 0
    events: list[Json] = []
    for turn in range(_TURNS):
        told = f"The {turn}. shelf of my workshop holds {turn + 3} boxes of screws and a lamp."
        answer = "Thank you, I have noted which shelf that is and what it holds."
        sent = [
            {"content": {"role": role, "parts": [{"text": text}]}, "eventId": f"{turn}{role}"}
            for role, text in (("user", told), ("model", answer))
        ]
        events = [*events, *sent] if whole else sent
        _, operation = await writer.generate(
            {"scope": scope, "directContentsSource": {"events": events}}
        )
        tokens += int(operation["metadata"]["inputTokenCount"])
    return tokens


async def _compare_talks(bank: Bank) -> bool:
    """Print what a talk costs that is sent whole after each turn; return True within the bar."""
    once = await _tokens_of_a_talk(bank, "once", whole=False)
    whole = await _tokens_of_a_talk(bank, "whole", whole=True)
    print(
        f"\na talk of {_TURNS} turns, input tokens: each turn sent once {once},"
        f" the whole talk after each turn {whole}: {whole / once:.2f} times (bar {_MOST_TOKENS})"
    )
    return whole <= _MOST_TOKENS * once


async def _measure(folder: Path, rounds: int) -> None:
    async with open_bank(folder) as bank:
        is_cheap = await _compare_talks(bank)
        floor = await _floor(bank, rounds)
        found = {one.title: await one.measure(bank, rounds) for one in _VARIANTS}
    print(f"\nfloor, an operation that does nothing: {floor:.1f} ms CPU")
    for title, milliseconds in found.items():
        print(f"{title}: {milliseconds:.1f} ms, {milliseconds / floor:.1f} times the floor")
    if not is_cheap:
        raise SystemExit(1)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="CPU time of a generation beyond its models.")
    parser.add_argument("--rounds", type=int, default=40, help="generations measured per variant")
    rounds = parser.parse_args().rounds
    with unread_logs(), data_folder() as folder:
        run(lambda: _measure(folder, rounds))


if __name__ == "__main__":
    main()

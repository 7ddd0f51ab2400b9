"""How clean memories stay: `python -m benchmarks.hygiene [--show]`.

Scripted conversations with repeats, contradictions, requests to forget and junk go through the
whole service, once with the built-in rules and once with a scripted model on the loopback address;
then all of them again. The table counts what is wrong with the memories afterwards. What the
prompts of one generation take is counted with a WordPiece vocabulary, schemas included.
"""

import argparse
import asyncio
from dataclasses import dataclass, field, fields
from pathlib import Path

from benchmarks.hygiene.bank import Bank, open_bank
from benchmarks.hygiene.cases import Case, load
from benchmarks.hygiene.prompts import measure_prompts
from benchmarks.hygiene.score import Wrongs, changed, judged
from benchmarks.hygiene.scripted import Script
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.model_server import model_server

_SHOWN_CASES = 8


@dataclass
class Outcome:
    """What is wrong after all cases, of how many memories, and what it took."""

    wrongs: Wrongs = field(default_factory=Wrongs)
    memories: int = 0
    generations: int = 0
    model_calls: int = 0


async def _run(bank: Bank, case: Case, outcome: Outcome) -> None:
    for turns in case.conversations:
        await _generate(bank, case, turns, outcome)
    live = await bank.live(case)
    outcome.wrongs.add(judged(case, list(live.values())))
    outcome.memories += len(live)
    # What was said last is said again: then nothing is new.
    await _generate(bank, case, case.conversations[-1], outcome)
    again = await bank.live(case)
    outcome.wrongs.added_by_repeating += [
        f"{case.name}: {fact}" for name, fact in again.items() if name not in live
    ]


async def _generate(bank: Bank, case: Case, turns: list[tuple[str, str]], outcome: Outcome) -> None:
    before = await bank.live(case)
    operation = await bank.generate(case, turns)
    generated = operation["response"].get("generatedMemories", [])
    actions = {one["memory"]["name"]: one["action"] for one in generated}
    outcome.wrongs.add(changed(case, before, await bank.live(case), actions))
    outcome.generations += 1
    outcome.model_calls += operation["metadata"]["modelCallCount"]


async def _outcome(folder: Path, cases: list[Case], model_url: str | None = None) -> Outcome:
    outcome = Outcome()
    async with open_bank(folder, model_url) as bank:
        for case in cases:
            await _run(bank, case, outcome)
    return outcome


async def _measure() -> dict[str, Outcome]:
    cases = list(load())
    with data_folder() as folder:
        rules = await _outcome(folder, cases)
    with data_folder() as folder, model_server() as server:
        server.always(Script(cases).answer)
        scripted = await _outcome(folder, cases, server.url)
    return {"built-in rules": rules, "scripted model": scripted}


def _report(outcomes: dict[str, Outcome], *, show: bool) -> None:
    print(f"{'':<22}" + "".join(f"{name:>18}" for name in outcomes))
    for name in ("generations", "model_calls", "memories"):
        row = "".join(f"{getattr(one, name):>18}" for one in outcomes.values())
        print(f"{name.replace('_', ' '):<22}{row}")
    for one in fields(Wrongs):
        row = "".join(f"{len(getattr(o.wrongs, one.name)):>18}" for o in outcomes.values())
        print(f"{one.name.replace('_', ' '):<22}{row}")
    if show:
        for name, outcome in outcomes.items():
            for one in fields(Wrongs):
                for text in getattr(outcome.wrongs, one.name):
                    print(f"{name}, {one.name}: {text}")


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="How clean memories stay.")
    parser.add_argument("--show", action="store_true", help="print the texts, too")
    show = parser.parse_args().show
    with unread_logs():
        outcomes = asyncio.run(_measure())
        with data_folder() as folder:
            prompts = asyncio.run(measure_prompts(folder))
    _report(outcomes, show=show)
    print(f"prompt tokens of a generation of six messages, five memories near: {prompts}")


if __name__ == "__main__":
    main()

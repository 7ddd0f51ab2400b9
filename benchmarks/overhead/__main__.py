"""CPU time of a generation beyond its models: `python -m benchmarks.overhead`.

A bank with 1,000 memories in the scope hears six things in one conversation (of direct memories,
five at most): some new, some that change what is stored, one said before. From the request to the
end of its operation, this process's CPU time is measured, without that of Postgres, the embedder
and the text model. The floor is an operation that does nothing. Parsing HTTP from a socket is not
part of it.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from statistics import median, quantiles

from app.generation.schemas import MAX_DIRECT_MEMORIES
from app.logs import configure_logs
from app.serving import run
from app.settings import Settings
from benchmarks.overhead.bank import Bank, Json, open_bank
from benchmarks.overhead.talk import known, said
from benchmarks.overhead.timeline import Spent

MEMORIES = 1_000
_WARM_UP = 5


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


async def _variant(
    bank: Bank, title: str, body: Callable[[dict[str, str], list[str]], Json], rounds: int
) -> float:
    """Measure one kind of request; print its table; return its median."""
    scope, stored = {"user_id": title}, known(MEMORIES)
    await bank.fill(scope, stored)
    rounds_spent: list[Spent] = []
    actions: list[int] = []
    for turn in range(_WARM_UP + rounds):
        spent, operation = await bank.generate(body(scope, said(turn, stored)))
        rounds_spent.append(spent)
        actions.append(len(operation["response"].get("generatedMemories", [])))
    print(f"\n{title}: {median(actions[_WARM_UP:]):g} memories changed per generation")
    return _report(rounds_spent[_WARM_UP:])


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


async def _measure(folder: Path, rounds: int) -> None:
    async with open_bank(folder) as bank:
        floor = await _floor(bank, rounds)
        found = {
            "built-in rules": await _variant(bank, "built-in rules", _conversation, rounds),
            "direct memories": await _variant(bank, "direct memories", _direct, rounds),
        }
    print(f"\nfloor, an operation that does nothing: {floor:.1f} ms CPU")
    for title, milliseconds in found.items():
        print(f"{title}: {milliseconds:.1f} ms, {milliseconds / floor:.1f} times the floor")


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="CPU time of a generation beyond its models.")
    parser.add_argument("--rounds", type=int, default=40, help="generations measured per variant")
    rounds = parser.parse_args().rounds
    # Lines are made as a server makes them, and read by nobody.
    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        configure_logs(Settings())
        # Short, since a Unix socket's path may have about 100 characters.
        folder = Path(tempfile.mkdtemp(prefix="omb-"))
        folder.chmod(0o755)
        try:
            run(lambda: _measure(folder, rounds))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

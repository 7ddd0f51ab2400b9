"""This service beside what users would pick instead: `make bench-peers`.

One Postgres, the embedded one, has a database for each system. Each system runs in a process of
its own, and does the same work: a search for the 10 memories of a user nearest to a text, where the
user has 100, and the write of one memory, of users who are not searched for. All use the same
vectors, in two ways. From a table: a function makes them in hundredths of a millisecond
(`texts.py`); the line of the loop alone has that, and the callers' own loop, and nothing else. By
HTTP: a server with OpenAI's protocol has them (`embeddings.py`), and each system asks it as its
users' programs do.

- The floor: one statement for each operation, on one table, by psycopg; by HTTP also one request.
- LangGraph's AsyncPostgresStore, a library: its callers are coroutines in its process.
- mem0, a library (`Memory`, with `infer=False` and pgvector): its callers are threads in its
  process. Only its own package is installed: with spaCy, which is an extra, it would lemmatise and
  look for entities, too.
- Ours over HTTP: the server with its worker, one process; the callers are another. Each user has a
  key that is bound to that user, and each write an `Idempotency-Key`. `by vector` is with
  `MEMORY_BANK_RANKING=vector`, which is what the peers do; else the ranking is hybrid.

CPU time is that of the server, or of the program with the library and the callers in it, and that
of Postgres: the connections of that database, and whatever serves all of them. Nothing is
subtracted. What the callers of a server take is told beside it; the server of embeddings is charged
to none. Systems take turns in every round, one right after another, and the table has the medians
of the rounds. A ratio is the median of the ratios of the rounds: a machine that others use may
change its speed by half within seconds, for both systems of a short round alike. Autovacuum is off;
after the load, which is not measured, each database is vacuumed and analysed.

It exits with 1 if a bar is missed. Bars are for the larger bank.

Services are not here: mem0's server and Honcho are run from images or from their repositories, and
Hindsight needs a text model for what it stores, so that none could be given this work.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median

from benchmarks.peers.contender import (
    CALLERS,
    PEERS,
    Cell,
    Contender,
    Entry,
    contending,
    embedding_server,
    quiet_postgres,
    settle,
)
from benchmarks.peers.texts import PER_USER
from benchmarks.surroundings import data_folder

FLOOR = "raw SQL"
LANGGRAPH = "LangGraph, in process"
MEM0 = "mem0, in process"
HYBRID = "ours, over HTTP"
BY_VECTOR = "ours, by vector"
ENTRIES = (
    Entry("the loop alone", "nothing", "floor"),
    Entry(FLOOR, "floor", "floor"),
    Entry(LANGGRAPH, "langgraph", "langgraph", python=PEERS),
    Entry(MEM0, "mem0", "mem0", python=PEERS),
    Entry(HYBRID, "ours", "ours", setting={}),
    Entry(BY_VECTOR, "ours", "ours", ("search",), {"MEMORY_BANK_RANKING": "vector"}),
)
KINDS = ("search", "write")
TABLE, HTTP = "from a table", "by HTTP"
_JUDGED = 10_000
"""Memories of the bank for which the bars are."""
_BARS = {
    (TABLE, HYBRID, "search"): (1.2, 1.2),
    (TABLE, BY_VECTOR, "search"): (0.7, 0.7),
    (TABLE, HYBRID, "write"): (1.1, 1.1),
    (HTTP, HYBRID, "search"): (1.0, 1.1),
    (HTTP, BY_VECTOR, "search"): (0.8, 0.8),
    (HTTP, HYBRID, "write"): (0.9, 1.2),
}
"""The most of LangGraph's CPU time that ours may take, for 1 and for 16 callers.

Hybrid searches do more than LangGraph's, and its writes of several callers are one transaction.
"""


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    banks: Sequence[int]
    """Memories of each."""
    rounds: int
    operations: int
    """Of one kind and system in a round, for each number of callers."""


FULL = Plan((1_000, 10_000), 15, 80)
QUICK = Plan((1_000,), 3, 80)

Key = tuple[str, int, str]
"""Kind, callers, title."""
Rounds = Mapping[Key, Sequence[Cell]]
"""The measurements of each round."""


def measure(contenders: Sequence[Contender], plan: Plan) -> Rounds:
    """Run the rounds; first all searches, so that their bank is as large as it is said to be."""
    found: dict[Key, list[Cell]] = defaultdict(list)
    for kind in KINDS:
        able = [one for one in contenders if kind in one.entry.kinds]
        for one in able:
            one.measure(kind, max(CALLERS), plan.operations // 2)
        for turn in range(plan.rounds):
            # Each comes at each place.
            at = turn % len(able)
            for callers in CALLERS:
                for one in able[at:] + able[:at]:
                    cell = one.measure(kind, callers, plan.operations)
                    found[kind, callers, one.entry.title].append(cell)
    return found


def _middle(cells: Sequence[Cell]) -> Cell:
    names = [one.name for one in fields(Cell)]
    return Cell(**{name: median(getattr(cell, name) for cell in cells) for name in names})


def run_bank(memories: int, plan: Plan, vectors: str, entries: Sequence[Entry] = ENTRIES) -> Rounds:
    """Load and measure banks of so many memories, one for each system."""
    serving = embedding_server() if vectors == HTTP else nullcontext()
    with (
        data_folder() as folder,
        quiet_postgres(folder) as postgres,
        serving as embedding,
        ExitStack() as stack,
    ):
        users = memories // PER_USER
        contenders = [
            stack.enter_context(contending(entry, postgres, folder, users, embedding=embedding))
            for entry in entries
        ]
        for one in contenders:
            if "write" in one.entry.kinds:
                one.load()
        settle(postgres, {entry.database for entry in entries})
        return measure(contenders, plan)


def report(memories: int, vectors: str, found: Rounds) -> None:
    """Print the table of one size."""
    cells = {key: _middle(rounds) for key, rounds in found.items()}
    for kind in KINDS:
        for callers in CALLERS:
            print(f"\n{kind}, bank of {memories:,}, vectors {vectors}, {callers} at once")
            print(
                f"  {'':<24}{'p50 ms':>8}{'p99 ms':>8}{'a second':>10}"
                f"{'CPU ms':>9}{'process':>9}{'Postgres':>9}{'x raw SQL':>11}"
            )
            floor = cells[kind, callers, FLOOR]
            for (its_kind, its_callers, title), cell in cells.items():
                if (its_kind, its_callers) == (kind, callers):
                    print(_line(title, cell, floor))


def _line(title: str, cell: Cell, floor: Cell) -> str:
    line = (
        f"  {title:<24}{cell.p50:>8.2f}{cell.p99:>8.2f}{cell.per_second:>10.0f}"
        f"{cell.cpu:>9.2f}{cell.process:>9.2f}{cell.postgres:>9.2f}{cell.cpu / floor.cpu:>11.1f}"
    )
    if cell.callers:
        line += f"   (its callers {cell.callers:.2f})"
    if cell.short:
        line += f"   ({cell.short:.0%} of the searches found too few)"
    return line


def judge(memories: int, vectors: str, found: Rounds) -> bool:
    """Print how ours stands to LangGraph in CPU time; return True if no bar is missed."""
    are_met = True
    for (of, title, kind), bars in _BARS.items():
        for callers, bar in zip(CALLERS, bars, strict=True):
            own = found.get((kind, callers, title))
            if of != vectors or own is None:
                continue
            peer = found[kind, callers, LANGGRAPH]
            ratio = median(one.cpu / other.cpu for one, other in zip(own, peer, strict=True))
            line = f"{title}, {kind}, bank of {memories:,}, vectors {vectors}, {callers} at once"
            line += f": {ratio:.2f} of LangGraph's CPU time"
            if memories == _JUDGED:
                is_met = round(ratio, 2) <= bar
                are_met &= is_met
                line += f" (bar: {bar}{'' if is_met else ', missed'})"
            print(line)
    return are_met


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="This service and its peers.")
    parser.add_argument("--quick", action="store_true", help="a small bank and few operations")
    parser.add_argument(
        "--vectors", choices=["table", "http"], help="where they come from; else both ways"
    )
    given = parser.parse_args()
    plan = QUICK if given.quick else FULL
    if not Path(PEERS).exists():
        parser.error("The peers are not installed; run: make bench-peers")
    ways = {"table": [TABLE], "http": [HTTP]}.get(given.vectors, [TABLE, HTTP])
    found = {
        (memories, way): run_bank(memories, plan, way) for memories in plan.banks for way in ways
    }
    for (memories, way), rounds in found.items():
        report(memories, way, rounds)
    print()
    are_met = [judge(memories, way, rounds) for (memories, way), rounds in found.items()]
    sys.exit(0 if all(are_met) else 1)


if __name__ == "__main__":
    main()

"""What is left of a model's output: `python -m benchmarks.model_output [FILE]`.

A scripted, truthful model on the loopback address extracts and decides as the cases say; the
service checks, plans and writes as it would for any model. Every case that misses is one line; the
last line has the figures, as JSON. Without a file, the cases are sessions of `benchmarks.talks`.

`right_doubtful` counts the right facts of sessions that the model was asked about again, and
`second_call_left_out` the sessions in which it was not asked at all.

`--weak SEED` makes the model a weak one (`weakness.py`). The last line then also has the number of
generations that `failed`, of `entries` that the service mended or lost, and of what was `broken`.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.model_output.bank import Bank, open_bank
from benchmarks.model_output.cases import Case, UnreadableCasesError, first_sessions, load
from benchmarks.model_output.scripted import Script
from benchmarks.model_output.weakness import Weakness
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.model_server import model_server

_FIGURES = (
    "right_kept",
    "wrong_kept",
    "decisions_done",
    "forgotten",
    "right_doubtful",
    "second_call_left_out",
)


@dataclass
class Figures:
    """Counts of one run: of each kind, how many there are and how many came out so."""

    hits: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    prompt_tokens: list[int] = field(default_factory=list)
    weakness: Weakness | None = None
    entries: Counter[str] = field(default_factory=Counter)
    failed: int = 0

    def count(self, name: str, *, hit: bool) -> None:
        """Count one case."""
        self.of[name] += 1
        self.hits[name] += hit

    def told(self) -> dict[str, Any]:
        """Return the last line of the report."""
        counts = {name: [self.hits[name], self.of[name]] for name in _FIGURES}
        tokens = median(self.prompt_tokens) if self.prompt_tokens else 0
        told = {**counts, "calls": self.calls, "prompt_tokens_p50": round(tokens)}
        if self.weakness is None:
            return told
        broken = dict(sorted(self.weakness.broken.items()))
        return told | {"failed": self.failed, "entries": dict(self.entries), "broken": broken}


def operation_entries(metadata: dict[str, Any]) -> Counter[str]:
    """Return the entries that were mended and lost, as an operation tells them."""
    names = {"mended": "mendedEntryCounts", "unreadable": "unreadableEntryCounts"}
    return Counter({told: sum(metadata.get(name, {}).values()) for told, name in names.items()})


async def _run(bank: Bank, script: Script, case: Case, figures: Figures) -> None:
    await bank.store(case)
    metadata = []
    for step in case.steps:
        script.step = step
        operation = await bank.generate(case, step)
        if script.error is not None:
            raise UnreadableCasesError(f"case {case.name}: {script.error}")
        figures.entries += operation_entries(operation["metadata"])
        if "error" in operation and figures.weakness is not None:
            figures.failed += 1
            print(f"{case.name}: {operation['error']}")
            return
        if "error" in operation:
            raise UnreadableCasesError(f"case {case.name}: {operation['error']}")
        metadata.append(operation["metadata"])
    figures.calls = max([figures.calls, *(one.get("modelCallCount", 0) for one in metadata)])
    figures.prompt_tokens += [
        one["inputTokenCount"] for one in metadata if one.get("modelCallCount")
    ]
    _judge(case, await bank.live(case), metadata, figures)


def _judge(case: Case, live: list[str], metadata: list[dict[str, Any]], figures: Figures) -> None:
    name, hit, is_good = "", False, True
    match case.kind:
        case "fact":
            is_right = "keep" in case.expects
            name, hit = ("right_kept" if is_right else "wrong_kept"), bool(live)
            is_good = hit == is_right
        case "decision" | "forget":
            name = "decisions_done" if case.kind == "decision" else "forgotten"
            hit = is_good = case.holds(live)
        case "session":
            figures.hits["right_doubtful"] += sum(
                one.get("verifiedFactCount", 0) for one in metadata
            )
            figures.of["right_doubtful"] += sum(
                fact.supported for step in case.steps for fact in step.facts
            )
            is_left_out = all(one["modelCallCount"] < 2 for one in metadata)
            figures.count("second_call_left_out", hit=is_left_out)
            return
    figures.count(name, hit=hit)
    if not is_good:
        print(_missed(case, live, metadata))


def _missed(case: Case, live: list[str], metadata: list[dict[str, Any]]) -> str:
    told = ("droppedFactCounts", "refusedDecisionCounts", "unmetForgetRequests")
    reasons = [{name: one[name] for name in told if name in one} for one in metadata]
    sent = [
        *(fact.fact for step in case.steps for fact in step.facts),
        *(fact for step in case.steps for fact in step.direct_memories),
        *(f"FORGET {one.thing}" for step in case.steps for one in step.forgets),
        *(f"{d.action} {d.text}".strip() for step in case.steps for d in step.decisions),
    ]
    return f"{case.name}: sent {sent}; live {live}; {json.dumps(reasons, ensure_ascii=False)}"


async def _measure(cases: list[Case], *, blind: bool, seed: int | None) -> Figures:
    weakness = None if seed is None else Weakness(seed)
    script, figures = Script(blind=blind, weakness=weakness), Figures(weakness=weakness)
    with data_folder() as folder, model_server() as server:
        server.always(script.answer)
        async with open_bank(folder, server.url) as bank:
            for case in cases:
                await _run(bank, script, case, figures)
    return figures


def main() -> int:
    """Measure as the command line says; return the exit status."""
    parser = argparse.ArgumentParser(description="What is left of a model's output.")
    parser.add_argument("file", nargs="?", type=Path, help="the cases")
    parser.add_argument("--verifier", choices=("truthful", "blind"), default="truthful")
    parser.add_argument(
        "--weak", type=int, metavar="SEED", help="break one entry in five, and one reply in five"
    )
    given = parser.parse_args()
    try:
        cases = first_sessions() if given.file is None else load(given.file)
        with unread_logs():
            blind = given.verifier == "blind"
            figures = asyncio.run(_measure(cases, blind=blind, seed=given.weak))
    except UnreadableCasesError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(figures.told()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

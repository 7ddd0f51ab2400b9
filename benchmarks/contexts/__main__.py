"""Contexts of sessions: `python -m benchmarks.contexts [--rounds N] [--recall]`.

First, the latency and the pages read of `:context` for sessions of 100, 1,000 and 10,000 events,
asked in turn by one caller in this process. Then the longest time for which a context of 20,000
short events holds the event loop: by the clock, and in CPU time of this process, which leaves out
what others take. Then the calls and tokens of the summariser over 100 exchanges of 100 tokens,
for every strategy, by a model that counts a quarter of the characters and answers with as many as
it may; beside them what was once published. Last, the latency of `sessions/-:recall` over 100
sessions of 50 events, for a sentence of the first and for a word that every event has.
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from app.adapters.allocator import keep_what_is_there
from app.adapters.llm.models import TextModels
from app.process.serving import run
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.contexts.bank import KEY, Bank
from benchmarks.contexts.holds import report_holds
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.scripted_models import ScriptedEmbedder, ScriptedQuery, ScriptedTextModel

_SIZES = (100, 1_000, 10_000)
_FOR_BUFFERS = 50
_EXCHANGES, _EXCHANGE_TOKENS = 100, 100
_SYSTEM = "s" * 1_600
_RECALLED_SESSIONS, _RECALLED_EVENTS = 100, 50
_RECALLER = "of-many"
_TOLD = "The door code of the flat in Lisbon is 4711."
_RECALLS = {"a sentence of the first": "door code Lisbon", "a word of all": "parcel"}
_WINDOWS: Mapping[str, Mapping[str, Any]] = {
    "none": {"strategy": "none"},
    "inclusive, limit 4,000, omitting": {
        "strategy": "inclusive",
        "tokenLimit": 4_000,
        "onOverflow": "omit",
    },
    "window of 10": {"strategy": "window", "window": 10},
    "every_n, 10, 4 summaries": {"strategy": "every_n", "every": 10, "maxAbstractions": 4},
    "abstraction_inclusive, 10, 4 summaries": {
        "strategy": "abstraction_inclusive",
        "cap": 10,
        "maxAbstractions": 4,
    },
    "fully_abstracted, 10": {"strategy": "fully_abstracted", "cap": 10},
    "agent_summary, limit 4,032": {"strategy": "agent_summary", "tokenLimit": 4_032},
}
_STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "none": {"strategy": "none"},
    "inclusive": {"strategy": "inclusive"},
    "window of 10": {"strategy": "window", "window": 10},
    "every_n, 3": {"strategy": "every_n"},
    "every_n, 3, whole": {"strategy": "every_n", "refresh": "whole"},
    "abstraction_inclusive, 11": {"strategy": "abstraction_inclusive", "cap": 11},
    "abstraction_inclusive, 21": {"strategy": "abstraction_inclusive", "cap": 21},
    "abstraction_inclusive, 51": {"strategy": "abstraction_inclusive", "cap": 51},
    "fully_abstracted, 11": {"strategy": "fully_abstracted", "cap": 11},
    "agent_summary, limit 4,032": {"strategy": "agent_summary", "tokenLimit": 4_032},
    "agent_summary, low water 0.8": {
        "strategy": "agent_summary",
        "tokenLimit": 4_032,
        "lowWater": 0.8,
    },
}
_PUBLISHED = {
    "inclusive": 545_000,
    "abstraction_inclusive, 11": 35_400,
    "abstraction_inclusive, 21": 34_400,
    "abstraction_inclusive, 51": 149_450,
    "fully_abstracted, 11": 14_400,
}
"""The "final tokens" of 100 messages in the published tables, which are sums of running totals."""


def _longest(asked: ScriptedQuery) -> dict[str, str]:
    """Answer with a summary of 1,000 characters: 250 tokens."""
    del asked
    return {"summary": ("The parcels have arrived. " * 50)[:999] + "."}


async def _grown(bank: Bank, rounds: int) -> None:
    print(f"{'strategy':<40}{'events':>8}{'p50 ms':>9}{'p95 ms':>9}{'buffers':>9}")
    for size in _SIZES:
        await bank.new_session(f"of-{size}")
        await bank.fill(f"of-{size}", size)
    for name, policy in _WINDOWS.items():
        body = {"policy": policy, "systemPrompt": _SYSTEM, "pendingMessage": "And then?"}
        took: dict[int, list[float]] = {size: [] for size in _SIZES}
        for size in _SIZES:
            await _caught_up(bank, f"of-{size}", body)
        for turn in range(rounds):
            for size in _SIZES[turn % 3 :] + _SIZES[: turn % 3]:
                took[size].append((await bank.context(f"of-{size}", body))[1])
        _report(name, took, {s: await bank.buffers(f"of-{s}", body, _FOR_BUFFERS) for s in _SIZES})


async def _caught_up(bank: Bank, session: str, body: Mapping[str, Any]) -> None:
    """Have all summaries made, and the caches filled."""
    while (await bank.context(session, body))[0]["summaryState"] != "current":
        assert await bank.runner.run_pending()


def _report(name: str, took: Mapping[int, list[float]], buffers: Mapping[int, float]) -> None:
    told = {}
    for size in _SIZES:
        told[size] = tuple(map(float, np.percentile(took[size], [50, 95])))
        p50, p95 = told[size]
        print(f"{name:<40}{size:>8,}{p50:>9.2f}{p95:>9.2f}{buffers[size]:>9.1f}", flush=True)
    first, last = _SIZES[0], _SIZES[-1]
    ratios = [a / b for a, b in zip(told[last], told[first], strict=True)]
    ratios.append(buffers[last] / buffers[first])
    print(f"{'  last to first':<48}" + "".join(f"{ratio:>9.2f}" for ratio in ratios))


async def _summarised(bank: Bank) -> None:
    heads = ("calls", "tokens in", "tokens out", "last prompt", "all tokens", "published")
    print(f"\n{'strategy, 100 exchanges':<32}" + "".join(f"{head:>16}" for head in heads))
    for number, (name, policy) in enumerate(_STRATEGIES.items()):
        session = f"told-{number}"
        await bank.new_session(session, policy)
        prompts = []
        for exchange in range(_EXCHANGES):
            asked = {"systemPrompt": _SYSTEM, "framing": False}
            found, _ = await bank.context(session, asked)
            prompts.append(found["tokens"]["total"] + _EXCHANGE_TOKENS)
            await bank.exchange(session, exchange)
            await bank.runner.run_pending()
        spent = (await bank.send("GET", f"/{session}/usage"))["total"]
        read, written = spent["inputTokenCount"], spent["outputTokenCount"]
        told = [spent["callCount"], read, written, prompts[-1], sum(prompts) + read + written]
        published = f"{_PUBLISHED[name]:,}" if name in _PUBLISHED else "-"
        print(f"{name:<32}" + "".join(f"{figure:>16,}" for figure in told) + f"{published:>16}")


async def _recalled(bank: Bank, rounds: int) -> None:
    for number in range(_RECALLED_SESSIONS):
        session = f"recalled-{number}"
        await bank.new_session(session, user=_RECALLER)
        events = _RECALLED_EVENTS
        if number == 0:
            await bank.say(session, _TOLD)
            events -= 1
        await bank.fill(session, events)
    print(f"\n{'recall, 100 sessions of 50 events':<40}{'events':>8}{'p50 ms':>9}{'p95 ms':>9}")
    for name, query in _RECALLS.items():
        recalled = [await bank.recall({"userId": _RECALLER, "query": query}) for _ in range(rounds)]
        answer, _ = recalled[-1]
        assert answer["searched"]["isComplete"], answer["searched"]
        assert query == "parcel" or answer["spans"][0]["text"] == _TOLD
        p50, p95 = map(float, np.percentile([took for _, took in recalled], [50, 95]))
        print(f"{name:<40}{answer['searched']['events']:>8,}{p50:>9.2f}{p95:>9.2f}", flush=True)


async def _measure(folder: Path, rounds: int, *, is_recall_alone: bool) -> None:
    settings = Settings(data_dir=folder, admin_key=KEY, embedder=EmbedderChoice.HASH)
    async with open_process(settings) as found:
        # As a server does once it has started.
        keep_what_is_there()
        resources = replace(found.resources, embedder=ScriptedEmbedder())
        model = ScriptedTextModel(_longest, model_id="scripted:quarter", max_input_tokens=10**6)
        if not is_recall_alone:
            await _grown(Bank.over(resources), rounds)
            await report_holds(Bank.over(resources))
            await _summarised(Bank.over(replace(resources, models=TextModels(model))))
        await _recalled(Bank.over(resources), rounds)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="Contexts of sessions.")
    parser.add_argument("--rounds", type=int, default=200, help="contexts of each kind and size")
    parser.add_argument("--recall", action="store_true", help="measure recall alone")
    asked = parser.parse_args()
    with unread_logs(), data_folder() as folder:
        run(lambda: _measure(folder, asked.rounds, is_recall_alone=asked.recall))


if __name__ == "__main__":
    main()

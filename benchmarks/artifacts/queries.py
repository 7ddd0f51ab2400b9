"""Questions over namespaces by their size, and a summary, without a model and with one."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from app.kernel.wire.memory_policy import BUILTIN
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from app.settings.surface_settings import ReaderModel
from benchmarks.artifacts.bank import FACT, KEY, RARE, Bank, Json, Texts
from benchmarks.artifacts.reader import ANSWER

_SIZES = (10, 100, 1_000)
_MODEL = "at-once"
_ANSWERS = {BUILTIN: FACT, _MODEL: ANSWER}
_FOR_BUFFERS = 10
_TICK_SECONDS = 0.001


@dataclass(frozen=True)
class _Kind:
    """What is asked, of which reader."""

    words: str
    question: str
    reader: str

    @property
    def body(self) -> Json:
        return {"query": self.question, "model": self.reader}


@dataclass
class _Round:
    """Milliseconds of the questions of one kind and size, and of the requests between them."""

    asked: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)

    @property
    def told(self) -> tuple[float, float, float]:
        """The median, the 95th percentile, and how many times the floor the median is."""
        p50, p95 = map(float, np.percentile(self.asked, [50, 95]))
        return p50, p95, p50 / median(self.floor)


async def _ask(bank: Bank, kind: _Kind, size: int, questions: int) -> _Round:
    found = _Round()
    for _ in range(questions):
        answer, took = await bank.send("POST", f"of-{size}:query", kind.body)
        assert _ANSWERS[kind.reader] in answer["answer"], answer
        found.asked.append(took)
        found.floor.append((await bank.send("GET", f"of-{size}"))[1])
    return found


async def _asked(bank: Bank, kinds: list[_Kind], rounds: int, questions: int) -> None:
    took: dict[tuple[_Kind, int], list[_Round]] = {}
    pairs = [(kind, size) for kind in kinds for size in _SIZES]
    for kind, size in pairs:
        # What is made once for all is no part of what a question takes.
        await _ask(bank, kind, size, 3)
    for turn in range(rounds):
        for kind, size in pairs[turn:] + pairs[:turn]:
            took.setdefault((kind, size), []).append(await _ask(bank, kind, size, questions))
    heads = ("artifacts", "p50 ms", "p95 ms", "times GET", "buffers")
    print(f"\n{'words':<10}{'reader':<10}" + "".join(f"{head:>11}" for head in heads))
    for kind, size in pairs:
        buffers = await bank.buffers(f"of-{size}", kind.body, _FOR_BUFFERS)
        _report(kind, size, took[kind, size], buffers)


def _report(kind: _Kind, size: int, rounds: list[_Round], buffers: float) -> None:
    p50, p95, ratio = (median(one.told[at] for one in rounds) for at in range(3))
    line = f"{kind.words:<10}{kind.reader:<10}{size:>11,}{p50:>11.2f}{p95:>11.2f}"
    print(f"{line}{ratio:>11.1f}{buffers:>11,.0f}", flush=True)


async def _summarised(bank: Bank, rounds: int) -> None:
    """Summarise the largest namespace, while a clock looks how long others ever have to wait."""
    seconds, waits = [], []
    coverage: Json = {}
    for _ in range(rounds):
        gaps: list[float] = []
        ticking = asyncio.create_task(_tick(gaps))
        answer, took = await bank.send("POST", f"of-{_SIZES[-1]}:summarize", {"model": BUILTIN})
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
        seconds.append(took / 1_000)
        waits.append(1_000 * max(gaps))
        coverage = answer["coverage"]
    print(
        f"\nsummary of {coverage['chunksUsed']:,} of {coverage['chunksTotal']:,} pieces:"
        f" {median(seconds):.2f} s; others waited {median(waits):.0f} ms at most"
    )


async def _tick(gaps: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(_TICK_SECONDS)
        gaps.append(time.perf_counter() - began - _TICK_SECONDS)


async def measure(folder: Path, reader_url: str, rounds: int, questions: int) -> None:
    """Measure, and tell."""
    reader = ReaderModel(
        model="openai:any", locality="local", base_url=reader_url, max_input_tokens=100_000
    )
    settings = Settings(
        data_dir=folder,
        admin_key=KEY,
        embedder=EmbedderChoice.HASH,
        task_readers={_MODEL: reader},
    )
    async with open_process(settings) as found:
        bank, texts = Bank.over(found.resources), Texts()
        for size in _SIZES:
            await bank.fill(f"of-{size}", size, texts)
        asked = {"rare": RARE, "common": texts.common}
        kinds = [_Kind(words, one, by) for words, one in asked.items() for by in _ANSWERS]
        await _asked(bank, kinds, rounds, questions)
        await _summarised(bank, rounds)
    print(f"Medians of {rounds} rounds of {questions} questions each.")

"""Ask the configured model three small questions, and print what to set.

The status is 0 if it can write memories, else 1.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from math import ceil

from pydantic import BaseModel
from typing_extensions import override

from app.adapters.llm.factory import open_models
from app.adapters.llm.ports import Meter, OutputT, Prompt, TextModel
from app.adapters.terminal import fail, read_settings
from app.kernel.clock import SystemClock
from app.kernel.text import fold
from app.kernel.wire.model_entries import EntryTally
from app.language.facts import MANAGED_TOPICS
from app.memory.generation.logic.checks import checked
from app.memory.generation.logic.chunks import TranscriptLine
from app.memory.generation.logic.prompts import Guide, conversation, extraction, today
from app.memory.generation.logic.replies import Facts
from app.memory.generation.logic.sources import Sources
from app.process.checked_models import ModelCheck, run_check
from app.settings.settings import Settings

_NO_MODEL = (
    "MEMORY_BANK_MODEL is not set, so built-in rules write memories. Set it, such as\n"
    "  MEMORY_BANK_MODEL=openai:gpt-5-mini OPENAI_API_KEY=...\n"
    "  MEMORY_BANK_MODEL=ollama:qwen3\n"
    "  MEMORY_BANK_MODEL=openai:any MEMORY_BANK_MODEL_BASE_URL=http://127.0.0.1:8080/v1"
)
_LINE = (
    "Tomorrow \u2014 at 7:30 \u2014 I\u2019ll bring Zo\u00eb\u2019s \u201cblue\u201d folder,"
    " not the red one."
)
_TALK = (
    "Hi, I'm Nora, and I've just moved to Lyon.",
    "Welcome! What do you do there?",
    "I work as a nurse, mostly night shifts.",
    "That sounds demanding. Shall I order dinner for you?",
    "Yes, but I'm allergic to peanuts, so please check what is in it.",
    "I will: no peanuts.",
)
"""The user and the assistant in turn."""
_CALLS_IN_TIME = 4
"""Advised ratio of the time limit to the measured call, since calls may wait for others."""
_STEP_SECONDS = 30
_LEAST_OUTPUT_TOKENS = 256


class _Words(BaseModel):
    words: int


class _Quote(BaseModel):
    quote: str


def run() -> None:
    settings = read_settings(log_level="ERROR")
    if settings.model is None:
        fail(_NO_MODEL)
    run_check(lambda: _check(settings), settings.model_base_url)


async def _check(settings: Settings) -> None:
    models = open_models(settings.model_copy(update={"model_max_attempts": 1}))
    try:
        model = models.default
        assert model is not None
        await _TextModelCheck(model, settings).show(model.model_id, settings.model_base_url)
    finally:
        await models.close()


@dataclass
class _TextModelCheck(ModelCheck):
    """Structured output, a quote and a conversation."""

    model: TextModel
    settings: Settings

    @override
    def steps(self) -> Iterator[Callable[[], Awaitable[Sequence[str]]]]:
        yield self._structure
        yield self._quotes
        yield self._talk

    async def _structure(self) -> Sequence[str]:
        prompt = Prompt("Count the words of the text.", "Lyon lies on two rivers.")
        _, cost, _ = await self._asked(prompt, _Words)
        learnt = self.model.learnt
        assert learnt is not None
        line = f"Structure: by {learnt.mode}"
        if learnt.refused:
            line += f"; the server refuses {' and '.join(learnt.refused)}"
            self.advice.append(f"MEMORY_BANK_MODEL_OUTPUT={learnt.mode}")
        most, asked = learnt.output_tokens, self.settings.model_max_output_tokens
        if _LEAST_OUTPUT_TOKENS <= most < asked:
            line += f"; it takes answers of {most:,} tokens at most"
            self.advice.append(f"MEMORY_BANK_MODEL_MAX_OUTPUT_TOKENS={most}")
        return [f"{line}. {cost}"]

    async def _quotes(self) -> Sequence[str]:
        text = f"Where were we?\n{_LINE}\nThanks."
        prompt = Prompt("Copy the line about a folder, character for character.", text)
        answer, cost, _ = await self._asked(prompt, _Quote)
        if answer.quote.strip() == _LINE:
            return [f"Quotes: exact. {cost}"]
        if fold(answer.quote) == fold(_LINE):
            return [f"Quotes: exact but for punctuation, which does not matter. {cost}"]
        self.advice.append(
            "Use a model that quotes exactly: a fact whose quote is wrong is dropped."
        )
        return [f"Quotes: not exact. {cost}"]

    async def _talk(self) -> Sequence[str]:
        guide = Guide(MANAGED_TOPICS, False, (), SystemClock().now(), UTC)
        lines = tuple(TranscriptLine(at, at % 2 == 0, text) for at, text in enumerate(_TALK))
        prompt = Prompt(f"{extraction(guide)}\n{today(guide)}", conversation(lines, guide))
        answer, cost, seconds = await self._asked(prompt, Facts)
        answer.require_usable()
        entries = answer.tallies["facts"]
        facts = checked(answer.facts, Sources(lines, guide), guide)
        if not facts.candidates:
            self.is_passed = False
            self.advice.append("Use a larger model: this one found no fact that can be kept.")
        if seconds * _CALLS_IN_TIME > self.settings.model_timeout_seconds:
            enough = ceil(seconds * _CALLS_IN_TIME / _STEP_SECONDS) * _STEP_SECONDS
            self.advice.append(f"MEMORY_BANK_MODEL_TIMEOUT_SECONDS={enough}")
        kept, dropped = len(facts.candidates), len(facts.dropped)
        return [
            f"A talk of six lines: facts kept: {kept}, dropped: {dropped}. {cost}",
            *(_malformed(entries) if entries.mended or entries.unreadable else ()),
            *(f"  {candidate.fact}" for candidate in facts.candidates),
            *(f"  dropped, {drop.reason}: {drop.fact}" for drop in facts.dropped),
        ]

    async def _asked(self, prompt: Prompt, output: type[OutputT]) -> tuple[OutputT, str, float]:
        meter, began = Meter(), time.monotonic()
        answer = await self.model.ask(prompt, output, meter)
        seconds, total = time.monotonic() - began, meter.total
        calls = "1 call" if total.calls == 1 else f"{total.calls} calls"
        cost = f"{calls}, {seconds:.1f} s, {total.input_tokens:,} tokens read"
        return answer, f"({cost}, {total.output_tokens:,} written)", seconds


def _malformed(entries: EntryTally) -> Sequence[str]:
    return [f"  malformed: {entries.mended} mended, {entries.unreadable} could not be read"]

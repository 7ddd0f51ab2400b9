"""The token estimates of every caller, each with its own rounding."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from app.adapters.llm.ports import Meter, Prompt
from app.artifacts.readers.logic import passage_tokens
from app.artifacts.tasks.logic import Kind
from app.artifacts.tasks.services.preparing import prepare
from app.conversation.strategies.service import counter_of
from app.language.chunking import Chunk
from app.memory.generation.logic.chunks import TranscriptLine
from app.memory.retrieval.services.search import tokens_of
from app.settings.settings import Settings
from tests.support.scripted_models import ScriptedTextModel

LENGTHS = (0, 1, 2, 3, 4, 5, 8, 9)
QUARTERS_UP = [0, 1, 1, 1, 1, 2, 2, 3]
THIRDS_OF_BYTES = [1, 1, 1, 2, 2, 2, 3, 4]


class _Reply(BaseModel):
    text: str


def _of_fact(text: str) -> int:
    row: Any = SimpleNamespace(fact=text or None, structured_content=None)
    return tokens_of(row)


@pytest.mark.parametrize(
    "estimate",
    [
        lambda text: Chunk(0, 0, len(text), text).tokens,
        counter_of("chars4", Settings()).count,
        lambda text: passage_tokens("", text) - 3,
        lambda text: _of_fact(text) if text else 0,
    ],
    ids=["chunk", "context", "passage", "memory"],
)
@pytest.mark.parametrize("letter", ["x", "\u6211", "\U0001f600"])
def test_a_quarter_of_the_characters_is_rounded_up(
    estimate: Callable[[str], int], letter: str
) -> None:
    assert [estimate(letter * length) for length in LENGTHS] == QUARTERS_UP


def test_a_memory_without_fact_has_the_tokens_of_its_empty_content() -> None:
    assert _of_fact("") == 1


async def test_a_model_without_usage_reports_quarters_rounded_up() -> None:
    meter = Meter()
    model = ScriptedTextModel(['{"text": "12345"}'])
    await model.ask(Prompt("12", "345"), _Reply, meter)
    usage = meter.by_model[model.model_id]
    assert (usage.input_tokens, usage.output_tokens) == (2, 5)


@pytest.mark.parametrize("size", LENGTHS)
async def test_bytes_that_are_no_text_count_as_characters(size: int) -> None:
    data = b"\xff" * size
    prepared = await prepare(Settings(), data, size, Kind.BLOB, "image/png")
    assert prepared.token_estimate == QUARTERS_UP[LENGTHS.index(size)]


def test_a_line_for_extraction_has_a_third_of_its_bytes_rounded_down_and_one() -> None:
    lines = [TranscriptLine(1, is_users=True, text="x" * length) for length in LENGTHS]
    assert [line.tokens - 12 for line in lines] == THIRDS_OF_BYTES
    assert TranscriptLine(1, is_users=True, text="\u6211" * 10).tokens == 12 + 11

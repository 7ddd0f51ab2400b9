"""What is read of a conversation, and what is context; the work grows with its length alone."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from typing_extensions import override

from app.kernel.wire.content import Content
from app.language.facts import MAX_FACT, Turn
from app.memory.generation.logic.chunks import TranscriptLine
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.recalled import (
    MemoryRelation,
    blocks_of,
    without_recalled,
)
from app.memory.generation.logic.rereading import LineReader, Rereading, SaidLine
from app.memory.generation.logic.sources import Sources
from app.memory.generation.schemas import ContentEvent
from app.memory.generation.services.conversation import ReadConversation, SourceEvents, Zones
from app.memory.generation.services.turns import TurnToRead, utterances

NOW = datetime(2026, 1, 15, tzinfo=UTC)
READER = LineReader((), ())


def _event(number: int, role: str, text: str) -> ContentEvent:
    content = Content.model_validate({"role": role, "parts": [{"text": text}]})
    return ContentEvent(content=content, event_id=f"e{number}", event_time=None)


def _heard(*said: tuple[str, str], known: int) -> ReadConversation:
    events = [_event(number, *one) for number, one in enumerate(said)]
    earlier = ReadConversation(SourceEvents(events[:known], NOW), Zones(), READER)
    conversation = ReadConversation(SourceEvents(events, NOW), Zones(), READER)
    conversation.compare(dict.fromkeys(earlier.digests, NOW), lambda _: MemoryRelation.NOTHING)
    return conversation


def test_of_a_long_line_before_a_new_one_the_end_is_shown() -> None:
    asked = f"{'Here is how it works. ' * 500}Do you have a dog?"
    heard = _heard(("user", "Hello."), ("model", asked), ("user", "Yes, Rex."), known=2).to_read()
    assert [one.at for one in heard] == [1, 2]
    assert heard[0].turn.text == asked[-1_200:]


def test_a_quote_in_a_new_line_and_in_a_known_one_is_of_the_new_one() -> None:
    lines = (TranscriptLine(0, True, "Yes.", is_context=True), TranscriptLine(1, True, "Yes."))
    guide = Guide((), third_person=False, examples=(), now=NOW, time_zone=UTC)
    for quote in ("Yes.", "U: Yes."):
        found = Sources(lines, guide).find(quote, 7)
        assert found is not None
        assert found.turn == 1


class _Known(dict[bytes, datetime]):
    """Digests that count how often they are read through."""

    times_read = 0

    @override
    def __iter__(self) -> Iterator[bytes]:
        self.times_read += 1
        return super().__iter__()


def test_what_is_known_is_not_read_through_for_each_line() -> None:
    lines = [SaidLine(number, "ok", event_id=f"e{number}") for number in range(100)]
    rereading = Rereading(lines, READER)
    known = _Known((digest, NOW) for digest in rereading.wanted())
    kept = rereading.read([], [], known, NOW)
    assert len(kept) == len(known)
    assert known.times_read <= 1


def test_what_is_too_long_for_a_statement_is_not_joined() -> None:
    said = [TurnToRead(number, Turn("user", "ok")) for number in range(10_000)]
    joined = utterances(said)
    assert len(joined) > 1
    assert max(len(one.turn.text) for one in joined) < MAX_FACT + len(" ok") + 1


def test_a_text_is_not_read_to_its_end_for_each_line_that_looks_like_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = 0
    raw_decode = json.JSONDecoder.raw_decode

    def counted(self: json.JSONDecoder, text: str, begin: int) -> tuple[object, int]:
        nonlocal read
        read += 1
        return raw_decode(self, text, begin)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    assert blocks_of("[[1],\n" * 1_000) == []
    assert read < 50


def test_under_the_last_of_several_headings_are_the_users_own_words() -> None:
    text = "## Memory\nI live in Oslo.\n\n## News\nI have a dog."
    blocks = blocks_of(text)
    own = without_recalled(text, blocks, lambda _: MemoryRelation.EARLIER)
    assert own == ("\n\n\n## News\nI have a dog.", 1)

"""From a conversation to candidate facts, by a model or by the built-in rules."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.generation.chunks import Line, cut, estimated_tokens
from app.generation.grounding import Sources, grounded
from app.generation.prompts import Guide, conversation, extraction
from app.generation.replies import Facts
from app.generation.schemas import ContentEvent
from app.generation.turns import files_of, lines_of, turn_of
from app.llm.ports import Attachment, Meter, Prompt, TextModel
from app.rules import extraction as rules
from app.rules.facts import Candidate

_SCHEMA_TOKENS = 400
"""What the shape of the reply takes of the input, generously."""
_MIN_PIECE_TOKENS = 200


@dataclass
class Extracted:
    """What a conversation says, and what of it was not read or not believed.

    Attributes:
        counts: for the operation's metadata; only what is not zero.
        skipped_files: (position of the event, media type) of each file that nobody read.
    """

    candidates: list[Candidate] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    skipped_files: list[tuple[int, str]] = field(default_factory=list)

    def count(self, name: str, number: int) -> None:
        """Add to a count."""
        if number:
            self.counts[name] = self.counts.get(name, 0) + number


async def by_rules(events: Sequence[ContentEvent], guide: Guide) -> Extracted:
    """Extract with the built-in rules, off the event loop."""
    found = await asyncio.to_thread(
        rules.extract,
        [turn_of(event) for event in events],
        now=guide.now,
        topics=guide.topics,
        time_zone=guide.time_zone,
        third_person=guide.third_person,
    )
    skipped = [(n, file.media_type) for n, event in enumerate(events) for file in files_of(event)]
    return Extracted(found, skipped_files=skipped)


@dataclass(frozen=True)
class _File:
    turn: int
    attachment: Attachment


async def by_model(
    model: TextModel,
    events: Sequence[ContentEvent],
    guide: Guide,
    meter: Meter,
    max_pieces: int,
) -> Extracted:
    """Extract with a model: one call for each piece of the conversation.

    Must not be called inside a transaction. Raises what `TextModel.ask` raises.
    """
    found = Extracted()
    lines = await asyncio.to_thread(lines_of, events)
    files = _readable_files(model, events, found)
    room = model.max_input_tokens - estimated_tokens(extraction(guide)) - _SCHEMA_TOKENS
    cut_up = await asyncio.to_thread(cut, lines, max(room, _MIN_PIECE_TOKENS), max_pieces)
    found.count("omittedEventCount", len(cut_up.omitted))
    pieces = list(cut_up.pieces) or ([()] if files else [])
    for position, piece in enumerate(pieces):
        # The files go with the last piece: a call of their own would cost more than it brings.
        shown = files if position == len(pieces) - 1 else []
        await _read(model, piece, shown, guide, (meter, found))
    if len(pieces) > 1:
        found.count("pieceCount", len(pieces))
    return found


async def _read(
    model: TextModel,
    piece: Sequence[Line],
    files: Sequence[_File],
    guide: Guide,
    into: tuple[Meter, Extracted],
) -> None:
    meter, found = into
    names = [f"File of {one.turn}: {one.attachment.media_type}" for one in files]
    prompt = Prompt(
        extraction(guide),
        conversation(piece, guide, names),
        tuple(one.attachment for one in files),
    )
    reply = await model.ask(prompt, Facts, meter)
    sources = Sources(tuple(piece), frozenset(one.turn for one in files))
    believed = await asyncio.to_thread(grounded, reply.facts, sources, guide)
    found.candidates += believed.candidates
    found.count("unsupportedFactCount", believed.unsupported)
    found.count("offTopicFactCount", believed.off_topic)


def _readable_files(
    model: TextModel, events: Sequence[ContentEvent], found: Extracted
) -> list[_File]:
    """Return the files that the model takes; name the others as skipped."""
    files = [_File(n, file) for n, event in enumerate(events) for file in files_of(event)]
    found.skipped_files = [
        (one.turn, one.attachment.media_type) for one in files if not model.reads(one.attachment)
    ]
    return [one for one in files if model.reads(one.attachment)]

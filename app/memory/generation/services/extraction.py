"""From a conversation to candidate facts, by a model or by the built-in rules."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.adapters.llm.ports import Attachment, Meter, Prompt, TextModel
from app.language import extraction as rules
from app.language.facts import Candidate
from app.memory.generation.logic import profiles
from app.memory.generation.logic.checks import checked
from app.memory.generation.logic.chunks import Line, cut, estimated_tokens
from app.memory.generation.logic.outcomes import Dropped
from app.memory.generation.logic.profiles import FieldValue
from app.memory.generation.logic.prompts import conversation, extraction
from app.memory.generation.logic.replies import (
    ExtractedFact,
    ExtractedField,
    Facts,
    FactsAndFields,
    Fields,
)
from app.memory.generation.logic.sources import Sources
from app.memory.generation.logic.values import grounded_values
from app.memory.generation.schemas import ContentEvent
from app.memory.generation.services.material import Material
from app.memory.generation.services.turns import files_of, lines_of, turn_of

_SCHEMA_TOKENS = 400
"""What the shape of the reply takes of the input, generously."""
_MIN_PIECE_TOKENS = 200
_MAX_FILES = 20
_MAX_FILE_BYTES = 12 * 1024 * 1024
"""Files of one request, decoded: providers take 20 MB of JSON and more, where they are longer."""


@dataclass
class Extracted:
    """What a conversation says, and what of it was not read or not believed.

    Attributes:
        values: what it says about the fields of profiles.
        dropped: the facts that become no candidates.
        counts: for the operation's metadata; only what is not zero.
        skipped_files: (position of the event, media type) of each file that nobody read.
    """

    candidates: list[Candidate] = field(default_factory=list)
    values: list[FieldValue] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    skipped_files: list[tuple[int, str]] = field(default_factory=list)

    def count(self, name: str, number: int) -> None:
        """Add to a count."""
        if number:
            self.counts[name] = self.counts.get(name, 0) + number


async def by_rules(found: Material) -> Extracted:
    """Extract with the built-in rules, off the event loop."""
    return await asyncio.to_thread(_by_rules, found)


def _by_rules(found: Material) -> Extracted:
    turns = [turn_of(event) for event in found.events]
    guide = found.guide
    left_out: list[Candidate] = []
    candidates = rules.extract(
        turns,
        now=guide.now,
        topics=guide.topics,
        time_zone=guide.time_zone,
        third_person=guide.third_person,
        left_out=left_out,
    )
    skipped = [
        (n, file.media_type) for n, event in enumerate(found.events) for file in files_of(event)
    ]
    values = profiles.by_rules(turns, found.profiles) if found.profiles else []
    dropped = [Dropped(one.fact, one.source, "NOT_CONVERTED") for one in left_out]
    return Extracted(candidates if guide.topics else [], values, dropped, skipped_files=skipped)


@dataclass(frozen=True)
class _File:
    turn: int
    attachment: Attachment


async def by_model(
    model: TextModel, material: Material, meter: Meter, max_pieces: int
) -> Extracted:
    """Extract with a model: one call for each piece of the conversation.

    Must not be called inside a transaction. Raises what `TextModel.ask` raises.
    """
    found = Extracted()
    guide = material.guide
    if not guide.topics and not guide.fields:
        return found
    lines = await asyncio.to_thread(lines_of, material.events)
    files = _readable_files(model, material.events, found)
    room = model.max_input_tokens - estimated_tokens(extraction(guide)) - _SCHEMA_TOKENS
    cut_up = await asyncio.to_thread(cut, lines, max(room, _MIN_PIECE_TOKENS), max_pieces)
    found.count("omittedEventCount", len(cut_up.omitted))
    pieces = list(cut_up.pieces) or ([()] if files else [])
    for position, piece in enumerate(pieces):
        # The files go with the last piece: a call of their own would cost more than it brings.
        shown = files if position == len(pieces) - 1 else []
        read = _Reading(model, material, piece, shown)
        await read.into(found, meter)
    if len(pieces) > 1:
        found.count("pieceCount", len(pieces))
    return found


@dataclass(frozen=True)
class _Reading:
    """One piece of a conversation, to be read by a model."""

    model: TextModel
    material: Material
    piece: Sequence[Line]
    files: Sequence[_File]

    async def into(self, found: Extracted, meter: Meter) -> None:
        """Ask the model, and add what can be believed."""
        guide = self.material.guide
        names = [
            f"File of line {one.turn} (quote of what it says: empty): {one.attachment.media_type}"
            for one in self.files
        ]
        prompt = Prompt(
            extraction(guide),
            conversation(self.piece, guide, names),
            tuple(one.attachment for one in self.files),
        )
        facts, fields = await self._asked(prompt, meter)
        turns = frozenset(one.turn for one in self.files)
        sources = Sources(tuple(self.piece), guide, turns)
        believed = await asyncio.to_thread(checked, facts, sources, guide)
        found.candidates += believed.candidates
        found.dropped += believed.dropped
        schemas = self.material.profiles
        values = await asyncio.to_thread(grounded_values, fields, sources, schemas, guide)
        found.values += values
        found.count("unsupportedFactCount", len(fields) - len(values))

    async def _asked(
        self, prompt: Prompt, meter: Meter
    ) -> tuple[Sequence[ExtractedFact], Sequence[ExtractedField]]:
        """Ask for no more than the bank wants: the shape of the reply costs tokens, too."""
        guide = self.material.guide
        if not guide.fields:
            return (await self.model.ask(prompt, Facts, meter)).facts, ()
        if not guide.topics:
            return (), (await self.model.ask(prompt, Fields, meter)).fields
        both = await self.model.ask(prompt, FactsAndFields, meter)
        return both.facts, both.fields


def _readable_files(
    model: TextModel, events: Sequence[ContentEvent], found: Extracted
) -> list[_File]:
    """Return the files that the model takes in one request; name the others as skipped."""
    taken: list[_File] = []
    room = _MAX_FILE_BYTES
    for turn, event in enumerate(events):
        for file in files_of(event):
            length = len(file.data or b"")
            if model.reads(file) and len(taken) < _MAX_FILES and length <= room:
                room -= length
                taken.append(_File(turn, file))
            else:
                found.skipped_files.append((turn, file.media_type))
    return taken

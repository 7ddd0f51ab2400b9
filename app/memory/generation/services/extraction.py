"""Extraction of candidate facts from a conversation, by a model or by the built-in rules."""

import asyncio
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, TypeVar

from app.adapters.llm.ports import Attachment, Meter, Prompt, TextModel
from app.kernel.text import CODES
from app.kernel.wire.model_entries import EntriesReply, EntryTally
from app.language import extraction as rules
from app.language.facts import Candidate, Turn
from app.language.search_languages import foreign_language
from app.language.tokens import estimate_tokens_of_bytes
from app.language.tongues import READ_LANGUAGES
from app.memory.generation.logic import profiles
from app.memory.generation.logic.checks import checked
from app.memory.generation.logic.chunks import TranscriptLine, cut, halved
from app.memory.generation.logic.outcomes import Dropped, DroppedValue
from app.memory.generation.logic.profiles import FieldValue, ProfileSchema
from app.memory.generation.logic.prompts import conversation, extraction, today
from app.memory.generation.logic.replies import (
    Facts,
    FactsAndFields,
    Fields,
)
from app.memory.generation.logic.sources import Sources, turns_of_lost
from app.memory.generation.logic.values import grounded_values
from app.memory.generation.schemas import ContentEvent
from app.memory.generation.services.generation import MODEL_ENTRIES
from app.memory.generation.services.generation_input import Material
from app.memory.generation.services.judging import Judges
from app.memory.generation.services.turns import TurnToRead, files_of, lines_of, utterances

_SCHEMA_TOKENS = 400
"""Generous estimate of the tokens of the reply's schema."""
_MIN_PIECE_TOKENS = 200
_MAX_FILES = 20
MAX_FILE_BYTES = 12 * 1024 * 1024
"""Maximum decoded bytes of one request's files; providers accept 20 MB of the longer JSON form."""

_Result = TypeVar("_Result")
_PIECE_SECONDS = 0.05
# One thread for all generations, which take turns: Python runs one thread at a time anyway, and
# each further thread would keep the event loop waiting.
_THREAD = ThreadPoolExecutor(1, "rules")


@dataclass
class EntryCounts:
    """The entries of all replies; many mended or unreadable ones mean that a model is too weak."""

    tallies: dict[str, EntryTally] = field(default_factory=dict)

    def add(self, model_id: str, reply: EntriesReply) -> None:
        """Count the entries of a reply that is used."""
        for name, tally in reply.tallies.items():
            self.tallies[name] = self.tallies.get(name, EntryTally()) + tally
            readings = {
                "SOUND": tally.sound,
                "MENDED": tally.mended,
                "UNREADABLE": tally.unreadable,
            }
            for reading, number in readings.items():
                MODEL_ENTRIES.labels(model_id, name, reading).inc(number)

    def details(self) -> Mapping[str, Any]:
        """Return the metadata of the operation, without zeros."""
        mended = {name: tally.mended for name, tally in self.tallies.items() if tally.mended}
        lost = {name: tally.unreadable for name, tally in self.tallies.items() if tally.unreadable}
        counts = {"mendedEntryCounts": mended, "unreadableEntryCounts": lost}
        return {name: numbers for name, numbers in counts.items() if numbers}

    @property
    def dropped(self) -> list[Dropped]:
        """The lost entries, without text, since they could not be parsed."""
        lost = sum(tally.unreadable for tally in self.tallies.values())
        return [Dropped("", "", "UNREADABLE")] * lost


@dataclass
class Extracted:
    """The result of an extraction, with the parts that were not read or not accepted.

    Attributes:
        values: the statements about the fields of profiles.
        counts: for the operation's metadata, without zeros.
        unread: positions of the events that were left out, or had entries that cannot be parsed.
        skipped_files: (position of the event, media type) of each file that was not read.
        unread_languages: codes of the languages that the rules do not read.
    """

    candidates: list[Candidate] = field(default_factory=list)
    values: list[FieldValue] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    dropped_fields: list[DroppedValue] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    unread: set[int] = field(default_factory=set)
    skipped_files: list[tuple[int, str]] = field(default_factory=list)
    entries: EntryCounts = field(default_factory=EntryCounts)
    unread_languages: set[str] = field(default_factory=set)

    def count(self, name: str, number: int) -> None:
        """Add a number to a count."""
        if number:
            self.counts[name] = self.counts.get(name, 0) + number


async def by_rules(material: Material, judges: Judges) -> Extracted:
    """Extract with the built-in rules and the learned judges, off the event loop."""
    turns_to_read, reading = await asyncio.to_thread(_reading, material)
    turns = [spoken.turn for spoken in turns_to_read]
    reading.judged(await judges.of_sentences(await asyncio.to_thread(reading.open_sentences)))
    candidates = await in_pieces(reading.steps())
    values = await in_pieces(_filled(turns, material.profiles)) if material.profiles else []
    # Facts from context lines were stored when the lines were first read.
    new = {n: spoken for n, spoken in enumerate(turns_to_read) if not spoken.is_context}
    events = material.conversation.events
    if not material.guide.topics:
        candidates = []
    return Extracted(
        candidates=[
            replace(candidate, turn=new[candidate.turn].at)
            for candidate in candidates
            if candidate.turn in new
        ],
        values=[replace(value, turn=new[value.turn].at) for value in values if value.turn in new],
        dropped=[
            *(
                Dropped(candidate.fact, candidate.source, "NOT_CONVERTED")
                for candidate in reading.left_out
                if candidate.turn in new
            ),
            *(
                Dropped(candidate.fact, candidate.source, "ALREADY_READ")
                for candidate in candidates
                if candidate.turn not in new and not candidate.is_secret
            ),
        ],
        skipped_files=[
            (spoken.at, file.media_type)
            for spoken in new.values()
            for file in files_of(events[spoken.at])
        ],
        unread_languages=await asyncio.to_thread(_unread_languages, list(new.values())),
    )


def _unread_languages(spoken: Sequence[TurnToRead]) -> set[str]:
    theirs = [one.turn.text for one in spoken if one.turn.role.strip().lower() in rules.USER_ROLES]
    names = {foreign_language(text, READ_LANGUAGES) for text in theirs}
    return {CODES[name] for name in names if name is not None}


def _reading(material: Material) -> tuple[list[TurnToRead], rules.Extraction]:
    turns_to_read = utterances(material.conversation.to_read())
    turns = [spoken.turn for spoken in turns_to_read]
    guide = material.guide
    reading = rules.Extraction(
        turns,
        now=guide.now,
        topics=guide.topics,
        time_zone=guide.time_zone,
        third_person=guide.third_person,
    )
    return turns_to_read, reading


def _filled(
    turns: Sequence[Turn], schemas: Sequence[ProfileSchema]
) -> Generator[None, None, list[FieldValue]]:
    values: list[FieldValue] = []
    for said in profiles.by_rules(turns, schemas):
        values += said
        yield
    return values


ConversationReply = Facts | FactsAndFields | Fields


async def by_model(
    model: TextModel, material: Material, meter: Meter, max_pieces: int
) -> Extracted:
    """Extract with a model, one call for each chunk, outside transactions; raise as its `ask`."""
    result = Extracted()
    guide = material.guide
    if not guide.topics and not guide.fields:
        return result
    turns_to_read = material.conversation.to_read()
    lines = await asyncio.to_thread(lines_of, turns_to_read)
    events = material.conversation.events
    new = {spoken.at: events[spoken.at] for spoken in turns_to_read if not spoken.is_context}
    files = _readable_files(model, new, result)
    fixed = f"{extraction(guide)}\n{today(guide)}"
    room = model.max_input_tokens - estimate_tokens_of_bytes(fixed) - _SCHEMA_TOKENS
    pieces, omitted = await asyncio.to_thread(cut, lines, max(room, _MIN_PIECE_TOKENS), max_pieces)
    result.unread |= omitted
    result.count("omittedEventCount", len(omitted))
    if files and not pieces:
        pieces = [()]
    for position, piece in enumerate(pieces):
        # The files go with the last chunk, since a separate call would not be worth its cost.
        shown = files if position == len(pieces) - 1 else []
        read = _PieceReading(model, material, piece, shown)
        await read.into(result, meter)
    if len(pieces) > 1:
        result.count("pieceCount", len(pieces))
    return result


@dataclass(frozen=True)
class _PieceReading:
    """One chunk of a conversation; a truncated reply leads to two calls if it `may_halve`."""

    model: TextModel
    material: Material
    piece: Sequence[TranscriptLine]
    files: Sequence[tuple[int, Attachment]]
    """The files to show, each after the position of its turn."""
    may_halve: bool = True

    async def into(self, result: Extracted, meter: Meter) -> None:
        guide = self.material.guide
        names = [
            f"File of line {turn} (quote of what it says: empty): {file.media_type}"
            for turn, file in self.files
        ]
        prompt = Prompt(
            extraction(guide),
            conversation(self.piece, guide, names),
            tuple(file for _, file in self.files),
        )
        reply = await self._ask(prompt, meter)
        halves = halved(self.piece) if reply.cut and self.may_halve else ()
        if len(halves) > 1:
            result.count("halvedPieceCount", 1)
            for half, files in zip(halves, ((), self.files), strict=True):
                part = replace(self, piece=half, files=files, may_halve=False)
                await part.into(result, meter)
            return
        reply.require_usable()
        result.entries.add(self.model.model_id, reply)
        await self._take(reply, result)

    async def _take(self, reply: ConversationReply, result: Extracted) -> None:
        guide = self.material.guide
        turns = frozenset(turn for turn, _ in self.files)
        sources = Sources(tuple(self.piece), guide, turns)
        facts = reply.facts if isinstance(reply, Facts) else ()
        fields = reply.fields if isinstance(reply, Fields | FactsAndFields) else ()
        believed = await asyncio.to_thread(checked, facts, sources, guide)
        result.candidates += believed.candidates
        result.dropped += believed.dropped
        material = self.material
        grounded = await asyncio.to_thread(
            grounded_values, fields, sources, material.profiles, material.present
        )
        result.values += grounded.values
        result.dropped_fields += grounded.dropped
        understood = {candidate.turn for candidate in believed.candidates}
        understood |= {value.turn for value in grounded.values}
        result.unread |= await asyncio.to_thread(turns_of_lost, reply.lost, sources, understood)

    async def _ask(self, prompt: Prompt, meter: Meter) -> ConversationReply:
        # The reply's schema costs tokens too, so ask only for the results that the bank
        # wants.
        guide = self.material.guide
        if not guide.fields:
            return await self.model.ask(prompt, Facts, meter)
        if not guide.topics:
            return await self.model.ask(prompt, Fields, meter)
        return await self.model.ask(prompt, FactsAndFields, meter)


def _readable_files(
    model: TextModel, events: Mapping[int, ContentEvent], result: Extracted
) -> list[tuple[int, Attachment]]:
    taken: list[tuple[int, Attachment]] = []
    room = MAX_FILE_BYTES
    for turn, event in events.items():
        for file in files_of(event):
            length = len(file.data or b"")
            if model.reads(file) and len(taken) < _MAX_FILES and length <= room:
                room -= length
                taken.append((turn, file))
            else:
                result.skipped_files.append((turn, file.media_type))
                if model.reads(file):
                    result.unread.add(turn)
    return taken


async def in_pieces(steps: Generator[None, None, _Result]) -> _Result:
    """Run the steps and return their result; other work can run between two pieces."""
    loop = asyncio.get_running_loop()
    while not (results := await loop.run_in_executor(_THREAD, _do_piece, steps)):
        pass
    return results[0]


def _do_piece(steps: Generator[None, None, _Result]) -> list[_Result]:
    """Run steps for a while; return a list with their result, or an empty list before the end."""
    end = monotonic() + _PIECE_SECONDS
    while monotonic() < end:
        try:
            next(steps)
        except StopIteration as ended:
            return [ended.value]
    return []

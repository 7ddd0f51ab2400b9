"""Rows of a schema out of a namespace, by a model or from JSON, CSV and HTML tables."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from app.adapters.concurrency import ReadInThread, in_background, in_time
from app.adapters.documents.tables import Wanted, rows_of
from app.adapters.resources import Resources
from app.artifacts.readers.logic import (
    LEAST_PART_TOKENS,
    ReaderQuery,
    RowsReply,
    ShownChunk,
    extraction,
    pack,
    passage_tokens,
)
from app.artifacts.readers.schemas import MAX_INLINE_ROWS, ExtractNamespaceRequest
from app.artifacts.readers.services.queries import all_pieces, check_calls
from app.artifacts.readers.services.reading_session import (
    Asking,
    OpenNamespace,
    Reading,
    changed,
    check_awaited,
    reading,
)
from app.artifacts.readers.store import Readable
from app.artifacts.tasks.store import contents
from app.artifacts.tasks.store.tables import ContentPlace
from app.kernel.csv_cells import json_of
from app.kernel.errors import InvalidArgument
from app.kernel.media_types import BYTES
from app.kernel.text import span_of
from app.kernel.wire.json_schema import JsonObject
from app.kernel.wire.model_entries import decoded
from app.kernel.wire.rows import FoundRows
from app.language.chunking import Piece
from app.platform.operations.services.operations import GivenUp

_BASE_BYTES, _ROW_BYTES = 24 * 1024, 1024
"""With the default number of rows, 1 MiB, of which a worker need not cut chunks."""
_INLINE_BYTES = 256 * 1024
_PART_TOKENS = 8_000
"""Most tokens of text in a call: its rows may take as many, and models write no longer replies."""
_AT_ONCE = 2
"""Number of requests whose files a process reads at once; other work finds free threads."""
_SECONDS, _LOOK_SECONDS = 300.0, 1.0
_TOO_SLOW = f"The artifacts took more than {_SECONDS:g} s; name some in `artifacts`."
_NO_ROOM = "This text does not fit into the model's window."
_NO_ENTRY = "An entry of the model's reply is no row of a passage."
_CUT = "The model's reply ended early; rows of this part may be missing."


def most_bytes(request: ExtractNamespaceRequest) -> int:
    """Return the maximum size of the rows, to which results from sensitive content are padded."""
    return _BASE_BYTES + request.max_rows * _ROW_BYTES if request.off_prompt else _INLINE_BYTES


@dataclass(frozen=True)
class RowExtraction:
    """Rows that a request looks for, and those found so far."""

    request: ExtractNamespaceRequest
    rows: FoundRows

    @classmethod
    def of(cls, request: ExtractNamespaceRequest) -> "RowExtraction":
        """Begin to look; the first time takes long."""
        most = request.max_rows if request.off_prompt else min(request.max_rows, MAX_INLINE_ROWS)
        rows = FoundRows(request.schema_, request.format, most, most_bytes(request))
        rows.is_listed = not request.off_prompt
        return cls(request, rows)

    @property
    def wanted(self) -> Wanted:
        """Names and places of the values in files."""
        source = self.request.source
        columns = {name: source.columns.get(name, name) for name in self.rows.names}
        return Wanted(columns, source.path)


async def extract(
    resources: Resources,
    opened: OpenNamespace,
    asking: Asking | None,
    found: RowExtraction,
    is_given_up: GivenUp,
) -> Reading:
    """Extract rows by a model, or without one from files with rows.

    Raises:
        Aborted: the namespace was deleted or changed meanwhile.
        Cancelled: the client no longer waits.
        DeadlineExceeded: the files take too long.
        InvalidArgument: no text fits into the model's window, or the calls exceed the limit.
        ServiceError: see `Asking.ask`.
    """
    rows = found.rows
    async with in_background(_watch(is_given_up, rows)):
        if asking is not None:
            used = await _ModelExtraction(asking, found).run()
        else:
            used = await _by_format(resources, opened, found, is_given_up)
    return Reading(rows.written.text(), used, truncated=rows.is_full or rows.is_partial)


async def _watch(is_given_up: GivenUp, rows: FoundRows) -> None:
    """End the thread that adds rows when the client no longer waits, or this is cancelled."""
    try:
        while not await is_given_up():  # noqa: ASYNC110 - a client that goes sets no event
            await asyncio.sleep(_LOOK_SECONDS)
    finally:
        rows.is_over = True


class _TableFiles:
    """Key for the turns of the requests whose files this process reads."""


async def _by_format(
    resources: Resources, opened: OpenNamespace, found: RowExtraction, is_given_up: GivenUp
) -> int:
    name, used = opened.name, 0

    async def read(place: ContentPlace, page: int) -> bytes:
        await check_awaited(is_given_up)
        async with reading(resources, opened) as (session, _):
            data = await contents.read_page(session, place, page)
        if data is None:
            raise changed(name)
        return data

    turn: asyncio.Semaphore = resources.kept.setdefault(_TableFiles, asyncio.Semaphore(_AT_ONCE))
    async with turn, in_time(_SECONDS, _TOO_SLOW):
        for artifact in opened.artifacts:
            memory, content = name.memory, artifact.content_id
            place = ContentPlace(memory.engine.engine, memory.memory, name.namespace, content)
            with ReadInThread(partial(read, place)) as pages:
                parts = pages.parts(contents.page_count(artifact.size_bytes))
                await asyncio.to_thread(_read_file, parts, artifact, found)
            used += artifact.chunks
            if found.rows.is_full:
                break
    return used


def _read_file(pages: Iterable[bytes], artifact: Readable, found: RowExtraction) -> None:
    looks_like = artifact.sniffed_type or BYTES
    for row in rows_of(pages, artifact.media_type, looks_like, found.wanted):
        if row.fault:
            found.rows.reject(row.fault, artifact.name, row.start, row.end)
            found.rows.is_partial |= row.is_last
        else:
            found.rows.add(row.values, artifact.name, row.start, row.end)
        if found.rows.is_full:
            return


@dataclass
class _ModelExtraction:
    """The calls of a model for the parts of a namespace, each with as many chunks as fit."""

    asking: Asking
    found: RowExtraction
    calls: int = 0
    used: int = 0
    places: dict[str, list[range]] = field(default_factory=dict)
    """Places of the rows of the last part, which overlaps with the next one."""

    async def run(self) -> int:
        """Read all parts until the extraction is full; return the number of chunks used."""
        room, size = self._room(), 0
        part: list[Piece] = []
        async for page in all_pieces(self.asking):
            for piece in page:
                cost = passage_tokens(piece.artifact, piece.chunk.text)
                if part and size + cost > room:
                    await self._read_part(part, room)
                    part, size = [], 0
                if self.found.rows.is_full:
                    return self.used
                part.append(piece)
                size += cost
        await self._read_part(part, room)
        return self.used

    def _room(self) -> int:
        reader, opened = self.asking.reader, self.asking.opened
        window = reader.model.max_input_tokens
        room = min((window - self._asked([]).tokens) // 2, _PART_TOKENS)
        if room < LEAST_PART_TOKENS:
            raise InvalidArgument.of_field(
                "schema", f"leaves no room to read: {reader.name} takes {window} tokens."
            )
        check_calls(self.asking, -(-sum(each.tokens for each in opened.artifacts) // room))
        return room

    def _asked(self, shown: Sequence[ShownChunk]) -> ReaderQuery:
        return extraction(json_of(self.found.request.schema_), shown)

    async def _read_part(self, part: Sequence[Piece], room: int) -> None:
        self.calls += 1
        check_calls(self.asking, self.calls)
        packed = pack(part, room, passage_tokens)
        shown = packed.shown
        self.used += len(shown)
        if packed.truncated:
            self.found.rows.is_partial = True
            self.found.rows.reject(_NO_ROOM, shown[0].artifact, shown[0].end, part[0].chunk.end)
        reply = await self.asking.ask(self._asked(shown), RowsReply)
        await asyncio.to_thread(self._take, reply, shown)

    def _take(self, reply: RowsReply, shown: Sequence[ShownChunk]) -> None:
        first, before, lost = shown[0], self.places, len(reply.lost)
        self.places = {}
        self.found.rows.is_partial |= bool(reply.cut)
        for entry in reply.rows:
            values = decoded(entry.row)
            if isinstance(values, dict) and 1 <= entry.passage <= len(shown):
                self._add(values, shown[entry.passage - 1], before)
            else:
                lost += 1
        for reason in [_NO_ENTRY] * lost + [_CUT] * bool(reply.cut):
            self.found.rows.reject(reason, first.artifact, first.start, first.end)

    def _add(
        self, values: JsonObject, shown: ShownChunk, before: Mapping[str, Sequence[range]]
    ) -> None:
        said = [str(value) for value in values.values() if isinstance(value, str | int | float)]
        span = span_of(shown.text, said) or (0, len(shown.text))
        start, end = (shown.start + place for place in span)
        key = json.dumps([shown.artifact, values], sort_keys=True)
        if any(place.start < end and start < place.stop for place in before.get(key, ())):
            return
        self.places.setdefault(key, []).append(range(start, end))
        self.found.rows.add(values, shown.artifact, start, end)

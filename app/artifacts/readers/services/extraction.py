"""Rows of a schema out of a namespace, by a model or from JSON, CSV and HTML tables."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from app.adapters.documents.tables import Wanted, rows_of
from app.adapters.resources import Resources
from app.artifacts.readers.logic import (
    LEAST_PART_TOKENS,
    RowsReply,
    ShownChunk,
    extraction,
    pack,
    passage_tokens,
    place_of_values,
    plain_number,
)
from app.artifacts.readers.schemas import (
    MAX_INLINE_ROWS,
    ExtractedRow,
    ExtractNamespaceRequest,
    RejectedRow,
    RowFormat,
)
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
from app.artifacts.tasks.store.contents import PagesInThread
from app.artifacts.tasks.store.tables import ContentPlace
from app.kernel.csv_cells import cell, csv_of, json_of
from app.kernel.errors import DeadlineExceeded, InvalidArgument, Reason
from app.kernel.media_types import BYTES
from app.kernel.wire.json_schema import JsonObject
from app.kernel.wire.json_values import coerced, is_small, types_of
from app.language.chunking import Piece
from app.platform.operations.services.operations import GivenUp

_BASE_BYTES, _ROW_BYTES = 64 * 1024, 1024
_INLINE_BYTES = 256 * 1024
_LISTED = 20
_PART_TOKENS = 8_000
"""Most tokens of text in a call: its rows may take as many, and models write no longer replies."""
_AT_ONCE = 2
"""Number of files that a process reads at once, so that other work finds a free thread."""
_SECONDS = 300.0
_LONG = "A value has more than 4 KiB or 200 parts."
_NO_ENTRY = "An entry of the model's reply is no row of a passage."
_CUT = "The model's reply ended early; rows of this part may be missing."


def most_bytes(request: ExtractNamespaceRequest) -> int:
    """Return the maximum size of the rows, to which results from sensitive content are padded."""
    return _BASE_BYTES + request.max_rows * _ROW_BYTES if request.off_prompt else _INLINE_BYTES


@dataclass
class Extraction:
    """The rows of a request so far: converted, checked, counted and bounded."""

    request: ExtractNamespaceRequest
    rows: list[ExtractedRow] = field(default_factory=list)
    """The rows for an inline response in JSON."""
    count: int = 0
    rejected: list[RejectedRow] = field(default_factory=list)
    rejected_count: int = 0
    is_full: bool = False

    def __post_init__(self) -> None:
        # Imported late: few requests have values to validate.
        from app.kernel.wire.json_validator import fault_finder  # noqa: PLC0415 - costly import

        schema = self.request.schema_
        self._fault = fault_finder(schema)
        self._properties: JsonObject = dict(_object(schema["properties"]))
        self._is_csv = self.request.format is RowFormat.CSV
        self._lines: list[str] = []
        self._left = most_bytes(self.request)
        if self._is_csv:
            self._append(csv_of([list(map(cell, self._properties))]))

    @property
    def text(self) -> str:
        """The rows in the requested form."""
        return "".join(self._lines) if self._is_csv else "[" + ",\n".join(self._lines) + "]"

    @property
    def wanted(self) -> Wanted:
        """Names and places of the values in files."""
        named = self.request.from_
        columns = {name: named.columns.get(name, name) for name in self._properties}
        return Wanted(columns, named.path)

    def picked(self, values: JsonObject) -> JsonObject:
        """Return the values of a model's row by property, whatever the case of their names."""
        names = list(values)
        places = Wanted({name: name for name in self._properties}).places(names)
        return {name: values[names[place]] for name, place in places.items()}

    def add(self, values: Mapping[str, JsonValue], artifact: str, start: int, end: int) -> None:
        """Add a row, or reject it; a row for which there is no room makes the extraction full."""
        if not all(map(is_small, values.values())):
            self.reject(_LONG, artifact, start, end)
            return
        row = self._converted(values)
        if fault := self._fault(row):
            self.reject(fault, artifact, start, end)
            return
        entry = {"values": row, "artifact": artifact, "start": start, "end": end}
        cells = [cell(row.get(name)) for name in self._properties]
        limit = self.request.max_rows if self.request.off_prompt else MAX_INLINE_ROWS
        is_counted = self.count < min(limit, self.request.max_rows)
        if not is_counted or not self._append(csv_of([cells]) if self._is_csv else json_of(entry)):
            self.is_full = True
            return
        self.count += 1
        if not self._is_csv and not self.request.off_prompt:
            self.rows.append(ExtractedRow.model_validate(entry))

    def reject(self, reason: str, artifact: str, start: int, end: int) -> None:
        """Count a row or a part that gave none, and list the first ones."""
        self.rejected_count += 1
        if len(self.rejected) < _LISTED:
            rejected = RejectedRow(artifact=artifact, start=start, end=end, reason=reason)
            self.rejected.append(rejected)

    def _append(self, line: str) -> bool:
        # Two more for what stands between lines and around all.
        size = len(line.encode()) + 2
        if size > self._left:
            return False
        self._left -= size
        self._lines.append(line)
        return True

    def _converted(self, values: Mapping[str, JsonValue]) -> JsonObject:
        row: JsonObject = {}
        for name, value in values.items():
            schema = _object(self._properties[name])
            if value is not None and not (isinstance(value, str) and not value.strip()):
                row[name] = coerced(schema, _typed(types_of(schema), value))
            elif isinstance(kinds := schema.get("type"), list) and "null" in kinds:
                row[name] = None
        return row


def _typed(types: Sequence[str], value: JsonValue) -> JsonValue:
    if isinstance(value, str) and {*types} & {"integer", "number"}:
        return plain_number(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json_of(value) if is_number and types == ["string"] else value


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


async def extract(
    resources: Resources,
    opened: OpenNamespace,
    asking: Asking | None,
    found: Extraction,
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
    if asking is not None:
        used = await _ModelExtraction(asking, found).run()
    else:
        try:
            async with asyncio.timeout(_SECONDS):
                used = await _by_format(resources, opened, found, is_given_up)
        except TimeoutError:
            message = f"The artifacts took more than {_SECONDS:g} s; name some in `artifacts`."
            raise DeadlineExceeded(message, Reason.TEXT_TAKES_TOO_LONG) from None
    return Reading(found.text, used, truncated=found.is_full)


class _Files:
    """Key for the files that this process is reading."""


async def _by_format(
    resources: Resources, opened: OpenNamespace, found: Extraction, is_given_up: GivenUp
) -> int:
    name, used = opened.name, 0
    turn: asyncio.Semaphore = resources.kept.setdefault(_Files, asyncio.Semaphore(_AT_ONCE))
    for artifact in opened.artifacts:
        place = ContentPlace(
            name.memory.engine.engine, name.memory.memory, name.namespace, artifact.content_id
        )

        async def read(page: int, place: ContentPlace = place) -> bytes:
            await check_awaited(is_given_up)
            async with reading(resources, opened) as (session, _):
                data = await contents.read_page(session, place, page)
            if data is None:
                raise changed(opened.name)
            return data

        async with turn:
            with PagesInThread(read) as pages:
                await asyncio.to_thread(
                    _read_file, pages.up_to(artifact.size_bytes), artifact, found
                )
        if found.is_full:
            break
        used += artifact.chunks
    return used


def _read_file(pages: Iterable[bytes], artifact: Readable, found: Extraction) -> None:
    looks_like = artifact.sniffed_type or BYTES
    for row in rows_of(pages, artifact.media_type, looks_like, found.wanted):
        if row.fault:
            found.reject(row.fault, artifact.name, row.start, row.end)
        else:
            found.add(row.values, artifact.name, row.start, row.end)
        if found.is_full:
            return


@dataclass
class _ModelExtraction:
    """The calls of a model for the parts of a namespace, each with as many chunks as fit."""

    asking: Asking
    found: Extraction
    calls: int = 0
    used: int = 0
    places: dict[str, list[range]] = field(default_factory=dict)
    """Places of the rows of the last part, which overlaps with the next one."""

    async def run(self) -> int:
        """Read all parts until the extraction is full; return the number of chunks used."""
        room = self._room()
        part: list[Piece] = []
        size = 0
        async for page in all_pieces(self.asking):
            for piece in page:
                cost = passage_tokens(piece.artifact, piece.chunk.text)
                if part and size + cost > room:
                    await self._read_part(part, room)
                    part, size = [], 0
                if self.found.is_full:
                    return self.used
                part.append(piece)
                size += cost
        await self._read_part(part, room)
        return self.used

    @property
    def _schema(self) -> str:
        return json_of(self.found.request.schema_)

    def _room(self) -> int:
        reader, opened = self.asking.reader, self.asking.opened
        window = reader.model.max_input_tokens
        room = min((window - extraction(self._schema, []).tokens) // 2, _PART_TOKENS)
        if room < LEAST_PART_TOKENS:
            raise InvalidArgument.of_field(
                "schema", f"leaves no room to read: {reader.name} takes {window} tokens."
            )
        check_calls(self.asking, -(-sum(each.tokens for each in opened.artifacts) // room))
        return room

    async def _read_part(self, part: Sequence[Piece], room: int) -> None:
        self.calls += 1
        check_calls(self.asking, self.calls)
        packed = pack(part, room, passage_tokens)
        self.used += packed.chunks_used
        reply = await self.asking.ask(extraction(self._schema, packed.shown), RowsReply)
        await asyncio.to_thread(self._take, reply, packed.shown)

    def _take(self, reply: RowsReply, shown: Sequence[ShownChunk]) -> None:
        first, before = shown[0], self.places
        self.places = {}
        for entry in reply.rows:
            values = _values_of(entry.row)
            if values is None or not 1 <= entry.passage <= len(shown):
                self.found.reject(_NO_ENTRY, first.artifact, first.start, first.end)
                continue
            self._add(values, shown[entry.passage - 1], before)
        for _ in reply.lost:
            self.found.reject(_NO_ENTRY, first.artifact, first.start, first.end)
        if reply.cut:
            self.found.reject(_CUT, first.artifact, first.start, first.end)

    def _add(
        self, values: JsonObject, shown: ShownChunk, before: Mapping[str, Sequence[range]]
    ) -> None:
        row = self.found.picked(values)
        start, end = place_of_values(shown, row.values())
        key = json.dumps([shown.artifact, row], sort_keys=True)
        if any(place.start < end and start < place.stop for place in before.get(key, ())):
            return
        self.places.setdefault(key, []).append(range(start, end))
        self.found.add(row, shown.artifact, start, end)


def _values_of(text: str) -> JsonObject | None:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None

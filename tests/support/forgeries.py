"""Archives with right digests, one of whose values no release wrote."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from app.memory.transfer.logic import fields
from app.memory.transfer.logic.fields import Codec, LineKind
from app.memory.transfer.logic.format import (
    CHECK,
    HEADER,
    REVISIONS,
    TRAILER,
    Header,
    Tally,
    line_of,
)
from app.memory.transfer.logic.kinds import KINDS, REVISION

BANKS = sorted((Path(__file__).parents[1] / "data/archives/banks").glob("*.omb.gz"))
"""An archive of a bank for each format, oldest first."""
NEWEST = BANKS[-1]
"""The one that has lines of every kind."""
YOUNGER = frozenset({"readLine"})
"""Kinds of lines that the older archives lack, since they came later."""

_DEEP: Any = "x"
for _ in range(60):
    _DEEP = {"a": [_DEEP]}
_ODD: Sequence[Any] = [None, "", {"b": [1]}, 2**63 - 1, "9999-12-31T23:59:59Z"]
_VALUES: Mapping[Codec, Sequence[Any]] = {
    fields.TEXT: ["", " ", "\u0001/..", "x" * 30_000, "UNKNOWN", "9223372036854775807"],
    fields.WHOLE: [0, 1, 2**31, 2**53, 2**63 - 1],
    fields.OFFSET: [-1439, 0, 60, 1440, 2**63],
    fields.PLACE: [-1e308, 0.0, 1e308],
    fields.NUMBER: [0.0, 0.5, 1e308],
    fields.FLAG: [True, False],
    fields.OBJECT: [{}, {"X": {"b": [1]}}, {"a": "b"}, {"": None}, {"a": _DEEP}, {"a": 1e300}],
    fields.OBJECTS: [[], [{}], [{"X": {"b": [1]}}], [{"name": ""}] * 200],
    fields.TEXTS: [[], [""], ["\u0001/.."], ["x"] * 200],
    fields.ID: ["0", "1", "9223372036854775807"],
    fields.TIME: [
        "0001-01-01T00:00:00.000000Z",
        "1969-12-31T23:59:59.999999Z",
        "2026-02-15T12:00:00.000000Z",
        "9999-12-31T23:59:59.999999Z",
    ],
    fields.DAY: ["0001-01-01", "2026-02-15", "9999-12-31"],
    fields.DURATION: ["0s", "-5s", "1s", "315576000000s"],
    fields.HASH: ["", "00", "00" * 32],
    fields.DATA: ["", "AA==", "AAAA" * 100_000],
    fields.VECTOR: ["AAA=", "AAAAAAAA"],
}


class Forgery(NamedTuple):
    """A value in place of the archive's."""

    kind: LineKind
    field: str
    value: Any


def lines_of(bank: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the lines of an archive."""
    parsed = [json.loads(line) for line in gzip.decompress(bank.read_bytes()).splitlines()]
    ends = {HEADER, CHECK, TRAILER}
    return parsed[0], [line for line in parsed if line["kind"] not in ends]


def forgeries(lines: Sequence[Mapping[str, Any]], kind: LineKind) -> Iterator[Forgery]:
    """Yield other values of the same type for each field of a kind, and for parts of objects."""
    for field in kind.fields:
        for value in _VALUES[field.codec]:
            yield Forgery(kind, field.wire, value)
        stored = next(
            (line[field.wire] for line in _own(lines, kind) if line.get(field.wire)), None
        )
        if isinstance(stored, dict):
            for key in stored:
                yield from (Forgery(kind, field.wire, {**stored, key: odd}) for odd in _ODD)


def _own(lines: Sequence[Mapping[str, Any]], kind: LineKind) -> list[Mapping[str, Any]]:
    if kind is REVISION:
        return [one for line in lines for one in line.get(REVISIONS, [])]
    return [line for line in lines if line["kind"] == kind.name]


def forged(
    header: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], forgery: Forgery, archive_id: str
) -> bytes:
    """Return an archive with a value in a line that has its field, else in the first of its kind.

    Each kind of lines is a block of its own, so that what comes before is written already.
    """
    copied = [dict(line) for line in lines]
    if forgery.kind is REVISION:
        memory = next(line for line in copied if line.get(REVISIONS))
        newest = {**memory[REVISIONS][-1], forgery.field: forgery.value}
        memory[REVISIONS] = [*memory[REVISIONS][:-1], newest]
    else:
        own = [line for line in copied if line["kind"] == forgery.kind.name]
        having = [line for line in own if forgery.field in line]
        (having or own)[0][forgery.field] = forgery.value
    return written({**header, "archiveId": archive_id}, copied)


def written(header: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> bytes:
    """Return an archive of these lines, compressed, with a block for each kind."""
    tally, parts = Tally(), [line_of(HEADER, Header.read(header).wire())]
    for kind in KINDS:
        own = [line for line in lines if line["kind"] == kind.name]
        for line in own:
            fields = {name: line[name] for name in line if name != "kind"}
            part = line_of(kind.name, dict(sorted(fields.items())))
            tally.add(kind.name, part)
            parts.append(part)
        if own:
            parts.append(line_of(CHECK, tally.end_block()))
    parts.append(line_of(TRAILER, tally.trailer({}).wire()))
    return gzip.compress(b"".join(parts), 1, mtime=0)

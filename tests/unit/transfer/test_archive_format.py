"""Archives: what is written is read again, and what is damaged is refused by name."""

import gzip
import json
import random
import struct
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.kernel.errors import InvalidArgument, Reason
from app.memory.transfer.logic import fields
from app.memory.transfer.logic.fields import LineKind
from app.memory.transfer.logic.format import ArchiveWriter, Header, line_of
from app.memory.transfer.logic.kinds import BY_NAME, ENGINE, KINDS, MEMORY, REVISION
from app.memory.transfer.logic.reading import ArchiveReader, Block, Line, is_later
from tests.support.forgeries import YOUNGER

_NOW = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
_HEADER = Header(
    "6f0c7f9e-0000-4000-8000-000000000000",
    "0.1.0",
    "20261130_1000",
    "projects/default/locations/local/reasoningEngines/1",
    _NOW,
    "hash-v1",
    384,
    {"vectors": False, "artifacts": True, "sessions": True},
)
_SAMPLES: dict[fields.Codec, Any] = {
    fields.TEXT: 'Grüße, "日本" \U0001f600 \\ \n {engine}',
    fields.WHOLE: 2**62,
    fields.OFFSET: -300,
    fields.NUMBER: 0.1,
    fields.PLACE: -1.5,
    fields.FLAG: False,
    fields.OBJECT: {"b": [1, 2.5, None, {"a": True}], "a": "ü"},
    fields.OBJECTS: [{"x": 1}, {}],
    fields.TEXTS: ["a", ""],
    fields.ID: 176847840000012345,
    fields.TIME: _NOW,
    fields.DAY: date(2026, 1, 2),
    fields.DURATION: timedelta(days=3, microseconds=1),
    fields.HASH: bytes(range(32)),
    fields.DATA: bytes(range(256)),
    fields.VECTOR: b"\x00\x02\x00\x00" + struct.pack(">2e", 1.5, -2.0),
}
_ENGINE_NAME = "projects/p/locations/l/reasoningEngines/7"


def _row(kind: LineKind, **values: Any) -> list[Any]:
    """Return a row of which every column that may be null is."""
    samples: dict[str, Any] = {
        "scope": {"user_id": "42"},
        "topics": [],
        "metadata": {},
        "memory_type": "NATURAL_LANGUAGE_COLLECTION",
        "labels": {},
        "extracted_memories": [],
        "action": "CREATED",
        "version": 1,
        "create_time": _NOW,
        "update_time": _NOW,
        "expire_time": _NOW,
    }
    return [
        values.get(one.column, None if one.is_nullable else samples.get(one.column))
        for one in kind.fields
    ]


def _lines(memories: int, revisions: int = 2, fact: str = "I like tea.") -> list[bytes]:
    """Return the lines of an archive of memories that have so many revisions each."""
    writer = ArchiveWriter()
    written = [writer.header(_HEADER), writer.add(ENGINE, ENGINE.encode(_row(ENGINE)))]
    for number in range(memories):
        memory_id = f"m{number:06}"
        history = [
            REVISION.encode(
                _row(REVISION, memory_id=memory_id, revision_id=number * 10_000 + at, version=at)
            )
            for at in range(1, revisions + 1)
        ]
        memory = MEMORY.encode(_row(MEMORY, memory_id=memory_id, fact=fact, version=revisions))
        written.append(writer.add_memory(memory, history[:100]))
        written += [writer.add_revision(revision) for revision in history[100:]]
    written.append(writer.end({"pendingOperations": {"count": 1, "reason": "they had not ended"}}))
    return [line + b"\n" for part in written for line in part.splitlines()]


def _read(pieces: Iterable[bytes], reader: ArchiveReader | None = None) -> list[Block]:
    reader = reader or ArchiveReader(_ENGINE_NAME)
    blocks = [block for piece in pieces for block in reader.feed(piece)]
    reader.end()
    return blocks


def _refusal(data: bytes) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as refused:
        _read([data])
    return refused.value


def _packed(lines: Sequence[bytes]) -> bytes:
    return gzip.compress(b"".join(lines), 1, mtime=0)


@pytest.mark.parametrize("pack", [b"".join, _packed])
@pytest.mark.parametrize("size", [1, 777, 10_000_000])
def test_an_archive_is_read_in_any_pieces(
    pack: Callable[[Sequence[bytes]], bytes], size: int
) -> None:
    data = pack(_lines(300 if size > 1 else 3))
    reader = ArchiveReader(_ENGINE_NAME)
    blocks = _read([data[at : at + size] for at in range(0, len(data), size)], reader)
    lines = [line for block in blocks for line in block.lines]
    assert [line.number for line in lines] == [*range(1, len(lines) + 1)]
    assert reader.header == _HEADER
    assert reader.trailer is not None
    assert reader.trailer.counts == {"engine": 1, "memory": len(lines) - 1}
    assert reader.trailer.left["pendingOperations"]["count"] == 1
    assert all(len(block.lines) <= 250 for block in blocks)
    assert lines[1].values["memory_id"] == "m000000"
    assert [revision["version"] for revision in lines[1].revisions] == [1, 2]


def test_a_long_history_goes_on_in_lines_of_its_own() -> None:
    lines = [line for block in _read([b"".join(_lines(2, 150))]) for line in block.lines]
    assert [line.kind.name for line in lines[:3]] == ["engine", "memory", "revision"]
    assert len(lines[1].revisions) == 100
    assert [line.values["version"] for line in lines[2:52]] == [*range(101, 151)]


def test_a_history_too_long_for_a_line_goes_on_in_further_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.memory.transfer.logic.format.MAX_LINE_BYTES", 3_000)
    lines = [line for block in _read([b"".join(_lines(2, 30))]) for line in block.lines]
    assert {line.kind.name for line in lines} == {"engine", "memory", "revision"}
    found = [*lines[1].revisions, *(one.values for one in lines[2 : lines.index(_second(lines))])]
    assert [revision["version"] for revision in found] == [*range(1, 31)]


def _second(lines: Sequence[Line]) -> Line:
    """Return the second memory."""
    return [line for line in lines if line.kind is MEMORY][1]


@pytest.mark.parametrize(
    "left",
    [
        {"a b": {"count": 1, "reason": "x"}},
        {"a": {"count": "1", "reason": "x"}},
        {"a": {"count": 1, "reason": "\x1b[2J"}},
        {"a": {"count": 1, "reason": "x" * 201}},
        {"a": 1},
    ],
)
def test_what_an_archive_lacks_is_told_as_exports_do(left: dict[str, Any]) -> None:
    assert "trailer is not that" in _refusal(_forged(_ENGINE_LINE, left=left)).message


def test_a_block_ends_after_a_mebibyte() -> None:
    blocks = _read([b"".join(_lines(40, 1, "x" * 100_000))])
    assert max(len(block.lines) for block in blocks) <= 12


def test_every_value_comes_back() -> None:
    """Of each type, with nulls, in each kind."""
    for kind in KINDS:
        for is_null in (True, False):
            row = [
                None if is_null and one.is_nullable else _SAMPLES[one.codec] for one in kind.fields
            ]
            sent = json.loads(line_of(kind.name, kind.encode(row)))
            decoded = kind.decode(sent)
            expected = [
                [1.5, -2.0] if one.column == "vector" else value
                for one, value in zip(kind.fields, row, strict=True)
            ]
            assert [decoded[one.column] for one in kind.fields] == expected, kind.name
            assert [*sent] == ["kind", *sorted(sent.keys() - {"kind"})]


def test_a_text_of_another_form_is_refused_in_words_of_ours() -> None:
    """The library's would repeat the value."""
    for codec, wrong, message in (
        (fields.DAY, "the second", "must be a day such as 2026-01-02"),
        (fields.HASH, "zz", "must be pairs of hexadecimal digits"),
        (fields.DATA, "A", "must be base64"),
        (fields.DATA, "grün", "must be base64"),
        (fields.VECTOR, "!", "must be base64"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            codec.decode(wrong)


def test_names_of_resources_move_with_the_engine() -> None:
    kind = BY_NAME["operation"]
    here = _HEADER.engine
    response = {
        "name": f"{here}/memories/1",
        "engine": here,
        "other": [f"{here}2", "{engine}", "{}"],
    }
    row = _row(kind, operation_id="1", state="SUCCEEDED", response=response, details={}, attempts=1)
    row[2] = "memories.create"
    line = kind.encode(row, engine=here)
    assert line["response"]["name"] == "{engine}/memories/1"
    assert kind.decode(line, engine=here)["response"] == response
    moved = kind.decode(line, engine=_ENGINE_NAME)["response"]
    assert moved["name"] == f"{_ENGINE_NAME}/memories/1"
    assert moved["other"] == response["other"]


def test_a_changed_line_is_named() -> None:
    lines = _lines(600)
    lines[400] = lines[400].replace(b"tea", b"ale")
    error = _refusal(b"".join(lines))
    assert error.reason is Reason.ARCHIVE_INVALID
    assert error.metadata == {"lines": "251-500", "kinds": "memory"}
    assert "Lines 251 to 500 (memory)" in error.message


def test_a_cut_archive_is_refused_at_every_place() -> None:
    for data in (b"".join(_lines(3)), _packed(_lines(3))):
        for end in range(1, len(data)):
            assert _refusal(data[:end]).reason is Reason.ARCHIVE_TRUNCATED
    with pytest.raises(InvalidArgument):
        _read([])


def _swapped(lines: list[bytes]) -> list[bytes]:
    lines[2], lines[3] = lines[3], lines[2]
    return lines


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_swapped, "digest differs"),
        (lambda lines: lines[:2] + lines[3:], "not theirs"),
        (lambda lines: lines[:-1] + lines[1:2] + lines[-1:], "a check is missing"),
        (lambda lines: lines + lines[1:2], "goes on after its trailer"),
        (lambda lines: lines[1:], "no header"),
        (lambda lines: [*lines[:2], b"\n", *lines[2:]], "not theirs"),
        (lambda lines: [lines[0], lines[-1]], "not that of an archive"),
        (lambda lines: [lines[0], *lines[-2:]], "not theirs"),
        (lambda lines: [b"PK", *lines], "neither gzip nor NDJSON"),
    ],
)
def test_disorder_is_refused(change: Callable[[list[bytes]], list[bytes]], message: str) -> None:
    error = _refusal(b"".join(change(_lines(5))))
    assert error.reason is Reason.ARCHIVE_INVALID
    assert message in error.message


def _forged(
    *lines: tuple[str, dict[str, Any]], release: str = "0.1.0", left: dict[str, Any] | None = None
) -> bytes:
    """Return an archive with these lines, whose digests are right."""
    writer = ArchiveWriter()
    header = Header(**{**vars(_HEADER), "release": release})
    parts = [writer.header(header)]
    for name, written in lines:
        kind = BY_NAME.get(name) or LineKind(name, "", (), ())
        parts.append(writer.add(kind, written))
    return b"".join([*parts, writer.end(left or {})])


_ENGINE_LINE = ("engine", ENGINE.encode(_row(ENGINE)))


def _memory(**fields: Any) -> tuple[str, dict[str, Any]]:
    line = MEMORY.encode(_row(MEMORY, memory_id="m1", fact="x"))
    return "memory", {**line, "revisions": [], **fields}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (_memory(version="1"), "version: must be a whole number"),
        (_memory(version=True), "version: must be a whole number"),
        (_memory(version=2**70), "version: must be a whole number"),
        (_memory(position=10**400), "position: must be a number"),
        (_memory(createTime="yesterday"), "createTime: must be a time"),
        (_memory(createTime=None), "createTime: is missing"),
        (_memory(topics=[1]), "topics: must be a list of objects"),
        (_memory(revisions=None), "revisions: must be a list"),
        (_memory(revisions=[{}]), "revisionId: is missing"),
        (_memory(surprise=1), "'surprise' is unknown"),
        (_memory(fact="a\x00b"), "no JSON that an archive has"),
        (("session", {}), "sessionId: is missing"),
        (("engine", _ENGINE_LINE[1]), "not in the order"),
        (
            ("revision", REVISION.encode(_row(REVISION, memory_id="m1", revision_id=1))),
            "not in the order",
        ),
    ],
)
def test_a_forged_line_is_refused(line: tuple[str, dict[str, Any]], message: str) -> None:
    error = _refusal(_forged(_ENGINE_LINE, line))
    assert error.reason is Reason.ARCHIVE_INVALID
    assert message in error.message


def test_memories_come_in_the_order_of_their_ids() -> None:
    same = _refusal(_forged(_ENGINE_LINE, _memory(), _memory()))
    assert "Line 3 (memory) is not in the order" in same.message


def test_a_later_release_may_have_fields_but_no_kinds() -> None:
    reader = ArchiveReader()
    _read([_forged(_ENGINE_LINE, _memory(surprise=1), release="99.0.0")], reader)
    assert reader.passed_over == {"surprise": 1}
    for release in ("0.1.0", "99.0.0"):
        error = _refusal(_forged(_ENGINE_LINE, ("proposal", {}), release=release))
        assert error.reason is Reason.ARCHIVE_FORMAT_UNKNOWN
        assert error.metadata == {"release": release}


def test_a_later_format_names_the_release_that_reads_it() -> None:
    header = _lines(1)[0].replace(b"bank/1", b"bank/2").replace(b"0.1.0", b"3.0.0")
    error = _refusal(header)
    assert error.reason is Reason.ARCHIVE_FORMAT_UNKNOWN
    assert error.metadata == {"release": "3.0.0"}


def test_releases_are_compared_by_their_numbers() -> None:
    assert is_later("0.10.0", "0.9.1")
    assert not is_later("0.9.1", "0.9.1")
    assert not is_later("", "0.9.1")


def test_a_line_without_end_is_refused() -> None:
    """Zeros pack well: a body of a hundred kilobytes unpacks to a hundred megabytes."""
    error = _refusal(gzip.compress(_lines(1)[0] + b"0" * 100_000_000))
    assert error.reason is Reason.ARCHIVE_INVALID
    assert "Line 1 has more than" in error.message


@pytest.mark.parametrize("seed", range(400))
def test_noise_is_refused(seed: int) -> None:
    """Bytes flipped, cut, doubled and moved, in gzip and in NDJSON: an error of the sender."""
    chance = random.Random(seed)
    lines = _lines(5)
    whole = b"".join(lines)
    data = bytearray(whole if seed % 2 else _packed(lines))
    for _ in range(chance.randint(1, 3)):
        at, to = sorted(chance.choices(range(len(data)), k=2))
        match chance.randrange(4):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                del data[at : min(to, at + 20)]
            case 2:
                data[at:at] = data[at : min(to, at + 200)]
            case _:
                data[at:to] = bytes(reversed(data[at:to]))
    refused, blocks = _outcome(bytes(data))
    if refused is None:
        # No digest covers the header; the rest must be what was written.
        assert blocks == _read([whole])
    else:
        assert refused in {
            Reason.ARCHIVE_INVALID,
            Reason.ARCHIVE_TRUNCATED,
            Reason.ARCHIVE_FORMAT_UNKNOWN,
        }


def _outcome(data: bytes) -> tuple[Reason | None, list[Block]]:
    try:
        return None, _read([data])
    except InvalidArgument as error:
        return error.reason, []


_RELEASED = sorted((Path(__file__).parents[2] / "data/archives").glob("*.omb.gz"))


@pytest.mark.parametrize("file", _RELEASED, ids=lambda file: file.name)
def test_an_archive_of_each_released_format_is_read(file: Path) -> None:
    """Each has a line of every kind of its format; no later release may refuse one."""
    lines = [line for block in _read([file.read_bytes()]) for line in block.lines]
    assert {line.kind.name for line in lines} >= {kind.name for kind in KINDS} - YOUNGER

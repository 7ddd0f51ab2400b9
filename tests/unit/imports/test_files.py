"""Files of imports: packed in every way, within the limits, and what is written beside them."""

import gzip
import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.process.imports.files import LinesFile, opened
from app.process.imports.records import FileError

_TEXT = b'[{"id": "a"}]'
_MEMBERS = ("memories.json", "memories.jsonl.gz")


def _read(path: Path, members: Sequence[str] = ()) -> bytes:
    with opened(str(path), members) as data:
        text = b"".join(data.pieces)
        assert data.total is not None
        assert data.done() <= data.total
    return text


def _zip(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "."), text)
    return path


def test_a_file_is_read_packed_or_not(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for packed in (_TEXT, gzip.compress(_TEXT), gzip.compress(_TEXT) + gzip.compress(b"\n")):
        file.write_bytes(packed)
        assert _read(file).strip() == _TEXT
    assert _read(_zip(file, dump__json=_TEXT, readme__txt=b"x")) == _TEXT


def test_of_a_zip_the_best_member_is_read(tmp_path: Path) -> None:
    file, lines = tmp_path / "file.zip", gzip.compress(b"lines")
    assert _read(_zip(file, memories__jsonl__gz=lines, memories__json=_TEXT), _MEMBERS) == _TEXT
    assert _read(_zip(file, **{"export/memories__jsonl__gz": lines}), _MEMBERS) == b"lines"


@pytest.mark.parametrize(
    ("files", "members", "told"),
    [
        ({"a__json": b"", "b__json": b""}, (), "exactly one file of JSON; it has: a.json, b.json"),
        ({"a__txt": b""}, (), "exactly one file of JSON; it has: a.txt"),
        ({"a__json": b""}, _MEMBERS, "memories.json or memories.jsonl.gz; it has: a.json"),
        ({}, (), "it has: nothing"),
    ],
)
def test_a_zip_with_another_content_names_it(
    tmp_path: Path, files: dict[str, bytes], members: Sequence[str], told: str
) -> None:
    file = _zip(tmp_path / "file.zip", **files)
    if not files:
        # Without a file, a zip has only its end.
        file.write_bytes(b"PK\x03\x04" + file.read_bytes())
    with pytest.raises(FileError, match=told):
        _read(file, members)


def test_a_file_that_is_packed_too_well_is_refused(tmp_path: Path) -> None:
    zeros = bytes(4 * 1024 * 1024)
    file = tmp_path / "file"
    packed = [gzip.compress(zeros), _zip(file, a__json=zeros).read_bytes()]
    packed.append(_zip(file, a__json__gz=gzip.compress(zeros)).read_bytes())
    for data in packed:
        file.write_bytes(data)
        with pytest.raises(FileError, match="more than 200 bytes for each packed one"):
            _read(file)


def test_a_file_that_is_too_long_unpacked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.process.imports.files.MAX_UNPACKED_BYTES", len(_TEXT) - 1)
    file = tmp_path / "file"
    file.write_bytes(gzip.compress(_TEXT))
    with pytest.raises(FileError, match=f"more than {len(_TEXT) - 1} bytes unpacked"):
        _read(file)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    text = bytes(range(256)) * 40
    packed, zipped = gzip.compress(text), _zip(file, a__json=text).read_bytes()
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 255
    for data in (packed[:-9], bytes(flipped), zipped[:-30], b"PK\x03\x04"):
        file.write_bytes(data)
        with pytest.raises(FileError, match="damaged"):
            _read(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="missing cannot be read: No such file"):
        _read(tmp_path / "missing")


def test_only_the_owner_can_read_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "file.rejected.ndjson"
    path.write_text("of an earlier run\n")
    path.chmod(0o644)
    with LinesFile(path, adds=False) as lines:
        assert not path.exists()
        lines.write({"item": "\ud800"})
    assert path.read_text() == '{"item": "\\ud800"}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with LinesFile(path, adds=True) as lines:
        lines.write({"a": 1})
    assert len(path.read_text().splitlines()) == 2

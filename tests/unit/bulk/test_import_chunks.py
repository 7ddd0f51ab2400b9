"""Lines of a stream, however it is cut into pieces."""

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.errors import InvalidArgument, Reason
from app.memory.bulk.logic import CHUNK_BYTES, CHUNK_LINES, ImportLine, Lines, chunked


def read(pieces: list[bytes], max_bytes: int = 100) -> list[ImportLine]:
    lines = Lines(max_bytes)
    found = [line for piece in pieces for line in lines.feed(piece)]
    return [*found, *lines.end()]


@given(st.binary(max_size=60).map(lambda b: b.replace(b"a", b"\n")), st.lists(st.integers(0, 60)))
def test_the_pieces_make_no_difference(text: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    whole = [
        ImportLine(number, line)
        for number, line in enumerate(text.split(b"\n"), 1)
        if line and not line.isspace()
    ]
    assert read(pieces) == whole


def test_a_line_that_is_too_long_is_told_and_not_kept() -> None:
    assert read([b"12345", b"6\n", b"12345\n1234", b"56", b"78901"], 5) == [
        ImportLine(1, None),
        ImportLine(2, b"12345"),
        ImportLine(3, None),
    ]
    lines = Lines(5)
    for _ in range(10):
        assert list(lines.feed(b"123456")) == []
        assert lines._rest.getvalue() == b""


async def _pieces(*pieces: bytes, error: Exception | None = None) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
    if error is not None:
        raise error


async def _sizes(*pieces: bytes) -> list[int]:
    return [len(chunk) async for chunk in chunked(_pieces(*pieces))]


async def test_a_chunk_has_so_many_lines_or_so_many_bytes() -> None:
    assert await _sizes(b"x\n" * (2 * CHUNK_LINES + 1)) == [CHUNK_LINES, CHUNK_LINES, 1]
    long = b"x" * (CHUNK_BYTES // 2) + b"\n"
    assert await _sizes(long * 5) == [2, 2, 1]
    assert await _sizes(b"", b"\n\n", b" \n") == []


async def test_whole_lines_come_before_what_broke_off() -> None:
    broken = InvalidArgument("The body was broken off.", Reason.BODY_NOT_JSON)
    chunks = chunked(_pieces(b"a\nb\nc", error=broken))
    assert await anext(chunks) == [ImportLine(1, b"a"), ImportLine(2, b"b")]
    with pytest.raises(InvalidArgument):
        await anext(chunks)

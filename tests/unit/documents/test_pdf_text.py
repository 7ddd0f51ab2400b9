"""The text of a PDF, page by page, and the words for a PDF without text."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.adapters.documents.pdf_text import pages_of
from app.kernel.errors import InvalidArgument, Reason, Unavailable
from app.kernel.tuning import Tuning
from tests.support.pdfs import deflated, encrypted, of_contents, of_pages, scanned, shown, stream

PAGES = ["The kettle costs 42 coins.\nIt is green.", "", "Caf\u00e9 \u20ac (open)"]
PDF = of_pages(*PAGES)


async def in_pieces(data: bytes, size: int = 1_000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def read(pdf: bytes, **tuned: Any) -> list[str]:
    return await pages_of(in_pieces(pdf), replace(Tuning(), **tuned))


async def refused(pdf: bytes, **tuned: Any) -> str:
    with pytest.raises(InvalidArgument) as caught:
        await read(pdf, **tuned)
    assert caught.value.reason is Reason.FILE_UNREADABLE
    return caught.value.message


async def test_each_page_has_its_text() -> None:
    assert [page.strip() for page in await read(PDF)] == PAGES
    assert all(page.endswith("\n\n") for page in await read(PDF))


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
async def test_an_encrypted_file_is_read_only_without_a_password(algorithm: str) -> None:
    assert "encrypted" in await refused(encrypted(PDF, "secret", algorithm))
    assert [page.strip() for page in await read(encrypted(PDF, "", algorithm))] == PAGES


UNREADABLE: dict[str, tuple[Callable[[], bytes], str]] = {
    "scanned": (scanned, "no text"),
    "empty pages": (lambda: of_pages("", " "), "no text"),
    "no pages": (of_contents, "no text"),
    "only a head": (lambda: b"%PDF-1.7\n", "damaged"),
    "other bytes": (lambda: b"%PDF-1.7\n" + bytes(range(256)) * 100, "damaged"),
    "a compressed page": (lambda: of_contents(deflated(bytes(90 * 1024**2))), "too large"),
    "a long page": (lambda: of_contents(stream(shown("word " * 60_000))), "too large"),
}


@pytest.mark.parametrize("name", UNREADABLE)
async def test_a_file_without_text_is_told_as_what_it_is(name: str) -> None:
    made, words = UNREADABLE[name]
    assert words in await refused(made())


async def test_a_damaged_page_is_empty_among_others() -> None:
    damaged = stream(b"not compressed", b"/Filter /FlateDecode")
    pdf = of_contents(stream(shown("One")), damaged, stream(shown("Three")))
    assert [page.strip() for page in await read(pdf)] == ["One", "", "Three"]


async def test_a_file_without_its_table_is_repaired() -> None:
    torn = re.sub(rb"startxref\n\d+", b"startxref\n7", PDF)
    assert [page.strip() for page in await read(torn)] == PAGES


async def test_time_and_memory_are_limited() -> None:
    endless = of_contents(*[deflated(shown(*["word"] * 40_000))] * 20)
    assert "more than 184 MiB of memory or 1 s" in await refused(endless, task_pdf_cpu_seconds=1)
    long = of_contents(stream(shown("word")), more=[stream(bytes(64 * 1024**2))])
    assert "100 MiB" in await refused(long, task_pdf_memory_bytes=100 * 1024**2)


def children() -> set[int]:
    """Return the processes that this thread's process has started and not yet waited for."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return set(map(int, listed.split()))


async def test_a_process_that_something_else_ends_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = children()

    async def endless() -> AsyncIterator[bytes]:
        yield b"%PDF-1.7\n"
        [process] = children() - before
        os.kill(process, signal.SIGKILL)

    with pytest.raises(Unavailable) as caught:
        await pages_of(endless(), Tuning())
    assert caught.value.reason is Reason.READING_INTERRUPTED
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Unavailable) as caught:
        await read(PDF)
    assert caught.value.reason is Reason.READING_INTERRUPTED


async def test_a_process_that_is_no_longer_awaited_is_killed() -> None:
    before = children()
    reached = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"%PDF-1.7\n"
        reached.set()
        await asyncio.Event().wait()

    reading = asyncio.create_task(pages_of(endless(), Tuning()))
    async with asyncio.timeout(30):
        await reached.wait()
    assert children() - before
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not children() - before


async def test_a_failure_of_the_source_is_its_own() -> None:
    before = children()

    async def failing() -> AsyncIterator[bytes]:
        yield PDF[:100]
        raise Unavailable("The database is away.", Reason.DATABASE_UNAVAILABLE)

    with pytest.raises(Unavailable, match="away"):
        await pages_of(failing(), Tuning())
    assert not children() - before

"""The text of a PDF by page, read in a process that is killed if it is no longer awaited."""

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import suppress

from app.adapters.documents import pdf_process
from app.adapters.documents.pdf_process import (
    CPU_SECONDS,
    DAMAGED,
    ENCRYPTED,
    MAX_CHARS,
    MAX_PAGE_CHARS,
    MAX_PAGES,
    MEMORY_BYTES,
    PAGE_END,
    TOO_LARGE,
)
from app.kernel.errors import InvalidArgument, Reason, Unavailable

_MIB = 1024**2
_PIECE_BYTES = 64 * 1024
_MAX_BYTES = 4 * MAX_CHARS + MAX_PAGES
"""The longest text in UTF-8."""
_HUGE = (
    f"The PDF is too large to be read: it takes more than {MEMORY_BYTES // _MIB} MiB of memory,"
    f" {CPU_SECONDS} s, {MAX_PAGES} pages, {MAX_PAGE_CHARS} characters on a page or {MAX_CHARS}"
    " in all."
)
_BROKEN = "The PDF is damaged: no page of it can be read."
_SCANNED = "The PDF has no text: its pages are empty or pictures, such as scans."
_WORDS = {
    ENCRYPTED: "The PDF is encrypted: it can be read without its password only.",
    DAMAGED: _BROKEN,
    TOO_LARGE: _HUGE,
    -signal.SIGXCPU: _HUGE,
    -signal.SIGSEGV: _BROKEN,
    -signal.SIGABRT: _BROKEN,
    -signal.SIGBUS: _BROKEN,
}


async def pages_of(data: AsyncIterator[bytes]) -> list[str]:
    """Return the text of each page; together they are the text of the file.

    Raises:
        InvalidArgument: the file is encrypted, damaged, too large, or has no text.
        Unavailable: the process was not started, or something other than the file ended it.
    """
    # No variable of the service is for a process that reads hostile files. Without a path, the
    # library finds no programs to start.
    command = (sys.executable, "-I", pdf_process.__file__)
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={"PATH": ""}
        )
    except OSError as error:
        raise _interrupted() from error
    try:
        await _send(process, data)
        pages = await _receive(process)
        status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if status in _WORDS:
        raise _unreadable(_WORDS[status])
    if status:
        raise _interrupted()
    if not any(map(str.strip, pages)):
        raise _unreadable(_SCANNED)
    return pages


async def _send(process: Process, data: AsyncIterator[bytes]) -> None:
    assert process.stdin is not None
    # The process may end before it has read everything: its status tells why.
    with suppress(BrokenPipeError, ConnectionResetError):
        async for piece in data:
            process.stdin.write(piece)
            await process.stdin.drain()
    process.stdin.close()


async def _receive(process: Process) -> list[str]:
    assert process.stdout is not None
    received = bytearray()
    while piece := await process.stdout.read(_PIECE_BYTES):
        received += piece
        if len(received) > _MAX_BYTES:
            raise _unreadable(_HUGE)
    *texts, _ = received.decode("utf-8", "replace").split(PAGE_END)
    return [f"{text}\n\n" for text in texts]


def _unreadable(message: str) -> InvalidArgument:
    return InvalidArgument(message, Reason.FILE_UNREADABLE)


def _interrupted() -> Unavailable:
    message = "The reading of the PDF was interrupted."
    return Unavailable(message, Reason.READING_INTERRUPTED)

"""The text of a PDF by page, read in a process that is killed if it is no longer awaited."""

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import suppress

from app.adapters.documents import pdf_process
from app.adapters.documents.pdf_process import (
    DAMAGED,
    ENCRYPTED,
    MAX_CHARS,
    MAX_PAGE_CHARS,
    MAX_PAGES,
    PAGE_END,
    TOO_LARGE,
)
from app.kernel.errors import InvalidArgument, Reason, Unavailable
from app.kernel.tuning import Tuning

_MIB = 1024**2
_BROKEN = "The PDF is damaged: no page of it can be read."
_SCANNED = "The PDF has no text: its pages are empty or pictures, such as scans."
_HUGE = (
    "The PDF is too large to be read: that takes more than {mebibytes} MiB of memory or {seconds} s"
    f" of CPU time, or it has more than {MAX_PAGES} pages, {MAX_PAGE_CHARS} characters on a page,"
    f" or {MAX_CHARS} in all."
)
_WORDS = {
    ENCRYPTED: "The PDF is encrypted: it cannot be read without its password.",
    DAMAGED: _BROKEN,
    TOO_LARGE: _HUGE,
    -signal.SIGXCPU: _HUGE,
    -signal.SIGSEGV: _BROKEN,
    -signal.SIGABRT: _BROKEN,
    -signal.SIGBUS: _BROKEN,
}
"""Reasons by exit status. Any other status comes from the machine, not from the file."""


async def pages_of(data: AsyncIterator[bytes], tuning: Tuning) -> list[str]:
    """Return the text of each page; joined, they are the text of the file.

    Raises:
        InvalidArgument: the file is encrypted, damaged, too large, or has no text.
        Unavailable: the process was not started, or something other than the file ended it.
    """
    limits = map(str, (tuning.task_pdf_memory_bytes, tuning.task_pdf_cpu_seconds))
    command = [sys.executable, "-I", pdf_process.__file__, *limits]
    try:
        # The service's variables are not for a process that reads hostile files. Without a path,
        # the library finds no programs to start.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={"PATH": ""}
        )
    except OSError as error:
        raise _interrupted() from error
    try:
        await _send(process, data)
        assert process.stdout is not None
        # Its length is limited by the process.
        text = (await process.stdout.read()).decode("utf-8", "replace")
        status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if status in _WORDS:
        mebibytes = tuning.task_pdf_memory_bytes // _MIB
        words = _WORDS[status].format(mebibytes=mebibytes, seconds=tuning.task_pdf_cpu_seconds)
        raise InvalidArgument(words, Reason.FILE_UNREADABLE)
    if status:
        raise _interrupted()
    if not text.strip():
        raise InvalidArgument(_SCANNED, Reason.FILE_UNREADABLE)
    *pages, _ = text.split(PAGE_END)
    return [f"{page}\n\n" for page in pages]


async def _send(process: Process, data: AsyncIterator[bytes]) -> None:
    assert process.stdin is not None
    # The process may end before it has read everything: its status tells why.
    with suppress(BrokenPipeError, ConnectionResetError):
        async for piece in data:
            process.stdin.write(piece)
            await process.stdin.drain()
    process.stdin.close()


def _interrupted() -> Unavailable:
    message = "The reading of the PDF was interrupted."
    return Unavailable(message, Reason.READING_INTERRUPTED)

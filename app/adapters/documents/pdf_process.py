"""The program that reads a PDF in a process of its own, which `pdf_text` starts and may kill.

Its arguments are the limits of its address space, in bytes, and of its CPU time, in seconds. It
reads the file from its standard input, and writes the text of each page in UTF-8, with a form feed
at its end. Its exit status says how the reading ended. It imports nothing of the service, since a
hostile file must find neither its memory nor its settings.
"""

import io
import logging
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress

ENCRYPTED, DAMAGED, TOO_LARGE = 3, 4, 5
"""Exit statuses of files that cannot be read."""
MAX_PAGES = 10_000
MAX_PAGE_CHARS = 250_000
"""Longest text of one page, which a response may hold."""
MAX_CHARS = 8 * 1024**2
"""Longest text of a file, which the service holds in memory."""
PAGE_END = "\f"
_NICENESS = 5


class _TooLongError(Exception):
    """A file has more pages or more text than is read."""


def main(memory_bytes: int, cpu_seconds: int) -> int:
    """Write the texts of the pages; return the exit status."""
    # The service imports this module for its constants and never loads the library.
    from pypdf.errors import FileNotDecryptedError, LimitReachedError  # noqa: PLC0415 - as above

    logging.disable()
    _limit(memory_bytes, cpu_seconds)
    try:
        for text in _texts(sys.stdin.buffer.read()):
            sys.stdout.buffer.write(f"{text}{PAGE_END}".encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except FileNotDecryptedError:
        return ENCRYPTED
    except (MemoryError, LimitReachedError, _TooLongError):
        return TOO_LARGE
    except BrokenPipeError:
        # The service no longer waits.
        return os.EX_IOERR
    except Exception:  # noqa: BLE001 - a damaged file may cause any error
        return DAMAGED
    return os.EX_OK


def _limit(memory_bytes: int, cpu_seconds: int) -> None:
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # macOS refuses a limit below the space that the process already has.
    with suppress(*((ValueError, OSError) if sys.platform == "darwin" else ())):
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))


def _texts(data: bytes) -> Iterator[str]:
    """Yield the text of each page; a damaged page among others has none."""
    from pypdf import PdfReader  # noqa: PLC0415 - as in `main`
    from pypdf.errors import FileNotDecryptedError, LimitReachedError  # noqa: PLC0415 - as in `main`

    whole, damage = 0, None
    for number, page in enumerate(PdfReader(io.BytesIO(data)).pages):
        text = ""
        try:
            text = "\n".join(page.extract_text().splitlines())
        except (MemoryError, FileNotDecryptedError, LimitReachedError):
            raise
        except Exception as error:  # noqa: BLE001 - as in `main`
            damage = error
        whole += len(text)
        if number >= MAX_PAGES or len(text) > MAX_PAGE_CHARS or whole > MAX_CHARS:
            raise _TooLongError
        yield text
    if not whole and damage is not None:
        raise damage


if __name__ == "__main__":
    # Without the destruction of all objects, which takes long after many pages.
    os._exit(main(*map(int, sys.argv[1:])))

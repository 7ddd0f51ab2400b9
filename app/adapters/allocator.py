"""The memory that a process keeps: the garbage collector, and the allocator of glibc."""

import ctypes
import gc
import mmap
import sys
from itertools import pairwise
from pathlib import Path

_ARENA_MAX = -8
"""`M_ARENA_MAX` of malloc.h."""
_ARENAS = 2
GARBAGE = (10_000, 20, 20)
"""Thresholds of the garbage collector, from the young to the old generation."""


def limit_arenas() -> None:
    """Have threads share two arenas; call it before they start.

    Each thread would keep an arena of its own, with what it has freed: an import of a thousand
    memories left 17 MB more behind.
    """
    if (library := _glibc()) is not None:
        library.mallopt(_ARENA_MAX, _ARENAS)


def keep_what_is_there() -> None:
    """Exclude the start's objects from garbage collection, and collect less often.

    A full collection of these objects stops the process for a fifth of a second. What the start has
    freed is given back to the system.
    """
    give_back()
    if (library := _glibc()) is not None:
        _let_code_go(library)
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def give_back() -> None:
    """Give what has been freed back to the system. Takes milliseconds."""
    if (library := _glibc()) is not None:
        library.malloc_trim(0)


def _let_code_go(library: ctypes.CDLL) -> None:
    """Leave the code of libraries, and their symbols, to the system's cache of files.

    What is used again comes back from there in microseconds; the start alone needed half of it.
    """
    mapped = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
    for symbols, code in pairwise(mapped):
        file = code[-1]
        # Neither is ever written to, so nothing is lost.
        if code[1] == "r-xp" and file.startswith("/"):
            first = symbols if symbols[1] == "r--p" and symbols[-1] == file else code
            begin, end = int(first[0].split("-")[0], 16), int(code[0].split("-")[1], 16)
            library.madvise(
                ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_DONTNEED
            )


def _glibc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") else None

"""Settings of the garbage collector and of glibc's allocator that save memory."""

import ctypes
import gc
import mmap
import sys
from itertools import pairwise
from pathlib import Path

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""`M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD` and `M_ARENA_MAX` of malloc.h."""
_MIB = 2**20
_GARBAGE = (10_000, 20, 20)
"""Thresholds of the garbage collector, from the youngest to the oldest generation."""


def limit_allocator() -> None:
    """Make threads share two arenas and return large blocks once freed; call it before they start.

    By its defaults, glibc raises both bounds with the largest block that was mapped and freed.
    Lower bounds would cost CPU: the blocks of one pass of the embedder would be given back before
    the next.
    """
    if (library := _glibc()) is not None:
        library.mallopt(_ARENA_MAX, 2)
        library.mallopt(_MMAP_THRESHOLD, 8 * _MIB)
        library.mallopt(_TRIM_THRESHOLD, 4 * _MIB)


def collect_seldom() -> None:
    """Look for garbage less often: neither imports nor requests leave much of it."""
    gc.set_threshold(*_GARBAGE)


def keep_what_is_there() -> None:
    """Exclude the objects of the start from collections, which would stop us for 0.2 seconds."""
    give_back()
    if (library := _glibc()) is not None:
        _let_code_go(library)
    gc.freeze()
    collect_seldom()


def give_back() -> None:
    """Return freed memory to the system. Takes milliseconds."""
    if (library := _glibc()) is not None:
        library.malloc_trim(0)


def _let_code_go(library: ctypes.CDLL) -> None:
    """Drop the code and symbols of libraries from the process's resident memory.

    The system's file cache returns pages that are used again within microseconds. Half of the
    pages are needed only by the start.
    """
    mapped = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
    for symbols, code in pairwise(mapped):
        file = code[-1]
        # Neither mapping is ever written to, so no data is lost.
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

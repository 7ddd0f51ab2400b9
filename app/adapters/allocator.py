"""The C library's allocator, told to keep less memory. Only glibc can be told."""

import ctypes
import sys

_ARENA_MAX = -8
"""`M_ARENA_MAX` of malloc.h."""
_ARENAS = 2


def limit_arenas() -> None:
    """Have threads share two arenas; call it before they start.

    Each thread would keep one of its own, with what it has freed. An import of a thousand memories
    so left 17 MB more behind.
    """
    if (library := _glibc()) is not None:
        library.mallopt(_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Give what was freed back to the system, as after a start. Takes a hundredth of a second."""
    if (library := _glibc()) is not None:
        library.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") else None

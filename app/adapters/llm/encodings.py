"""Encodings of tiktoken, which count the tokens of some providers exactly.

The package is an extra (`tokens`), and its user puts the tables into a folder: this service fetches
nothing.
"""

from base64 import b64decode
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SHORTENED = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)"
        r"|[^\r\n\p{L}\p{N}]?+\p{L}++"
        r"|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$"
        r"|\s*[\r\n]"
        r"|\s+(?!\S)"
        r"|\s"
    ),
    "o200k_base": (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SHORTENED}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SHORTENED}"
        r"|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*"
        r"|\s*[\r\n]+"
        r"|\s+(?!\S)"
        r"|\s+"
    ),
}
"""The pattern with which each encoding splits a text before the lookup in its table."""


def available(folder: Path | None) -> Sequence[str]:
    """Return the usable encodings: the package is installed, and their files exist."""
    if folder is None or find_spec("tiktoken") is None:
        return ()
    return [name for name in _PATTERNS if _file(folder, name).is_file()]


@lru_cache
def load(folder: Path, name: str) -> "Encoding":
    """Return one of the `available` encodings; the first load takes about a second."""
    # Imported here: without encodings, the package is not needed.
    from tiktoken import Encoding  # noqa: PLC0415 - as above

    ranks = _ranks(_file(folder, name))
    return Encoding(name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})


def _ranks(file: Path) -> dict[bytes, int]:
    """Parse a table: each line holds a part of a text as base64, and its rank.

    The package's own reader would leave a copy where every user of the machine can write.
    """
    pairs = (line.split() for line in file.read_bytes().splitlines() if line)
    return {b64decode(part, validate=True): int(rank) for part, rank in pairs}


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.tiktoken"

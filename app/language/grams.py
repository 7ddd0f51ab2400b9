"""Words of scripts without blanks, as overlapping pairs of signs. Pure.

Chinese, Japanese, Thai, Lao, Khmer and Burmese put no blanks between words, and Korean words end in
particles. A run of their signs is indexed as bigrams. A short run is also indexed as a whole, since
it may be one word. A sign includes its marks.

A word of another script that touches a run is listed as well, since Postgres treats both as one
word. A word with format characters or variation selectors is listed without them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

from app.kernel.text import fold, without_format
from app.language.bm25 import MAX_TERMS

_SIGNS = (
    # Thai, Lao
    r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf"
    # Burmese, Khmer
    r"\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f"
    r"\u1780-\u17d3\u17d7\u17dc\u17dd"
    # Hangul
    r"\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa0-\uffdc"
    # Kana, Bopomofo
    r"\u3031-\u3035\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    r"\uff66-\uff9f\u3105-\u312f\u31a0-\u31bf"
    # Han
    r"\u3005-\u3007\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
ANY_SIGN = f"[{_SIGNS}]"
"""The expression for a letter or mark of these scripts, for Python and for Postgres.

Each text that matches it has a gram.
"""
_RUN = re.compile(f"({ANY_SIGN}+)")
_LAST_WORD = re.compile(r"(?<![^\W_])[^\W_]++\Z")
_FIRST_WORD = re.compile(r"[^\W_]+")
_WHOLE = 12
"""Maximum signs of a run that is indexed as a whole."""
_MAX_CHARS = 100
"""Maximum characters of a gram: signs may have any number of marks."""
_MAX_ASKED = MAX_TERMS * 3 // 4
"""Maximum grams of a query, which leaves room for words of other scripts."""


def apart(text: str) -> tuple[str, list[str]]:
    """Return a text with a blank for each run of signs, and the grams of the runs in order."""
    if text.isascii():
        return text, []
    other, *runs = _RUN.split(without_format(text))
    if not runs:
        return text, []
    return " ".join([other, *runs[1::2]]), [gram for run in runs[::2] for gram in _of_run(run)]


def grams(text: str) -> list[str]:
    """Return the grams of a text, without repetition; most texts have none."""
    if text.isascii():
        return []
    parts = _RUN.split(plain := without_format(text))
    distinct = dict.fromkeys(_words_with_format(text)) if plain != text else {}
    for before, run, after in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
        touching = (_LAST_WORD.search(before), _FIRST_WORD.match(after))
        words = (word for match in touching if match for word in fold(match[0]).split())
        distinct |= dict.fromkeys(gram[:_MAX_CHARS] for gram in (*words, *_of_run(run)))
    return list(distinct)


def _words_with_format(text: str) -> Iterator[str]:
    for word in text.split():
        plain = without_format(word)
        if plain != word and not _RUN.search(plain):
            yield from (part[:_MAX_CHARS] for part in fold(plain).split())


def indexed(text: str) -> str | None:
    """Return the grams of a text as a `tsvector`; None if it has none."""
    return " ".join(map(_quoted, grams(text))) or None


def asked(query: str) -> str:
    """Return the first grams of a query as a `tsvector`, each with its position."""
    first = enumerate(grams(without_format(query))[:_MAX_ASKED], 1)
    return " ".join(f"{_quoted(gram)}:{place}" for place, gram in first)


def has_grams(text: str) -> bool:
    """Return True if a text has a letter or mark of these scripts."""
    return not text.isascii() and _RUN.search(text) is not None


def _quoted(gram: str) -> str:
    return "'{}'".format(gram.replace("\\", "\\\\").replace("'", "''"))


def _of_run(run: str) -> Iterator[str]:
    signs = list(_signs(unicodedata.normalize("NFKC", run)))
    if len(signs) <= _WHOLE:
        yield "".join(signs)
    if len(signs) > 2:
        yield from map("".join, pairwise(signs))


def _signs(run: Iterable[str]) -> Iterator[str]:
    sign = ""
    for character in run:
        if sign and unicodedata.category(character).startswith("M"):
            sign += character
            continue
        if sign:
            yield sign
        sign = character
    if sign:
        yield sign

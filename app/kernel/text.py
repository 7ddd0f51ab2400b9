"""Text as the database can hold it, and as it is compared."""

import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

_ACCENTS = re.compile("[\u0300-\u036f]")


APOSTROPHES = re.compile("['\u2019\u02bc`\u00b4]")


# `+`, `#`, `%` and currency signs tell things apart ("C", "C++", "C#"); other signs do not.
_SEPARATORS = re.compile(r"[^\w+#%$€£¥]+|_+")


UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""A character that the database does not store: U+0000, or half of a surrogate pair."""


def texts_in(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Yield every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, below in value.items():
            yield key
            yield from texts_in(below)
    elif isinstance(value, list):
        for below in value:
            yield from texts_in(below)


def is_storable(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return True if the database can hold every text in a JSON value."""
    return not any(UNSTORABLE.search(text) for text in texts_in(value))


_FIRST_SURROGATE, _AFTER_SURROGATES = 0xD800, 0xE000


_HIDDEN = frozenset({"Cc", "Cf"})


_JOINERS = frozenset("\u200c\u200d")
"""Characters that scripts and emoji need within words."""


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")


def clean(text: str) -> str:
    """Remove the characters that a database cannot hold or a reader cannot see."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def is_hidden(character: str) -> bool:
    """Return True if a reader sees nothing of a character, or it changes the text's direction."""
    return character not in _JOINERS and unicodedata.category(character) in _HIDDEN


def fold(text: str) -> str:
    """Return the text without case, accents, punctuation and extra spaces."""
    plain = APOSTROPHES.sub("", text)
    if not plain.isascii():
        bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", plain))
        plain = unicodedata.normalize("NFKC", bare)
    return " ".join(_SEPARATORS.sub(" ", plain.casefold()).split()) or text.strip()


def after_all_with(prefix: str) -> str | None:
    """Return the least text, in byte order, that is greater than every text with a prefix.

    UTF-8 has the order of the characters. None: no text is.
    """
    kept = prefix.rstrip(chr(sys.maxunicode))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    # No text has half a surrogate pair.
    return kept[:-1] + chr(_AFTER_SURROGATES if following == _FIRST_SURROGATE else following)

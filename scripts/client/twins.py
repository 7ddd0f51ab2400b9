"""The blocking client, written from the one that is awaited."""

import re

_HEAD = "# Written by `make client` from the file of the same name in _async.\n"
_WORDS = {
    "_async": "_sync",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "aclose": "close",
    "aread": "read",
    "aiter_bytes": "iter_bytes",
    "asleep": "sleep",
    "agather": "gather",
    "achunks": "chunks",
}
_AWAITED = re.compile(r"\b(?:async|await) ")
_WORD = re.compile(r"\b\w+\b")


def blocking(source: str) -> str:
    """Return the source of a module of `_async` for `_sync`."""
    return _HEAD + _WORD.sub(lambda found: _word(found[0]), _AWAITED.sub("", source))


def _word(word: str) -> str:
    if word in _WORDS:
        return _WORDS[word]
    return word.removeprefix("Async") if re.match(r"Async[A-Z]", word) else word

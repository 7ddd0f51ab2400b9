"""Truncation of long texts at the least harmful position."""

from collections.abc import Callable

from app.language.sentences import sentences

_CUT = "\u2026"


def longest_fitting(most: int, fits: Callable[[int], bool], least: int = 0) -> int:
    """Return the greatest length up to `most` that fits, found by bisection from `least` on."""
    while least < most:
        middle = (least + most + 1) // 2
        if fits(middle):
            least = middle
        else:
            most = middle - 1
    return least


def cut_off(text: str, chars: int) -> str:
    """Truncate a text to at most `chars` characters, after a whole sentence or a whole word.

    A line counts as a sentence, as in lists.
    """
    if len(text) <= chars:
        return text
    end = 0
    for sentence in sentences(text[: chars + 1]):
        reached = sentence.start + len(sentence.text)
        if reached <= chars and (_is_whole(sentence.text) or text[reached] == "\n"):
            end = reached
    if end:
        return text[:end]
    begun = text[: max(chars - len(_CUT), 0)]
    words, space, _ = begun.rpartition(" ")
    return ((words if space else begun).rstrip() + _CUT)[:chars]


def _is_whole(sentence: str) -> bool:
    return not sentence[-1].isalnum() and sentence[-1] not in ",:-\u2013("

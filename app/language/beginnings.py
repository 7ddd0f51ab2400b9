"""Shortening of long texts at the least harmful place."""

from app.language.sentences import sentences

_CUT = "\u2026"


def cut_off(text: str, chars: int) -> str:
    """Return the beginning of a text, at most `chars` long: whole sentences, else whole words.

    A line counts as a sentence as well, as in lists.
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

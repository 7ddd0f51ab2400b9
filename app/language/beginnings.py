"""The beginning of a text that is too long, cut where that hurts least."""

from app.language.sentences import sentences

_CUT = "\u2026"


def cut_off(text: str, chars: int) -> str:
    """Return the beginning of a text, at most `chars` long: whole sentences, else whole words.

    A line is a sentence, too, as lists have them.
    """
    if len(text) <= chars:
        return text
    end = 0
    for one in sentences(text[: chars + 1]):
        reached = one.start + len(one.text)
        if reached <= chars and (_is_whole(one.text) or text[reached] == "\n"):
            end = reached
    if end:
        return text[:end]
    begun = text[: max(chars - len(_CUT), 0)]
    words, space, _ = begun.rpartition(" ")
    return ((words if space else begun).rstrip() + _CUT)[:chars]


def _is_whole(sentence: str) -> bool:
    return not sentence[-1].isalnum() and sentence[-1] not in ",:-\u2013("

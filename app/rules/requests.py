"""What a user's words ask to forget, whoever says that they do."""

import re
from collections.abc import Iterator

from app.rules.forgetting import named_in, names_something
from app.rules.lexicon import language
from app.rules.sentences import sentences
from app.rules.statements import Said, statements
from app.rules.text import fold

_SPEECH = re.compile(r"[\"“„«](?:[^\"“”„«»\s]+\s+){2,}[^\"“”„«»]*(?:[\"“”»]|$)")
"""Three words and more between quotation marks: others say that. Fewer may be a name."""
_KEEP = re.compile(
    r"\b(?:(?:do not|dont|never|cannot|cant|will not|wont|must not|mustnt) (?:ever )?"
    r"(?:forget|delete|erase|remove)|vergiss (?:\w+ ){0,2}(?:nicht|nie)|nicht vergessen"
    r"|(?:no|nunca) (?:te )?olvid\w+|n ?oubli\w+ (?:pas|jamais))\b"
)
_QUESTION = re.compile(r"[?\uff1f\u061f][\s\"')]*$")


def asked_to_forget(thing: str, quote: str, text: str) -> str | None:
    """Return what the words `quote` of what a user wrote, `text`, ask to forget, if they do.

    That is the `thing` if the text has all of its words and the quote one of them; else what the
    quote itself names. The quote must be the user's own words. Taken for no request: what is
    quoted, what asks to keep something, and a question, unless the rules know it for a polite
    request.
    """
    own, wanted = _SPEECH.sub(" ", text), fold(quote)
    if wanted not in fold(own) or not names_something(quote):
        return None
    around = [one.text for one in sentences(own) if _overlap(fold(one.text), wanted)]
    if not all(_may_ask(sentence) for sentence in around):
        return None
    if named_in(thing, own) and any(named_in(word, quote) for word in (thing, *thing.split())):
        return thing
    known = [said.text for said in _said(quote) if said.forget]
    return known[0] if known else quote


def _overlap(one: str, other: str) -> bool:
    return one in other or other in one


def _may_ask(sentence: str) -> bool:
    if _KEEP.search(fold(sentence)):
        return False
    return not _QUESTION.search(sentence) or any(said.forget for said in _said(sentence))


def _said(sentence: str) -> Iterator[Said]:
    return statements(sentence, language(sentence, "en"))

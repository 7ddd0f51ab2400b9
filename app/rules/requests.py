"""What a user's words ask to forget, whoever says that they do."""

import re
from collections.abc import Iterator

from app.rules.forgetting import named_in, names_something
from app.rules.lexicon import language
from app.rules.reported import without_reports, without_speech
from app.rules.sentences import sentences
from app.rules.statements import Said, statements
from app.rules.text import fold

_KEEP = re.compile(
    r"\b(?:(?:not|dont|never|cannot|cant|wont|mustnt|shouldnt) (?:ever |(?:want|wish|let|like|need"
    r"|dare|you dare)(?: \w+){0,3} )?(?:forget|delete|erase|remove)"
    r"|vergiss (?:\w+ ){0,2}(?:nicht|nie)|(?:nicht|niemals|nie) (?:dass (?:\w+ ){1,5})?"
    r"(?:vergess\w+|vergiss\w*|losch\w+)"
    r"|(?:no|nunca) (?:(?:quiero|dejes|debes|puedes)(?: \w+){0,3} )?(?:te )?"
    r"(?:olvid|borr|elimin)\w+"
    r"|n ?(?:oubli|effac)\w+ (?:pas|jamais)|ne (?:(?:veux|voudrais|dois|peux|faut) )?(?:pas|jamais)"
    r" (?:\w+ ){0,3}(?:oubli|effac|supprim)\w+)\b"
)
_QUESTION = re.compile(r"[?\uff1f\u061f][\s\"')]*$")


def asked_to_forget(thing: str, quote: str, text: str) -> str | None:
    """Return what the words `quote` of what a user wrote, `text`, ask to forget, if they do.

    That is the `thing` if the text has all of its words and the quote one of them; else what the
    quote itself names. The quote must be the user's own words. Taken for no request: what is
    quoted or said by others, what asks to keep something, and a question, unless the rules know it
    for a polite request.
    """
    own, wanted = without_reports(without_speech(text)), fold(quote)
    if wanted not in fold(own) or not names_something(quote):
        return None
    around = [one.text for one in sentences(own) if _overlap(fold(one.text), wanted)]
    if not all(_may_ask(sentence) for sentence in around):
        return None
    if named_in(thing, own) and any(named_in(word, quote) for word in (thing, *thing.split())):
        return thing
    known = [said.text for said in _said(quote) if said.forget]
    named = known[0] if known else quote
    return named if names_something(named) else None


def _overlap(one: str, other: str) -> bool:
    return one in other or other in one


def _may_ask(sentence: str) -> bool:
    if _KEEP.search(fold(sentence)):
        return False
    return not _QUESTION.search(sentence) or any(said.forget for said in _said(sentence))


def _said(sentence: str) -> Iterator[Said]:
    return statements(sentence, language(sentence, "en"))

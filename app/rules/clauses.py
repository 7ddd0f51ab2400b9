"""The clauses of a sentence, and whether each affirms or denies what it is about."""

import re

from app.rules.answers import without_answer
from app.rules.lexicon import latin
from app.rules.stances import affirms
from app.rules.text import straight
from app.rules.wording import denials

_WHO = (
    r"(?:I(?:'\w+)?|we|he|she|they|it|my|our|his|her|their|who|which|ich|wir|er|sie|mein\w*"
    r"|unser\w*|yo|me|mi|mis|él|ella|nosotros|je|j'|mon|ma|mes|il|elle|nous|qui)\b"
)
_DOES = (
    r"(?:do|does|did|don't|can|can't|cannot|will|would|have|has|am|is|was|never|not|hate|hates|love"
    r"|loves|like|likes|live|lives|work|works|eat|eats|drink|drinks|own|owns|prefer|prefers"
    r"|nicht|kein\w*|no|nunca|pas|jamais|n'\w+|ne)\b"
)
_CUT = re.compile(
    r"\s*[.;!?\u2026]+(?:\s+|$)|[\u3002\uff0c\uff1b\uff01\uff1f]"
    r"|,?\s+(?:but|although|though|whereas|aber|sondern|doch|pero|sino|aunque|mais)\s+"
    rf"|\s*(?:,|,?\s(?:and|or|so|und|oder|also|deshalb|y|et|donc))\s+(?=(?:then |now )?{_WHO})"
    rf"|,?\s+(?:and|und|y|et)\s+(?={_DOES})"
    r"|,?\s+und\s+(?=(?-i:[a-zäöü])\w+e\b|(?:mag|bin|kann|will|muss|darf|weiß)\b)"
    r"|,?\s+y\s+(?=(?:vivo|trabajo|tengo|soy|estoy|prefiero|odio|quiero|hago|estudio|bebo|juego"
    r"|hablo|toco|uso)\b)|但是?|可是",
    re.IGNORECASE,
)
_REMINDER = re.compile(
    r"\b(?:(?:do not|don't|never) (?:ever )?forget|vergiss (?:bitte )?nicht|no (?:te )?olvides"
    r"|n'oublie[sz]? pas)\b,?\s*(?:that|dass|de que|que|qu')?|(?:不要|别)忘(?:记|了)?",
    re.IGNORECASE,
)
_NOT_ALONE = re.compile(
    r"\b(?:not (?:only|just)|no doubt|nicht nur|no (?:solo|sólo)|(?:ne |n')?\w+ pas seulement"
    r"|(?:isn't|aren't|don't|doesn't|haven't) (?:it|they|I|he|she)\s*\?|nicht wahr|n'est-ce pas"
    r"|why not|no problem)",
    re.IGNORECASE,
)
_CANNOT_BEAR = re.compile(
    r"\b(?:can(?:'t|not| not) (?:stand|bear)|no (?:soporto|aguanto)"
    r"|ne (?:supporte|peux) pas(?: supporter)?)\b",
    re.IGNORECASE,
)
_SHUNS = re.compile(
    r"\b(?:avoids?|lacks?|refuses?|unable to|abstain\w*|(?:ver)?meide\w*|evit[oa]"
    r"|évite\w*)\b",
    re.IGNORECASE,
)


def clauses(text: str) -> list[str]:
    """Return the clauses of what was said; a list and its verb stay together.

    "Don't forget that" and the like, which deny nothing, are left out.
    """
    plain = _NOT_ALONE.sub(" ", _REMINDER.sub(" ", straight(text)))
    plain = _CANNOT_BEAR.sub("hate", plain)
    return [part for part in _CUT.split(plain) if part and part.strip()]


def affirmed(clause: str) -> bool:
    """Tell whether a clause affirms what it is about; a "yes" or "no" before it does not count."""
    plain = without_answer(clause)
    if not latin(plain):
        return denials(plain) == 0
    is_affirmed = affirms(re.sub(r"[,;.!?]", " ", straight(plain)))
    return is_affirmed is not bool(_SHUNS.search(plain))

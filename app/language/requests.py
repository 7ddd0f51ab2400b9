"""Requests to remember or to forget something."""

import re
from dataclasses import dataclass
from itertools import islice

from app.language.phrases import QUESTION, Phrases
from app.language.reminders import kept_in_mind, main_clause
from app.language.reported import without_reports, without_speech
from app.language.text import straight


@dataclass(frozen=True)
class RequestedFact:
    """A statement, or (`forget`) the words that name the memories to forget.

    `explicit`: the person asked the service to remember it.
    """

    text: str
    explicit: bool = False
    forget: bool = False


def requested(text: str, phrases: Phrases, tongue: str) -> RequestedFact | None:
    """Return the request of a sentence to remember or to forget, if any."""
    plain = straight(text)
    kept = kept_in_mind(text, tongue)
    if kept is not None:
        return RequestedFact(kept, explicit=True) if kept else NO_REQUEST
    remember = phrases.remember.match(plain)
    if remember:
        said = text[remember.start("said") :].strip()
        if tongue == "de" and "dass" in plain[: remember.start("said")]:
            said = main_clause(said) or text.strip()
        return RequestedFact(said, explicit=True)
    forget = phrases.forget.match(plain)
    if forget and (_REFUSED.search(plain) or _OF_THE_TALK.search(plain)):
        return NO_REQUEST
    if forget and (not QUESTION.search(plain) or phrases.polite.search(plain)):
        said = next(value for value in forget.groupdict().values() if value)
        return RequestedFact(_named(said), forget=True)
    return None


def asked_besides(text: str, phrases: Phrases, tongue: str) -> tuple[str, RequestedFact | None]:
    """Split a sentence from a request to forget in a later clause."""
    own = without_reports(without_speech(text))
    for cut in islice(_BESIDES.finditer(straight(own)), _MAX_CLAUSES):
        asked = requested(own[cut.end() :].strip(), phrases, tongue)
        if asked is not None and asked.forget:
            before = text[: cut.start()]
            return ("", NO_REQUEST) if _CONDITION.match(before) else (before, asked)
    return text, None


_CONDITION = re.compile(
    r"(?:if|once|when|unless|in case|wenn|falls|sobald|si|cuando|en caso|quand|lorsque|dès que)\b"
    r"(?! (?:\w+ )?(?:can|could|possible|get a|don't mind|kannst|magst|möglich|puedes?|posible"
    r"|peux|pouvez|possible)\b)",
    re.IGNORECASE,
)
"""The beginning of a condition; a conditional request does not apply now."""
_BESIDES = re.compile(
    # Not from the middle of a run of blanks, such as a blanked-out report.
    r"(?:(?<!\s)\s+)?(?:[,;.]|\s-|\b(?:and|so|but|also|und|aber|y|pero|así que|et|mais|alors"
    r"|donc)\b)\s+(?=\w)",
    re.IGNORECASE,
)
"""Separators before a clause that may hold a request."""
_MAX_CLAUSES = 20
NO_REQUEST = RequestedFact("", forget=True)
"""Neither a request nor a statement."""
_REFUSED = re.compile(
    r"[,:-]\s*¡?(?:no way|no chance|not a chance|never(?: ever)?|as if|(?:no, )?do(?: not|n't)"
    r"|nie(?:mals)?|auf keinen fall|kommt nicht in frage|nunca|jamás|ni hablar|de ninguna manera"
    r"|jamais(?: de la vie)?|pas question|hors de question)[\s.!]*$",
    re.IGNORECASE,
)
"""Additions that revoke the preceding request."""
_OF_THE_TALK = re.compile(
    r"\b(?:start(?:ing)? (?:over|again|afresh|fresh|from scratch)|new (?:topic|subject|talk)"
    r"|from the (?:top|beginning)|von vorne?|neu anfangen|neues thema|de cero|empe(?:cemos|zamos)"
    r"|desde el principio|recommen[cç]ons|repartons|à zéro)\b"
    r"|^\W*(?:\w+ ){1,4}?(?:paragraph|sentence|section|page|chapter|slide|column|row|footnote"
    r"|bullet(?: point)?|absatz|satz|abschnitt|seite|kapitel|zeile|párrafo|frase|sección|página"
    r"|paragraphe|phrase|page)s?\b",
    re.IGNORECASE,
)
"""Requests for a new conversation or another text, not for less memory."""


def _named(said: str) -> str:
    """Return the words for the thing to forget, without "that", "about" and trailing reasons."""
    said = _POLITELY.sub("", _THAT.sub("", said)).strip(" .!?,")
    said = _THING_ABOUT.sub("", said)
    about = _WHAT_ABOUT.match(said)
    return _REASON.split(about["thing"] if about else said, maxsplit=1)[0].strip()


_MINE = r"(?:my|our|mein\w*|unser\w*|mis?|nuestr\w+|mon|ma|mes|notre|nos)\b"
MY = re.compile(_MINE, re.IGNORECASE)
ALSO = re.compile(
    rf"(?:,\s*(?:and |und |y |et )?|\s(?:and|und|y|et)\s)"
    rf"(?:also |auch |también |aussi )?(?={_MINE})",
    re.IGNORECASE,
)
"""Separators between the things named in a request."""
_REASON = re.compile(
    rf"\s*[,;]\s(?!(?:and |und |y |et )?{_MINE})|\s-\s|\s(?:because|weil|porque|parce que)\s"
    rf"|\s(?:and|und|y|et) (?!{_MINE}|(?:the|an?|all|de[rn]|die|das|el|l[ao]s?|les?|tou[ts]\w*)\b)"
    r"(?=\S+(?: \S+){2})",
    re.IGNORECASE,
)
_POLITELY = re.compile(
    r"(?:[\s,]+(?:please|pls|plz|thanks|thx|thank you|stp|svp|bitte|danke|por favor|gracias"
    r"|s'il (?:te|vous) pla[iî]t|merci|now|again|wieder|jetzt|ya"
    r"|(?:from|aus|in|de|en|dans) (?:your|the|deine[mnr]?|dem|tu|tus|ta|tes)"
    r" (?:memory|memories|records?|notes?|files?|database|system|list|gedächtnis|speicher"
    r"|notizen|memoria|notas|registros?|mémoire|fichiers?))[\s.!?]*)+$",
    re.IGNORECASE,
)
_THING_ABOUT = re.compile(
    r"^(?:(?:the|that|this|any|all(?: the)?)"
    r" (?:thing|stuff|bit|part|info(?:rmation)?|note|detail)s?"
    r" (?:(?:that )?(?:I|you)(?: \w+){1,3}? )?(?:about|regarding|on|with) "
    r"|(?:das|die sache|die info\w*|alles)(?: mit| über| zu) "
    r"|(?:(?:todo )?lo )?(?:de|sobre) (?:lo de )?"
    r"|(?:tout )?ce que je t'ai (?:dit|raconté) (?:sur|de) |tout (?:à propos|au sujet) de "
    r"|l'histoire de )",
    re.IGNORECASE,
)
_WHAT_ABOUT = re.compile(
    r"^(?:alles,?\s*)?(?:was (?:ich|du)(?: dir)? )?über (?P<thing>.+?)"
    r"(?: (?:gesagt|erzählt|weißt|gespeichert)\b.*)?$",
    re.IGNORECASE,
)
_THAT = re.compile(r"^\s*(?:bitte\b,?\s*)?(?:,?\s*(?:dass|daß)\s+)?", re.IGNORECASE)

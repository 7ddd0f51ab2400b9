"""Requests to remember or to forget something, and requests not to forget it.

"Don't forget that I like tea" states "I like tea". "Don't forget my birthday" contains no
statement. Neither is a request to forget.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from app.language.phrases import QUESTION, Phrases, any_case
from app.language.text import names, straight
from app.language.unmeant import without_reports, without_speech

_LEADS = {
    "en": r"(?:so|and|but|also|ok(?:ay)?|oh|hey|well|please|pls|just|btw|by the way)",
    "de": r"(?:und|aber|also|ok(?:ay)?|ach|bitte|hey|übrigens)",
    "es": r"(?:y|pero|ah|oye|bueno|vale|ok(?:ay)?|por favor|por cierto)",
    "fr": r"(?:et|mais|ah|bon|alors|ok(?:ay)?|surtout|s'il (?:te|vous) plaît|au fait)",
}
_LOSE = {
    "en": r"(?:forget|delete|erase|remove|wipe|lose)",
    "de": r"(?:vergisst|vergessen|vergesst|löschst|löschen|löscht|streichst|streichen)",
    "es": r"(?:olvid|borr|elimin|quit)\w+",
    "fr": r"(?:oubli|effac|supprim|retir|enlèv)\w+",
}
_ASKS = {
    "en": (
        (
            r"(?:(?:make|be) sure(?: that)? (?:to )?)?(?:you )?(?:do ?n'?o?t|never|(?:must"
            r"|should)(?:n't"
            r"| not| never)|may not|can(?:'t|not| not)|won't|will not)(?: ever| please"
            r"| you)* {lose}"
        ),
        (
            r"(?:I|we) (?:do(?:n't| not)|would(?:n't| not)|did(?:n't| not)|never)(?: \w+){{0,2}}?"
            r" you to (?:ever )?{lose}"
        ),
        (
            r"(?:I|we) (?:hope|trust|want|need|'d like)(?: that)? you (?:to )?(?:won't|will not"
            r"|don't"
            r"|do not|never|not)(?: to)?(?: ever)? {lose}"
        ),
    ),
    "de": (
        (
            r"(?:vergiss|vergesst|vergessen sie|lösch\w*|streich\w*|entfern\w*)"
            r"(?: (?!dass\b|was\b)[\w-]+){{0,4}}? (?:nicht|nie(?:mals)?|keinesfalls)\b"
        ),
        r"ich (?:will|möchte|wollte|wünsche) (?:\w+ )?nicht,? dass du (?:.* )?{lose}",
        (
            r"(?:ich \w+,? )?(?:dass )?du (?:[\w-]+ ){{0,5}}?(?:nicht"
            r"|nie(?:mals)?) (?:[\w-]+ )*?{lose}"
        ),
        r"(?!ich |wir |er |sie )(?:[\w-]+ ){{0,4}}?(?:nicht|nie(?:mals)?) (?:vergessen|löschen)",
    ),
    "es": (
        (
            r"(?:(?:espero|quiero|necesito) que )?(?:no|nunca|jamás) (?:te |me |os "
            r"|se te )?(?:l[oa]s? )?"
            r"(?:olvid|borr|elimin|quit)(?:es?|en|éis)\b"
        ),
        (
            r"no (?:\w+ )?(?:quiero|quisiera|deseo|gustaría|pedido|pedí|dije|dicho) que"
            r" (?:te |me )?{lose}"
        ),
        r"no (?:debes|puedes|deberías|hay que) {lose}",
    ),
    "fr": (
        r"n(?:e |')(?:[ml]'|l[ea]s? )?{lose} (?:\w+ )??(?:pas|jamais)\b",
        r"(?:oublie[sz]?|efface[sz]?|supprime[sz]?) (?:surtout )?(?:pas|jamais)\b",
        (
            r"je (?:ne )?(?:veux|voudrais|souhaite|t'ai) (?:pas|jamais) (?:\w+ )?"
            r"(?:que (?:tu|vous)|d[e']) ?{lose}"
        ),
        r"(?:j'espère|je veux) que (?:tu|vous) n(?:e |'){lose} (?:pas|jamais)\b",
        r"(?:tu|vous|il)? ?(?:ne )?(?:dois|devez|peux|pouvez|faut) (?:pas|jamais) {lose}",
    ),
}
_SAID = {
    "en": r"(?:(?:,? that|\s*[,:]) (?P<that>.+)|,? (?P<said>(?:I|we|my|our|I'\w+|we'\w+)\b.+))",
    "de": r"(?:[\w ]{0,20}?,? dass (?P<that>.+)|\s*[,:] (?P<said>.+))",
    "es": r"(?: nunca)?(?:,? por favor)?(?:(?: de)? que|\s*:) (?P<said>.+)",
    "fr": r"(?:,? s'il (?:te|vous) plaît)?(?:(?: bien)? (?:que |qu')|\s*: )(?P<said>.+)",
}


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
    for wording in (*_without_pointer(text), text):
        asked = _to_remember(wording, phrases, tongue)
        if asked is not None:
            return asked
    plain = straight(text)
    forget = phrases.forget.match(plain)
    if forget and (_REFUSED.search(plain) or _OF_THE_TALK.search(plain)):
        return NO_REQUEST
    if forget and (not QUESTION.search(plain) or phrases.polite.search(plain)):
        said = next(value for value in forget.groupdict().values() if value)
        return RequestedFact(_named(said), forget=True)
    return None


def _to_remember(text: str, phrases: Phrases, tongue: str) -> RequestedFact | None:
    kept = kept_in_mind(text, tongue)
    if kept is not None:
        return RequestedFact(kept, explicit=True) if kept else NO_REQUEST
    plain = straight(text)
    remember = phrases.remember.match(plain)
    if remember is None:
        return None
    said = text[remember.start("said") :].strip()
    if tongue == "de" and "dass" in plain[: remember.start("said")]:
        said = main_clause(said) or text.strip()
    return RequestedFact(said, explicit=True)


def _without_pointer(text: str) -> Iterator[str]:
    """Yield "Keep in mind: ..." for "Keep this in mind: ...", then without the words behind it."""
    found = _POINTER.match(text)
    if found is not None:
        said = text[found.end() :]
        yield f"{found['head']}{found['tail'].rstrip()}:{said}"
        yield f"{found['head']}:{said}"


_POINTER = any_case(
    r"(?P<head>[^:]{1,60}?) (?:this|the following|one thing|das|dies(?:es)?|folgendes|esto"
    r"|lo siguiente|(?:de )?ceci)(?P<tail>(?: [^:]{0,20})?):"
)
"""The words before a colon, with one that points to what follows."""


def points_back(text: str) -> bool:
    """Return True if an English request names only the memory: "Kindly strike that from memory".

    "Please leave it out" may be about the text at hand: then a fact before it must stay.
    """
    plain = straight(text)
    is_of_memory = _POINTS.search(plain) and _MEMORY.search(plain)
    return bool(is_of_memory) and not _NAMES.search(plain) and not names(plain)


_POINTS = any_case(
    r"\b(?:it|that|this|them|these|those)\b(?=\W*$|\s*[,;.:!?]|\s(?:from|out|off|up|too|also|and|be|is"
    r"|was|were|wasn't|weren't|not|again|any\w*|altogether|for|to|in|please|pls)\b)"
)
_MEMORY = any_case(
    r"(?<!n't )(?<!not )(?<!never )\bforget\b"
    r"|\b(?:from|out of) (?:your )?(?:memory|records|notes)\b"
    r"|(?:n't|\bnot|\bnever)\b[^.;]{0,20}\b(?:kept|keep|remember|remembered|stored?|recorded)\b"
)
_NAMES = any_case(r"\b(?:my|our|his|her|their|its|the|an?|what(?:ever)?|where|which|who|how) \w")


def is_about_memory(text: str) -> bool:
    """Return True if an English sentence speaks of what was told, or asks to take it out."""
    return _ABOUT_MEMORY.search(straight(text)) is not None


_ABOUT_MEMORY = any_case(
    r"\b(?:I(?:'ve)? (?:\w+ )?(?:told you|said|mentioned|gave you)|you (?:have|know|kept|noted)"
    r"|drop|delete|erase|forget|wipe|scrub|purge|strike|lose|remove|take (?:it|that|this|them)"
    r" (?:off|out|back))\b"
)


def asked_besides(text: str, phrases: Phrases, tongue: str) -> tuple[str, RequestedFact | None]:
    """Split a sentence from a request to forget in a later clause."""
    own = without_reports(without_speech(text))
    for cut in islice(_BESIDES.finditer(straight(own)), _MAX_CLAUSES):
        asked = requested(own[cut.end() :].strip(), phrases, tongue)
        if asked is not None and asked.forget:
            before = text[: cut.start()]
            return ("", NO_REQUEST) if _CONDITION.match(before) else (before, asked)
    return text, None


_CONDITION = any_case(
    r"(?:if|once|when|unless|in case|wenn|falls|sobald|si|cuando|en caso|quand|lorsque|dès que)\b"
    r"(?! (?:\w+ )?(?:can|could|possible|get a|don't mind|kannst|magst|möglich|puedes?|posible"
    r"|peux|pouvez|possible)\b)"
)
"""The beginning of a condition; a conditional request does not apply now."""
_BESIDES = any_case(
    # Not from the middle of a run of blanks, such as a blanked-out report.
    r"(?:(?<!\s)\s+)?(?:[,;.]|\s-|\b(?:and|so|but|also|und|aber|y|pero|así que|et|mais|alors"
    r"|donc)\b)\s+(?=\w)"
)
"""Separators before a clause that may hold a request."""
_MAX_CLAUSES = 20
NO_REQUEST = RequestedFact("", forget=True)
"""Neither a request nor a statement."""
_REFUSED = any_case(
    r"[,:-]\s*¡?(?:no way|no chance|not a chance|never(?: ever)?|as if|(?:no, )?do(?: not|n't)"
    r"|nie(?:mals)?|auf keinen fall|kommt nicht in frage|nunca|jamás|ni hablar|de ninguna manera"
    r"|jamais(?: de la vie)?|pas question|hors de question)[\s.!]*$"
)
"""Additions that revoke the preceding request."""
_OF_THE_TALK = any_case(
    r"\b(?:start(?:ing)? (?:over|again|afresh|fresh|from scratch)|new (?:topic|subject|talk)"
    r"|from the (?:top|beginning)|von vorne?|neu anfangen|neues thema|de cero|empe(?:cemos|zamos)"
    r"|desde el principio|recommen[cç]ons|repartons|à zéro)\b"
    r"|^\W*(?:\w+ ){1,4}?(?:paragraph|sentence|section|page|chapter|slide|column|row|footnote"
    r"|bullet(?: point)?|absatz|satz|abschnitt|seite|kapitel|zeile|párrafo|frase|sección|página"
    r"|paragraphe|phrase|page)s?\b"
)
"""Requests for a new conversation or another text, not for less memory."""


def _named(said: str) -> str:
    said = _POLITELY.sub("", _THAT.sub("", said)).strip(" .!?,")
    said = _THING_ABOUT.sub("", said)
    about = _WHAT_ABOUT.match(said)
    return _REASON.split(about["thing"] if about else said, maxsplit=1)[0].strip()


_MINE = r"(?:my|our|mein\w*|unser\w*|mis?|nuestr\w+|mon|ma|mes|notre|nos)\b"
MY = any_case(_MINE)
ALSO = any_case(
    rf"(?:,\s*(?:and |und |y |et )?|\s(?:and|und|y|et)\s)"
    rf"(?:also |auch |también |aussi )?(?={_MINE})"
)
"""Separators between the things named in a request."""
_REASON = any_case(
    rf"\s*[,;]\s(?!(?:and |und |y |et )?{_MINE})|\s-\s|\s(?:because|weil|porque|parce que)\s"
    rf"|\s(?:and|und|y|et) (?!{_MINE}|(?:the|an?|all|de[rn]|die|das|el|l[ao]s?|les?|tou[ts]\w*)\b)"
    r"(?=\S+(?: \S+){2})"
)
_POLITELY = any_case(
    r"(?:[\s,]+(?:please|pls|plz|thanks|thx|thank you|stp|svp|bitte|danke|por favor|gracias"
    r"|s'il (?:te|vous) pla[iî]t|merci|now|again|wieder|jetzt|ya"
    r"|(?:from|aus|in|de|en|dans) (?:your|the|deine[mnr]?|dem|tu|tus|ta|tes)"
    r" (?:memory|memories|records?|notes?|files?|database|system|list|gedächtnis|speicher"
    r"|notizen|memoria|notas|registros?|mémoire|fichiers?))[\s.!?]*)+$"
)
_THING_ABOUT = any_case(
    r"^(?:(?:the|that|this|any|all(?: the)?)"
    r" (?:thing|stuff|bit|part|info(?:rmation)?|note|detail)s?"
    r" (?:(?:that )?(?:I|you)(?: \w+){1,3}? )?(?:about|regarding|on|with) "
    r"|(?:das|die sache|die info\w*|alles)(?: mit| über| zu) "
    r"|(?:(?:todo )?lo )?(?:de|sobre) (?:lo de )?"
    r"|(?:tout )?ce que je t'ai (?:dit|raconté) (?:sur|de) |tout (?:à propos|au sujet) de "
    r"|l'histoire de )"
)
_WHAT_ABOUT = any_case(
    r"^(?:alles,?\s*)?(?:was (?:ich|du)(?: dir)? )?über (?P<thing>.+?)"
    r"(?: (?:gesagt|erzählt|weißt|gespeichert)\b.*)?$"
)
_THAT = any_case(r"^\s*(?:bitte\b,?\s*)?(?:,?\s*(?:dass|daß)\s+)?")


def _asking(tongue: str) -> re.Pattern[str]:
    asks = "|".join(_ASKS[tongue]).format(lose=_LOSE[tongue])
    lead = rf"^(?:{_LEADS[tongue]},? )*"
    return any_case(rf"{lead}(?:{asks})(?:{_SAID[tongue]}|\b.*)$")


_ASKING = {tongue: _asking(tongue) for tongue in _LEADS}
_STATES = any_case(
    r"^(?:I|we|I'\w+|we'\w+|he|she|they|it)\b|^(?:[\w'-]+ ){1,5}?(?:is|are|was|were|has|have|had"
    r"|will|can|can't|does|doesn't|don't|\w{3,}[^s\W]s|\w{3,}ed)\b(?= )"
)
"""Words of a clause: English does not mark a clause differently from a noun ("my birthday")."""


def kept_in_mind(text: str, tongue: str) -> str | None:
    """Return the statement of a request not to forget; "" without a full one; None for others."""
    pattern = _ASKING.get(tongue)
    match = pattern.match(straight(text)) if pattern else None
    if match is None:
        return None
    groups = match.groupdict()
    kind = "that" if groups.get("that") else "said"
    said = text[match.start(kind) : match.end(kind)].strip() if groups.get(kind) else ""
    if tongue == "de":
        return main_clause(said) if kind == "that" else said
    return said if tongue != "en" or _STATES.match(straight(said)) else ""


_SUBJECT_DE = re.compile(
    r"(?P<subject>ich|wir|er|sie|[A-ZÄÖÜ]\w+"
    r"|(?:(?:mein|unser|dein|ein)\w*|d(?:er|as|ie))(?: [a-zäöüß]\w*)*? [A-ZÄÖÜ]\w+) (?P<rest>.+)"
)
_REASON_DE = re.compile(r", (?=(?:weil|wenn|da|obwohl|seit) ).*$")
_FINITE_DE = re.compile(
    r"(?!(?:an|auf|aus|ab|ein|mit|vor|zu|um|nach|weg|her|hin|los|teil|fest|fern|bei)\w{4})"
    r"(?:bin|ist|sind|war|kann|muss|soll|darf|mag|wird|will|weiß|hab|[a-zäöüß]{2,}(?:e|t|en))"
)
"""A German verb without a separable prefix, unlike "anrufe" ("ich rufe an")."""


def main_clause(clause: str) -> str:
    """Return the main clause "ich mag Tee" for "ich Tee mag", the German word order after "dass".

    Empty if the verb, or the end of the subject, is uncertain.
    """
    clause = clause.strip(" .!")
    reason = _REASON_DE.search(clause)
    match = _SUBJECT_DE.fullmatch(clause[: reason.start()] if reason else clause)
    if match is None or re.search(r",|[a-zäöüß] (?:und|aber|oder) ", match["rest"]):
        return ""
    *middle, verb = match["rest"].split()
    is_named = match["subject"][0].isupper() or " " in match["subject"]
    if not _FINITE_DE.fullmatch(verb) or (is_named and len(middle) > 1 and middle[0][0].isupper()):
        return ""
    return " ".join([match["subject"], verb, *middle]) + (reason[0] if reason else "")

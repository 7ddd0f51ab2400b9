"""Statements in requests to remember something ("don't forget that ...").

"Don't forget that I like tea" states "I like tea". "Don't forget my birthday" contains no
statement. Neither is a request to forget.
"""

import re

from app.language.text import straight

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


def _asking(tongue: str) -> re.Pattern[str]:
    asks = "|".join(_ASKS[tongue]).format(lose=_LOSE[tongue])
    lead = rf"^(?:{_LEADS[tongue]},? )*"
    return re.compile(rf"{lead}(?:{asks})(?:{_SAID[tongue]}|\b.*)$", re.IGNORECASE)


_ASKING = {tongue: _asking(tongue) for tongue in _LEADS}
_STATES = re.compile(
    r"^(?:I|we|I'\w+|we'\w+|he|she|they|it)\b|^(?:[\w'-]+ ){1,5}?(?:is|are|was|were|has|have|had"
    r"|will|can|can't|does|doesn't|don't|\w{3,}[^s\W]s|\w{3,}ed)\b(?= )",
    re.IGNORECASE,
)
"""Words of a clause: English does not mark a clause differently from a noun ("my birthday")."""


def kept_in_mind(text: str, tongue: str) -> str | None:
    """Return the statement of a request not to forget; None for any other text.

    Empty: the request names only a thing, or has no statement that is meaningful alone.
    """
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

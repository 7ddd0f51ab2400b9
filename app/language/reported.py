"""Detection of reported speech: "Tom said I live in Rome" is Tom's claim.

Users mostly believe the reported words of a doctor or a letter. Such reports are treated
separately: they are kept as they are, but fill no field alone.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from app.language.phrases import any_case
from app.language.sentences import sentences
from app.language.text import straight
from app.language.tongues import PHRASES

_HINT = any_case(
    r"\b(?:sa(?:id|ys?|ying)|th(?:inks?|ought)|claim|believ|insist|assum|suspect|reckon|pretend"
    r"|guess|t(?:old|ell)|writes?|wrote|according|sag|gesagt|mein|denk|dacht|glaub|behaupt|vermute"
    r"|erzähl|schr[ie]|laut\b|di[jc]|cre[eí]|piensa|pensaba|afirm|asegur|opina|cuenta|contó|según"
    r"|dit\b|disent|disai|prétend|affirm|croi|pens|raconte|selon|d'après)"
)
_SAYING = {
    "en": "said|says|saying|say|thinks|thought|think|claims|claimed|claim|believes|believed|believe"
    "|insists|insisted|assumes|assumed|suspects|suspected|reckons|reckoned|pretends|pretended"
    "|guesses|guessed",
    "de": "sagt|sagte|sagten|sagen|gesagt|meint|meinte|meinten|gemeint|denkt|dachte|glaubt|glaubte"
    "|behauptet|behauptete|behaupten|vermutet|vermutete",
    "es": "dijo|dice|dicen|dijeron|decía|dicho|cree|creen|creía|piensa|piensan|pensaba|afirma"
    "|afirman|afirmó|asegura|aseguró|opina|opinan",
    "fr": "dit|disent|disait|pense|pensent|pensait|croit|croient|croyait|prétend|prétendait"
    "|affirme|affirmait",
}
_TELLING = {
    "en": "told|tells|wrote|writes",
    "de": "erzählt|erzählte|schrieb|schreibt|geschrieben",
    "es": "cuenta|contó|escribió",
    "fr": "raconte|raconté|écrit",
}
_TO = r"(?:,? (?:to )?(?:me|us|you|him|her|them|everyone|mir|uns|dir|allen|a todos|à tous))?"
_THAT = r"\s*[,:]?\s*[\"“„«']?\s*(?:(?:that|dass|daß|que)\s+|qu')?"
_SAYS = {
    tongue: any_case(rf"\b(?:(?P<says>{says})|(?P<tells>{_TELLING[tongue]}))\b{_TO}{_THAT}")
    for tongue, says in _SAYING.items()
}
_SELF = any_case(r"\b(?:I|I'(?:ve|d|m)|we|ich|wir|habe|yo|he|nosotr[oa]s|je|nous|ai)\b|\bj'")
"""First-person reporters; the language distinguishes English "he" from Spanish "he"."""
_HE = any_case(r"\bhe\b")
_TOLD = any_case(
    r"\b(?:me|mir|nos|uns|doctor|dr|physician|dentist|nurse|therapist|psychiatrist|psychologist"
    r"|specialist|surgeon"
    r"|cardiologist|dermatologist|optician|vet|lawyer|letter|report|results?|tests?|ärzt\w*|\w*arzt"
    r"|therapeut\w*|brief|befund|ergebnis\w*|médic[oa]|doctora|dentista|psicólog[oa]|abogad[oa]"
    r"|carta|informe|resultados?|médecin|docteur|dentiste|psychologue|avocate?|lettre"
    r"|résultats?)\b|\bm'"
)
_CLAUSE = any_case(r"[,;:.!?]\s+|\s(?:and|but|because|und|aber|weil|y|pero|porque|et|mais)\s")
_STOP = re.compile(r"[,;:.!?]")
_CONTRAST = any_case(r"(?:,\s*|\s)(?:but|although|however|aber|doch|sondern|pero|sino|mais|or)\s|;")
_ORDER = any_case(
    r"(?:du (?:sollst|solltest|kannst|musst)\b.*\b(?:vergessen|löschen)\b)"
    r"|(?:to |you (?:should|can|must) |please |bitte |du sollst )*(?:forget|delete|remove|erase"
    r"|vergiss|lösch"
    r"|olvid|borr|elimin|oubli|effac|supprim)"
)
_ACCORDING = any_case(
    r"(?:^|[,;]\s*|\b(?:and|und|y|et)\s+)(?:according to|laut|según|selon|d'après)"
    r" (?!(?:me|mir|mí|moi)\b)"
    r"(?P<who>(?:(?:my|the|mein\w*|de[rm]|mi|el|la|mon|ma|le)\s+)?[\w'.-]+)"
)
_AFTERWARDS = any_case(
    r",[\"”»']?\s+(?:so )?(?:"
    r"(?:said|says|claims|thinks|sagt|sagte|meint|meinte|behauptet|glaubt|dice|dijo|cree|dit"
    r"|disait|pense|prétend) (?!(?:I|we|ich|wir|yo|je)\b)(?P<after>[\w' .-]{1,30})"
    r"|(?!(?:I|we|as|like|yo|je|ich|wir)\b)(?P<before>(?:[\w'-]+ ){1,3})(?:said|says|claims|claimed"
    r"|thinks|insists|believes|sagt|sagte|meint|meinte|behauptet|dice|dijo|cree|dit|pense"
    r"|prétend))[.!\s]*$"
)
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]*(?:[\"“”»]|$)")
_LONGEST_NAME = 2
"""Maximum words of a quotation that may be a name; longer quotations are other people's words."""
_ARTICLE = any_case(r"(?:my|the|mein\w*|de[rm]|mi|el|la|mon|ma|le)\s")
_LONGEST_SENTENCE = 2_000
"""Maximum characters of a sentence; a longer one is pasted text, not a statement."""
_LONGEST_START = 1
"""Maximum words before "I" in a reported statement ("Tom said yesterday I ...")."""
_LONGEST_START_CHARS = 200
"""Maximum characters before that "I"."""


@dataclass(frozen=True)
class _Report:
    begin: int
    end: int
    is_told: bool


def without_speech(text: str) -> str:
    """Return the text without quotations; one or two quoted words may be a name."""
    return _QUOTED.sub(_name, text)


def _name(quoted: re.Match[str]) -> str:
    return quoted[0] if len(quoted[0].split()) <= _LONGEST_NAME else " "


def without_reports(text: str, *, with_told: bool = True) -> str:
    """Return the text, at the same length, with other people's claims about the user blanked out.

    With `told`, also blank out statements made to the user, or by experts such as doctors.
    """
    plain = straight(text)
    if not _HINT.search(plain):
        return text
    for sentence in sentences(plain):
        for report in _reports(sentence.text):
            if with_told or not report.is_told:
                begin, end = report.begin + sentence.start, report.end + sentence.start
                text = text[:begin] + " " * (end - begin) + text[end:]
    return text


def _reports(sentence: str) -> list[_Report]:
    if len(sentence) > _LONGEST_SENTENCE or not _HINT.search(sentence):
        return []
    return [*_claims(sentence), *_attributions(sentence)]


def _claims(text: str) -> Iterator[_Report]:
    clauses = list(_CLAUSE.finditer(text))
    ends = [clause.end() for clause in clauses]
    for tongue, pattern in _SAYS.items():
        for match in pattern.finditer(text):
            # The clause that contains this verb.
            before = bisect_right(ends, match.start())
            begin = clauses[before - 1].start() if before else 0
            who = text[ends[before - 1] if before else 0 : match.start()]
            itself = _HE.sub("", who) if tongue == "en" else who
            if not _SELF.search(itself) and _is_of_user(text[match.end() :], tongue):
                is_told = match["tells"] is not None or _TOLD.search(who) is not None
                yield _Report(begin, _end(text, match.end()), is_told)


def _is_of_user(reported: str, tongue: str) -> bool:
    """Return True if the reported statement is about the user, or an order to the service."""
    if _ORDER.match(reported):
        return True
    first = PHRASES[tongue].first.search(reported, 0, _LONGEST_START_CHARS)
    before = reported[: first.start()] if first else ""
    is_near = len(before.split()) <= _LONGEST_START and not _STOP.search(before)
    return first is not None and is_near


def _attributions(text: str) -> Iterator[_Report]:
    for named in _ACCORDING.finditer(text):
        is_told = _ARTICLE.match(named["who"]) is not None
        yield _Report(named.start(), _end(text, named.end()), is_told)
    said = _AFTERWARDS.search(text)
    if said is not None:
        who = said["after"] or said["before"]
        yield _Report(0, len(text), _TOLD.search(who) is not None)


def _end(text: str, begin: int) -> int:
    """Return the position where the user's own words continue."""
    contrast = _CONTRAST.search(text, begin)
    return contrast.end() if contrast else len(text)

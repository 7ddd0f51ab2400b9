"""Introductions by name and short answers, rewritten as full sentences."""

import re
from dataclasses import dataclass

from app.language.answers import answered, last_question, without_answer
from app.language.no_names import is_no_name
from app.language.replies import fits
from app.language.text import straight

_NAME = (
    r"(?P<name>[^\W\d_a-zß-ÿ][\w'-]+(?: [^\W\d_a-zß-ÿ][\w'-]+)?)"
    r"(?: speaking| here)?(?:[\s.!,]*$|, )"
)
_INTRODUCTIONS = {
    "en": (rf"(?:I'm|I am|[Tt]his is|it's|the name's|my name's) {_NAME}", "My name is {}."),
    "de": (
        rf"(?:[Ii]ch bin (?P<article>der |die )?|[Hh]ier (?:ist|spricht) ){_NAME}",
        "Ich heiße {}.",
    ),
    "es": (rf"(?:[Ss]oy|[Yy]o soy|[Aa]quí) {_NAME}", "Me llamo {}."),
    "fr": (rf"(?:[Mm]oi,? c'est|[Jj]e suis|[Ii]ci) {_NAME}", "Je m'appelle {}."),
}
_PATTERNS = {tongue: (re.compile(text), fact) for tongue, (text, fact) in _INTRODUCTIONS.items()}
_TO_THE_LIKE_OF = re.compile(r"(?:ich bin|je suis|soy|yo soy)\b", re.IGNORECASE)
"""Openings that may precede any statement about oneself, not only a name."""


def introduced(text: str, tongue: str, *, begins: bool, greeted: bool) -> tuple[str, str]:
    """Return the name with which a sentence introduces its speaker, as a sentence, and the rest.

    Both are empty without an introduction. `begins`: no text precedes the sentence. `greeted`: a
    greeting precedes it.
    """
    pattern, fact = _PATTERNS.get(tongue, (None, ""))
    text = text.strip()
    match = pattern.match(straight(text)) if pattern else None
    if match is None or is_no_name(match["name"], tongue):
        return "", ""
    if _TO_THE_LIKE_OF.match(text) and not match.groupdict().get("article"):
        certain = greeted
    else:
        certain = begins or greeted or tongue in {"es", "fr"}
    return (fact.format(match["name"]), text[match.end() :]) if certain else ("", "")


@dataclass(frozen=True)
class _Question:
    """A known question and the fact for its answer; `none` is the fact for a no."""

    question: re.Pattern[str]
    fact: str
    none: str = ""


def _question(question: str, fact: str, none: str = "") -> _Question:
    return _Question(re.compile(question, re.IGNORECASE), fact, none)


_QUESTIONS = {
    "en": (
        _question(r"\ballerg|\bintoleran", "I am allergic to {}.", "I have no allergies."),
        _question(
            r"\byour name\b|\b(?:speaking|talking) (?:to|with)\b|\bcall you\b", "My name is {}."
        ),
        _question(r"\bhow old\b|\byour age\b", "I am {} years old."),
        _question(
            r"\bwhere (?:do you live|are you (?:based|living))|\byou live in\b", "I live in {}."
        ),
        _question(r"\bfor a living\b|\byour (?:job|profession|occupation)\b", "My job is {}."),
        _question(
            r"\bwhere (?:do you work|are you working)|\byou work (?:at|for)\b", "I work at {}."
        ),
        _question(
            r"\b(?:your|any|special|a) diet|\bdietary\b",
            "My diet is {}.",
            "I have no special diet.",
        ),
        _question(
            r"\byou (?:like|want|prefer|usually) (?:to )?drink|\byour (?:usual|favou?rite) drink"
            r"|\bfavou?rite drink",
            "I like to drink {}.",
        ),
        _question(r"\bfavou?rite colou?r\b", "My favourite colour is {}."),
        _question(r"\b(?:favou?rite|your|which|what) cuisine\b", "My favourite cuisine is {}."),
        _question(r"\byour budget\b|\bwant to spend\b", "My budget is {}."),
    ),
    "de": (
        _question(
            r"\ballergi|unverträglich", "Ich bin allergisch gegen {}.", "Ich habe keine Allergien."
        ),
        _question(r"\b(?:dein|ihr) name\b|\bheißt du\b|\bheißen sie\b", "Ich heiße {}."),
        _question(r"\bwie alt\b", "Ich bin {} Jahre alt."),
        _question(r"\bwo (?:wohnst|lebst|wohnen sie|leben sie)", "Ich wohne in {}."),
        _question(r"\bberuflich\b|\b(?:dein|ihr) beruf\b", "Mein Beruf ist {}."),
        _question(r"\bwo (?:arbeitest|arbeiten sie)|\bbei wem arbeite", "Ich arbeite bei {}."),
        _question(r"\bernährst\b|\bernährung", "Meine Ernährung: {}."),
        _question(r"\btrinkst du (?:gern|am liebsten)|\blieblingsgetränk", "Ich trinke gern {}."),
        _question(r"\blieblingsfarbe\b", "Meine Lieblingsfarbe ist {}."),
        _question(r"\blieblingsküche\b|\bwelche küche\b", "Meine Lieblingsküche ist {}."),
        _question(r"\bbudget\b", "Mein Budget ist {}."),
    ),
    "es": (
        _question(r"\balergi|\balérgic|\bintoleran", "Tengo alergia a {}.", "No tengo alergias."),
        _question(r"\bcómo te llamas|\btu nombre\b", "Me llamo {}."),
        _question(r"\bcuántos años\b|\btu edad\b", "Tengo {} años."),
        _question(r"\bdónde vives\b", "Vivo en {}."),
        _question(r"\ba qué te dedicas\b|\btu (?:profesión|trabajo|oficio)\b", "Mi trabajo es {}."),
        _question(r"\bdónde trabajas\b", "Trabajo en {}."),
        _question(r"\bdieta\b", "Mi dieta es {}.", "No sigo ninguna dieta."),
        _question(r"\bte gusta beber\b|\bbebida (?:favorita|preferida)", "Me gusta beber {}."),
        _question(r"\bcolor (?:favorito|preferido)", "Mi color favorito es {}."),
        _question(r"\bcocina (?:favorita|preferida)", "Mi cocina favorita es {}."),
        _question(r"\bpresupuesto\b", "Mi presupuesto es {}."),
    ),
    "fr": (
        _question(r"\ballergi|\bintoléran", "Mes allergies : {}.", "Je n'ai pas d'allergies."),
        _question(
            r"\bt'appelles|\bvous appelez|\b(?:ton|votre) (?:nom|prénom)", "Je m'appelle {}."
        ),
        _question(r"\bquel âge\b", "J'ai {} ans."),
        _question(r"\boù (?:habites|vis|habitez|vivez)", "J'habite à {}."),
        _question(r"\bdans la vie\b|\b(?:ton|votre) (?:métier|travail)\b", "Mon métier : {}."),
        _question(r"\boù (?:travailles|travaillez|bosses)", "Je travaille chez {}."),
        _question(r"\brégime\b", "Mon régime : {}.", "Je ne suis aucun régime."),
        _question(r"\baimes boire\b|\bboisson (?:préférée|favorite)", "J'aime boire : {}."),
        _question(r"\bcouleur (?:préférée|favorite)", "Ma couleur préférée est {}."),
        _question(r"\bcuisine (?:préférée|favorite)", "Ma cuisine préférée est {}."),
        _question(r"\bbudget\b", "Mon budget est de {}."),
    ),
}
_MINE = re.compile(
    r"^(?:mine|meine[rs]?|el mío|la mía|los míos|las mías|le mien|la mienne)\b", re.IGNORECASE
)
_YOURS = {
    "en": (re.compile(r"\byour (\w+)", re.IGNORECASE), "My {}"),
    "de": (re.compile(r"\b(?:dein|ihr)(e?) (\w+)", re.IGNORECASE), "Mein{} {}"),
    "es": (re.compile(r"\btu (\w+)", re.IGNORECASE), "Mi {}"),
    "fr": (re.compile(r"\bt(on|a|es) (\w+)", re.IGNORECASE), "M{} {}"),
}


def named(text: str, before: str, tongue: str) -> str:
    """Return "My passport ..." for "Mine ..." if a question named exactly one thing."""
    mine = _MINE.match(straight(text))
    if mine is None or tongue not in _YOURS:
        return text
    pattern, whose = _YOURS[tongue]
    possessives = [match.groups() for match in pattern.finditer(last_question(before))]
    return whose.format(*possessives[0]) + text[mine.end() :] if len(possessives) == 1 else text


_LEADS = re.compile(
    r"^(?:(?:just|only|well|mostly|am liebsten|gern|to|in|at|for"
    r"|bei|beim|chez|a little|it's|nur|bloß|gegen|in|aus"
    r"|solo|sólo|al?|la|el"
    r"|los|las|en|à|au|aux|en|le|la|les|du|de la|des|l') ?(?<=[\s']))+",
    re.IGNORECASE,
)
_MANNER = re.compile(
    r"[,;] (?:badly|severely|mainly|please|mostly|very|quite|sadly|why|thanks|ziemlich|sehr"
    r"|schlimm|leider|bitte|danke|muy|bastante|gracias|por favor|très|assez|merci|malheureusement"
    r")\b.*$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"\b(?:I|I'm|my|we|you|is|are|was|ich|mein\w*|wir|du|ist|habe|bin|yo|mi|tengo|soy|vivo|es|je"
    r"|j'\w+|mon|ma|mes|suis|est)\b|\?",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"(?:no|none|nope|nah|nothing|not (?:really|any|at all)|nein|nö|keine?|nichts|ninguna?|nada"
    r"|non|aucune?|rien|pas du tout)"
    r"(?:[\s,.!]+(?:no|none|not|nothing|at all|really|any|thanks|thank you|known|special"
    r"|particular|allerg\w*|intoleran\w*|diets?|dietary|restrictions?|luckily|fortunately|whatsoever"
    r"|zum glück|nein|keine?|gar|nichts|danke|besondere?n?|bekannten?|ninguna?|nada|gracias"
    r"|alergias?|dietas?|conocidas?|(?:en )?especial|non|aucune?|rien|merci|du tout|pas d[e']"
    r"|allergies?|régimes?|particuli\w+|connue?s?|bestimmten?|unverträglichkeit\w*"
    r"|(?:that|as far as) I know(?: of)?|so ?weit ich weiß|dass ich wüsste|que yo sepa"
    r"|que je sache))*",
    re.IGNORECASE,
)
_MAX_WORDS = 6


def answer(text: str, before: str, tongue: str) -> str:
    """Return a full sentence for a short answer to a known question, or ""."""
    question = last_question(before)
    plain = straight(text).strip(" .!")
    if not question or not plain or len(plain.split()) > _MAX_WORDS:
        return ""
    asked = next(
        (known for known in _QUESTIONS.get(tongue, ()) if known.question.search(question)), None
    )
    if asked is None or (_SENTENCE.search(plain) and not _NOTHING.fullmatch(plain)):
        return ""
    return asked.none if _NOTHING.fullmatch(plain) else _answer(plain, asked, tongue)


def _answer(plain: str, asked: _Question, tongue: str) -> str:
    """Return the fact for an answer other than a no, or ""."""
    said = _MANNER.sub("", _LEADS.sub("", without_answer(plain).strip(" ,.:!"))).strip(" ,.:!")
    if _YEARS.search(asked.fact):
        said = _YEARS.sub("", said)
    if not said or answered(said) is not None or not fits(said, plain, asked.fact):
        return ""
    return _filled(said, asked.fact, tongue)


_BESIDE = re.compile(
    r"(?:(?:just )?(?:near|outside|close to|around)|nahe|cerca de|a las afueras de|près d[e']"
    r"|à côté d[e'])\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r" (?:in|en|à) \{\}")
"""A place in a fact with its preposition; a preposition in the answer replaces it."""


_YEARS = re.compile(r" (?:years?(?: old)?|Jahre?(?: alt)?|años|ans)\b\.?", re.IGNORECASE)


def _filled(said: str, fact: str, tongue: str) -> str:
    """Return the fact with the answer inserted."""
    if _BESIDE.match(said):
        return _PLACE.sub(" {}", fact).format(said[0].lower() + said[1:])
    return fact.format(_small(said, fact, tongue))


def _small(said: str, fact: str, tongue: str) -> str:
    """Return the answer with a lower-case first letter, unless it may be a name."""
    if (
        tongue == "de"
        or re.search(r"name|llamo|appelle|live|Vivo|habite|work at|Trabajo|travaille", fact)
        or said[1:2].isupper()
    ):
        return said
    return said[0].lower() + said[1:]

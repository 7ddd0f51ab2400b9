"""The words of each language: words that identify it, and words without content.

Languages without `STOPS` are recognised too, to keep them from being mistaken for others.
"""

import re
from collections.abc import Iterable

from app.language.phrases import any_case

_ENGLISH = """
i im ive id ill my me mine myself we our the a an and is are am was were be been to of in on at for
with it its this that not dont doesnt didnt have has had you your do does did but so just really
very from by or as about if they he she his her their there what when will would can could please
remember forget always never some any all more too also than then who which into up out no
"""
_GERMAN = """
ich mein meine meinen meinem meiner meins mir mich wir uns unser unsere der die das den dem des ein
eine einen einem einer und ist sind bin war waren nicht kein keine keinen mit auf im am um von zu
zum zur bei für aus nach habe hast hat haben hatte du dein sie er es aber auch noch nur sehr dass
wenn wie was wer wo gerne gern jetzt immer bitte vergiss merk als oder doch schon mal lieber heute
gestern morgen seit werde wird kann will mag wohne heiße lebe arbeite esse trinke
"""
_SPANISH = """
yo mi mis mí me a nosotros nuestro nuestra el la los las un una unos unas y es son soy estoy era no
con en de del al por para que se lo le les su sus tengo tiene he ha hay pero también muy más ya
cuando como donde quien este esta eso esto mucho prefiero quiero vivo trabajo gusta gustan encanta
llamo ayer hoy mañana siempre nunca recuerda olvida favor fui voy porque desde hace hago odio fumo
"""
_FRENCH = """
je j mon ma mes moi me nous notre nos le la les l un une des du de d et est sont suis étais ne n
pas plus avec dans en au aux pour par que qu qui se ce c cette ça son sa ses ai a avons mais aussi
très bien quand comme où tu vous ton votre il elle on aime habite préfère travaille appelle hier
aujourd hui demain toujours jamais souviens oublie depuis chez sur car déteste vis
"""
_OTHERS = {
    "it": "io mio mia miei mi piace preferisco sono vivo abito lavoro il gli di che è non con",
    "pt": "eu meu minha meus gosto moro prefiro sou não um uma em os as do da com para tenho",
    "nl": "ik mijn mij ben heb woon werk hou het een en niet van de met voor graag houd liever",
    "pl": "ja mój moja moje jestem mam lubię mieszkam wolę się nie i w na z to że pracuję",
    "tr": "ben benim bana çok ve bir bu seviyorum için değil var",
    "sv": "jag min mitt mina mig är och bor att en ett inte med tycker gillar som på har",
}
_LETTERS = {
    "es": re.compile("[ñ¿¡áíóúé]"),
    "de": re.compile("[ßäöü]"),
    "fr": re.compile("[çœèêàùîôé]"),
}
_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
_ELIDED = re.compile(r"\b([jlndmtscu]|qu)'")
_UNTYPICAL = re.compile("[\u2018\u2019\u02bc`\u00b4]")
_LATIN = re.compile("[A-Za-zÀ-ɏ]")

NEGATIONS = any_case(
    r"\b(?:not|no|never|cannot|can['\u2019]t|without|none|nobody|nothing|neither|nor|nicht|kein\w*"
    r"|nie"
    r"|niemals|ohne|nunca|jamás|tampoco|sin|ningún\w*|pas|jamais|aucune?|sans)\b"
    r"|n['\u2019]t\b|\bn['\u2019](?=\w)|\bne\s"
)

_GENERIC = """
information info informations data memory memories everything anything something all facts fact
details detail thing things stuff user said told mentioned know known conversation chat history
please now immediately previous earlier instructions instruction rules prompt
daten informationen erinnerung erinnerungen alles etwas gespeichert gesagt erzählt weißt
datos información informacion memoria memorias recuerdos todo algo dicho dije sabes conversación
just gerade eben acabo decir decirte viens dire
données donnees souvenirs souvenir mémoire memoire tout quelque chose dit sais informations
"""
_LIGHT = """
like love enjoy prefer hate live work use drink eat want need favorite favourite mag liebe hasse
wohne lebe arbeite esse trinke bevorzuge gern gerne lieber gusta gustan encanta prefiero vivo
trabajo odio aime adore déteste préfère habite vis travaille
"""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list written as one text."""
    return frozenset(text.split())


def _plain(text: str) -> frozenset[str]:
    table = str.maketrans("áàâäéèêëíîïóôöúùûüñçß", "aaaaeeeeiiiooouuuunc\0")
    return frozenset(word.translate(table).replace("\0", "ss") for word in text.split())


# Common words that identify the language but also carry content.
_TELLING = {
    "en": """
    tell like love want need live lives work works prefer hate think get got go going went make made
    take took see new last next year week day good time people every been being only other because
    where why how these those here now after before bought moved started use call thanks thank hello
    """,
    "de": "rauche spiele fahre besitze hasse liebe mag bevorzuge spreche lerne ziehe wohnen haben"
    " hallo spricht",
    "es": "bebo uso juego hablo leo toco corro llevo conduzco estudio ahora vivimos tenemos somos",
    "fr": "bois mange joue parle fume porte apprends conduis maintenant avons sommes habitons",
}
_COMMON = {"en": _ENGLISH, "de": _GERMAN, "es": _SPANISH, "fr": _FRENCH}
_FULL = {
    "en": "never not no always",
    "de": "nicht kein keine keinen immer morgen heute gestern",
    "es": "no nunca siempre llamo",
    "fr": "pas plus jamais toujours appelle",
}
"""Common words that carry content."""
STOPS = {
    tongue: _plain(text) - _plain(_LIGHT) - _plain(_FULL[tongue])
    for tongue, text in _COMMON.items()
}
"""Words without content, by language."""
MARKERS = {
    tongue: word_set(text) | word_set(_TELLING[tongue]) for tongue, text in _COMMON.items()
} | {tongue: word_set(text) for tongue, text in _OTHERS.items()}
"""Words that identify a language."""
TONGUE_NAMES = {
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
    "pl": "polish",
    "tr": "turkish",
    "sv": "swedish",
}
"""The names of languages without `STOPS`."""
GENERIC = _plain(_GENERIC)
"""Words without a specific meaning: "forget everything" deletes no memory."""


def language(text: str, default: str = "") -> str:
    """Return the two letters of the language of a text, or `default` if no word identifies it."""
    lowered = _UNTYPICAL.sub("'", text[:2000]).casefold()
    tokens = _WORD.findall(lowered.replace("'", "")) + _ELIDED.findall(lowered)
    scores = {tongue: _count(tokens, markers) for tongue, markers in MARKERS.items()}
    for tongue, letters in _LETTERS.items():
        scores[tongue] += 1 if letters.search(lowered) else 0
    best = max(scores.values())
    if best == 0:
        return default
    leaders = [tongue for tongue, score in scores.items() if score == best]
    return default if default in leaders else leaders[0]


def _count(tokens: Iterable[str], markers: frozenset[str]) -> int:
    return sum(map(markers.__contains__, tokens))


def latin(text: str) -> bool:
    """Return True if the text is mainly in Latin letters."""
    letters = _WORD.findall(text[:2000])
    return sum(len(_LATIN.findall(word)) for word in letters) * 2 > sum(map(len, letters))

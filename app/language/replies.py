"""Short answers that fit a question: a name, a place, a number or a few things.

In doubt, an answer does not fit: "Let me check." is not an allergy, and "Later." is not a name.
"""

import re

from app.language.figures import spells_a_number
from app.language.lexicon import LEXICONS, NEGATIONS, word_set
from app.language.search_languages import is_function_word

_PUTS_OFF = re.compile(
    r"\b(?:let|lets|know|idk|dunno|same|before|earlier|later|soon|first|previous\w*|secs?|seconds?"
    r"|minutes?|moments?|mom|wait|hold|hang|thanks?|thx|asking|asked|used|never|already|always"
    r"|still|again|now|today|tomorrow|yesterday|tonight|sure|sorry|maybe|perhaps|probably|depends?"
    r"|see|check|look|think|said|tell|telling|told|guess|unknown|joke|joking|kidding|nice try|pass"
    r"|next|skip|whatever|secret|private|good question|idea|clue|something|anything|everything"
    r"|nothing|nowhere|somewhere|anywhere|everywhere|elsewhere|here|there|lots|many|several|some"
    r"|plenty|various|loads|alone|usual|normal|fine|okay|ok|hm+|uh+|um+|wow|of course|none of"
    r"|moment\w*|augenblick|sekunden?|minuten?|mal|warte\w*|später|gleich|bald|früher|vorher|vorhin"
    r"|immer|heute|morgen|gestern|jetzt|gerade|schon|wieder|noch|bisher|damals|einst|weiß|weiss"
    r"|weißt|lass|schau\w*|guck\w*|sag\w*|kommt|keine ahnung|ahnung|egal|geheim|vielleicht"
    r"|danke|nachfrage|frage|gefragt|wie|hier|dort|da|überall|nirgends|irgend\w*|allein|einige"
    r"|mehrere|viele|gut|alles|nichts"
    r"|momentos?|momentito|segundos?|segundito|minutos?|espera\w*|espere|luego|después|tarde|antes"
    r"|ahora|hoy|ayer|mañana|siempre|nunca|ya|todavía|aún|igual|mismo|misma|lo mismo|sé|saber|idea"
    r"|déjame|dejame|veré|quizás?|tal vez|depende|secreto|gracias|preguntar|pregunta|como|aquí"
    r"|ahí|allí|algo|nada|todo|varios|varias|muchos|muchas|algunos|algunas|solo|sola|bien|claro"
    r"|attends?|attendez|instants?|secondes?|minute|plus tard|tard|bientôt|avant|après|toujours"
    r"|jamais|déjà|encore|hier|demain|maintenant|aujourd'hui|pareil|comme|sais|laisse\w*|voir"
    r"|regarde|vérifie|peut-être|dépend|merci|demander|question|aucune idée|idée|ici|là|partout"
    r"|ailleurs|quelque|rien|tout|plusieurs|beaucoup|certains|seule?|bien|bof|this and that"
    r"|around|devine|downtown"
    r"|ni idea|peu importe)\b(?!-)",
    re.IGNORECASE,
)
"""Words that postpone an answer, refer to another time, or answer vaguely."""
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[^\W\d_])\w{5,}")
_NAMED = re.compile(r"\b(?:name|heiße|llamo|appelle)\b")
_PLACED = re.compile(r"\b(?:live|wohne|Vivo|habite)\b")
_EMPLOYED = re.compile(r"\b(?:work at|arbeite bei|Trabajo en|travaille chez)\b")
_COUNTED = re.compile(r"\b(?:years|Jahre|años|ans|[Bb]udget|presupuesto)\b")
_THINGS = re.compile(r"allerg|alergi|\bdrink|trinke|beber|boire", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\s*(?:,|;|/|&|\b(?:and|or|und|oder|sowie|y|e|o|u|et|ou|also|auch)\b)\s*", re.IGNORECASE
)
_JOINING = word_set("""
    of the a an with without de del du des d la le les l el los las un una une der die das dem den
    ein eine einen von vom zu zum zur mit ohne am an im in on con sin al à au aux avec sans en at
    for für bei chez para pour by upon
    """)
_AS_NAMES = word_set("will leo ella sam an kim mark rose may san new bad los las la el den st")
"""Common words that are also names of people and places."""
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_MAX_THINGS = 4
_MAX_WORDS_OF_A_THING = 2


def fits(said: str, line: str, fact: str) -> bool:
    """Return True if the answer `said` fits the fact; `line` is the whole reply."""
    if _PUTS_OFF.search(said) or _PUTS_OFF.search(line):
        return False
    if _COUNTED.search(fact):
        return bool(re.search(r"(?<![^\W\d_])\d", said)) or spells_a_number(said)
    if _CODE.search(said) or NEGATIONS.search(said) or not _WORD.search(said):
        return False
    return _fits_in_words(said, line, fact)


def _fits_in_words(said: str, line: str, fact: str) -> bool:
    if _NAMED.search(fact):
        return _is_name(said)
    if _PLACED.search(fact):
        return _is_place(said, line)
    if _THINGS.search(fact):
        return _are_things(said)
    return _is_plain(said) or (_EMPLOYED.search(fact) is not None and _has_name(said))


def _is_name(said: str) -> bool:
    """Return True for one to three words, of which the first and the last look like names."""
    parts = said.split()
    if not re.fullmatch(r"[^\W\d_][^\d_,;:]{0,40}", said) or len(parts) > _MAX_NAMES:
        return False
    return all(part in _PARTICLES or _is_capital(part) for part in parts) and _is_capital(parts[-1])


_MAX_NAMES = 3
_PARTICLES = word_set("de del der den di da du la le van von y al bin el")


def _is_capital(word: str) -> bool:
    return word[:1].isupper() and not _is_common(word)


def _is_place(said: str, line: str) -> bool:
    if _WITH.match(said):
        return False
    if _has_name(said):
        return True
    # Some people write without capitals: accept one or two words that are not common.
    return (
        line == line.lower()
        and len(said.split()) <= _FEW
        and not any(_is_common(word) for word in _WORD.findall(said))
    )


_WITH = re.compile(r"(?:with|mit|con|avec|by)\b", re.IGNORECASE)
_FEW = 2


def _has_name(said: str) -> bool:
    return any(_is_capital(word) for word in _WORD.findall(_BESIDE.sub("", said)))


_BESIDE = re.compile(
    r"^(?:(?:just )?(?:near|outside|close to|around)|nahe|cerca de|a las afueras de|près d[e']"
    r"|à côté d[e'])\b",
    re.IGNORECASE,
)


def _are_things(said: str) -> bool:
    """Return True for one to four things, each of one or two content words."""
    parts = [part for part in _BETWEEN.split(said) if part]
    return len(parts) <= _MAX_THINGS and all(
        0 < len(_saying(part)) <= _MAX_WORDS_OF_A_THING and _is_plain(part) for part in parts
    )


def _saying(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.casefold() not in _JOINING]


def _is_plain(said: str) -> bool:
    """Return True if no word is a pronoun, a common verb or similar."""
    return not any(_is_common(word) for word in _saying(_BETWEEN.sub(" ", said)))


_MARKERS = frozenset(word for lexicon in LEXICONS.values() for word in lexicon.markers)


def _is_common(word: str) -> bool:
    low = word.casefold()
    return low not in _AS_NAMES and (low in _MARKERS or is_function_word(low))

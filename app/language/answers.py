"""Short answers that depend on the preceding question, and their rewriting as full sentences."""

import re
from dataclasses import dataclass

from app.language.lexicon import MARKERS, NEGATIONS, STOPS, word_set
from app.language.phrases import any_case
from app.language.search_languages import is_function_word
from app.language.text import straight
from app.language.values import spells_a_number

_YES = any_case(
    r"^\W*(?:yes|yeah|yep|yup|sure|correct|right|exactly|indeed|of course|absolutely|definitely"
    r"|true|I do|I am|I have|ja|jawohl|genau|richtig|stimmt|klar|natürlich|doch|sí|si|claro"
    r"|exacto|correcto|oui|ouais|exactement|bien sûr|tout à fait|d'accord|si|да|sim|tak|evet)(?!\w)"
    r"|^\W*(?:是的?|对|好的?|嗯|有|はい|ええ|うん|네|예)(?=\W|$)"
)
_NO = any_case(
    r"^\W*(?:no|nope|nah|never|not really|nein|nee|nie|nunca|non|jamais|нет|não|nao)(?!\w)"
    r"|^\W*(?:不是?|没有?|いいえ|いや|아니요?)(?=\W|$)"
)
_STANDS_FOR = any_case(
    r"^\W*(?:it|its|it's|that|that's|this|these|those|they|they're|he|he's|she|she's|mine|hers|theirs"
    r"|es|das|dies\w*|er|sie|seine?r?|meine?[rs]?|él|ella|ell[oa]s|es[oae]|est[oae]|el mío|la mía"
    r"|il|elle|ils|elles|c'est|ça|cela|le mien|la mienne|ele|ela|isso|é)(?!\w)"
    r"|^\W*(?:それ|これ|あれ|那|这|它|他|她|그것|이것)"
)
# Anchored, since the words are also removed from the beginning of an answer.
_BESIDE = any_case(
    r"^(?:(?:just )?(?:near|outside|close to|around)|nahe|cerca de|a las afueras de|près d[e']"
    r"|à côté d[e'])\b"
)
_PLACE = re.compile(r" (?:in|en|à) \{\}")
"""A place in a fact with its preposition; a preposition in the answer replaces it."""
_YEARS = any_case(r" (?:years?(?: old)?|Jahre?(?: alt)?|años|ans)\b\.?")
_ASKS = re.compile(r"[^.!?\u2026\u3002\uff01\uff1f]*[?\uff1f\u061f]")


def answered(text: str) -> bool | None:
    """Return True for a text that begins with a yes, False for a no, and None for other texts."""
    plain = straight(text)
    if _YES.match(plain):
        return True
    return False if _NO.match(plain) else None


def stands_for_another(text: str) -> bool:
    """Return True if a text begins with a word that refers to an earlier text."""
    return _STANDS_FOR.match(straight(text)) is not None


def without_answer(text: str) -> str:
    """Return the text without a leading yes or no."""
    match = _YES.match(straight(text)) or _NO.match(straight(text))
    rest = text[match.end() :] if match else text
    return rest if match and re.match(r"\s*[,.;:!\u2014-]|\s*$|[\uff0c\u3002]", rest) else text


def last_question(text: str) -> str:
    """Return the last question in a text, or an empty text."""
    asked = _ASKS.findall(straight(text))
    return asked[-1].strip() if asked else ""


@dataclass(frozen=True)
class _Question:
    """A known question and the fact for its answer; `none` is the fact for a no."""

    question: re.Pattern[str]
    fact: str
    none: str = ""

    def filled(self, plain: str, tongue: str) -> str:
        said = _MANNER.sub("", _LEADS.sub("", without_answer(plain).strip(" ,.:!"))).strip(" ,.:!")
        if _YEARS.search(self.fact):
            said = _YEARS.sub("", said)
        if not said or answered(said) is not None or not fits(said, plain, self.fact):
            return ""
        return _filled(said, self.fact, tongue)


def _question(question: str, fact: str, none: str = "") -> _Question:
    return _Question(any_case(question), fact, none)


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
_MINE = any_case(r"^(?:mine|meine[rs]?|el mío|la mía|los míos|las mías|le mien|la mienne)\b")
_YOURS = {
    "en": (any_case(r"\byour (\w+)"), "My {}"),
    "de": (any_case(r"\b(?:dein|ihr)(e?) (\w+)"), "Mein{} {}"),
    "es": (any_case(r"\btu (\w+)"), "Mi {}"),
    "fr": (any_case(r"\bt(on|a|es) (\w+)"), "M{} {}"),
}


def named(text: str, before: str, tongue: str) -> str:
    """Return "My passport ..." for "Mine ..." if a question named exactly one thing."""
    mine = _MINE.match(straight(text))
    if mine is None or tongue not in _YOURS:
        return text
    pattern, whose = _YOURS[tongue]
    possessives = [match.groups() for match in pattern.finditer(last_question(before))]
    return whose.format(*possessives[0]) + text[mine.end() :] if len(possessives) == 1 else text


_LEADS = any_case(
    r"^(?:(?:just|only|well|mostly|am liebsten|gern|to|in|at|for"
    r"|bei|beim|chez|a little|it's|nur|bloß|gegen|in|aus"
    r"|solo|sólo|al?|la|el"
    r"|los|las|en|à|au|aux|en|le|la|les|du|de la|des|l') ?(?<=[\s']))+"
)
_MANNER = any_case(
    r"[,;] (?:badly|severely|mainly|please|mostly|very|quite|sadly|why|thanks|ziemlich|sehr"
    r"|schlimm|leider|bitte|danke|muy|bastante|gracias|por favor|très|assez|merci|malheureusement"
    r")\b.*$"
)
_SENTENCE = any_case(
    r"\b(?:I|I'm|my|we|you|is|are|was|ich|mein\w*|wir|du|ist|habe|bin|yo|mi|tengo|soy|vivo|es|je"
    r"|j'\w+|mon|ma|mes|suis|est)\b|\?"
)
_NOTHING = any_case(
    r"(?:no|none|nope|nah|nothing|not (?:really|any|at all)|nein|nö|keine?|nichts|ninguna?|nada"
    r"|non|aucune?|rien|pas du tout)"
    r"(?:[\s,.!]+(?:no|none|not|nothing|at all|really|any|thanks|thank you|known|special"
    r"|particular|allerg\w*|intoleran\w*|diets?|dietary|restrictions?|luckily|fortunately|whatsoever"
    r"|zum glück|nein|keine?|gar|nichts|danke|besondere?n?|bekannten?|ninguna?|nada|gracias"
    r"|alergias?|dietas?|conocidas?|(?:en )?especial|non|aucune?|rien|merci|du tout|pas d[e']"
    r"|allergies?|régimes?|particuli\w+|connue?s?|bestimmten?|unverträglichkeit\w*"
    r"|(?:that|as far as) I know(?: of)?|so ?weit ich weiß|dass ich wüsste|que yo sepa"
    r"|que je sache))*"
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
    return asked.none if _NOTHING.fullmatch(plain) else asked.filled(plain, tongue)


def _filled(said: str, fact: str, tongue: str) -> str:
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


_PUTS_OFF = any_case(
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
    r"|ni idea|peu importe)\b(?!-)"
)
"""Words that postpone an answer, refer to another time, or answer vaguely."""
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[^\W\d_])\w{5,}")
_NAMED = re.compile(r"\b(?:name|heiße|llamo|appelle)\b")
_PLACED = re.compile(r"\b(?:live|wohne|Vivo|habite)\b")
_EMPLOYED = re.compile(r"\b(?:work at|arbeite bei|Trabajo en|travaille chez)\b")
_COUNTED = re.compile(r"\b(?:years|Jahre|años|ans|[Bb]udget|presupuesto)\b")
_THINGS = any_case(r"allerg|alergi|\bdrink|trinke|beber|boire")
_BETWEEN = any_case(r"\s*(?:,|;|/|&|\b(?:and|or|und|oder|sowie|y|e|o|u|et|ou|also|auch)\b)\s*")
_JOINING = word_set("""
    of the a an with without de del du des d la le les l el los las un una une der die das dem den
    ein eine einen von vom zu zum zur mit ohne am an im in on con sin al à au aux avec sans en at
    for für bei chez para pour by upon
    """)
_AS_NAMES = word_set("will leo ella sam an kim mark rose may san new bad los las la el den st")
"""Common words that are also names of people and places."""
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_MAX_THINGS = 4
_MAX_THING_WORDS = 2


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


_WITH = any_case(r"(?:with|mit|con|avec|by)\b")
_FEW = 2


def _has_name(said: str) -> bool:
    return any(_is_capital(word) for word in _WORD.findall(_BESIDE.sub("", said)))


def _are_things(said: str) -> bool:
    parts = [part for part in _BETWEEN.split(said) if part]
    return len(parts) <= _MAX_THINGS and all(
        0 < len(_saying(part)) <= _MAX_THING_WORDS and _is_plain(part) for part in parts
    )


def _saying(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.casefold() not in _JOINING]


def _is_plain(said: str) -> bool:
    return not any(_is_common(word) for word in _saying(_BETWEEN.sub(" ", said)))


_MARKERS = frozenset(word for tongue in STOPS for word in MARKERS[tongue])


def _is_common(word: str) -> bool:
    low = word.casefold()
    return low not in _AS_NAMES and (low in _MARKERS or is_function_word(low))

"""The words of a statement in their order, alike for whoever says "I" or "the user".

Coarser than a grammar and finer than `text.content`: who, whose, from where to where, and what is
denied stay; articles, spelling and endings go.
"""

import re
from collections.abc import Iterator

from app.rules.lexicon import LEXICONS, language, word_set
from app.rules.stances import DISLIKING, LIKING
from app.rules.text import contractions_in_full, fold, names, stem, straight, undated, words

SELF, MINE, NOT, JOIN = "+self", "+my", "+not", "&"
"""The person who speaks, what is theirs, a denial, and what stands between members of a list."""

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
_PARTS = re.compile(
    r"[,;:.!?\u2026)(]+(?=\s|$)|[\u3001\u3002\uff0c\uff1b\uff1a\uff01\uff1f\uff61]"
    r"|\s[-(/]+(?=[\s\w])|(?<=\w)/(?=\w)"
)
_AS_WELL = re.compile(
    r"\bas well as\b|\bplus\b(?= \w+ing)|\bsowie\b|\bainsi que\b|\bas well\b", re.IGNORECASE
)
_USERS = re.compile(
    r"\b(?:the|this) user'?s'?(?!\w)|\b(?:des|der) (?:be)?nutzer(?:s|in)\b|\bdel usuario\b"
    r"|\bde l'utilisat(?:eur|rice)\b|用户的",
    re.IGNORECASE,
)
_USER = re.compile(
    r"\b(?:the|this) user\b|\b(?:der|die) (?:be)?nutzer(?:in)?\b|\b(?:el|la) usuari[oa]\b"
    r"|\bl'utilisat(?:eur|rice)\b|用户",
    re.IGNORECASE,
)
_SELF = {
    "en": "i we me us myself",
    "de": "ich wir mich mir uns",
    "es": "yo nosotros nosotras me nos",
    "fr": "je j nous me m moi",
}
_MINE = {
    "en": "my our mine",
    "de": "mein meine meinen meinem meiner meines unser unsere unseren unserem unserer",
    "es": "mi mis nuestro nuestra nuestros nuestras",
    "fr": "mon ma mes notre nos",
}
_NOT = {
    "en": "not no never cannot without none nobody nothing neither nor",
    "de": "nicht kein keine keinen keinem keiner keines nie niemals ohne niemand nichts weder",
    "es": "no nunca jamas tampoco sin ningun ninguna ninguno nadie nada ni",
    "fr": "pas jamais aucun aucune sans rien personne ni",
    "it": "non mai senza nessuno niente",
    "pt": "nao nunca sem nem jamais",
    "nl": "niet geen nooit zonder",
    "pl": "nie nigdy bez",
    "tr": "degil yok",
    "sv": "inte aldrig utan ingen inga",
    "": "не нет ни никогда без لا ليس لم لن ما नहीं न मत לא אין 안 못 않아 않는다 없어 없다",
}
_JOINS = {
    "en": "and or but &",
    "de": "und oder aber sondern &",
    "es": "y e o u pero sino",
    "fr": "et ou mais",
    "it": "e ed o ma",
    "pt": "e ou mas",
    "nl": "en of maar",
    "pl": "i oraz lub ale",
    "tr": "ve veya ama",
    "sv": "och eller men",
    "": "и \u0430 или но و أو और или",
}
_IDLE = {
    "en": "a an the also too both",
    "de": "der die das den dem des ein eine einen einem einer eines auch sowohl beide",
    "es": "el la los las un una unos unas tambien ademas",
    "fr": "le la les l un une des aussi egalement ne n",
}
_TABLES = {
    tongue: {
        **dict.fromkeys(word_set(_IDLE.get(tongue, "")), ""),
        **dict.fromkeys(word_set(_JOINS[tongue]), JOIN),
        **dict.fromkeys(word_set(_NOT[tongue]), NOT),
        **dict.fromkeys(word_set(_MINE.get(tongue, "")), MINE),
        **dict.fromkeys(word_set(_SELF.get(tongue, "")), SELF),
    }
    for tongue in _NOT
}
_SIGNS = {
    **dict.fromkeys("的了也还都们呢吧很も", ""),
    **dict.fromkeys("和与跟及而且但並并と", JOIN),
    **dict.fromkeys("不没沒未无無非别勿", NOT),
    **dict.fromkeys("我咱私俺僕", SELF),
}
_NO_LONGER = re.compile(r"\bne? (?:\w+ ){1,3}plus\b", re.IGNORECASE)
_PLUS = re.compile(r"\bplus\b", re.IGNORECASE)
_DENIED_LATE = re.compile(r"(?:な[いくか]|ません|ずに|지 않|지 못|없)")
"""Japanese and Korean deny at the end of the verb."""
ROLES = word_set("""
    from to in at on with for by of before after over under near than as since until about into
    von nach aus bei mit für fur zu zum zur vor uber an auf als seit bis im am gegen
    de a en con para por desde hasta sobre como a dans chez avec pour depuis du au aux
    """)
"""Words that tell what part a thing has in a statement ("from", "to", "with")."""
OTHERS = word_set("""
    he she it they his her its their him them who whom whose you your er sie es sein seine ihr ihre
    el ella ellos ellas su sus quien il elle ils elles son sa ses leur qui 他 她 它 彼
    """)
"""Words for somebody else than the person who speaks."""
_CONTINUING = word_set("""
    named called who which that because while when where every each during daily namens genannt weil
    wahrend wenn jeden que porque cuando llamado llamada cada parce quand appele qui chaque since
    """)
FOLLOWING = frozenset(
    {stem(word, tongue) for tongue in ("en", "de", "fr") for word in ROLES | _CONTINUING}
    | ROLES
    | _CONTINUING
    | {JOIN}
)
"""After these a statement only says more about what came before."""
_MOODS = word_set("""
    want wants wanted wish wishes hope hopes plan plans would could might may maybe perhaps used
    formerly previously once almost nearly if unless doubt dream dreams should only except
    will wollte möchte mochte hoffe plane würde wurde könnte konnte vielleicht früher fruher fast
    wenn falls nur außer ausser quiero quisiera espero gustaria podria quizas antes casi si solo
    excepto veux voudrais espere aimerais pourrais peutetre avant presque seulement sauf
    """)
_MOOD_SIGNS = re.compile("想|希望|打算|以前|曾|如果|可能|只|除了|たい|かも|だけ")


def sequence(text: str, tongue: str = "") -> tuple[str, ...]:
    """Return the words that count, in their order, with `JOIN` between parts and list members."""
    tongue = tongue or language(text)
    plain = contractions_in_full(straight(undated(text)))
    plain = _AS_WELL.sub(" , ", _PARTS.sub(f" {JOIN} ", plain))
    plain = _USER.sub(" I " if tongue == "en" else f" {SELF} ", _USERS.sub(f" {MINE} ", plain))
    found: list[str] = []
    for word in _words(plain, tongue):
        if word and (word != JOIN or (found and found[-1] != JOIN)):
            found.append(word)
    return tuple(found[:-1] if found and found[-1] == JOIN else found)


def _words(plain: str, tongue: str) -> Iterator[str]:
    table = _TABLES.get(tongue, _TABLES[""])
    if tongue == "fr":
        plain = plain.replace("'", " ")
        if _NO_LONGER.search(plain):
            plain = _PLUS.sub("pas", plain)
    for piece in plain.split():
        if piece in {JOIN, SELF, MINE, ","}:
            yield JOIN if piece == "," else piece
            continue
        for word in fold(piece).split():
            if _UNSPACED.search(word):
                yield from _signs(word)
            elif any(sign.isalnum() for sign in word):
                yield table[word] if word in table else _stemmed(word, tongue)


def _stemmed(word: str, tongue: str) -> str:
    # Spanish verbs tell by their ending who it is.
    return word if tongue == "es" else stem(word, tongue)


def _signs(word: str) -> Iterator[str]:
    """Yield the signs of a text without blanks, and the words of others in it."""
    for part in re.findall(rf"{_UNSPACED.pattern}|[^\W_]+?(?={_UNSPACED.pattern}|$)", word):
        yield _SIGNS.get(part, part)


def is_sign(word: str) -> bool:
    """Tell whether a word of a sequence is a sign of a script without blanks."""
    return _UNSPACED.match(word) is not None


def alike(one: str, other: str) -> bool:
    """Tell whether two stems are of one word; "univers" and "universit" are not."""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    return (
        len(shorter) >= 5
        and longer.startswith(shorter)
        and longer[len(shorter) :] in _ENDINGS
        and len(shorter) * 10 >= len(longer) * 7
    )


_ENDINGS = word_set("""
    s es e y n en er ern t ic ical al ly ing ed or ist ion ation ment ness c ca co que sch sche i a
    o as os an ie ies qu
    """)


def moods(text: str) -> frozenset[str]:
    """Return the words that tell that something is wished, past, or bound to a condition."""
    found = frozenset(fold(text).replace("-", "").split()) & _MOODS
    return found | frozenset(_MOOD_SIGNS.findall(text))


def denials(text: str, tongue: str = "") -> int:
    """Return how often a text denies something."""
    return sequence(text, tongue).count(NOT) + len(_DENIED_LATE.findall(text))


_KINDS = {
    word: f"+{kind}"
    for kind, listed in (
        ("like", " ".join(LIKING)),
        ("hate", " ".join(DISLIKING)),
        ("prefer", "prefer prefers preferred preference favourite favorite favourites favorites"),
        ("prefer", "bevorzuge bevorzugt liebster liebste liebsten lieber prefiero prefiere"),
        ("prefer", "favorito favorita preferido preferida prefere preferee"),
        ("work", "work works working worked job jobs profession occupation employed employer"),
        ("work", "career arbeite arbeitet arbeiten arbeit beruf job trabajo trabaja profesion"),
        (
            "work",
            "empleo oficio travaille travail metier profession emploi beruflich arbeitest trabajas",
        ),
        ("live", "live lives living lived reside resides residence home moved move moving"),
        ("live", "relocated relocating based wohne wohnt wohnort lebe lebt gezogen umgezogen"),
        ("live", "wohnst lebst vivo vive vives mudado mude mudo resido habite habites vis vit"),
        ("name", "name named names called call heisse heisst nenne nennt nombre llamo llama nom"),
        ("name", "appelle prenom vorname"),
        ("have", "have has had got own owns habe hat besitze besitzt tengo tiene poseo possede"),
        ("born", "born birthday geboren geburtstag naci nacio cumpleanos nee anniversaire"),
        ("age", "age aged old years year turned turn alt jahre alter edad anos age ans"),
        ("wed", "married wife husband spouse verheiratet frau mann ehefrau ehemann"),
        ("wed", "casado casada esposa esposo mariee epouse mari femme"),
    )
    for word in listed.split()
}


def meanings(text: str, tongue: str = "") -> tuple[str, ...]:
    """Return the words with content in their order, those that say the same thing alike."""
    tongue = tongue or language(text)
    lexicon = LEXICONS.get(tongue)
    stops = lexicon.stops if lexicon else frozenset()
    found = words(contractions_in_full(undated(text)), tongue)
    return tuple(
        _KINDS.get(word) or stem(word, tongue)
        for word in found
        if word in _KINDS or (len(word) > 1 and word not in stops and word not in ROLES)
    )


def proper(text: str) -> frozenset[str]:
    """Return the folded names in a text, without words that only say what kind of thing it is."""
    return frozenset(name for name in names(text) if name not in _KINDS)

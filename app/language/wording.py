"""The content words of a text, with synonyms unified."""

from app.language.lexicon import LEXICONS, language, word_set
from app.language.stances import DISLIKING, LIKING
from app.language.text import contractions_in_full, stem, undated, words

ROLES = word_set("""
    from to in at on with for by of before after over under near than as since until about into
    von nach aus bei mit für fur zu zum zur vor uber an auf als seit bis im am gegen
    de a en con para por desde hasta sobre como a dans chez avec pour depuis du au aux
    """)
"""Words for the role of a thing in a statement ("from", "to", "with")."""
OTHERS = word_set("""
    he she it they his her its their him them who whom whose you your er sie es sein seine ihr ihre
    el ella ellos ellas su sus quien il elle ils elles son sa ses leur qui 他 她 它 彼
    """)
"""Words for people other than the speaker."""


def alike(first: str, other: str) -> bool:
    """Return True if two stems belong to one word; "univers" and "universit" do not."""
    if first == other:
        return True
    shorter, longer = sorted((first, other), key=len)
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
    """Return the content words in order, with synonyms unified."""
    tongue = tongue or language(text)
    lexicon = LEXICONS.get(tongue)
    stops = lexicon.stops if lexicon else frozenset()
    text_words = words(contractions_in_full(undated(text)), tongue)
    return tuple(
        _KINDS.get(word) or stem(word, tongue)
        for word in text_words
        if word in _KINDS or (len(word) > 1 and word not in stops and word not in ROLES)
    )

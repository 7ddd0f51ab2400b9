"""Stances: the things that a statement affirms or denies, as in "I drink coffee", "I quit coffee".

A statement and its denial have the same words, without words of denial and frequency.
"""

from dataclasses import dataclass

from app.kernel.text import fold
from app.language.lexicon import language, word_set
from app.language.phrases import any_case
from app.language.text import negated, stem, straight, undated, words
from app.language.tongues import PHRASES

LIKING = word_set("""
    like likes liked liking love loves loved enjoy enjoys enjoying adore fan into fond keen mag
    mogen liebe lieben gern gerne schmeckt gefallt gusta gustan encanta encantan amo adoro aime
    aimons apprecie
    """)
DISLIKING = word_set("""
    hate hates hated dislike dislikes loathe detest stand hasse odio detesto detestar deteste
    """)
_STOPPED = any_case(
    r"\b(?:stopped|quit|gave up|given up|giving up|went off|over my|outgrew|aufgehört|höre auf"
    r"|(?:he )?dej(?:é|ado) de|arrêté (?:de|d')|cessé|sold|got rid of|gave away|given away|verkauft"
    r"|weggegeben|abgeschafft|vendí|vendido|vendimos|regalado|vendu|donné)\b"
)
_NO_LONGER = any_case(r"\b(?:no longer|any ?more)\b")
_LITTLE = word_set("""
    im ive last month week year ago today yesterday seit letzte letzten letztes monat woche jahr
    mes ano semana hace mois annee semaine derniere dernier pasado pasada too again wieder auch
    auf nuevo otra vez tambien nouveau aussi no not never cannot cant dont doesnt didnt do does
    did longer any anymore more stopped quit gave given giving up of off over my outgrew really
    actually now currently still also just much at all quite am is are be been was i the a an to
    user users very it with used from went that eat_ can nicht kein keine keinen keinem keiner
    mehr nie niemals ich bin ist habe aufgehort hore auf zu jetzt wirklich sehr der die das den
    dem ein eine einen nunca jamas ya mas me yo el la los las un una de he deje dejado ahora
    mucho muy que soy a al sold got rid away verkauft weggegeben abgeschafft vendi vendido vendimos
    regalado vendu donne we our ours wir nous leider sadly unfortunately
    lamentablemente malheureusement
    helas ubrigens eigentlich haben hemos nous avons avoir
    tenemos tenia these days all after
    ne n pas plus jamais je j le les l du des d ai arrete cesse suis tres
    beaucoup maintenant desormais finalement vraiment doch gar wohl nun schon noch einfach
    uberhaupt tatsachlich realidad
    """)
_HAVE = word_set("""
    have has had got own habe haben hatte besitze tengo tenemos tenia ai avais avons
    """)
_OWNED = any_case(r"(?:my|our|mein\w*|unser\w*|mis?|nuestr\w+|mon|ma|mes|notre|nos) (\w+)")
_THE_USER = any_case(r"(?:the )?user\b")
# The remaining text gives a reason or an addition; it is neither affirmed nor denied.
_FURTHER = any_case(r"(?<=\w)[,;.!]\s|\s(?:because|since|weil|porque|parce|puisque)\s")


@dataclass(frozen=True)
class Stance:
    """The affirmed or denied stems, in one language, with all words of liking as one stem."""

    about: frozenset[str]
    affirmed: bool
    tongue: str
    subject: str


def stance(text: str, default: str = "en") -> Stance:
    """Return the stance of the statement, in the language `default` if no word identifies one."""
    plain = _main_clause(text)
    tongue = language(text, default)
    about = _about(words(plain, tongue), tongue)
    return Stance(about, affirms(text), tongue, _subject(plain, tongue))


def affirms(text: str) -> bool:
    """Return True if the statement affirms its subject, in any of the known languages."""
    plain = _main_clause(text)
    is_negated = negated(plain)
    # Apostrophes separate words as in French; no word of dislike contains one in any language.
    disliked = not DISLIKING.isdisjoint(words(plain, "fr"))
    denials = is_negated + bool(_STOPPED.search(plain)) + disliked
    if not is_negated and _NO_LONGER.search(plain):
        denials += 1
    return denials % 2 == 0


def _main_clause(text: str) -> str:
    return _FURTHER.split(_LEAD.sub("", straight(undated(text))), maxsplit=1)[0]


_LEAD = any_case(
    r"^(?:(?:sadly|unfortunately|actually|anyway|in the end|apparently|leider|übrigens|eigentlich"
    r"|lamentablemente|por desgracia|desgraciadamente|al final|malheureusement|hélas|finalement"
    r"|(?:it )?turn(?:ed|s) out(?: that)?|(?:the doctor|they) (?:found|says?|said)(?: that)?"
    r"|es (?:hat sich|stellte sich)(?: herausgestellt| heraus),? dass|resulta que|resultó que"
    r"|il s'avère que|il s'est avéré que),? )+"
)
"""Words that introduce a statement without changing it."""


def _subject(text: str, tongue: str) -> str:
    """Return the subject of the statement: "self", a relation ("wife") or the first word."""
    owned = _OWNED.match(text)
    if owned:
        return fold(owned[1])
    phrases = PHRASES.get(tongue)
    if tongue == "es" or _THE_USER.match(text) or (phrases and phrases.first.search(text)):
        return "self"
    return fold(text).split(" ", maxsplit=1)[0]


def _about(statement_words: list[str], tongue: str) -> frozenset[str]:
    about = set()
    for word in statement_words:
        if word in LIKING or word in DISLIKING:
            about.add("+like")
        elif word in _HAVE and tongue in {"en", "es"}:
            about.add("+have")
        elif word not in _LITTLE or (tongue, word) == ("fr", "the"):  # tea
            about.add(stem(word, tongue))
    return frozenset(about)


def denies(new: Stance, old: Stance) -> bool:
    """Return True if the newer statement denies the older one or a part of it."""
    if (new.tongue, new.subject) != (old.tongue, old.subject) or new.affirmed == old.affirmed:
        return False
    named = new.about - {"+like", "+have"}
    return bool(named) and new.about <= old.about

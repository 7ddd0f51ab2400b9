"""Stances: the things that a statement affirms or denies, as in "I drink coffee", "I quit coffee".

A statement and its denial have the same words, without words of denial and frequency.
"""

import re
from dataclasses import dataclass

from app.kernel.text import fold
from app.language.lexicon import STOPS, language, word_set
from app.language.phrases import any_case
from app.language.text import negated, stem, straight, undated, words
from app.language.tongues import PHRASES
from app.language.values import spells_a_number

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
_AND = any_case(r"\s*,\s*(?:and|und|y|et|or)?\s*|\s+(?:and|und|y|et|or|oder|&)\s+")


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


def without(fact: str, denied: Stance) -> str:
    """Return the fact ("I like tea and coffee") without the denied member of its list, else ""."""
    parts = _AND.split(fact.rstrip(".!"))
    if len(parts) < 2 or not parts[0].strip() or any(not _is_member(part) for part in parts[1:]):
        return ""
    head = _head(parts[0])
    led = _led(parts[0], denied.tongue)
    return _left(parts, head, denied) or _left(parts, max(head, led, key=len), denied)


def _left(parts: list[str], head: str, denied: Stance) -> str:
    """Return the list after its head, without the denied member; "" on failure."""
    tongue = denied.tongue
    named = denied.about - {"+like", "+have"} - _stems(head, tongue)
    members = [parts[0][len(head) :], *parts[1:]]
    kept = [at for at, member in enumerate(members) if not named & _stems(member, tongue)]
    if len(kept) == len(parts) or not kept:
        return ""
    rest = [parts[at] for at in kept]
    if kept[0]:
        lead = _lead(members[0], named, tongue, rest[0])
        if lead is None:
            return ""
        rest[0] = " ".join([head, *lead, rest[0]])
    return " and ".join([", ".join(rest[:-1]), rest[-1]] if len(rest) > 1 else rest) + "."


def _is_member(part: str) -> bool:
    folded = fold(part).split()
    return 0 < len(folded) <= _LONGEST_MEMBER and not _CLAUSE & set(folded)


_LONGEST_MEMBER = 3
_CLAUSE = word_set("i my it we ich mein es wir yo mi je mon but aber pero mais only nur solo not")


def _stems(text: str, tongue: str) -> frozenset[str]:
    return frozenset(stem(word, tongue) for word in words(text, tongue))


def _head(part: str) -> str:
    """Return the subject and verb of a list's first part: "I play" of "I play the piano"."""
    folded = [fold(word) for word in part.split()]
    least = 3 if _THE_USER.match(part) and folded[0] == "the" else 1 + (folded[0] in _PRONOUNS)
    verbs = [at + 1 for at, word in enumerate(folded[:_EARLY]) if word in _VERBS]
    length = min(max([least, *verbs]), len(folded) - 1)
    return _begin(part, length)


def _begin(part: str, length: int) -> str:
    match = re.match(rf"(?:\s*\S+){{{length}}}", part)
    return match[0] if match and length else ""


def _led(part: str, tongue: str) -> str:
    """Return the text before a list, up to its last function word: "I'm allergic to" nuts."""
    part_words = part.split()
    ends = [at + 1 for at, word in enumerate(part_words[:-1]) if at and _is_small(word, tongue)]
    return _begin(part, max(ends, default=0))


def _is_small(word: str, tongue: str) -> bool:
    """Return True if a word is a function word, but not an article or number."""
    stops = STOPS.get(tongue, frozenset())
    return fold(word) in stops and not _is_determiner(word)


def _lead(member: str, named: frozenset[str], tongue: str, following: str) -> list[str] | None:
    """Return the words before the denied thing that apply to the whole list.

    Remove the article or number of that thing, unless the next thing lacks one and needs it. None:
    the list is of other things ("guitar with Bob and Ana", without the guitar).
    """
    member_words = member.split()
    hits = [at for at, word in enumerate(member_words) if _stems(word, tongue) & named]
    if not hits or any(_is_small(word, tongue) for word in member_words[hits[-1] + 1 :]):
        return None
    begin = hits[-1]
    while begin - 1 in hits:
        begin -= 1
    lead = member_words[:begin]
    while lead and not _is_determiner(lead[-1]) and not _is_small(lead[-1], tongue):
        lead.pop()
    if lead and _is_determiner(lead[-1]):
        lead[-1:] = _shared_article(lead[-1], following, tongue)
    return lead


def _is_determiner(word: str) -> bool:
    plain = fold(word)
    return plain in _DETERMINERS or plain[:1].isdigit() or spells_a_number(word)


def _shared_article(article: str, following: str, tongue: str) -> list[str]:
    """Return the article missing for "cat" in "a dog and cat"; "cats" and "two cats" need none."""
    bare = not _is_determiner(following.split(maxsplit=1)[0]) and not following.endswith("s")
    if tongue != "en" or not bare or fold(article) not in {"a", "an", "the"}:
        return []
    if fold(article) == "the":
        return [article]
    return ["an" if following[0].lower() in "aeiou" else "a"]


_DETERMINERS = word_set("""
    a an the my our some several many few any no ein eine einen einem einer der die das den dem
    mein meine meinen einige mehrere viele keine keinen un una uno unos unas el la los las mi mis
    varios varias algunos algunas une des le les l du de mon ma mes plusieurs quelques
    """)
_VERBS = (
    LIKING
    | DISLIKING
    | _HAVE
    | word_set("""
    has drink drinks eat eats play plays speak speaks use uses wear take takes keep am is are bin
    ist sind trinke trinkt esse isst spiele spielt spreche spricht nutze nehme bebo bebe como toco
    juego hablo uso tomo soy es son bois mange joue parle utilise prends jaime jadore jai suis est
    sont im
    """)
)
_PRONOUNS = word_set("i we he she they ich wir er sie yo je nous il elle user users")
_EARLY = 5
"""Maximum position of the verb among the first words of a statement."""

"""What a change of a memory would lose or invent, told by the words themselves (pure).

Strict on purpose: a sentence that is refused makes a memory of its own, and that loses nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from app.engines.config import MAX_FACT_CHARS
from app.rules.facts import Neighbour
from app.rules.lexicon import language
from app.rules.relations import Statement, overruled, read
from app.rules.text import names, negated, numbers, words
from app.rules.wording import (
    FOLLOWING,
    JOIN,
    MINE,
    NOT,
    OTHERS,
    ROLES,
    SELF,
    alike,
    denials,
    is_sign,
    meanings,
    moods,
    proper,
    sequence,
)

MAX_SHOWN_CHARS = 600
"""Of a memory; one that is longer is shown in part, and so cannot be rewritten without a loss."""
_PARAPHRASE_COSINE = 0.835
"""From here on other words may say the same; "I like green tea" and "black tea" lie at 0.83."""
_LONGEST_SUBJECT = 3
"""Words that name whom a sentence is about ("my sister Anna")."""

_LONGEST_GAP = 40
"""Words of another thing between two that belong together."""
_MOST_TRIED = 8
"""Places at which words that repeat are looked for."""
_OF_SELF = {("+name",), ("+work",), ("+age",), ("+born",)}

_Words = tuple[str, ...]


def keeps(text: str, *facts: str) -> bool:
    """Tell whether a text has all that the facts say, in words that stand together as theirs do.

    Between them it may have a word that says more ("green tea"), or another member of a list.
    """
    tongue = language(" ".join((text, *facts)))
    said = [sequence(fact, tongue) for fact in facts]
    has, spelt, figures = sequence(text, tongue), frozenset(words(text, tongue)), numbers(text)
    subject = _common(said) if len(said) > 1 else ()
    if subject and subject[0] != SELF:  # "she" is the person whom all of them are about
        has = tuple(word for word in has if word not in OTHERS)
    return all(
        numbers(fact) <= figures
        and names(fact) <= spelt
        and denials(text, tongue) >= denials(fact, tongue)
        and moods(fact) <= moods(text)
        and _has(has, _bare(wanted), subject)
        for fact, wanted in zip(facts, said, strict=True)
    )


def invents(text: str, *sources: str) -> bool:
    """Tell whether a text says more than what it is made from, or a word of it more often."""
    tongue = language(" ".join((text, *sources)))
    said = [sequence(source, tongue) for source in sources]
    free = list((sum((Counter(_bare(one)) for one in said), Counter())).elements())
    shared = _common(said)
    for word in _bare(sequence(text, tongue)):
        known = next((one for one in free if alike(one, word)), None)
        if known is not None:
            free.remove(known)
        elif word not in OTHERS or not shared or shared[0] == SELF:
            return True
    made_from = " ".join(sources)
    return not numbers(text) <= numbers(made_from) or not moods(text) <= moods(made_from)


def merged(facts: Sequence[Statement], near: Neighbour, text: str) -> str | None:
    """Return the text if it says what the memory and the facts say and nothing else; else None.

    What is affirmed and what is denied stay apart: in one sentence nobody can tell which is which.
    """
    sources = [near.fact, *(fact.fact for fact in facts)]
    if len(text) > MAX_FACT_CHARS or len(near.fact) > MAX_SHOWN_CHARS or not text:
        return None
    of_one_kind = len({(negated(one), read(one).affirmed) for one in [text, *sources]}) == 1
    sound = of_one_kind and keeps(text, *sources) and not invents(text, *sources)
    return text if sound and _denies_alike(text, sources) else None


def _denies_alike(text: str, sources: Sequence[str]) -> bool:
    """Tell whether each denial of the sources is there, or one for a list ("no meat or fish")."""
    tongue = language(" ".join((text, *sources)))
    if denials(text, tongue) == sum(denials(one, tongue) for one in sources):
        return True
    said = [_bare(sequence(one, tongue)) for one in sources]
    listed = (*said[0], *(one[-1] for one in said[1:] if one))
    is_list = len({one[:-1] for one in said}) == 1
    return is_list and _bare(sequence(text, tongue)) == listed


def fuller(fact: Statement, near: Neighbour) -> str | None:
    """Return the one that has all of the other, where both say the same; None: neither has."""
    if (fact.affirmed, negated(fact.fact)) != (read(near.fact).affirmed, negated(near.fact)):
        return None
    tongue = language(f"{fact.fact} {near.fact}")
    if denials(fact.fact, tongue) != denials(near.fact, tongue):
        return None
    if moods(fact.fact) != moods(near.fact):
        return None
    if keeps(near.fact, fact.fact) or _paraphrases(fact, near):
        return near.fact
    return fact.fact if keeps(fact.fact, near.fact) else None


def _paraphrases(fact: Statement, near: Neighbour) -> bool:
    """Tell whether a memory very near to the fact says it in words of the same kinds."""
    old = read(near.fact)
    if near.cosine < _PARAPHRASE_COSINE or _about(fact) != _about(old):
        return False
    tongue = language(f"{fact.fact} {near.fact}")
    mine, other = meanings(fact.fact, tongue), meanings(near.fact, tongue)
    return (
        numbers(fact.fact) <= numbers(near.fact)
        and proper(fact.fact) <= frozenset(words(near.fact, tongue))
        and set(mine) <= set(other)
        and _own(mine) == _own(other)
    )


def _own(said: Sequence[str]) -> list[str]:
    """Return the words that have no kind: the order of the others differs with the phrase."""
    return [word for word in said if not word.startswith("+")]


def _about(fact: Statement) -> str:
    """Return whom a fact is about; what somebody's name or job is, is about them."""
    return "self" if meanings(fact.stance.subject)[:1] in _OF_SELF else fact.stance.subject


def remaining(fact: Statement, near: Neighbour) -> str | None:
    """Return what the words themselves leave of a contradicted memory; None: they contradict not.

    Empty: nothing remains of it.
    """
    return overruled(fact, read(near.fact), near.cosine)


def replaced(fact: Statement, near: Neighbour, text: str) -> str | None:
    """Return what a contradicted memory shall say; None where that would lose what it also says.

    The words tell the contradiction and what remains, whatever the model's text says. Where they
    tell none, the text must keep all of both, or the fact itself must name what it takes leave of.
    """
    rest = remaining(fact, near)
    if rest is None:
        return fact.fact if _takes_leave(fact.fact, near.fact) else merged([fact], near, text)
    if not rest:
        return fact.fact if len(near.fact) <= MAX_SHOWN_CHARS else None
    sound = keeps(text, fact.fact, rest) and not invents(text, fact.fact, rest)
    return text if sound and len(text) <= MAX_FACT_CHARS else rest


def _takes_leave(fact: str, memory: str) -> bool:
    """Tell whether a fact says that something has changed and names all that the memory says."""
    tongue = language(f"{fact} {memory}")
    told = meanings(fact, tongue)
    return (
        _LEAVE.search(fact) is not None
        and numbers(memory) <= numbers(fact)
        and names(memory) <= frozenset(words(fact, tongue))
        and all(word in told for word in meanings(memory, tongue))
    )


_LEAVE = re.compile(
    r"\b(?:no longer|any ?more|instead of|used to|switched from|gave up|nicht mehr|statt|anstatt"
    r"|früher|ya no|en lugar de|en vez de|antes|ne? \w+ plus|au lieu d|avant)\b|不再|改|以前",
    re.IGNORECASE,
)


def _bare(said: _Words) -> _Words:
    return tuple(word for word in said if word != JOIN)


def _common(said: Sequence[_Words]) -> _Words:
    """Return the words that all begin with: of sentences about one person, that person."""
    alike_so_far = takewhile(lambda row: len(set(row)) == 1, zip(*map(_bare, said), strict=False))
    return tuple(row[0] for row in alike_so_far)


def _has(text: _Words, wanted: _Words, subject: _Words) -> bool:
    """Tell whether the words are in the text in their order, with gaps that change nothing."""
    if not wanted:
        return True
    found = {at for at, word in enumerate(text) if alike(word, wanted[0]) and _begins(text, at)}
    for done in range(1, len(wanted)):
        found = {
            then
            for at in sorted(found)[:_MOST_TRIED]
            for then in range(at + 1, min(at + 2 + _LONGEST_GAP, len(text)))
            if alike(text[then], wanted[done])
            and _may_lie_between(text[at + 1 : then], wanted[:done], wanted[done], subject)
        }
    return any(_ends(text, at) for at in found)


def _begins(text: _Words, at: int) -> bool:
    return at == 0 or text[at - 1] == JOIN


def _ends(text: _Words, at: int) -> bool:
    return at + 1 == len(text) or text[at + 1] in FOLLOWING


def _may_lie_between(gap: _Words, before: _Words, then: str, subject: _Words) -> bool:
    """Tell whether words between two that belong together leave their meaning as it is."""
    body = _bare(gap)
    if not body or NOT in body or not OTHERS.isdisjoint(body):
        return not body
    plain = ROLES.isdisjoint(body) and SELF not in body and MINE not in body
    if gap[-1] == JOIN:  # a member of a list, or another thing that the same person does
        return plain or _is_subject(before, subject)
    if is_sign(then):
        return plain and gap[0] == JOIN
    in_its_role = gap[0] in ROLES and then in ROLES and SELF not in body
    return in_its_role or (plain and len(gap) == 1)


def _is_subject(before: _Words, subject: _Words) -> bool:
    named = before[0] == MINE and before == subject[: len(before)]
    return before == (SELF,) or (named and len(before) <= _LONGEST_SUBJECT)

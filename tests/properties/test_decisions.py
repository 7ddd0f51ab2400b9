"""Whatever a model decides, no sentence brings a name or a number of nowhere into a memory.

Sentences are made of words that are known to be names, numbers or neither, so that the test need
not read them as the service does.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.language.facts import MANAGED_TOPICS, Candidate, Neighbour
from app.language.merging import ASKED
from app.memory.generation.logic.checks import checked
from app.memory.generation.logic.chunks import TranscriptLine
from app.memory.generation.logic.decisions import Caps, NewFact, VerdictDecisions, decided
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.replies import DecisionAction, ExtractedFact, FactVerdict
from app.memory.generation.logic.sources import Sources

_NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
_GUIDE = Guide(MANAGED_TOPICS, False, (), _NOW, ZoneInfo("UTC"))
_NAMES = frozenset({"Agatha", "Boris", "Clemens", "Dorothy", "Ernest", "Felicity"})
_NUMBERS = frozenset({"17", "47", "11", "4711", "230", "3.5", "1,250", "1987", "2039", "kx7-31"})
_COUNTING = frozenset({"dozen", "half", "thirteen"})
"""Words from which digits may follow."""
_OTHERS = frozenset({"tea", "boat", "garden", "likes", "owns", "and", "not", "old", "green"})
_WORDS = st.lists(
    st.sampled_from(sorted(_NAMES | _NUMBERS | _COUNTING | _OTHERS)), min_size=1, max_size=6
).filter(lambda words: "47 11" not in " ".join(words))
"""Without "47 11", which may be a number in groups, as those of telephones are."""
_SENTENCES = _WORDS.map(lambda words: f"They have {' '.join(words)}")
_ACTIONS: st.SearchStrategy[DecisionAction] = st.sampled_from(
    ["merge", "replace", "merge", "replace", "same", "delete"]
)


@st.composite
def _decisions(draw: st.DrawFn) -> tuple[list[NewFact], list[FactVerdict], dict[str, Neighbour]]:
    texts = draw(st.lists(_SENTENCES, min_size=1, max_size=3))
    memories = [
        Neighbour(f"id{n}", 1, text, 0.5)
        for n, text in enumerate(draw(st.lists(_SENTENCES, min_size=1, max_size=3)))
    ]
    new = [
        NewFact(
            [n],
            Candidate(
                text, (), text, n, forget=draw(st.booleans()), said_on=_NOW.date(), context=text
            ),
            memories,
        )
        for n, text in enumerate(texts)
    ]
    # A sentence is put together from what there is, so that many would be carried out, and more.
    known = sorted({word for text in texts for word in text.split()[2:]})
    known += sorted({word for one in memories for word in one.fact.split()[2:]})
    added = st.sampled_from(sorted(_NAMES | _NUMBERS))
    said = [
        FactVerdict(
            fact=draw(st.integers(0, len(new) - 1)),
            holds=True,
            action=draw(_ACTIONS),
            memory=draw(st.sampled_from([f"m{n}" for n in range(1, len(memories) + 1)])),
            text=f"They have {' '.join(draw(st.lists(st.sampled_from(known), min_size=1)))}"
            f" and {draw(added)}",
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    return new, said, {f"m{n}": one for n, one in enumerate(memories, start=1)}


def _words(texts: Sequence[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


def _rewritten(found: VerdictDecisions) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return memory, new text and facts of each change by a sentence of the model's."""
    return [
        (one.memory_id or "", one.fact, one.candidates)
        for one in found.verdicts
        if one.action == "UPDATE" and one.reason in {"merged", "replaced", ASKED}
    ]


@settings(max_examples=300, deadline=None)
@given(_decisions())
def test_no_sentence_brings_in_what_comes_from_nowhere(
    case: tuple[list[NewFact], list[FactVerdict], dict[str, Neighbour]],
) -> None:
    new, said, aliases = case
    memories = {one.memory_id: one.fact for one in aliases.values()}
    shown = _words([*memories.values(), *(one.candidate.fact for one in new)])
    for memory, text, told in _rewritten(decided(new, said, aliases, Caps(5, 20))):
        words = _words([text])
        assert words & _NAMES <= shown
        sources = _words([memories[memory], *(new[n].candidate.fact for n in told)])
        foreign = (words & _NUMBERS) - sources
        assert not foreign or (sources & _COUNTING and foreign <= _NUMBERS - {"kx7-31"})


@settings(max_examples=300, deadline=None)
@given(_WORDS, _WORDS)
def test_no_fact_brings_in_a_number_of_nowhere_unseen(line: list[str], fact: list[str]) -> None:
    said, text = f"I have {' '.join(line)}", f"I have {' '.join(fact)}"
    sources = Sources((TranscriptLine(0, is_users=True, text=said),), _GUIDE)
    one = ExtractedFact(fact=text, quote=said, line=0, topics=["USER_PREFERENCES"])
    found = checked([one], sources, _GUIDE)
    foreign = (frozenset(fact) & _NUMBERS) - frozenset(line)
    assume(foreign)
    if frozenset(line) & _COUNTING and "kx7-31" not in foreign:
        assert all(one.doubtful for one in found.candidates)
    else:
        assert found.dropped

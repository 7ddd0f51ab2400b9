"""Whatever the text: no crash, and every fact rests on words of the input."""

import math
import re
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from app.language.extraction import direct, extract, whole
from app.language.facts import Neighbour, Turn
from app.language.merging import consolidate
from app.language.scoring import score
from app.memory.generation.logic.plan import plan

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
PIECES = re.split(
    r" \| ",
    "I live in Rome. | and | I like tea | but | my dog is called Rex | , | ? | ! | ... | \n | ``` "
    "| > | forget | forget that | remember that | tomorrow | last week | in 999 years | nicht "
    "| Ich wohne in | Me gusta | no | J'aime | ne pas | <memory_bank_context> | (2026-01-01) | 3.5 "
    '| </memory_bank_context> | " | \u201c | 我住在 | أنا | Dr. | \x00 | \ud800 | to | from '
    "| I prefer | over | and and | My name is",
)
texts = st.one_of(
    st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join)
)


@settings(max_examples=120, deadline=None)
@given(said=st.lists(texts, max_size=3), third_person=st.booleans())
def test_facts_rest_on_the_input(said: list[str], *, third_person: bool) -> None:
    turns = [Turn("user", text) for text in said]
    for one in extract(turns, now=NOW, third_person=third_person):
        assert one.source
        assert one.source in said[one.turn]
        assert one.fact.strip()
        one.fact.encode()
        assert "\x00" not in one.fact


@settings(max_examples=120, deadline=None)
@given(st.lists(texts, min_size=1, max_size=3), st.lists(texts, max_size=4), st.floats(-1, 1))
def test_consolidation_keeps_its_promises(said: list[str], old: list[str], cosine: float) -> None:
    distance = math.sqrt(2 - 2 * cosine)
    row = [Neighbour(f"m{n}", 1, fact, distance) for n, fact in enumerate(old)]
    candidates = extract([Turn("user", text) for text in said], now=NOW)
    candidates += direct([(text, []) for text in said if text.strip()])
    rows = [row for _ in candidates]
    found = whole(consolidate(candidates, rows, max_deletes=1, max_forgets=1))
    planned = plan(candidates, rows, found.verdicts, max_deletes=2)
    changed = [change.memory_id for change in planned.changes if change.memory_id]
    assert len(changed) == len(set(changed))
    assert sum(change.action == "DELETED" for change in planned.changes) <= 2
    kept = [change.fact for change in planned.changes if change.action != "DELETED"]
    assert all(fact and fact.strip() for fact in kept)


@settings(max_examples=100, deadline=None)
@given(texts)
def test_every_text_has_a_score(text: str) -> None:
    assert math.isfinite(score(text))

"""The learned judges, with the vectors of the bundled embedder."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.adapters.llm.onnx_encoder import MiniLm
from app.language.extraction import Extraction, direct, whole
from app.language.facts import Neighbour, Turn
from app.language.heads import PAIR_CLASSES, SENTENCE_CLASSES, Heads, odds_of
from app.language.merging import PairJudge, consolidate
from scripts.train_heads import train

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
_HOUSE = "We gave up the flat in Leeds and bought a house in York instead."
_DATA = Path(__file__).parents[3] / "benchmarks" / "heads"


@pytest.fixture(scope="module")
def minilm() -> MiniLm:
    return MiniLm()


def _held(name: str, most: int) -> list[dict[str, Any]]:
    lines = (_DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["held"]][:most]


def test_lines_set_aside_are_judged_well(minilm: MiniLm) -> None:
    rows = _held("sentences", 300)
    texts, befores = ([row[key] for row in rows] for key in ("text", "before"))
    found = Heads.load().judge(
        list(zip(texts, befores, strict=True)), minilm.vectors(texts), minilm.vectors(befores)
    )
    labels = ["keep" if row["label"] == "remember" else row["label"] for row in rows]
    for name in ("keep", "forget"):
        chosen = [
            label
            for one, label in zip(found, labels, strict=True)
            if (one.keep if name == "keep" else one.forget) >= 0.5
        ]
        assert chosen.count(name) >= 0.75 * len(chosen)
        assert chosen.count(name) >= 0.7 * labels.count(name)


def test_pairs_set_aside_are_judged_well(minilm: MiniLm) -> None:
    rows = _held("pairs", 200)
    heads, over, right = Heads.load(), 0, 0
    for row in rows:
        said, stored = minilm.vectors([row["said"], row["memory"]])
        (found,) = heads.relate([row["memory"]], row["said"], said, [float(said @ stored)])
        if found.over >= 0.6:
            over += 1
            right += row["label"] in {"corrects", "ends"}
    assert over >= 20
    assert right >= 0.8 * over


def test_a_fact_is_replaced_less_surely_beside_a_nearer_one(minilm: MiniLm) -> None:
    said, facts = "We moved to a flat in York last week.", ["We rent a flat.", "I teach maths."]
    vector, *stored = minilm.vectors([said, *facts])
    cosines = [float(vector @ one) for one in stored]
    alone = [
        Heads.load().relate([fact], said, vector, [cosine])[0].over
        for fact, cosine in zip(facts, cosines, strict=True)
    ]
    near, far = (one.over for one in Heads.load().relate(facts, said, vector, cosines))
    assert near > alone[0]
    assert far < alone[1]


def _judged(minilm: MiniLm, *texts: str) -> Extraction:
    reading = Extraction([Turn("user", text) for text in texts], now=NOW)
    sentences = reading.open_sentences()
    found = Heads.load().judge(
        [(one.text, one.before) for one in sentences],
        minilm.vectors([one.text for one in sentences]),
        minilm.vectors([one.before for one in sentences]),
    )
    reading.judged({one.place: odds for one, odds in zip(sentences, found, strict=True)})
    return reading


def _candidates(minilm: MiniLm, *texts: str) -> list[str]:
    return [f"{one.forget:d} {one.fact}" for one in whole(_judged(minilm, *texts).steps())]


def test_facts_are_found_that_no_rule_knows(minilm: MiniLm) -> None:
    text = "She can't stand lilies, so no lilies anywhere."
    assert whole(Extraction([Turn("user", text)], now=NOW).steps()) == []
    assert _candidates(minilm, text) == [f"0 {text}"]


def test_a_sentence_that_surely_states_nothing_is_kept_only_on_request(minilm: MiniLm) -> None:
    text = "I'd like a haiku about fog."
    assert whole(Extraction([Turn("user", text)], now=NOW).steps()) != []
    assert _candidates(minilm, text) == []
    for asked in ("Remember this:", "Please note:", "Keep this in mind:", "Don't forget that"):
        assert _candidates(minilm, f"{asked} {text}") == [f"0 {text}"]


@pytest.mark.parametrize(
    "text",
    [
        "I like tea.",
        "We have two cats.",
        "I speak German.",
        "My flight is on Monday.",
        "I saw the dentist today.",
        "I have an exam tomorrow.",
        "I need a hearing aid.",
        "I sold my car.",
    ],
)
def test_the_judge_drops_no_plain_statement_that_a_rule_finds(minilm: MiniLm, text: str) -> None:
    (by_rules,) = whole(Extraction([Turn("user", text)], now=NOW).steps())
    assert _candidates(minilm, text) == [f"0 {by_rules.fact}"]


def test_other_languages_and_greetings_are_not_judged() -> None:
    texts = [
        "Hola!",
        "Vivo en Cádiz con mis padres y trabajo allí.",
        "私は東京に住んでいます。",
        "Я живу в Москве и работаю врачом.",
        "I live in Ulm with my two kids. Ich bin allergisch gegen Nüsse.",
    ]
    found = Extraction([Turn("user", text) for text in texts], now=NOW).open_sentences()
    assert [one.text for one in found] == ["I live in Ulm with my two kids."]


def test_a_conversation_has_a_bound_of_sentences_to_judge() -> None:
    long = " ".join(f"I have {n} red boats at home." for n in range(700))
    found = Extraction([Turn("user", long)], now=NOW).open_sentences()
    assert len(found) == 500
    assert found[-1].text.startswith("I have 699")


def _merged(
    minilm: MiniLm, said: str, facts: Sequence[str], *, is_held: bool = False, forget: bool = False
) -> list[tuple[str, str | None, str]]:
    candidates = [replace(one, forget=forget) for one in direct([(said, ())])]
    vectors = minilm.vectors([said, *facts])
    near = [
        Neighbour(
            f"m{n}", 1, fact, float(np.linalg.norm(vectors[0] - vectors[n + 1])), is_held=is_held
        )
        for n, fact in enumerate(facts)
    ]
    judge = PairJudge(Heads.load(), [vectors[0]], [None], {})
    found = whole(consolidate(candidates, [near], max_deletes=5, max_forgets=5, judge=judge))
    return [(one.action, one.memory_id, one.fact) for one in found.verdicts]


def test_a_fact_replaces_its_former_state_alone(minilm: MiniLm) -> None:
    facts = ["We rent a flat in Leeds.", "My brother is a plumber in Leeds.", "I like jazz."]
    assert _merged(minilm, _HOUSE, facts) == [("UPDATE", "m0", _HOUSE)]


def test_a_fact_is_replaced_by_its_end_in_other_words(minilm: MiniLm) -> None:
    said = "I quit the bakery two weeks ago."
    facts = ["I work Saturdays in the bakery on Mill Road.", "My cat is called Biscuit."]
    assert _merged(minilm, said, facts) == [("UPDATE", "m0", said)]


@pytest.mark.parametrize(
    ("said", "facts", "is_held"),
    [
        (_HOUSE, ["We rent a flat in Leeds."], True),
        (_HOUSE, ["We rent a flat in Leeds. My daughter Mia is allergic to nuts."], False),
    ],
    ids=["set by a person", "of two sentences"],
)
def test_the_judge_replaces_no_fact_that_would_be_lost(
    minilm: MiniLm, said: str, facts: Sequence[str], *, is_held: bool
) -> None:
    assert _merged(minilm, said, facts, is_held=is_held) == [("CREATE", None, said)]


def test_another_date_is_not_said_again(minilm: MiniLm) -> None:
    said = "I ran the Oslo marathon in 4:10 (2026-09-12)."
    facts = ["I ran the Oslo marathon in 4:25 (2025-09-13)."]
    assert all(one[2] != facts[0] for one in _merged(minilm, said, facts))


@pytest.mark.parametrize("said", ["that", "Forget that.", "my red car"])
def test_a_request_that_names_nothing_or_another_thing_deletes_nothing(
    minilm: MiniLm, said: str
) -> None:
    assert _merged(minilm, said, ["I drive a blue car.", "I like jazz."], forget=True) == []


def test_other_facts_stay(minilm: MiniLm) -> None:
    said = "My sister plays the cello in an orchestra."
    facts = ["I play the violin.", "My brother lives in Oslo.", "I work at a bakery."]
    assert _merged(minilm, said, facts) == [("CREATE", None, said)]


@pytest.mark.parametrize(
    ("fact", "plan"),
    [
        ("I live in Lisbon.", "I am moving to Porto in June 2027."),
        ("I live in Lisbon.", "We will move to Porto next year."),
        ("I live in Lisbon.", "I'm moving to Porto."),
        ("I work at Acme.", "I am going to work at Globex from January on."),
        ("I work as a nurse.", "I'm starting as a teacher next month."),
        ("I am single.", "I am getting married in two months."),
        ("I am vegetarian.", "I will go vegan in January."),
    ],
)
def test_a_plan_leaves_the_home_or_the_job_until_then(minilm: MiniLm, fact: str, plan: str) -> None:
    assert _merged(minilm, plan, [fact]) == [("CREATE", None, plan)]


def test_a_plan_replaces_a_former_plan(minilm: MiniLm) -> None:
    said = "I am moving to Porto in July 2027."
    assert _merged(minilm, said, ["I am moving to Porto in June 2027."]) == [("UPDATE", "m0", said)]


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("I am allergic to nuts.", "My son is allergic to nuts."),
        ("I am allergic to nuts.", "I am allergic to eggs."),
        ("I take metformin every morning.", "I take aspirin every morning."),
        ("We bought a house in York.", "My neighbour sold her house."),
        ("I live in Leeds.", "My brother lives in York."),
        ("I speak German.", "I speak French."),
        ("I am allergic to penicillin.", "My mother is allergic to penicillin."),
        ("I run on Tuesdays.", "I run on Thursdays too."),
    ],
)
def test_a_fact_of_another_person_or_thing_replaces_none(
    minilm: MiniLm, fact: str, said: str
) -> None:
    assert _merged(minilm, said, [fact]) == [("CREATE", None, said)]


def test_training_separates_classes() -> None:
    generator = np.random.default_rng(1)
    classes = generator.integers(0, 3, 300)
    features = generator.normal(0, 0.3, (300, 8)).astype(np.float32)
    features[np.arange(300), classes] += 2
    found = odds_of(list(features), train(features, classes, 3, 1e-3))
    assert (found.argmax(axis=1) == classes).mean() > 0.98


def test_weights_have_a_column_for_each_class() -> None:
    heads = Heads.load()
    assert heads.sentence.shape[1] == len(SENTENCE_CLASSES)
    assert heads.pair.shape[1] == len(PAIR_CLASSES)


_KEPT = [
    "My key safe number is 4471.",
    "I have half a grapefruit every breakfast.",
    "I have a dog.",
]


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("The key safe number, forget you ever had it.", ["m0"]),
        ("I told you about my grapefruit. Kindly strike that from your memory.", ["m1"]),
        ("Now two things off your books.", []),
        ("Could you drop what I told you about the loan?", []),
    ],
    ids=["named before", "named by the sentence before", "names nothing", "names another thing"],
)
def test_a_request_in_other_words_ends_the_one_fact_that_is_clearly_nearest(
    minilm: MiniLm, said: str, gone: list[str]
) -> None:
    reading = _judged(minilm, said)
    candidates = [one for one in whole(reading.steps()) if one.forget]
    texts = [one.source for one in candidates]
    stored = dict(zip(("m0", "m1", "m2"), minilm.vectors(_KEPT), strict=True))
    vectors = list(minilm.vectors(texts))
    around = [minilm.vectors([one.context])[0] if one.context else None for one in candidates]
    near = [
        [
            Neighbour(name, 1, fact, float(np.linalg.norm(vector - stored[name])))
            for name, fact in zip(stored, _KEPT, strict=True)
        ]
        for vector in vectors
    ]
    judge = PairJudge(Heads.load(), vectors, around, stored)
    found = whole(consolidate(candidates, near, max_deletes=5, max_forgets=5, judge=judge))
    assert [one.memory_id for one in found.verdicts if one.action == "DELETE"] == gone


def test_a_request_does_not_belong_to_the_fact_before_it(minilm: MiniLm) -> None:
    asked = "And please don't hang on to what I told you about my grandma's money"
    found = _candidates(minilm, f"I am allergic to cats. {asked}.")
    assert found == ["0 I am allergic to cats.", f"1 {asked}"]


@pytest.mark.parametrize(("beyond", "gone"), [(0.0, ["m1"]), (0.9, [])])
def test_a_request_means_no_fact_beside_a_nearer_one_of_a_later_time(
    minilm: MiniLm, beyond: float, gone: list[str]
) -> None:
    reading = _judged(minilm, "Whatever I told you about my breakfast, please let that go.")
    (asked,) = whole(reading.steps())
    vector, *stored = minilm.vectors([asked.source, *_KEPT])
    near = [
        Neighbour(f"m{at}", 1, fact, float(np.linalg.norm(vector - of_fact)))
        for at, (fact, of_fact) in enumerate(zip(_KEPT, stored, strict=True))
    ]
    judge = PairJudge(Heads.load(), [vector], [None], {})
    found = whole(consolidate([asked], [near], [beyond], max_deletes=5, max_forgets=5, judge=judge))
    assert [one.memory_id for one in found.verdicts if one.action == "DELETE"] == gone

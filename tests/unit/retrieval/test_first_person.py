"""The first-person corpus, written before the ranking was tuned on it, stays as it was written."""

import hashlib
import json
from collections import Counter
from pathlib import Path

CORPUS = Path(__file__).parents[3] / "benchmarks" / "recall" / "first_person.json"
DIGEST = "3935443a185eacfe637ca6306371ab2d6cc1da4ff5f3ece27f635327eea65bf7"


def test_the_corpus_is_as_it_was_before_the_tuning() -> None:
    assert hashlib.sha256(CORPUS.read_bytes()).hexdigest() == DIGEST


def test_every_question_names_memories_that_are_there() -> None:
    people = json.loads(CORPUS.read_text())["people"]
    questions = Counter[str]()
    for person in people:
        numbers = range(len(person["memories"]))
        assert len(set(person["memories"])) == len(numbers)
        for question in person["questions"]:
            assert question["gold"]
            assert set(question["gold"]) <= set(numbers)
        questions[person["language"]] += len(person["questions"])
    assert sum(len(person["memories"]) for person in people) >= 80
    assert questions.total() >= 60
    assert questions["en"] >= 40
    assert set(questions) == {"en", "de", "es", "fr"}

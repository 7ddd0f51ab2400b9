"""The reader without a model."""

import tracemalloc

import pytest

from app.artifacts.readers.logic import ShownChunk, pack
from app.artifacts.readers.services.extractive import MODEL_ID, answer, spaced, summary
from app.language.chunking import Piece, chunks
from app.language.tokens import estimate_tokens
from tests.support.task_texts import TOKENS, long_text

FACT = "The warranty of the Nordwind pump ends on 14 March 2031."


def shown(text: str, artifact: str = "page", ordinal: int = 1) -> list[ShownChunk]:
    pieces = [Piece(artifact, ordinal, chunk) for chunk in chunks([text])]
    return list(pack(pieces, 10**9).shown)


def test_a_fact_in_a_long_page_is_found_at_its_place() -> None:
    text = long_text(TOKENS, FACT)
    found = answer("When does the warranty of the Nordwind pump end?", shown(text), 400)
    assert FACT in found.text
    place = text.index(FACT)
    cited = next(one for one in found.citations if one.start == place)
    assert text[cited.start : cited.end] == FACT
    assert cited.artifact == "page"
    assert estimate_tokens(found.text) <= 400
    assert MODEL_ID == "builtin:extractive"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("Wann endet die Garantie?", "Die Garantie endet im Mai."),
        (
            "\u4fdd\u4fee\u671f\u5230\u4ec0\u4e48\u65f6\u5019\uff1f",
            "\u4fdd\u4fee\u671f\u5230\u4e94\u6708\u3002",
        ),
        ("What is the price of tea?", '"tea": 3.5,'),
        ("PRICE OF MILK", "name: Milk, price: 2"),
    ],
)
def test_answers_are_found_in_other_languages_and_in_records(query: str, told: str) -> None:
    text = f"Nothing of it here.\nOther matters are these.\n{told}\nAnd this is the end."
    assert told in answer(query, shown(text), 20).text


def test_what_nothing_says_has_no_answer() -> None:
    for query in ("xylophone", "?!", "the of"):
        found = answer(query, shown("Tea is served at five. Milk is not."), 400)
        assert (found.text, list(found.citations)) == ("", [])
    assert answer("tea", [], 400).text == ""


def test_an_answer_has_no_more_than_what_was_asked_for() -> None:
    text = " ".join(f"Pump number {n} is blue." for n in range(200))
    for most in (16, 50, 400):
        assert estimate_tokens(answer("pump", shown(text), most).text) <= most
    long = "pump " * 300
    assert 0 < estimate_tokens(answer("pump", shown(long), 16).text) <= 16


def test_what_is_said_twice_is_told_once_and_questions_count_less() -> None:
    text = "Where is the pump?\nThe pump is in Bern.\n" + "Filler is here.\n" * 9
    found = answer("Where is the pump?", shown(text) + shown(text, "copy", 2), 14)
    assert found.text == "The pump is in Bern."
    assert [one.artifact for one in found.citations] == ["page"]


def test_what_follows_a_question_or_a_heading_answers_it() -> None:
    text = "Deliveries\nBy boat.\n\nHow long does the warranty last?\nTwo years.\n\nThat is all."
    assert answer("how long is the warranty", shown(text), 5).text == "Two years."
    assert "By boat." in answer("deliveries", shown(text), 8).text


def test_a_sentence_across_two_pieces_is_read_as_a_whole() -> None:
    fact = "The pump that " + "really " * 30 + "matters is in Bern."
    text = "x" * 1_500 + ". " + fact + " And then it ends."
    found = answer("Where is the pump that matters?", shown(text), 200)
    assert fact in found.text
    assert found.citations[0].start == text.index(fact)


def test_a_summary_is_of_what_is_said_often_and_of_beginnings() -> None:
    text = (
        "The report is about the water pumps of the city of Bern. "
        "The water pumps of Bern were repaired in 2024 at a cost of 300 francs. "
        "A cat sat there. Somebody laughed quietly. "
        "New water pumps for the city of Bern are planned for 2027. "
    )
    found = summary(shown(text), 50)
    assert found.text.startswith("The report is about the water pumps")
    assert "cat" not in found.text
    assert estimate_tokens(found.text) <= 50
    assert next(text[one.start : one.end] for one in found.citations) in found.text


def test_a_summary_of_a_long_page_is_as_short_as_asked() -> None:
    found = summary(shown(long_text()), 100)
    assert 50 < estimate_tokens(found.text) <= 100
    places = [one.start for one in found.citations]
    assert places == sorted(places)
    assert summary([], 100).text == ""
    assert summary(shown("Short"), 100).text == "Short"


def test_of_very_many_pieces_those_that_are_evenly_spaced_are_read() -> None:
    assert list(spaced(3, 5)) == [0, 1, 2]
    assert list(spaced(10, 5)) == [0, 2, 4, 6, 8]
    assert len(spaced(47_935)) == 1_000


def test_of_very_many_sentences_few_are_held() -> None:
    given = [ShownChunk("a", 1, n, 1_200 * n, 1_200 * (n + 1), "a.\n" * 400) for n in range(250)]
    tracemalloc.start()
    try:
        summary(given, 400)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A sentence takes a hundred bytes and more, and there are a hundred thousand.
    assert most < 12 * 2**20


def test_a_sentence_goes_on_in_the_next_line() -> None:
    said = "A green kettle costs\nforty coins, and with its lid,\nif it has one, 42."
    text = f"Prices\n{said}\nIt whistles.\nitem: lid\nitem: kettle"
    made = answer("What is a green kettle with a lid?", shown(text), 100)
    assert made.text.splitlines()[0] == said.replace("\n", " ")
    place = made.citations[0]
    assert text[place.start : place.end] == said
    # Records are lines of their own.
    assert answer("Which item is a lid?", shown(text), 4).text == "item: lid"

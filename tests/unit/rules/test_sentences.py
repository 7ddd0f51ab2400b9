"""Sentences and what is not the writer's own."""

import pytest

from app.language.sentences import first_fitting, own_words, sentences, short_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I met Dr. Smith. He left!", ["I met Dr. Smith.", "He left!"]),
        ("im a vet. my dog is called rex.", ["im a vet.", "my dog is called rex."]),
        (
            "K cool. can you check this, i need it. thanks",
            ["K cool.", "can you check this, i need it.", "thanks"],
        ),
        (
            "Oh no... It broke. Well... it may work.",
            ["Oh no...", "It broke.", "Well... it may work."],
        ),
        ("I weigh 150 lbs. and run daily.", ["I weigh 150 lbs. and run daily."]),
        ("Ich arbeite 40 Std. pro Woche.", ["Ich arbeite 40 Std. pro Woche."]),
        ("It cost $3.50... and broke. Ok", ["It cost $3.50... and broke.", "Ok"]),
        ("See https://a.b/c.d?x=1. Fine", ["See https://a.b/c.d?x=1.", "Fine"]),
        ("I came at 3 p.m. today. Late.", ["I came at 3 p.m. today.", "Late."]),
        ("Ich komme am 3. Mai. Gut.", ["Ich komme am 3. Mai.", "Gut."]),
        ("I turned 30. My wife is 28.", ["I turned 30.", "My wife is 28."]),
        ("1. I like tea\n2. I like milk", ["1. I like tea", "2. I like milk"]),
        ("我住在北京。我喜欢茶", ["我住在北京。", "我喜欢茶"]),
        ("أنا هنا؟ نعم", ["أنا هنا؟", "نعم"]),
        ("मैं यहाँ हूँ। ठीक", ["मैं यहाँ हूँ।", "ठीक"]),
        (" \n ", []),
    ],
)
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    found = list(sentences(text))
    assert [one.text for one in found] == expected
    assert all(text[one.start :].startswith(one.text) for one in found)


def test_sentences_inside_quotation_marks_are_told() -> None:
    found = sentences('He said: "Go home. Stay there." I left.')
    assert [(one.text, one.quoted) for one in found] == [
        ('He said: "Go home.', False),
        ('Stay there."', True),
        ("I left.", False),
    ]


def test_blocks_are_blanked_in_place() -> None:
    text = "I <PAST_CONVERSATIONS>x\ny</PAST_CONVERSATIONS> am"
    blanked = own_words(text)
    assert (len(blanked), blanked.split(), blanked.count("\n")) == (len(text), ["I", "am"], 1)


def test_a_long_text_takes_no_time() -> None:
    for text in ("\n" * 300_000, " " * 300_000, "```" * 50_000, "<system " * 50_000, '"' * 200_000):
        list(sentences(own_words(text)))


def test_an_endless_run_of_marks_takes_no_endless_time() -> None:
    # Tried from each of its marks anew, this would take hours.
    text = "." * 1_000_000 + "x"
    assert [one.text for one in sentences(text)] == [text]


def test_a_long_run_of_marks_is_one_end_and_takes_no_time() -> None:
    # Were it looked at from each mark again, this would not come back.
    for mark in ("!", ".", "?!", "\u2026"):
        text = f"Well{mark * 200_000}x and more. The end."
        assert [one.text for one in sentences(text)][-1] == "The end."
    assert [one.text for one in sentences('What?!... "Yes!" No!!x')] == [
        "What?!...",
        '"Yes!"',
        "No!!x",
    ]


def test_sentences_are_found_at_their_start_and_long_ones_are_split() -> None:
    long = "Word " * 100 + "end."
    text = f"One. {long} Two."
    found = list(short_sentences(text))
    assert all(text[start:].startswith(part) and len(part) <= 300 for start, part in found)
    assert [part for _, part in (found[0], found[-1])] == ["One.", "Two."]
    assert len(found) > 3
    assert " ".join(part for _, part in found) == text


@pytest.mark.parametrize(
    ("chars", "chosen"),
    [
        (0, []),
        (2, ["dd"]),
        (4, ["bbbb"]),
        (7, ["bbbb", "dd"]),
        (11, ["bbbb", "cccccc"]),
        (14, ["bbbb", "cccccc", "dd"]),
        (99, ["bbbb", "cccccc", "dd"]),
    ],
)
def test_the_first_that_fit_are_chosen_each_once(chars: int, chosen: list[str]) -> None:
    ranked = ["bbbb", "cccccc", "bbbb", "dd"]
    found = first_fitting(ranked, chars, lambda text: text)
    assert found == chosen
    assert len(" ".join(found)) <= chars

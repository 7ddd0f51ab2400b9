"""What a statement says is worked out only where it is needed, and says the same then."""

import pytest

from app.language.relations import is_plan, read
from app.language.slots import slots

TEXTS = (
    "I live in Rome and work at Acme as a baker.",
    "My name is Ada, I am 30 and vegan.",
    "I prefer tea over coffee.",
    "I prefer window seats.",
    "My favourite colour is green. I moved to Oslo.",
    "I no longer work at Acme.",
    "Ich wohne in Berlin und bevorzuge Tee.",
    "Vivo en Lima y prefiero el café.",
    "J'habite à Lyon.",
    "Nothing of the kind.",
)
KINDS = ("residence", "employer", "job", "name", "age", "diet", "attribute", "over", "prefer")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_of_slot_is_read_as_among_all(text: str, kind: str) -> None:
    assert slots(text, kind) == [slot for slot in slots(text) if slot.key[0] == kind]


@pytest.mark.parametrize("text", TEXTS)
def test_a_statement_finds_what_fills_the_same_slot(text: str) -> None:
    statement = read(text)
    for slot in statement.slots:
        same = [other for other in statement.slots if other.key == slot.key]
        assert list(read(text).filling(slot)) == same


@pytest.mark.parametrize(
    ("text", "affirmed"),
    [
        ("I like tea", True),
        ("I don't like tea", False),
        ("I hate tea", False),
        ("I don't hate tea", True),
        ("I no longer drink tea", False),
        ("Ich mag keinen Tee", False),
        ("Je déteste le thé", False),
        ("I stopped drinking tea because it is not good", False),
    ],
)
def test_a_statement_affirms_or_denies(text: str, affirmed: bool) -> None:  # noqa: FBT001 - a case
    statement = read(text)
    assert statement.affirmed is affirmed
    assert statement.stance.affirmed is affirmed


@pytest.mark.parametrize(
    ("fact", "plans"),
    [
        ("I am moving to Porto.", True),
        ("We're flying to Rome in May.", True),
        ("They will open a shop.", True),
        ("I am getting married in two months.", True),
        ("I am living in a flat in Leeds.", False),
        ("I'm working in a bakery now.", False),
        ("I am running in 3 races.", False),
        ("I moved to Porto in 2027.", False),
    ],
)
def test_a_plan_is_about_the_future(fact: str, *, plans: bool) -> None:
    assert is_plan(fact) == plans

"""Statements of a model about profiles: exact checks alone decide what is carried out."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.memory.generation.logic.chunks import TranscriptLine
from app.memory.generation.logic.fields import plan_fields
from app.memory.generation.logic.profiles import StoredField, schemas_for
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.replies import ExtractedField
from app.memory.generation.logic.sources import Sources
from app.memory.generation.logic.values import Grounded, ShownFields, grounded_values
from app.platform.engines.logic.config import MemoryBankConfig

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)  # a Thursday
GUIDE = Guide((), third_person=False, examples=(), now=NOW, time_zone=ZoneInfo("UTC"))
TEXTS = {"type": "array", "items": {"type": "string"}}
PROPERTIES: dict[str, Any] = {
    **{name: {"type": "string"} for name in ("employer", "city", "full_name", "phone", "note")},
    **{name: {"type": "integer"} for name in ("age", "birth_year", "children", "salary")},
    "height": {"type": "number"},
    "birthday": {"type": "string", "format": "date"},
    "tone": {"enum": ["formal", "casual"]},
    "tier": {"enum": ["free", "admin"]},
    "diet": {"enum": ["vegetarian", "omnivore"]},
    "home": {"enum": ["munich", "hamburg"]},
    "smokes": {"type": "boolean"},
    "vip": {"type": "boolean"},
    "nut_free": {"type": "boolean", "description": "eats no nuts"},
    **dict.fromkeys(("pets", "allergies", "hobbies"), TEXTS),
    "pair": {**TEXTS, "minItems": 2},
    "days": {"type": "array", "items": {"enum": ["mon", "tue"]}, "maxItems": 2},
    "next_visit": {"type": "string", "format": "date-time"},
    "kids": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name"],
        },
    },
    "address": {
        "type": "object",
        "properties": {"street": {"type": "string"}, "zip": {"type": "integer"}},
    },
}
(SCHEMA,) = schemas_for(
    MemoryBankConfig.model_validate(
        {
            "structuredMemoryConfigs": [
                {
                    "schemaConfigs": [
                        {"id": "p", "schema": {"type": "object", "properties": PROPERTIES}}
                    ]
                }
            ]
        }
    ),
    {"user_id": "1"},
)


def sources(*said: str, files: frozenset[int] = frozenset()) -> Sources:
    """Return what was said in turn; what begins with "A:" a model said, with "R:" was read."""
    lines = [
        TranscriptLine(
            n, not text.startswith("A:"), text[2:].strip(), NOW, is_context=text.startswith("R:")
        )
        if text[:2] in {"A:", "R:"}
        else TranscriptLine(n, is_users=True, text=text, time=NOW)
        for n, text in enumerate(said)
    ]
    return Sources(tuple(lines), GUIDE, files)


def read(given: Sources, name: str, value: str, quote: str, line: int = 0, **more: Any) -> Grounded:
    known = more.pop("present", ShownFields())
    one = ExtractedField(profile="p", field=name, value=value, quote=quote, line=line, **more)
    return grounded_values([one], given, [SCHEMA], known)


def outcome(*said: str, field: str, value: str, quote: str | None = None) -> object:
    """Return what is believed of a field that rests on the last thing said, or why nothing is."""
    found = read(sources(*said), field, value, said[-1] if quote is None else quote, len(said) - 1)
    return found.values[0].value if found.values else found.dropped[0].reason


@pytest.mark.parametrize(
    ("said", "field", "value", "expected"),
    [
        ("I work at Initech.", "employer", "Initech", "Initech"),
        ("I work at Initech.", "p.employer", "Initech", "Initech"),
        ("I turned 34.", "age", "34", 34),
        ("I just turned thirty-four!", "age", "34", 34),
        ("Ich bin vierunddreißig Jahre alt.", "age", "34", 34),
        ("Tengo treinta y cuatro años.", "age", "34", 34),
        ("J'ai soixante-dix-sept ans.", "age", "77", 77),
        ("I have two kids.", "children", "2", 2),
        ("I make 50k a year.", "salary", "50000", 50_000),
        ("I make 50,000 a year.", "salary", "50000", 50_000),
        ("Ich bin 1,80 groß.", "height", "1.8", 1.8),
        ("I'm 5'11\".", "height", "1.8", 1.8),
        ("I was born in 1985.", "birth_year", "1985", 1985),
        ("I was born on May 3rd, 1990.", "birthday", "1990-05-03", "1990-05-03"),
        ("Ich wurde am 3. Mai 1990 geboren.", "birthday", "1990-05-03", "1990-05-03"),
        ("My birthday is tomorrow.", "birthday", "2026-01-16", "2026-01-16"),
        ("See you on Friday at 9.", "next_visit", "2026-01-16T09:00:00Z", "2026-01-16T09:00:00Z"),
        ("Call +49 (170) 123-456.", "phone", "+49170123456", "+49170123456"),
        ("Please be formal.", "tone", "FORMAL", "formal"),
        ("Soy vegetariana.", "diet", "vegetarian", "vegetarian"),
        ("And I eat steak these days.", "diet", "omnivore", "omnivore"),
        ("I quit smoking.", "smokes", "false", False),
        ("I can't stop smoking.", "smokes", "true", True),
        ("No more cigarettes for me.", "smokes", "false", False),
        ("I cannot eat nuts.", "nut_free", "true", True),
        ("I have a cat and a dog.", "pets", '["cat", "dog"]', ["cat", "dog"]),
        ("I have a cat and a dog.", "pets", "cat, dog", ["cat", "dog"]),
        ("I come on Mondays.", "days", "Mon", ["mon"]),
        ("No, not Rome, I live in Paris.", "city", "Paris", "Paris"),
        ("I live in Deutschland's capital.", "city", "Berlin", "Berlin"),
        ("My doctor said I have asthma.", "note", "asthma", "asthma"),
        ("我住在北京,喜欢茶。", "city", "北京", "北京"),
        (
            "I live at 12 Main Street, 62704.",
            "address",
            '{"street": "12 Main Street", "zip": 62704}',
            {"street": "12 Main Street", "zip": 62704},
        ),
    ],
)
def test_a_value_that_rests_on_the_user_s_words_fills_its_field(
    said: str, field: str, value: str, expected: object
) -> None:
    assert outcome(said, field=field, value=value) == expected


@pytest.mark.parametrize(
    ("said", "field", "value", "reason"),
    [
        ("I work at Initech.", "employer", "", "BAD_VALUE"),
        ("I work at Initech.", "unknown", "Initech", "UNKNOWN_FIELD"),
        ("I work at Initech.", "age", "many", "BAD_VALUE"),
        ("I work at Initech.", "tone", "rude", "BAD_VALUE"),
        ("I come on Sundays.", "days", "sun", "BAD_VALUE"),
        ("I like tea.", "age", "25", "FOREIGN_NUMBER"),
        ("I was born in 1985.", "birth_year", "1958", "FOREIGN_DATE"),
        ("I was born in 1985.", "birthday", "1985-01-01", "FOREIGN_DATE"),
        ("I was born on May 3rd.", "birthday", "1990-05-03", "FOREIGN_DATE"),
        ("I was born in May.", "birthday", "in May", "BAD_VALUE"),
        ("Mail me.", "note", "ann@example.com", "FOREIGN_NUMBER"),
        ("I have a cat.", "kids", '[{"name": "Ana", "age": 9}]', "FOREIGN_NUMBER"),
        ("I have a cat.", "kids", '[{"age": 9}]', "BAD_VALUE"),
    ],
)
def test_a_value_that_does_not_fit_is_dropped_with_its_reason(
    said: str, field: str, value: str, reason: str
) -> None:
    assert outcome(said, field=field, value=value) == reason


def test_only_what_users_say_now_may_be_quoted() -> None:
    assert outcome("I like Rome.", field="city", value="Rome", quote="I live") == "NO_QUOTE"
    assert outcome("A: You live in Rome.", field="city", value="Rome") == "NO_QUOTE"
    known = outcome("R: I live in Rome.", field="city", value="Rome", quote="live in Rome")
    assert known == "ALREADY_READ"


def test_a_number_may_come_from_the_question_from_other_lines_and_from_the_present_value() -> None:
    assert outcome("A: Are you 34?", "Yes.", field="age", value="34") == 34
    assert outcome("I am 34.", "I said so.", field="age", value="34") == 34
    assert outcome("I have one cat.", "I like tea.", field="age", value="34") == "FOREIGN_NUMBER"
    given = sources("Bruno is my younger child.")
    value = '[{"name": "Ana", "age": 6}, {"name": "Bruno", "age": 3}]'
    assert not read(given, "kids", value, "my younger child").values
    assert read(given, "kids", value, "my younger child", present=KIDS).values


def test_what_a_file_says_cannot_be_looked_up() -> None:
    given = sources("Look!", files=frozenset({0}))
    assert read(given, "full_name", "Ann Lee", "").values
    assert read(given, "age", "34", "").values
    assert not read(given, "full_name", "Ann Lee", "", 1).values


def held(field: str, value: Any) -> StoredField:
    return StoredField("m", 1, "p", field, value)


def present(field: str, value: Any, shown: Any = None) -> ShownFields:
    return ShownFields([held(field, value)], [held(field, value if shown is None else shown)])


FAMILY = [{"name": "Ana", "age": 6}, {"name": "Bruno", "age": 3}]
KIDS = present("kids", FAMILY)


def after(known: ShownFields, action: str, value: str = "", item: str = "") -> Any:
    """Return what a field has after a statement, or why it stays."""
    field, quote = known.stored[0].field, "Ana turned 7, Cleo is 2."
    done = read(sources(quote), field, value, quote, action=action, item=item, present=known)
    changes, unplanned = plan_fields(done.values, known.stored, max_deletes=5, schemas=[SCHEMA])
    if dropped := [*done.dropped, *unplanned]:
        return dropped[0].reason
    return changes[0].data.get(field) if changes else known.stored[0].value


@pytest.mark.parametrize(
    ("action", "value", "item", "expected"),
    [
        ("add", '{"name": "Cleo", "age": 2}', "", [*FAMILY, {"name": "Cleo", "age": 2}]),
        ("add", '{"name": "Ana", "age": 7}', "", [{"name": "Ana", "age": 7}, FAMILY[1]]),
        ("set", '[{"name": "ana", "age": 7}]', "", [{"name": "ana", "age": 7}, FAMILY[1]]),
        ("change", '{"age": "7"}', "Ana", [{"name": "Ana", "age": 7}, FAMILY[1]]),
        ("change", '{"name": "Ana", "age": 7}', "", [{"name": "Ana", "age": 7}, FAMILY[1]]),
        ("change", '{"name": "Anna"}', "ana", [{"name": "Anna", "age": 6}, FAMILY[1]]),
        ("change", '{"age": 7}', "Cleo", "NOT_PRESENT"),
        ("change", '{"age": "old"}', "Ana", "BAD_VALUE"),
        ("change", "", "Ana", "BAD_VALUE"),
        ("change", '{"age": 48}', "Ana", "FOREIGN_NUMBER"),
        ("remove", "", "Bruno", FAMILY[:1]),
        ("remove", "Bruno", "", FAMILY[:1]),
        ("remove", '{"name": "Bruno", "age": 3}', "", FAMILY[:1]),
        ("remove", "", "Cleo", "NOT_PRESENT"),
        ("clear", "", "Bruno", FAMILY[:1]),
        ("clear", "", "", None),
    ],
)
def test_a_list_of_objects_changes_by_item(
    action: str, value: str, item: str, expected: Any
) -> None:
    assert after(KIDS, action, value, item) == expected


@pytest.mark.parametrize(
    ("action", "value", "item", "expected"),
    [
        ("add", "dog", "", ["cat, old", "bird", "dog"]),
        ("add", "dog, small", "", ["cat, old", "bird", "dog, small"]),
        ("add", '["dog", "fish"]', "", ["cat, old", "bird", "dog", "fish"]),
        ("add", "Bird", "", ["cat, old", "bird"]),
        ("change", "cat, very old", "cat, old", ["cat, very old", "bird"]),
        ("remove", "cat, old", "", ["bird"]),
        ("remove", "", "Bird.", ["cat, old"]),
        ("remove", '["bird", "cat, old"]', "", None),
        ("remove", "dog", "", "NOT_PRESENT"),
    ],
)
def test_a_list_of_texts_changes_by_item(action: str, value: str, item: str, expected: Any) -> None:
    assert after(present("pets", ["cat, old", "bird"]), action, value, item) == expected


@pytest.mark.parametrize(
    ("action", "expected"),
    [("set", "Rome"), ("add", "Rome"), ("change", "Rome"), ("clear", None), ("remove", None)],
)
def test_a_field_that_is_no_list_is_set_or_cleared(action: str, expected: Any) -> None:
    assert after(present("city", "Oslo"), action, "Rome") == expected


def test_an_item_is_named_as_the_model_was_shown_it() -> None:
    known = present("pets", ["cat 4111", "dog"], ["cat [CARD]", "dog"])
    assert after(known, "remove", "cat [CARD]") == ["dog"]
    assert after(known, "change", "bird", "cat [CARD]") == ["bird", "dog"]


def test_bounds_of_lists_are_kept() -> None:
    assert after(present("days", ["mon", "tue"]), "add", "wed") == "BAD_VALUE"
    quote = "I like tea."
    done = read(sources(quote), "pair", "tea", quote, action="add")
    _, dropped = plan_fields(done.values, [], max_deletes=5, schemas=[SCHEMA])
    assert [one.reason for one in dropped] == ["BAD_VALUE"]

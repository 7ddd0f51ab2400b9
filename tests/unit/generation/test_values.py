"""Values of profiles rest on what users said, and go only where users take them back."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.memory.generation.logic.chunks import TranscriptLine
from app.memory.generation.logic.fields import plan_fields
from app.memory.generation.logic.profiles import FieldValue, schemas_for, stored_fields
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.replies import ExtractedField
from app.memory.generation.logic.sources import Sources
from app.memory.generation.logic.values import grounded_values
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
    """Return what was said in turn; what begins with "A:" a model said."""
    lines = [
        TranscriptLine(n, not text.startswith("A:"), text.removeprefix("A:").strip(), NOW)
        for n, text in enumerate(said)
    ]
    return Sources(tuple(lines), GUIDE, files)


def read(
    given: Sources, name: str, value: str, quote: str, line: int = 0, *, clear: bool = False
) -> list[FieldValue]:
    one = ExtractedField(profile="p", field=name, value=value, quote=quote, line=line, clear=clear)
    return grounded_values([one], given, [SCHEMA], GUIDE)


def value_of(*said: str, field: str, value: str, quote: str = "") -> object:
    """Return what is believed of a field that rests on the last thing said."""
    found = read(sources(*said), field, value, quote or said[-1], len(said) - 1)
    return found[0].value if found else None


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
        ("I was born in 1985.", "birth_year", "1985", 1985),
        ("I was born on May 3rd, 1990.", "birthday", "1990-05-03", "1990-05-03"),
        ("Ich wurde am 3. Mai 1990 geboren.", "birthday", "1990-05-03", "1990-05-03"),
        ("My birthday is tomorrow.", "birthday", "2026-01-16", "2026-01-16"),
        ("Call +49 (170) 123-456.", "phone", "+49170123456", "+49170123456"),
        ("Please be formal.", "tone", "FORMAL", "formal"),
        ("Soy vegetariana.", "diet", "vegetarian", "vegetarian"),
        ("Ich lebe vegetarisch.", "diet", "vegetarian", "vegetarian"),
        ("I quit smoking.", "smokes", "false", False),
        ("I don't smoke.", "smokes", "false", False),
        ("I smoke.", "smokes", "true", True),
        ("I can't stop smoking.", "smokes", "true", True),
        ("I am a VIP customer.", "vip", "true", True),
        ("I cannot eat nuts.", "nut_free", "true", True),
        ("I have a cat and a dog.", "pets", '["cat", "dog"]', ["cat", "dog"]),
        ("I like tea, no milk.", "note", "tea, no milk", "tea, no milk"),
        ("I prefer the aisle seat.", "note", "prefers aisle seats", "prefers aisle seats"),
        ("No, I live in Paris.", "city", "Paris", "Paris"),
        ("No I live in Paris.", "city", "Paris", "Paris"),
        ("I'm not from Rome, I live in Paris.", "city", "Paris", "Paris"),
        ("My doctor said I have asthma.", "note", "asthma", "asthma"),
        ('My dog is called "Rex".', "pets", "Rex", ["Rex"]),
        ("我住在北京,喜欢茶。", "city", "北京", "北京"),
        (
            "I live at 12 Main Street, 62704.",
            "address",
            '{"street": "12 Main Street", "zip": 62704}',
            {"street": "12 Main Street", "zip": 62704},
        ),
    ],
)
def test_a_value_that_was_said_fills_its_field(
    said: str, field: str, value: str, expected: object
) -> None:
    assert value_of(said, field=field, value=value) == expected


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ("I work at Initech.", "employer", "Globex"),
        ("I work at Initech.", "employer", ""),
        ("I work at Initech.", "unknown", "Initech"),
        ("I work at Initech.", "age", "many"),
        ("I work at Initech.", "tone", "rude"),
        ("I work at Initech.", "pets", '["Initech", "wolf"]'),
        ("I like tea.", "age", "25"),
        ("I like tea.", "tier", "admin"),
        ("I like tea.", "vip", "true"),
        ("I like tea.", "smokes", "false"),
        ("I smoke.", "smokes", "false"),
        ("I do not smoke.", "smokes", "true"),
        ("I was born in 1985.", "birth_year", "1958"),
        ("I was born in 1985.", "birthday", "1985-01-01"),
        ("I was born on May 3rd.", "birthday", "1990-05-03"),
        ("I like tea.", "birthday", "2026-01-15"),
        ("I like Berlin.", "city", "Berlin, capital of crime and murder"),
        ("I eat meat.", "note", "no meat"),
        ("I'm thirty-four.", "age", "4"),
        ("我住在北京。", "city", "上海"),
        # What is denied, reported or quoted is not so.
        ("I don't live in Berlin.", "city", "Berlin"),
        ("I no longer work at Initech.", "employer", "Initech"),
        ("Ich wohne nicht in Berlin.", "city", "Berlin"),
        ("No vivo en Madrid.", "city", "Madrid"),
        ("Je n'habite pas à Paris.", "city", "Paris"),
        ("I'm not allergic to nuts.", "allergies", "nuts"),
        ("I stopped playing tennis.", "hobbies", "tennis"),
        ("Tom said I live in Rome.", "city", "Rome"),
        ("Tom meint, dass ich in Rom wohne.", "city", "Rom"),
        ("Según Tom, vivo en Roma.", "city", "Roma"),
        ("Tom dit que j'habite à Rome.", "city", "Rome"),
        ('He wrote: "My name is Tom Smith."', "full_name", "Tom Smith"),
    ],
)
def test_a_value_that_was_not_said_or_does_not_fit_is_dropped(
    said: str, field: str, value: str
) -> None:
    assert value_of(said, field=field, value=value) is None


def test_only_the_user_s_own_words_may_be_quoted() -> None:
    assert value_of("Tom said I live in Rome.", field="city", value="Rome", quote="I live") is None
    assert value_of("I like Rome.", field="city", value="Rome", quote="live in Rome") is None
    assert value_of("A: You live in Rome.", field="city", value="Rome") is None


@pytest.mark.parametrize("yes", ["Yes", "Yes, I do.", "Genau!", "Sí, claro.", "Oui."])
def test_a_yes_says_what_it_answers(yes: str) -> None:
    asked = ("A: Do you live in Berlin and smoke?", yes)
    assert value_of(*asked, field="city", value="Berlin") == "Berlin"
    assert value_of(*asked, field="smokes", value="true") is True
    assert value_of(*asked, field="smokes", value="false") is None
    assert value_of("A: Berlin?", "Well.", yes, field="city", value="Berlin") is None


@pytest.mark.parametrize("no", ["No", "No, I live in Paris.", "Nein!", "Non."])
def test_a_no_does_not(no: str) -> None:
    asked = ("A: Do you live in Berlin and smoke?", no)
    assert value_of(*asked, field="city", value="Berlin") is None
    assert value_of(*asked, field="smokes", value="false") is False
    assert value_of(*asked, field="smokes", value="true") is None


def test_what_was_said_before_counts_where_the_quote_points_to_it() -> None:
    said = ("I love Berlin.", "A: Great!")
    assert value_of(*said, "I live there.", field="city", value="Berlin") == "Berlin"
    assert value_of(*said, "I like tea.", field="city", value="Berlin") is None
    pets = value_of("I have a cat.", "And a dog.", field="pets", value='["cat", "dog"]')
    assert pets == ["cat", "dog"]


def test_what_a_file_says_cannot_be_looked_up() -> None:
    given = sources("Look!", files=frozenset({0}))
    assert read(given, "full_name", "Ann Lee", "")
    assert not read(given, "full_name", "Ann Lee", "", 1)


def left(said: str, field: str, data: Any, value: str, quote: str = "") -> Any:
    """Return what a field keeps after a model says that its user takes a value back."""
    values = read(sources(said), field, value, quote or said, clear=True)
    stored = stored_fields("m", 1, {"schemaId": "p", "data": {field: data}})
    changes = plan_fields(values, stored, max_deletes=5, schemas=[SCHEMA])
    return changes[0].data.get(field) if changes else data


@pytest.mark.parametrize(
    ("said", "field", "data", "value", "expected"),
    [
        ("I stopped playing tennis.", "hobbies", ["tennis", "chess"], "tennis", ["chess"]),
        ("I stopped playing tennis.", "hobbies", ["tennis", "chess"], "", ["chess"]),
        ("I stopped playing tennis.", "pair", ["tennis", "chess"], "tennis", ["chess"]),
        ("Ich spiele kein Tennis mehr.", "hobbies", ["Tennis", "Lesen"], "Tennis", ["Lesen"]),
        ("Ya no juego al tenis.", "hobbies", ["tenis", "leer"], "tenis", ["leer"]),
        ("Je ne joue plus au tennis.", "hobbies", ["tennis", "lire"], "tennis", ["lire"]),
        ("I am not allergic to nuts.", "allergies", ["nuts", "milk"], "", ["milk"]),
        ("I'm not allergic to nuts.", "allergies", ["nuts", "milk"], "nuts, milk", ["milk"]),
        ("Please forget my allergies.", "allergies", ["nuts", "milk"], "", None),
        ("Can you forget my allergies?", "allergies", ["nuts", "milk"], "", None),
        ("Kannst du meine Allergien vergessen?", "allergies", ["Nüsse"], "", None),
        ("¿Puedes olvidar mis alergias?", "allergies", ["nueces"], "", None),
        ("Peux-tu oublier mes loisirs ?", "hobbies", ["tennis"], "", None),
        ("I no longer live in Munich.", "city", "Munich", "Munich", None),
        ("I no longer live in Munich.", "city", "Munich", "", None),
        ("I left Acme.", "employer", "Acme", "", None),
    ],
)
def test_what_users_take_back_goes(
    said: str, field: str, data: Any, value: str, expected: Any
) -> None:
    assert left(said, field, data, value) == expected


@pytest.mark.parametrize(
    ("said", "field", "data", "value"),
    [
        ("I left the city of Berlin.", "home", "munich", "Berlin"),
        ("I left the city of Berlin.", "home", "munich", ""),
        ("I am not allergic to nuts.", "allergies", ["milk", "eggs"], ""),
        ("I am not allergic to nuts.", "allergies", ["milk"], "milk"),
        ("No, my allergies are terrible.", "allergies", ["nuts"], ""),
        ("I never want to leave Munich.", "city", "Munich", "Munich"),
        ("I never want to leave Munich.", "city", "Munich", ""),
        ("Munich is not far from here, I live there.", "city", "Munich", "Munich"),
        ("I no longer like Munich.", "city", "Munich", "Munich"),
        ("Ich will München nie verlassen.", "city", "München", "München"),
        ("No quiero dejar Madrid.", "city", "Madrid", "Madrid"),
        ("Je ne veux pas quitter Lyon.", "city", "Lyon", "Lyon"),
        ("Forget my allergies? No way.", "allergies", ["nuts"], ""),
        ("Do not forget my allergies.", "allergies", ["nuts"], ""),
        ("Tom said I no longer live in Munich.", "city", "Munich", "Munich"),
        ('He said: "Please forget my allergies."', "allergies", ["nuts"], ""),
        ("I stopped playing tennis and started chess.", "hobbies", ["chess"], "chess"),
        ("I sold my tennis racket.", "hobbies", ["tennis"], "tennis"),
    ],
)
def test_nothing_goes_that_was_not_taken_back(said: str, field: str, data: Any, value: str) -> None:
    assert left(said, field, data, value) == data


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("Never forget my allergies.", "forget my allergies"),
        ("Tom said forget my allergies.", "forget my allergies"),
        ("Forget my allergies? No way.", "Forget my allergies"),
    ],
)
def test_a_part_of_a_sentence_takes_nothing_back(said: str, quote: str) -> None:
    assert left(said, "allergies", ["nuts"], "", quote) == ["nuts"]

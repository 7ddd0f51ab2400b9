"""Which fields a scope has, which values they take, and what becomes of each."""

from itertools import chain
from typing import Any

import pytest

from app.language.facts import Turn
from app.memory.generation.logic.fields import plan_fields
from app.memory.generation.logic.profiles import (
    FieldChange,
    FieldValue,
    ProfileSchema,
    StoredField,
    by_rules,
    schemas_for,
    stored_fields,
    validated,
)
from app.memory.generation.logic.values import field_lines
from app.platform.engines.logic.config import STORED, MemoryBankConfig

PROPERTIES: dict[str, Any] = {
    "name": {"type": "STRING", "description": "What to call\nthem"},
    "age": {"type": "INTEGER", "minimum": 0},
    "height": {"type": "number"},
    "member": {"type": "boolean"},
    "seat": {"enum": ["window", "aisle"]},
    "allergies": {"type": "array", "items": {"type": "string"}, "maxItems": 4},
    "sizes": {"type": "array", "items": {"type": "integer"}},
    "address": {"type": "object", "properties": {"zip": {"type": "integer"}}},
    "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
    "born": {"type": "string", "format": "date"},
    "nick": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "any": {},
}


def config(*parts: dict[str, Any]) -> MemoryBankConfig:
    return MemoryBankConfig.model_validate({"structured_memory_configs": list(parts)})


def part(schema_id: str, *scope_keys: str, **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields or PROPERTIES}
    schemas = [{"id": schema_id, "schema": schema}]
    return {"scope_keys": list(scope_keys), "schema_configs": schemas}


(SCHEMA,) = schemas_for(config(part("p")), {"user_id": "1"})
USER = {"user_id": "1"}


@pytest.mark.parametrize(
    ("parts", "scope", "expected"),
    [
        ([], USER, []),
        ([part("a")], USER, ["a"]),
        ([part("a", "app")], USER, []),
        ([part("a"), part("b", "user_id")], USER, ["b"]),
        ([part("a"), part("b", "user_id")], {"app": "x"}, ["a"]),
        ([part("a", "user_id"), part("b", "user_id")], USER, ["a", "b"]),
        ([part("a", "user_id"), part("b", "app", "user_id")], {**USER, "app": "x"}, ["b"]),
        ([part("a"), part("a")], USER, ["a"]),
        ([{"schema_configs": [{"id": "a"}]}], USER, []),
        (
            [
                {
                    "schema_configs": [
                        {
                            "id": "a",
                            "schema": {"properties": {"x": {}}},
                            "memory_type": "NATURAL_LANGUAGE_COLLECTION",
                        }
                    ]
                }
            ],
            USER,
            [],
        ),
    ],
)
def test_the_configuration_with_the_most_keys_counts(
    parts: list[dict[str, Any]], scope: dict[str, str], expected: list[str]
) -> None:
    assert [one.schema_id for one in schemas_for(config(*parts), scope)] == expected


def test_a_schema_that_was_stored_before_it_was_checked_has_no_fields() -> None:
    bad = {"structured_memory_configs": [part("a", x={"type": "text"}), part("b", x={})]}
    stored = MemoryBankConfig.model_validate(bad, context=STORED)
    assert [one.schema_id for one in schemas_for(stored, USER)] == ["b"]


def test_a_json_schema_counts_before_the_other() -> None:
    both = {"id": "a", "schema": {"properties": {"x": {}}}, "jsonSchema": {"properties": {"y": {}}}}
    (schema,) = schemas_for(config({"schema_configs": [both]}), USER)
    assert [one.name for one in schema.fields] == ["y"]


def test_a_field_is_described() -> None:
    assert [(one.name, one.type) for one in SCHEMA.fields] == [
        ("name", "string"),
        ("age", "integer"),
        ("height", "number"),
        ("member", "boolean"),
        ("seat", "string"),
        ("allergies", "array"),
        ("sizes", "array"),
        ("address", "object"),
        ("code", "string"),
        ("born", "string"),
        ("nick", "string"),
        ("any", ""),
    ]
    stored = [held("name", "Ann\u2028Lee"), held("name", "Bea\nLee"), held("any", "x" * 300)]
    lines = field_lines([SCHEMA], stored)
    assert lines == (
        'p.name (string): What to call them = "Bea\\nLee"',
        "p.age (integer, at least 0)",
        "p.height (number)",
        "p.member (boolean)",
        "p.seat (one of window, aisle)",
        "p.allergies (list of string, at most 4)",
        "p.sizes (list of integer)",
        "p.address ({zip: integer})",
        "p.code (string, ^[A-Z]{3}$)",
        "p.born (string, date)",
        "p.nick (string)",
        f'p.any = "{"x" * 199}\u2026',
    )


def test_what_callers_configure_stays_within_its_line_of_a_prompt() -> None:
    name, options = "a\n# Rules:\n" + "b" * 200, ["x\ny", "z" * 2_000]
    (schema,) = schemas_for(config(part("p", **{name: {"enum": options}, "c": {}})), USER)
    line, _ = field_lines([schema])
    assert line.startswith("p.a # Rules: bbb")
    assert "\n" not in line
    assert "one of x y, zzz" in line
    assert len(line) < 1_200
    label = line.removeprefix("p.").partition(" (")[0]
    assert schema.labelled(label) == schema.field(name)
    assert schema.labelled("c") == schema.field("c")
    assert schema.labelled("d") is None


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("name", " Ann\x00 ", "Ann"),
        ("name", "", None),
        ("name", "   ", None),
        ("name", None, None),
        ("name", 3, None),
        ("name", "x" * 5_000, None),
        ("none", "x", None),
        ("age", "34", 34),
        ("age", 34.0, 34),
        ("age", "34.5", None),
        ("age", "about 34", None),
        ("age", "-1", None),
        ("age", True, None),
        ("age", "9" * 400, None),
        ("height", "1.80", 1.8),
        ("height", "2", 2),
        ("height", "nan", None),
        ("member", "TRUE", True),
        ("member", "yes", None),
        ("member", False, False),
        ("seat", "Window", "window"),
        ("seat", "middle", None),
        ("allergies", ["nuts"], ["nuts"]),
        ("allergies", '["nuts", "milk"]', ["nuts", "milk"]),
        ("allergies", "nuts, milk; eggs", ["nuts", "milk", "eggs"]),
        ("allergies", ["1", "2", "3", "4", "5"], None),
        ("allergies", [], None),
        ("allergies", "[" * 3_000, None),
        ("sizes", "1, 2", [1, 2]),
        ("address", '{"zip": "12345"}', {"zip": 12345}),
        ("address", "somewhere", None),
        ("code", "ABC", "ABC"),
        ("code", "abc", None),
        ("born", "1990-05-03", "1990-05-03"),
        ("born", "in May", None),
        ("nick", "Al", "Al"),
        ("any", "x", "x"),
        ("any", 3, 3),
        ("any", "\ud83d", None),
    ],
)
def test_a_value_is_taken_as_its_field_has_it(field: str, value: Any, expected: Any) -> None:
    found = validated(SCHEMA, field, value)
    assert found == expected
    assert type(found) is type(expected)


def said(field: str, value: Any, turn: int = 0, source: str = "", **more: Any) -> FieldValue:
    return FieldValue("p", field, value, source=source, turn=turn, **more)


def forget(field: str, source: str, value: Any = None, turn: int = 0) -> FieldValue:
    return FieldValue(
        "p", field, value, "clear" if value is None else "remove", source=source, turn=turn
    )


def held(field: str, value: Any, memory_id: str = "m1", version: int = 1) -> StoredField:
    return StoredField(memory_id, version, "p", field, value)


def planned(
    values: list[FieldValue], stored: list[StoredField], max_deletes: int = 5
) -> list[tuple[str, str | None, dict[str, Any]]]:
    changes, _ = plan_fields(values, stored, max_deletes=max_deletes, schemas=[SCHEMA])
    return [(one.action, one.memory_id, one.data) for one in changes]


def test_a_new_field_is_a_memory_of_its_own() -> None:
    value = said("name", "Ann", source="I'm Ann.")
    (change,), _ = plan_fields([value], [held("age", 3)], max_deletes=1)
    assert change == FieldChange(
        "CREATED", None, None, "p", "name", "Ann", "new", (value,), {"name": "Ann"}
    )
    assert change.structured_content() == {"schemaId": "p", "data": {"name": "Ann"}}
    assert change.extracted_memories() == [
        {"structuredData": {"name": "Ann"}, "context": "I'm Ann."}
    ]


def test_a_new_value_changes_the_memory() -> None:
    stored = [held("name", "Ann", version=4)]
    (change,), _ = plan_fields([said("name", "Bea")], stored, max_deletes=0)
    assert (change.action, change.memory_id, change.version) == ("UPDATED", "m1", 4)
    assert (change.data, change.reason) == ({"name": "Bea"}, "changed")


def test_the_same_value_changes_nothing() -> None:
    assert planned([said("age", 3)], [held("age", 3)]) == []
    assert planned([said("any", True)], [held("any", 1)]) == [("UPDATED", "m1", {"any": True})]


def test_the_value_said_last_counts() -> None:
    values = [said("name", "C", 2), said("name", "A", 0), said("name", "B", 1)]
    assert planned(values, []) == [("CREATED", None, {"name": "C"})]
    assert planned([*values, said("name", "A", 3)], [held("name", "A")]) == []


def test_of_values_said_at_once_the_last_one_counts() -> None:
    colors = [said("color", "blue", 2), said("color", "green", 2)]
    changes, _ = plan_fields(colors, [], max_deletes=1)
    assert [one.data for one in changes] == [{"color": "green"}]


def test_lists_grow_and_items_leave_them() -> None:
    more = said("allergies", ["Milk", "eggs"])
    stored = [held("allergies", ["nuts", "milk"])]
    assert planned([more], stored) == [("UPDATED", "m1", {"allergies": ["nuts", "Milk", "eggs"]})]
    assert planned([said("allergies", ["milk"])], stored) == []
    fewer = forget("allergies", "I'm not allergic to nuts anymore.", ["Nuts"])
    assert planned([fewer], stored) == [("UPDATED", "m1", {"allergies": ["milk"]})]
    none = forget("allergies", "Forget my allergies.")
    assert planned([none], stored) == [("DELETED", "m1", {})]


def test_a_list_keeps_to_its_bound_and_loses_the_oldest() -> None:
    stored = [held("allergies", ["a", "b", "c", "d"])]
    new = said("allergies", ["e"])
    assert planned([new], stored) == [("UPDATED", "m1", {"allergies": ["b", "c", "d", "e"]})]


@pytest.mark.parametrize("number", range(1, 6))
def test_a_list_loses_no_more_than_it_must(number: int) -> None:
    (schema,) = schemas_for(
        config(part("p", h={"type": "array", "items": {"type": "string"}, "maxItems": 10})), USER
    )
    old, new = [f"old{n}" for n in range(10)], [f"new{n}" for n in range(number)]
    stored, schemas = [held("h", old)], [schema]
    (change,), _ = plan_fields([said("h", new)], stored, max_deletes=0, schemas=schemas)
    assert change.data == {"h": [*old[number:], *new]}


def test_a_list_that_is_too_long_already_keeps_the_newest() -> None:
    old = [str(n) for n in range(9)]
    assert planned([said("allergies", ["8"])], [held("allergies", old)]) == [
        ("UPDATED", "m1", {"allergies": old[-4:]})
    ]


def test_a_field_is_cleared_when_its_user_asks() -> None:
    stored = [held("name", "Ann")]
    assert planned([forget("name", "Forget my name.")], stored) == [("DELETED", "m1", {})]
    (change,), _ = plan_fields([forget("name", "Forget my name.")], stored, max_deletes=1)
    assert (change.reason, change.value) == ("taken back", None)
    assert change.extracted_memories() == [
        {"structuredData": {"name": None}, "context": "Forget my name."}
    ]
    assert planned([forget("name", "Forget my name.")], []) == []
    again = said("name", "Bea", 1)
    assert planned([forget("name", "Forget my name."), again], stored) == [
        ("UPDATED", "m1", {"name": "Bea"})
    ]


def test_a_value_is_taken_back_only_where_it_is_the_present_one() -> None:
    gone = forget("any", "I no longer work at Acme.", "acme")
    assert planned([gone], [held("any", "Acme")]) == [("DELETED", "m1", {})]
    assert planned([gone], [held("any", "Initech")]) == []


def test_deletions_are_capped() -> None:
    stored = [held("name", "Ann"), held("age", 3, "m2")]
    values = [forget("name", "Forget my name."), forget("age", "Forget my age.")]
    assert planned(values, stored, 0) == []
    assert planned(values, stored, 1) == [("DELETED", "m1", {})]
    assert len(planned(values, stored, 2)) == 2


def test_fields_of_one_memory_change_in_it() -> None:
    """Generation never makes such a memory, but a caller may."""
    content = {"schemaId": "p", "data": {"name": "Ann", "age": 3, "seat": "aisle"}}
    stored = stored_fields("m1", 7, content)
    values = [said("name", "Bea"), forget("age", "Forget my age.")]
    (change,), _ = plan_fields(values, stored, max_deletes=1)
    assert (change.action, change.version) == ("UPDATED", 7)
    assert change.data == {"name": "Bea", "seat": "aisle"}
    assert len(change.extracted) == 2
    assert content["data"] == {"name": "Ann", "age": 3, "seat": "aisle"}


def test_of_several_memories_with_a_field_the_newest_counts() -> None:
    stored = [held("name", "Ann", "m1"), held("name", "Bea", "m2")]
    assert planned([said("name", "Bea")], stored) == []
    assert planned([said("name", "Cat")], stored) == [("UPDATED", "m2", {"name": "Cat"})]
    both = planned([forget("name", "Forget my name.")], stored)
    assert [one[:2] for one in both] == [("DELETED", "m1"), ("DELETED", "m2")]
    assert planned([forget("name", "Forget my name.")], stored, 1) == []


def test_the_rules_fill_valid_values_only() -> None:
    schemas = [
        ProfileSchema("p", SCHEMA.fields),
        *schemas_for(config(part("q", age={"type": "integer", "maximum": 30})), USER),
    ]
    turns = [Turn("user", "My name is Ann and I am 34 years old."), Turn("model", "I am 20.")]
    found = [
        (one.schema_id, one.field, one.value)
        for one in chain.from_iterable(by_rules(turns, schemas))
    ]
    assert found == [("p", "name", "Ann"), ("p", "age", 34)]
    ((gone,),) = by_rules([Turn("user", "Please forget my age.")], [SCHEMA])
    assert (gone.field, gone.value, gone.action) == ("age", None, "clear")
    assert gone.source == "Please forget my age."

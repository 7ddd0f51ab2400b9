"""Schemas that callers configure: read into one form, bounded, and safe to check values with."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from app.kernel.wire.json_schema import MAX_SCHEMAS, read_schema
from app.kernel.wire.json_values import conforms


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"type": "OBJECT"}, {"type": "object"}),
        ({"type": "TYPE_UNSPECIFIED", "title": "T"}, {"title": "T"}),
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "STRING", "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"min_items": "2", "maxItems": 3}, {"minItems": 2, "maxItems": 3}),
        ({"any_of": [{"type": "STRING"}, {"type": "NULL"}]}, {"type": ["string", "null"]}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "Age", "default": None},
            {"title": "Age", "type": ["integer", "null"]},
        ),
        (
            {"allOf": [{"type": "string"}], "description": "d"},
            {"type": "string", "description": "d"},
        ),
        ({"property_ordering": ["a"], "example": 1, "$schema": "x", "$id": "http://x"}, {}),
        (
            {"$defs": {"A": {"type": "string"}}, **obj(a={"$ref": "#/$defs/A", "title": "T"})},
            obj(a={"type": "string", "title": "T"}),
        ),
        (
            {"defs": {"A": {"type": "STRING"}}, **obj(a={"ref": "#/defs/A"})},
            obj(a={"type": "string"}),
        ),
        (
            {"$defs": {"A": {"type": "string"}}, **obj(a={"$ref": "#/$defs/A", "maxLength": 3})},
            obj(a={"maxLength": 3, "allOf": [{"type": "string"}]}),
        ),
        (
            {"$defs": {"A": obj(x={"type": "string"})}, "$ref": "#/$defs/A"},
            obj(x={"type": "string"}),
        ),
        (
            obj(first_name={"type": "STRING"}, any_of={}),
            obj(first_name={"type": "string"}, any_of={}),
        ),
        (
            {"additionalProperties": False, "items": True},
            {"additionalProperties": False, "items": True},
        ),
    ],
)
def test_a_schema_is_read_into_one_form(given_: dict[str, Any], expected: dict[str, Any]) -> None:
    assert read_schema(given_) == expected


_LAUGHS = {
    f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}, {"$ref": f"#/$defs/l{n + 1}"}]}
    for n in range(25)
}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "text"}, "a type that JSON Schema does not know"),
        ({"minLength": -1}, "a value of minLength"),
        ({"minLength": True}, "a value of minLength"),
        ({"minimum": "1"}, "a value of minimum"),
        ({"multipleOf": 0}, "a value of multipleOf"),
        ({"required": ["a", 1]}, "a value of required"),
        ({"enum": "a"}, "a value of enum"),
        ({"properties": ["a"]}, "an object as properties"),
        (obj(a="string"), "objects where schemas belong"),
        ({"anyOf": []}, "a list of schemas as anyOf"),
        ({"pattern": "("}, "RE2 syntax"),
        ({"pattern": r"(a)\1"}, "RE2 syntax"),
        ({"patternProperties": {"(a+)+$": {}}}, "must not have patternProperties"),
        ({"$dynamicRef": "#a"}, "must not have $dynamicRef"),
        (obj(a={"$ref": "http://127.0.0.1/x"}), "a part of the same schema"),
        (obj(a={"$ref": "other.json#/a"}), "a part of the same schema"),
        (obj(a={"$ref": "#"}), "a part of the same schema"),
        (obj(a={"$ref": 1}), "a part of the same schema"),
        (obj(a={"$ref": "#/$defs/none"}), "that is there"),
        ({**obj(a={"$ref": "#/anyOf/1"}), "anyOf": [{}]}, "that is there"),
        ({**obj(a={"$ref": "#/anyOf/00000000099"}), "anyOf": [{}]}, "that is there"),
        ({**obj(a={"$ref": "#/anyOf/" + "9" * 5_000}), "anyOf": [{}]}, "that is there"),
        ({**obj(a={"$ref": "#/anyOf/\u0660"}), "anyOf": [{}]}, "that is there"),
        (obj(a={"$ref": "#/properties/a"}), "none may refer to itself"),
        ({"$defs": _LAUGHS, **obj(a={"$ref": "#/$defs/l0"})}, "none may refer to itself"),
        (obj(**{str(n): {} for n in range(MAX_SCHEMAS)}), f"at most {MAX_SCHEMAS} schemas"),
    ],
)
def test_an_unsound_schema_is_refused(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r".*") as caught:
        read_schema(schema)
    assert message in str(caught.value)


_KEYWORDS = [
    *("type", "properties", "items", "any_of", "allOf", "enum", "const", "required", "minLength"),
    *("maxItems", "minimum", "pattern", "$ref", "$defs", "nullable", "title", "not", "if"),
    *("multipleOf", "uniqueItems", "format"),
]
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["object", "STRING", "a", "#/a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_KEYWORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "items", "anyOf"]), _VALUES))
def test_what_is_read_is_a_json_schema(schema: dict[str, Any]) -> None:
    try:
        found = read_schema(schema)
    except ValueError:
        return
    Draft202012Validator.check_schema(found)
    assert read_schema(found) == found


def test_a_pattern_is_matched_in_linear_time() -> None:
    schema = read_schema({"type": "string", "pattern": "^(a+)+$"})
    # An engine that tries every division of the letters would never end.
    assert not conforms(schema, "a" * 4_000 + "b")
    assert conforms(schema, "aaa")


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"format": "date"}, "1990-05-03", True),
        ({"format": "date"}, "May 3rd", False),
        ({"format": "email"}, "ann", False),
        ({"format": "date-time"}, "2026-01-02T03:04:05Z", True),
        ({"format": "date-time"}, "2026-01-02", False),
        ({"format": "anything"}, "x", True),
        ({"type": "string"}, "x" * 4_094, True),
        ({"type": "string"}, "x" * 4_095, False),
        ({"type": "array"}, [1] * 199, True),
        ({"type": "array"}, [1] * 200, False),
        ({"type": "number"}, float("nan"), False),
    ],
)
def test_a_value_is_checked_and_bounded(schema: dict[str, Any], value: Any, *, valid: bool) -> None:
    assert conforms(read_schema(schema), value) is valid


def test_a_deep_value_is_refused() -> None:
    deep: Any = []
    for _ in range(40):
        deep = [deep]
    assert not conforms({}, deep)

"""The words in which a caller learns what is wrong with a field: of JSON, never of Python."""

import re
from typing import Annotated, Any, Literal, get_args

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticKnownError
from pydantic_core.core_schema import ErrorType

from app.kernel.wire.violations import invalid_fields

_NUMBERS = [
    *("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "actual_length"),
    *("max_digits", "decimal_places", "whole_digits", "expected_version"),
    *("tz_expected", "tz_actual"),
]
_TEXTS = [
    *("pattern", "expected", "error", "class", "field_type", "discriminator", "tag"),
    *("expected_tags", "encoding", "encoding_error", "attribute", "expected_schemes"),
    *("class_name", "method_name"),
]
_CONTEXT: dict[str, Any] = {**dict.fromkeys(_NUMBERS, 3), **dict.fromkeys(_TEXTS, "x")}
_OF_OBJECTS = {
    *("is_instance_of", "is_subclass_of", "callable_type", "dataclass_exact_type"),
    *("named_tuple_type", "complex_type", "complex_str_parsing", "time_delta_type"),
    *("time_delta_parsing", "missing_sentinel_error", "ellipsis_error", "fraction_type"),
    *("deque_type", "counter_type", "ordered_dict_type", "frozen_dict_type"),
}
"""What only values that are no JSON, or types that no schema of ours has, can be at fault for."""
_PYTHON = re.compile(
    r"\b(?:dict|dictionary|tuple|set|frozenset|None|NoneType|bool|boolean|int|float|str"
    r"|valid bytes|mapping|instance|class|[Ii]nput|object to extract|parse|unicode)\b"
)


def _described(kind: Any) -> str:
    try:
        error = PydanticKnownError(kind, _CONTEXT)
    except TypeError:
        error = PydanticKnownError(kind)
    item = {"type": kind, "loc": ("field",), "msg": error.message(), "ctx": error.context}
    return invalid_fields([item]).violations[0].description


@pytest.mark.parametrize("kind", sorted({*get_args(ErrorType)} - _OF_OBJECTS))
def test_no_description_names_a_type_of_python(kind: str) -> None:
    said = _described(kind)
    assert not _PYTHON.search(said)
    assert kind == "value_error" or said.startswith(("must ", "is "))
    assert said == "x" or said.endswith(".")


class _Inner(BaseModel):
    number: int = Field(ge=1)

    model_config = ConfigDict(extra="forbid")


class _Message(BaseModel):
    text: str = Field(max_length=3)
    inner: _Inner
    labels: dict[str, str]
    names: list[str] = Field(max_length=1)
    pair: tuple[str, str] = ("", "")
    is_on: bool = False
    share: float = 0.0
    nothing: None = None
    word: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("text", 5, "must be a string."),
        ("text", "long", "must have at most 3 characters."),
        ("inner", [], "must be an object."),
        ("inner", "x", "must be an object."),
        ("inner", {"number": 0}, "must be greater than or equal to 1."),
        ("inner", {"number": "x"}, "must be an integer."),
        ("inner", {"number": 1.5}, "must be an integer."),
        ("labels", [], "must be an object."),
        ("names", {}, "must be a list."),
        ("names", ["a", "b"], "must have at most 1 item; got 2."),
        ("pair", "x", "must be a list."),
        ("is_on", "perhaps", "must be true or false."),
        ("share", "x", "must be a number."),
        ("nothing", 1, "must be null."),
        ("word", "c", "must be 'a' or 'b'."),
        ("inner", None, "must be an object."),
    ],
)
def test_the_word_is_that_of_json(field: str, value: object, said: str) -> None:
    message = {"text": "x", "inner": {"number": 1}, "labels": {}, "names": [], field: value}
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(_Message).validate_python(message)
    (violation,) = invalid_fields(refused.value.errors()).violations
    assert violation.description == said


class _Outer(BaseModel):
    """Every shape below which a message can have another one."""

    one: _Inner | None = None
    many: list[_Inner] = Field(default=[])
    by_name: dict[str, Annotated[_Inner, Field()]] = Field(default={}, alias="byName")
    either: _Inner | _Message | None = None
    free: dict[str, int] = Field(default={})
    second: _Inner | None = Field(
        None, alias="second", validation_alias=AliasChoices("second", "other")
    )
    unserved: None = None

    model_config = ConfigDict(extra="forbid")


_OF_OUTER = "; it has byName, either, free, many, one, second."


@pytest.mark.parametrize(
    ("sent", "field", "listed"),
    [
        ({"mine": 1}, "mine", _OF_OUTER),
        ({"one": {"number": 1, "mine": 1}}, "one.mine", "; it has number."),
        ({"many": [{"number": 1}, {"number": 1, "mine": 1}]}, "many[1].mine", "; it has number."),
        ({"byName": {"many": {"number": 1, "mine": 1}}}, "byName.many.mine", "; it has number."),
        ({"other": {"number": 1, "mine": 1}}, "other.mine", "; it has number."),
        ({"either": {"number": 1, "mine": 1}}, "either._Inner.mine", "."),
    ],
)
def test_an_unknown_field_is_reported_with_the_known_ones(
    sent: Any, field: str, listed: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        _Outer.model_validate(sent)
    violation = invalid_fields(refused.value.errors(), _Outer).violations[0]
    assert violation.field == field
    assert violation.description == f"is not a field of this message{listed}"


def test_the_known_fields_are_listed_once() -> None:
    with pytest.raises(ValidationError) as refused:
        _Outer.model_validate({"mine": 1, "one": {"number": 1, "other": 1}})
    violations = invalid_fields(refused.value.errors(), _Outer).violations
    assert sum("; it has " in violation.description for violation in violations) == 1
    assert len(violations) == 2

"""Strict argument types of the tools, with names in snake_case."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from app.kernel.wire.scalars import format_timestamp

MAX_QUERY_CHARS = 2_000
_MAX_TEXT_CHARS = 10_000
_MAX_ID_CHARS = 128
_MAX_TOKENS = 100_000
_SHOWN_CHARS = 80
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,9}(?:\.0+)?\s*")
_HOLDERS: dict[str, type] = {"array": list, "object": dict}
_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "object": "an object",
    "string": "text",
}
_SYNONYMS = ("q", "text")
"""Names that models invent for `query`."""


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _moment(text: str) -> str:
    """Return a time in the format of filters; a time without an offset is UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return format_timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise ValueError("must be a date or time such as 2030-01-31") from None


_Query = Annotated[
    str,
    AfterValidator(_said),
    Field(min_length=1, max_length=MAX_QUERY_CHARS, description="Question or words."),
]
_Fact = Annotated[str, AfterValidator(_said), Field(min_length=1, max_length=MAX_QUERY_CHARS)]
_Id = Annotated[str, AfterValidator(_said), Field(min_length=1, max_length=_MAX_ID_CHARS)]
_Label = Annotated[str, AfterValidator(_said), Field(min_length=1, max_length=256)]
_Topics = Annotated[list[_Label], Field(max_length=10)]
_Tokens = Annotated[int, Field(ge=1, le=_MAX_TOKENS, description="Limit of the result.")]


class Arguments(BaseModel):
    """The arguments of a tool: closed, and of these types.

    Models write a number or a list as text, and an id as a number. Nothing else is converted.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    asks: ClassVar[bool] = False
    """True if the tool has a `query`; the names in `_SYNONYMS` are then accepted for it."""

    @model_validator(mode="before")
    @classmethod
    def _read_types(cls, given: Any) -> Any:  # noqa: ANN401 - pydantic hands over anything
        return meant(given, _schema_of(cls))

    @model_validator(mode="before")
    @classmethod
    def _read_synonyms(cls, given: Any) -> Any:  # noqa: ANN401 - pydantic hands over anything
        if not cls.asks or not isinstance(given, Mapping) or "query" in given:
            return given
        meant = next((name for name in _SYNONYMS if name in given), None)
        if meant is None:
            return given
        rest = {name: value for name, value in given.items() if name != meant}
        return {**rest, "query": given[meant]}


class SearchArguments(Arguments):
    """Arguments of `search_memories`."""

    asks = True
    query: _Query
    limit: int = Field(10, ge=1, le=50)
    topics: _Topics | None = Field(None, description="Only memories about any of these.")
    max_tokens: _Tokens | None = None


class ListArguments(Arguments):
    """Arguments of `list_memories`."""

    limit: int = Field(20, ge=1, le=100)
    page_token: Annotated[str, Field(max_length=4_096)] | None = None
    changed_since: Annotated[str, AfterValidator(_moment), Field(max_length=40)] | None = Field(
        None, description="Date or time, such as 2030-01-31."
    )


class HistoryArguments(Arguments):
    """Arguments of `memory_history`."""

    id: _Id
    limit: int = Field(10, ge=1, le=50)


class RememberArguments(Arguments):
    """Arguments of `remember`."""

    facts: list[_Fact] = Field(min_length=1, max_length=5)
    topics: _Topics | None = None


class Message(Arguments):
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    text: Annotated[str, AfterValidator(_said), Field(min_length=1, max_length=_MAX_TEXT_CHARS)]


class LearnArguments(Arguments):
    """Arguments of `learn_from_conversation`."""

    messages: list[Message] = Field(min_length=1, max_length=100)


class UpdateArguments(Arguments):
    """Arguments of `update_memory`."""

    id: _Id
    fact: _Fact


class ForgetArguments(Arguments):
    """Arguments of `forget_memory`: ids, or a query that names candidates."""

    asks = True
    ids: Annotated[list[_Id], Field(min_length=1, max_length=20)] | None = None
    query: _Query | None = None

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if (self.ids is None) == (self.query is None):
            raise ValueError("give either ids or query")
        return self


class RestoreArguments(Arguments):
    """Arguments of `restore_memory`."""

    id: _Id
    revision: _Id | None = Field(None, description="As memory_history shows it.")


class RecallArguments(Arguments):
    """Arguments of `recall_conversation`."""

    asks = True
    query: _Query
    limit: int = Field(5, ge=1, le=20)
    max_tokens: _Tokens = 300
    session: _Id | None = Field(None, description="Absent: all conversations with this user.")


def schema_of(model: type[Arguments]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, reduced to save tokens in prompts."""
    whole = model.model_json_schema()
    schema: dict[str, Any] = _plain(whole, whole.get("$defs", {}))
    return schema


_schema_of = cache(schema_of)


def meant(given: Any, schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """Convert a value to the type of its schema where the meaning is unambiguous.

    Some model APIs send all numbers as floats.
    """
    kind = schema["type"]
    if isinstance(given, str) and kind in _HOLDERS:
        # Any other text stays unchanged: it may mean one item or several.
        held = _held_in(given)
        given = held if isinstance(held, _HOLDERS[kind]) else given
    if kind == "array" and isinstance(given, list):
        return [meant(item, schema["items"]) for item in given]
    if kind == "object" and isinstance(given, Mapping):
        known = schema.get("properties", {})
        return {
            name: meant(value, known[name]) if name in known else value
            for name, value in given.items()
        }
    if kind == "integer" and isinstance(given, str) and _INTEGER.fullmatch(given):
        return int(float(given))
    if kind == "integer" and isinstance(given, float) and given.is_integer():
        return int(given)
    # `isinstance` would accept `True`, which is also an `int`.
    return str(given) if kind == "string" and type(given) is int else given


def _held_in(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain(schema: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without titles, references, nulls and the docstrings of classes."""
    if "$ref" in schema:
        return _plain(known[schema["$ref"].rpartition("/")[2]], known)
    if "anyOf" in schema:
        # An absent argument is left out, never null.
        present = next(choice for choice in schema["anyOf"] if choice.get("type") != "null")
        described = {key: schema[key] for key in ("description",) if key in schema}
        return _plain({**present, **described}, known)
    plain = {
        key: value
        for key, value in schema.items()
        if key not in {"title", "$defs"} and not (key == "default" and value is None)
    }
    if plain.get("type") == "object":
        plain.pop("description", None)
        plain["properties"] = {
            name: _plain(field, known) for name, field in schema["properties"].items()
        }
    if "items" in plain:
        plain["items"] = _plain(schema["items"], known)
    return plain


def faults(error: ValidationError, schema: Mapping[str, Any]) -> str:
    """Describe up to three faults in arguments and the accepted values, without quoting input."""
    return "; ".join(_fault(item, schema) for item in error.errors(include_input=False)[:3])


def _fault(item: Any, schema: Mapping[str, Any]) -> str:  # noqa: ANN401 - the shape is pydantic's
    place = _place(item["loc"])
    match item["type"]:
        case "extra_forbidden":
            return f"{place}: is not a parameter"
        case "missing":
            return f"{place}: is required"
        case "value_error":
            message = str(item["msg"]).removeprefix("Value error, ")
            return f"{place}: {message}" if place else message
        case _:
            return f"{place or 'arguments'}: must be {accepted(_at(schema, item['loc']))}"


def _place(location: Sequence[str | int]) -> str:
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            # An unknown name may have any length.
            path += f".{part[:_SHOWN_CHARS]}" if path else part[:_SHOWN_CHARS]
    return path


def _at(schema: Mapping[str, Any], location: Sequence[str | int]) -> Mapping[str, Any]:
    for part in location:
        below = schema.get("items") if isinstance(part, int) else schema["properties"].get(part)
        if below is None:
            return schema
        schema = below
    return schema


def accepted(schema: Mapping[str, Any]) -> str:
    """Describe the values that a schema accepts."""
    match schema:
        case {"enum": names}:
            return " or ".join(names)
        case {"type": "integer", "minimum": least, "maximum": most}:
            return f"{least} to {most}"
        case {"type": "string", "maxLength": most}:
            return f"text of {schema.get('minLength', 0)} to {most} characters"
        case {"type": "array", "maxItems": most}:
            return f"a list of {schema.get('minItems', 0)} to {most} items"
        case _:
            return _KINDS[schema["type"]]

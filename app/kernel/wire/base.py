"""The base of every wire model: camelCase out, both spellings in, unknown fields refused."""

import re
from functools import cache
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

EXACTLY_ONE: dict[str, Any] = {"minProperties": 1, "maxProperties": 1}
"""The JSON Schema keywords of a message that has exactly one of its fields."""

_SNAKE_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")


def camel_name(name: str) -> str:
    """Return a snake_case name in camelCase; return any other name unchanged."""
    return to_camel(name) if _SNAKE_NAME.fullmatch(name) else name


class WireModel(BaseModel):
    """A message of the API. Immutable.

    Models of requests list in `ignored` (in snake_case) the output-only fields that callers may
    send back. They are dropped in either spelling before validation.

    Source: proto3 JSON mapping, "parsers accept both the lowerCamelCase name and the original".
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
    )

    ignored: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _read_both_spellings(cls, data: Any) -> Any:  # noqa: ANN401 - pydantic hands over anything
        if not isinstance(data, dict):
            return data
        dropped, aliases = _spellings(cls)
        if dropped.isdisjoint(data) and aliases.keys().isdisjoint(data):
            return data
        kept = {key: value for key, value in data.items() if key not in dropped}
        for name, alias in aliases.items():
            # Errors name the alias only if the value came under it. A field given in both
            # spellings is left alone: validation then refuses the second as unknown.
            if name in kept and alias not in kept:
                kept[alias] = kept.pop(name)
        return kept

    def wire(self) -> dict[str, Any]:
        """Return the JSON form: camelCase, without absent fields. Free maps keep their nulls."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def sent(self) -> dict[str, Any]:
        """Return the JSON form of the fields sent, with nulls, which clear fields in an update."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


@cache
def _spellings(model: type[WireModel]) -> tuple[frozenset[str], dict[str, str]]:
    dropped = model.ignored | {to_camel(name) for name in model.ignored}
    fields = model.model_fields.items()
    return dropped, {
        name: field.alias for name, field in fields if field.alias and field.alias != name
    }


class Empty(WireModel):
    """A message without fields. Source: google.protobuf.Empty."""

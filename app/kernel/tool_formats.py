"""Declarations of tools in the formats of model APIs (pure)."""

from collections.abc import Callable, Mapping
from typing import Any

Schema = dict[str, Any]
"""A JSON schema of a tool's arguments."""


def openai(name: str, description: str, schema: Schema) -> Schema:
    """Declare an OpenAI function.

    The declaration is not `strict`, because `strict` makes every parameter required.
    """
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def anthropic(name: str, description: str, schema: Schema) -> Schema:
    """Declare a tool for Anthropic's API."""
    return {"name": name, "description": description, "input_schema": schema}


def gemini(name: str, description: str, schema: Schema) -> Schema:
    """Declare a Gemini function."""
    return {"name": name, "description": description, "parameters": _upper(schema)}


def _upper(schema: Mapping[str, Any]) -> Schema:
    """Convert a schema for Gemini: types in capitals, no `additionalProperties`."""
    converted = {key: value for key, value in schema.items() if key != "additionalProperties"}
    converted["type"] = converted["type"].upper()
    if "properties" in schema:
        converted["properties"] = {
            name: _upper(field) for name, field in schema["properties"].items()
        }
    if "items" in schema:
        converted["items"] = _upper(schema["items"])
    return converted


Declare = Callable[[str, str, Schema], Schema]
FORMATS: Mapping[str, Declare] = {"openai": openai, "gemini": gemini, "anthropic": anthropic}
"""Functions that declare a tool to a model API, by format name."""

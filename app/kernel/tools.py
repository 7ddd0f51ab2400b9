"""Tools that models call: names of the memory tools, and declarations for model APIs (pure)."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

Schema = dict[str, Any]
"""A JSON schema of a tool's arguments."""
Declare = Callable[[str, str, Schema], Schema]


class ToolName(StrEnum):
    """A tool that a model may call. Names are stable."""

    SEARCH_MEMORIES = "search_memories"
    LIST_MEMORIES = "list_memories"
    MEMORY_HISTORY = "memory_history"
    REMEMBER = "remember"
    LEARN_FROM_CONVERSATION = "learn_from_conversation"
    UPDATE_MEMORY = "update_memory"
    FORGET_MEMORY = "forget_memory"
    RESTORE_MEMORY = "restore_memory"
    RECALL_CONVERSATION = "recall_conversation"
    """Served over MCP only if the settings name it: few MCP clients keep sessions here."""


def openai(name: str, description: str, schema: Schema) -> Schema:
    """Declare an OpenAI function, not `strict`, because `strict` makes every parameter required."""
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def anthropic(name: str, description: str, schema: Schema) -> Schema:
    """Declare a tool for Anthropic's API."""
    return {"name": name, "description": description, "input_schema": schema}


def gemini(name: str, description: str, schema: Schema) -> Schema:
    """Declare a Gemini function."""
    return {"name": name, "description": description, "parameters": _upper(schema)}


def _upper(schema: Mapping[str, Any]) -> Schema:
    converted = {key: value for key, value in schema.items() if key != "additionalProperties"}
    converted["type"] = converted["type"].upper()
    if "properties" in schema:
        converted["properties"] = {
            name: _upper(field) for name, field in schema["properties"].items()
        }
    if "items" in schema:
        converted["items"] = _upper(schema["items"])
    return converted


FORMATS: Mapping[str, Declare] = {"openai": openai, "gemini": gemini, "anthropic": anthropic}
"""Functions that declare a tool to a model API, by format name."""

"""The readers' methods as tool declarations for agents, in the formats of model APIs (pure)."""

from typing import Any

from app.artifacts.readers.schemas import LEAST_TOKENS, MOST_TOKENS, ToolSpecs

QUERY, SUMMARIZE = "query_task_memory", "summarize_task_memory"

_PLACE: dict[str, dict[str, Any]] = {
    "namespace": {
        "type": "string",
        "description": "The namespace that the stored output's reference names.",
    },
}
_KEEP_OFF: dict[str, dict[str, Any]] = {
    "off_prompt": {
        "type": "boolean",
        "description": "True to store the result as well, for export or further reading, and get"
        " only a reference to it. False unless the result is not to be seen here.",
    },
}
_QUERY = (
    "Answers a question about a tool's output that is stored off this prompt. Use it when a tool's"
    " output was replaced by a reference to memory and namespace and you need something that is in"
    " it. The answer says which places it rests on."
)
_SUMMARIZE = (
    "Summarises a tool's output that is stored off this prompt. Use it when a tool's output was"
    " replaced by a reference to memory and namespace and you need to know what it is about as a"
    " whole; for single facts, a query is better."
)
_TOOLS: tuple[tuple[str, str, dict[str, dict[str, Any]], list[str]], ...] = (
    (
        QUERY,
        _QUERY,
        {"query": {"type": "string", "description": "The question, in full."}},
        ["query"],
    ),
    (
        SUMMARIZE,
        _SUMMARIZE,
        {
            "instructions": {
                "type": "string",
                "description": "What the summary should keep or leave out.",
            },
            "max_tokens": {
                "type": "integer",
                "description": f"Longest summary, {LEAST_TOKENS} to {MOST_TOKENS} tokens.",
            },
        },
        [],
    ),
)


def tool_specs(memory: str | None) -> ToolSpecs:
    """Return the tool declarations; with the name of a memory, they read only that one."""
    specs = [
        {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {"memory": _memory(memory), **_PLACE, **own, **_KEEP_OFF},
                "required": ["memory", "namespace", *required],
            },
        }
        for name, description, own, required in _TOOLS
    ]
    return ToolSpecs(
        openai=[_openai(spec) for spec in specs], gemini=[_gemini(spec) for spec in specs]
    )


def _memory(name: str | None) -> dict[str, Any]:
    return {
        "type": "string",
        "description": "The memory that the stored output's reference names.",
        **({"enum": [name]} if name is not None else {}),
    }


def _openai(spec: dict[str, Any]) -> dict[str, Any]:
    # Not `strict`, which would make every argument required.
    parameters = {**spec["parameters"], "additionalProperties": False}
    return {"type": "function", "function": {**spec, "parameters": parameters}}


def _gemini(spec: dict[str, Any]) -> dict[str, Any]:
    return {**spec, "parameters": _upper(spec["parameters"])}


def _upper(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with type names in upper case, as Gemini expects."""
    converted = {**schema, "type": schema["type"].upper()}
    if "properties" in schema:
        converted["properties"] = {
            name: _upper(field) for name, field in schema["properties"].items()
        }
    return converted

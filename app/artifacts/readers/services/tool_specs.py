"""Tool declarations of readers and the export for agents, in the formats of model APIs (pure)."""

from collections.abc import Sequence
from typing import Any

from app.artifacts.readers.schemas import LEAST_TOKENS, MOST_TOKENS, ToolFormat, ToolSpecs
from app.kernel.tools import FORMATS, Schema

_Tool = tuple[str, str, dict[str, dict[str, Any]], list[str]]
"""Name, description, specific arguments, and the names of the required ones among these."""
QUERY, SUMMARIZE = "query_task_memory", "summarize_task_memory"
EXTRACT = "extract_task_memory"
EXPORT, LIST, LOAD = "export_task_memory", "list_task_memory", "load_task_memory"


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


_NAMESPACE = _text("The namespace that the stored output's reference names.")
_READING: dict[str, dict[str, Any]] = {
    "artifacts": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Names of the only artifacts to read; all of the namespace without it.",
    },
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
_EXTRACT = (
    "Extracts rows of a table from a tool's output that is stored off this prompt. Use it when you"
    " need many things of one kind from it, such as all orders with their prices."
)
_EXPORT = (
    "Saves a tool's output that is stored off this prompt as files, unchanged. Use it when the"
    " output itself is wanted, not something that is in it; its content is not shown here."
)
_LIST = (
    "Lists what is stored off this prompt, newest first: names, types, sizes, and tools that can"
    " read it. Use it when a reference is missing; no content is shown here."
)
_READERS: tuple[_Tool, ...] = (
    (
        QUERY,
        _QUERY,
        {
            "query": _text("The question, in full."),
            **_READING,
        },
        ["namespace", "query"],
    ),
    (
        SUMMARIZE,
        _SUMMARIZE,
        {
            "instructions": _text("Content that the summary should keep or leave out."),
            "max_tokens": {
                "type": "integer",
                "description": f"Longest summary, {LEAST_TOKENS} to {MOST_TOKENS} tokens.",
            },
            **_READING,
        },
        ["namespace"],
    ),
    (
        EXTRACT,
        _EXTRACT,
        {
            "schema": _text("JSON schema of one row, as JSON text: an object with properties."),
            "format": _text("Form of the rows: json, or csv; json without it."),
            **_READING,
        },
        ["namespace", "schema"],
    ),
)
_EXPORTS: tuple[_Tool, ...] = (
    (
        EXPORT,
        _EXPORT,
        {
            "artifact": _text("The only artifact to save; all of the namespace without it."),
            "file_name": _text(
                "Name of the file, where one artifact is saved: up to 128 of A-Z,"
                " a-z, 0-9, dot, underscore and hyphen, not beginning with a dot. An earlier file"
                " of this name is replaced."
            ),
            "folder": _text('Folder for the files: such names, with "/" between them.'),
        },
        ["namespace"],
    ),
)
_LISTED: dict[str, dict[str, Any]] = {
    "namespace": _text("To list the artifacts of only this one."),
    "page_token": _text("As the page before named it."),
}


def _loads(sources: Sequence[str]) -> Sequence[_Tool]:
    own: dict[str, dict[str, Any]] = {
        "namespace": _text("To store in; a new name begins a new one."),
        "source": _text("The place to load from.") | {"enum": [*sources]},
        "path": _text("A file or folder in it; absent: its own files."),
    }
    about = "Stores the operator's files off this prompt, to be queried; no content is shown here."
    return [(LOAD, about, own, ["namespace", "source"])] if sources else []


def tool_specs(
    memory: str | None,
    form: ToolFormat | None = None,
    *,
    may_read: bool = True,
    may_export: bool,
    sources: Sequence[str] = (),
) -> ToolSpecs:
    """Return the tool declarations, in one format or all, for one `memory` or any.

    `sources`: names of the places from which the caller may load files.
    """
    readers, exports = _READERS if may_read else (), _EXPORTS if may_export else ()
    tools = [*readers, *exports, (LIST, _LIST, _LISTED, []), *_loads(sources)]
    shown = [form] if form is not None else list(ToolFormat)
    return ToolSpecs(
        **{
            each.value: [
                FORMATS[each](name, description, _schema(each, memory, own, required))
                for name, description, own, required in tools
            ]
            for each in shown
        }
    )


def _schema(
    form: ToolFormat, memory: str | None, own: dict[str, dict[str, Any]], required: list[str]
) -> Schema:
    schema = {
        "type": "object",
        "properties": {"memory": _memory(memory), "namespace": _NAMESPACE, **own},
        "required": ["memory", *required],
    }
    return {**schema, "additionalProperties": False} if form is ToolFormat.OPENAI else schema


def _memory(name: str | None) -> dict[str, Any]:
    shown = _text("The memory that the stored output's reference names.")
    return shown if name is None else shown | {"enum": [name]}

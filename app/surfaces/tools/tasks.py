"""Calls of the tools of task memory, through the methods behind them.

`toolSpecs` declares the tools and their arguments; this module knows only their methods.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.tools import Schema
from app.kernel.wire.base import camel_name
from app.surfaces.api import Api, ApiRefusal, Json
from app.surfaces.tools.arguments import accepted, meant
from app.surfaces.tools.bank import last_part
from app.surfaces.tools.calls import ToolAnswer
from app.surfaces.tools.running import is_for_caller, sentence

EXPORT = "export_task_memory"
_LIST = "list_task_memory"
_METHODS = {
    "query_task_memory": "query",
    "summarize_task_memory": "summarize",
    "extract_task_memory": "extract",
    EXPORT: "export",
    "load_task_memory": "load",
}
_FIELDS = {"artifact": "artifacts", "folder": "directory"}
"""By argument: the field with another name that holds it."""
_PLACE = ("memory", "namespace")
_SHOWN = 20
_FOR_MODELS = frozenset({Reason.INLINE_DENIED, Reason.READER_NOT_ALLOWED})
"""Refusals with the status of callers' errors that other arguments avoid."""
NAMES = frozenset({_LIST, *_METHODS})


@dataclass(frozen=True)
class TaskToolCall:
    """A call of a tool of task memory.

    Attributes:
        schema: the schema of the tool's arguments, as `toolSpecs` has it for the caller.
        sink: the sink of exports.
        owner: the user of namespaces that the call creates; None: none.
    """

    api: Api
    engine: str
    name: str
    schema: Schema
    sink: str | None
    owner: str | None
    request_id: str | None

    async def answer(self, given: object) -> ToolAnswer:
        """Run the tool.

        Raises:
            ApiRefusal: the method refuses, and other arguments would change nothing.
            InvalidArgument: the arguments are wrong; the message names the arguments of the tool.
        """
        arguments = self._read(given)
        try:
            if self.name == _LIST:
                return await self._list(arguments)
            return await self._run(_METHODS[self.name], arguments)
        except ApiRefusal as refused:
            if is_for_caller(refused) and refused.reason not in _FOR_MODELS:
                raise
            message = self._renamed(sentence(refused))
            if refused.reason == Reason.ETAG_STALE:
                # The rest of the message is about a header, which no tool has.
                message = f"{message.partition(';')[0]} with other content."
            raise InvalidArgument(message, Reason.FIELD_INVALID) from None

    def _read(self, given: object) -> dict[str, Any]:
        known, required = self.schema["properties"], self.schema["required"]
        read = meant(given, self.schema)
        arguments: dict[str, Any] = read if isinstance(read, dict) else {}
        faults = [] if isinstance(read, dict) else ["arguments: must be an object"]
        if not known.keys() >= arguments.keys():
            # Unknown names are not repeated: they may hold a tool's output.
            faults.append("arguments: one is not a parameter")
        faults += [f"{name}: is required" for name in required if name not in arguments]
        faults += [
            f"{name}: must be {accepted(known[name])}"
            for name in known
            if name in arguments and not _fits(arguments[name], known[name])
        ]
        if faults:
            message = f"{'; '.join(faults)}. {self.name} accepts: {', '.join(known)}."
            raise InvalidArgument(message, Reason.FIELD_INVALID)
        return arguments

    def _renamed(self, message: str) -> str:
        for argument in self.schema["properties"]:
            field = _FIELDS.get(argument)
            # Some names of fields are also words of sentences.
            word = rf"\b{field}(?=[\[:])" if field else rf"\b{camel_name(argument)}\b"
            message = re.sub(word, argument, message)
        return message

    async def _run(self, method: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        body = {camel_name(name): value for name, value in arguments.items() if name not in _PLACE}
        if self.name == EXPORT:
            moved = {_FIELDS[name]: body.pop(name) for name in _FIELDS if name in body}
            if "artifacts" in moved:
                moved["artifacts"] = [moved["artifacts"]]
            body |= {"sink": self.sink, **moved}
        if method == "extract":
            body["schema"] = _parsed(body["schema"])
        if method == "load" and self.owner is not None:
            body["userId"] = self.owner
        path = f"{self._path(arguments)}:{method}"
        done = await self.api.send("POST", path, body, request_id=self.request_id)
        return ToolAnswer(_TEXTS[method](done), done)

    async def _list(self, arguments: Mapping[str, Any]) -> ToolAnswer:
        query = [("pageToken", arguments["page_token"])] if "page_token" in arguments else []
        kind = "artifacts" if "namespace" in arguments else "namespaces"
        page = await self.api.get(f"{self._path(arguments)}/{kind}", query)
        lines = [_line(one) for one in page[kind] or ()]
        if page["nextPageToken"]:
            lines.append(f"More with page_token {page['nextPageToken']}")
        return ToolAnswer("\n".join(lines) or "Nothing is stored there.", page)

    def _path(self, arguments: Mapping[str, Any]) -> str:
        memory = f"{self.engine}/taskMemories/{quote(arguments['memory'], safe='')}"
        if "namespace" not in arguments:
            return memory
        return f"{memory}/namespaces/{quote(arguments['namespace'], safe='')}"


def _fits(value: object, schema: Schema) -> bool:
    if "enum" in schema:
        return value in schema["enum"]
    kinds = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}
    return type(value) is kinds[schema["type"]]


def _line(one: Json) -> str:
    """Return a line about a namespace or an artifact."""
    shown = one["reference"] or one
    listed = shown["artifacts"] or [shown]
    types = ", ".join(dict.fromkeys(each["mediaType"] for each in listed if each["mediaType"]))
    count = "" if one["reference"] is None else f"{shown['count']} artifacts, "
    size = shown["totalBytes"] or shown["sizeBytes"]
    readers = ", ".join(shown["readableWith"] or ()) or "none"
    return f"- {last_part(one['name'])}: {count}{types}, {size} bytes; readers: {readers}"


def _text(done: Json, field: str) -> str:
    """Return the text of a result; a result that is kept off the prompt has none."""
    text = done["promptText"] if done[field] is None else done[field]
    return text or "Nothing was found."


def _answered(done: Json) -> str:
    cited = () if done["answer"] is None else done["citations"] or ()
    places = [f"- from {_place(one)}" for one in cited[:_SHOWN]]
    return "\n".join([_text(done, "answer"), *places])


def _place(cited: Json) -> str:
    if not cited["end"]:
        # An image is cited as a whole.
        return str(cited["artifact"])
    characters = f"characters {cited['start']} to {cited['end']}"
    return f"{cited['artifact']}, page {cited['page']}, {characters}"


def _parsed(schema: str) -> object:
    try:
        return json.loads(schema)
    except (ValueError, RecursionError):
        # The method says which schemas it accepts.
        return schema


def _extracted(done: Json) -> str:
    lines = [_text(done, "csv")]
    if done["rows"]:
        values = [row["values"] for row in done["rows"]]
        lines = [json.dumps(values, ensure_ascii=False)]
    if done["rejected"]:
        count, reason = done["rejectedCount"], done["rejected"][0]["reason"]
        lines.append(f"Rows that did not fit the schema: {count}. The first: {reason}")
    if done["truncated"]:
        lines.append("There may be more rows.")
    return "\n".join(lines)


def _exported(done: Json) -> str:
    paths = [file["path"] for file in done["files"]]
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"Saved in {done['sink']}: {', '.join(paths[:_SHOWN])}{more}."


_TEXTS: Mapping[str, Callable[[Json], str]] = {
    "query": _answered,
    "summarize": partial(_text, field="summary"),
    "extract": _extracted,
    "export": _exported,
    "load": lambda done: str(done["promptText"]),
}
"""By method: the text that a model gets of its response."""

"""The methods of the TypeScript client, named as in the Python client.

Names, answers and groups are read from the source of the Python client, arguments and paths from
the OpenAPI document.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.client.calls import Operation, operations
from scripts.client.schemas import Schema
from scripts.client.typescript import HEAD, WIDTH, camel, comment, has_required

_HEAD = """\
// The methods by groups, with the names that they have in the Python client.

import * as calls from "./calls.js";
import { Group } from "./group.js";
import type { Content, Finding, Sending, Sent, Telling, Waiting } from "./group.js";
import type { Items } from "./items.js";
import type { Operation } from "./operation.js";
import type { Transport } from "./transport.js";
import type * as types from "./types.js";
"""
_HELPERS = {
    "_items": "items",
    "_start": "start",
    "_done": "done",
    "_ask": "ask",
    "rows": "rows",
    "content": "content",
    "upload": "upload",
}
"""What a method of the Python client calls, and the method of `Group` that does the same."""
_ANSWERS = {
    "items": "Items<{}>",
    "found": "Items<{}>",
    "start": "Promise<Operation<{}>>",
    "rows": "AsyncGenerator<{}>",
    "content": "Promise<Uint8Array>",
    "text": "Promise<string>",
}
_FURTHER = {"done": "Waiting", "found": "Finding", "upload": "Sent"}
"""Arguments that are the client's own, by the helper that takes them."""
_TOLD = ("texts", "turns", "facts")
"""Short forms of what was said."""
_TYPE = re.compile(r"types\.\w+")
_PART = re.compile(r"\{(\w+)\}")
_QUOTED = re.compile(r"`\w+`")
_NOT_IDS = {"engine", "engines"}

_Method = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class _Written:
    """A method of the Python client."""

    name: str
    said: str
    constant: str
    helper: str
    answer: str
    told: list[str]
    seconds: float


def groups_file(document: Schema, folder: Path) -> str:
    """Return the source of `groups.ts`.

    Args:
        document: the OpenAPI document.
        folder: the modules of the Python client.

    Raises:
        ValueError: a method of the Python client has a form that this does not know.
    """
    by_constant = {operation.constant: operation for operation in operations(document)}
    trees = [ast.parse(path.read_text()) for path in sorted(folder.glob("*.py"))]
    constants = {name: value for tree in trees for name, value in _constants(tree)}
    classes = {
        node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)
    }
    lists = _lists(document)
    written = [HEAD, _HEAD]
    for node in classes.values():
        if "AsyncGroup" in map(_name, node.bases):
            parts = [
                _method(method, by_constant[method.constant], lists)
                for method in _methods(node, constants)
            ]
            written.append(_class(_short(node.name), _said(node), _assigned(node), parts))
    said = "All groups, for one engine."
    written.append(_class("Groups", said, _assigned(classes["AsyncClient"]), [], base=""))
    return "\n".join(written)


def _lists(document: Schema) -> Mapping[str, str]:
    """Return the name of the field with the items, by the schema of an answer."""
    found = {}
    for name, schema in document["components"]["schemas"].items():
        rows = schema.get("properties", {})
        fields = [field for field, inner in rows.items() if inner.get("type") == "array"]
        if "nextPageToken" in rows and len(fields) == 1:
            found[name] = fields[0]
    return found


def _constants(tree: ast.Module) -> Iterator[tuple[str, float]]:
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, int | float):
            yield _name(node.targets[0]), node.value.value


def _methods(node: ast.ClassDef, constants: Mapping[str, float]) -> list[_Written]:
    methods = {
        part.name: part
        for part in node.body
        if isinstance(part, _Method) and not part.name.startswith("_")
    }
    found: dict[str, _Written] = {}
    for method in methods.values():
        own = {argument.arg for argument in method.args.kwonlyargs}
        attributes = [part for part in ast.walk(method) if isinstance(part, ast.Attribute)]
        used = [part.attr for part in attributes if _name(part.value) == "_calls"]
        others = [found[part.attr] for part in attributes if part.attr in found]
        constant = next((name for name in used if name.isupper()), None)
        helper = next((_HELPERS[part.attr] for part in attributes if part.attr in _HELPERS), "done")
        if constant is None and not others:
            raise ValueError(f"{node.name}.{method.name} calls no operation.")
        annotation = ast.unparse(method.returns) if method.returns else ""
        if "query" in own:
            helper = "found"
        elif annotation == "str":
            helper = "text"
        found[method.name] = _Written(
            name=camel(method.name),
            said=_said(method),
            constant=constant or others[0].constant,
            helper=helper,
            answer=annotation,
            told=[name for name in _TOLD if name in own],
            seconds=_seconds(method, constants),
        )
    return list(found.values())


def _seconds(method: _Method, constants: Mapping[str, float]) -> float:
    """Return the time beside the client's own that an answer may take."""
    known = dict[str, ast.expr]()
    for part in ast.walk(method):
        if isinstance(part, ast.Assign):
            known[_name(part.targets[0])] = part.value

    def value(node: ast.expr) -> float:
        if isinstance(node, ast.IfExp):  # the longer of both
            return value(node.body)
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            return left * right if isinstance(node.op, ast.Mult) else left + right
        name = _name(node)
        return value(known[name]) if name in known else constants[name]

    keywords = (part for part in ast.walk(method) if isinstance(part, ast.keyword))
    return sum(value(part.value) for part in keywords if part.arg == "more_seconds")


def _method(method: _Written, operation: Operation, lists: Mapping[str, str]) -> list[str]:
    reference = (operation.answer or {}).get("$ref", "").rpartition("/")[2]
    ids = [camel(name) for name in _PART.findall(operation.path) if name not in _NOT_IDS]
    options = [f"calls.{operation.options}"] if operation.takes_options else []
    if method.told:
        options.append(f"Pick<Telling, {' | '.join(map(json.dumps, method.told))}>")
    options.append(_FURTHER.get(method.helper, "Sending"))
    parameters = [
        *(f"{name}: string" for name in ids),
        *(["content: Content"] if method.helper == "upload" else []),
        f"options: {' & '.join(options)}{'' if has_required(operation) else ' = {}'}",
    ]
    given = [
        f"calls.{operation.constant}",
        f"{{ {', '.join(ids)} }}" if ids else "{}",
        "options",
        *([json.dumps(lists[reference])] if method.helper in ("items", "found") else []),
        *(["content", json.dumps(_media_type(operation))] if method.helper == "upload" else []),
        *([f"{method.seconds:g}"] if method.seconds else []),
    ]
    types = _TYPE.findall(method.answer)
    if method.helper in ("ask", "upload") and method.answer != "None":
        types = [f"types.{reference}"]
    answer = types[0] if types else "void" if method.answer == "None" else "unknown"
    returned = _ANSWERS.get(method.helper, "Promise<{}>").format(answer)
    return [
        *comment(method.said, "  "),
        *_signature(f"  {method.name}(", parameters, f"): {returned} {{"),
        *_signature(f"    return this._{method.helper}(", given, ");"),
        "  }",
    ]


def _media_type(operation: Operation) -> str:
    (media_type,) = operation.sends
    return "application/octet-stream" if media_type == "*/*" else media_type


def _signature(begin: str, parts: list[str], end: str) -> list[str]:
    """Return what stands in brackets, in one line if it fits."""
    line = f"{begin}{', '.join(parts)}{end}"
    if len(line) <= WIDTH:
        return [line]
    indent = " " * (len(begin) - len(begin.lstrip()))
    return [begin, *(f"{indent}  {part}," for part in parts), f"{indent}{end}"]


def _class(
    name: str, said: str, groups: Mapping[str, str], methods: list[list[str]], base: str = "Group"
) -> str:
    lines = [*comment(said), f"export class {name} {f'extends {base} ' if base else ''}{{"]
    lines += [f"  readonly {group}: {kind};" for group, kind in groups.items()]
    if groups:
        lines += ["", "  constructor(transport: Transport) {"]
        lines += ["    super(transport);"] if base else []
        lines += [f"    this.{group} = new {kind}(transport);" for group, kind in groups.items()]
        lines += ["  }"]
    bodies = ["\n".join(method) for method in methods]
    lines += [""] if groups and bodies else []
    return "\n".join([*lines, "\n\n".join(bodies), "}", ""] if bodies else [*lines, "}", ""])


def _assigned(node: ast.ClassDef) -> Mapping[str, str]:
    """Return the groups that a class makes, by their names."""
    return {
        camel(part.targets[0].attr): _short(_name(part.value.func))
        for part in ast.walk(node)
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Attribute)
        and isinstance(part.value, ast.Call)
        and _name(part.value.func).startswith("Async")
        and not part.targets[0].attr.startswith("_")
    }


def _short(name: str) -> str:
    return name.removeprefix("Async")


def _said(node: ast.ClassDef | _Method) -> str:
    said = (ast.get_docstring(node) or node.name).partition("\n\n")[0]
    return _QUOTED.sub(lambda found: camel(found[0]), said.replace("_...", "..."))


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""

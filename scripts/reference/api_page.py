"""The pages of methods and of types, from the OpenAPI document."""

from collections.abc import Iterable

from app.process.features import demands
from scripts.reference.markdown import anchor, code, page, table
from scripts.reference.openapi import (
    BANK,
    Method,
    Schema,
    body,
    bounds,
    kind,
    methods,
    named,
    schemas,
    tags,
)

_OF_EVERY_PATH = {"project", "location", "engine"}
_INTRODUCTION = f"""\
Paths are short here: `{{bank}}` stands for `{BANK}`.

- `/v1` works like `/v1beta1`. The part `projects/{{project}}/locations/{{location}}/` may be left
  out, and `memoryBanks` stands for `reasoningEngines`.
- Fields are accepted in camelCase and in snake_case. An unknown field is refused and named; the
  error lists the known ones. Lines of an import list none, and task memory names no unknown one.
- Send the API key as `Authorization: Bearer KEY` or as `x-goog-api-key: KEY`.
- A method whose answer is an [Operation](types.md#operation) has its result in the operation's
  `response`. Poll the operation, or call `:wait`.
- The same as an OpenAPI document: `openapi/openapi.json` in the repository, `/openapi.json` of a
  running service, or what `memory-bank openapi` prints.
"""
_FIELDS = ("Field", "Type", "Bounds", "Meaning")


def api_page() -> str:
    """Return the page of methods."""
    parts = [_INTRODUCTION]
    for tag, description in tags().items():
        group = [method for method in methods() if method.tag == tag]
        parts += [f"## {tag.capitalize()}\n", f"{description}\n", _overview(group)]
        parts += [part for method in group for part in _method(method)]
    return page("API", *(part for part in parts if part))


def _overview(group: Iterable[Method]) -> str:
    return table(
        ("Method", "Request"),
        (
            (
                f"[{method.operation['summary']}](#{anchor(method.id)})",
                code(f"{method.verb} {method.short_path}"),
            )
            for method in group
        ),
    )


def _method(method: Method) -> list[str]:
    operation = method.operation
    demand = demands().get(method.id)
    permission = operation.get("x-permission")
    needs = f"permission {code(permission)}" if permission else "no permission"
    cost = f", {demand.cost} unit{'s' if demand.cost != 1 else ''}" if demand else ""
    return [
        f"### {method.id}\n",
        f"```text\n{method.verb} {method.short_path}\n```\n",
        f"{operation['summary']}: {needs}{cost}.\n",
        operation.get("description", ""),
        _parameters(method),
        *_request(method),
        *_answer(method),
    ]


def _parameters(method: Method) -> str:
    return table(
        ("Parameter", "In", "Type", "Bounds", "Meaning"),
        (
            (
                code(parameter["name"]),
                parameter["in"] + (", required" if parameter.get("required") else ""),
                kind(parameter["schema"]),
                bounds(parameter["schema"]),
                parameter.get("description", ""),
            )
            for parameter in method.operation.get("parameters", ())
            if parameter["name"] not in _OF_EVERY_PATH
        ),
    )


def _request(method: Method) -> list[str]:
    described = body(method.operation.get("requestBody", {}))
    if described is None:
        return []
    media_type, schema = described
    return [f"Request, {code(media_type)}: {kind(schema)}.\n", _fields(_resolved(schema))]


def _answer(method: Method) -> list[str]:
    described = body(method.operation["responses"].get("200", {}))
    if described is None:
        return []
    media_type, schema = described
    return [f"Answer, {code(media_type)}: {kind(schema)}.\n", _fields(_resolved(schema))]


def _resolved(schema: Schema) -> Schema:
    name = named(schema)
    return schemas()[name] if name else schema


def _fields(schema: Schema) -> str:
    required = schema.get("required", ())
    return table(
        _FIELDS,
        (
            (
                code(name) + (", required" if name in required else ""),
                kind(field),
                bounds(field),
                field.get("description", ""),
            )
            for name, field in schema.get("properties", {}).items()
        ),
    )


def types_page() -> str:
    """Return the page of the types that methods take and answer."""
    parts = ["Requests and answers of the [methods](api.md) are made of these.\n"]
    for name, schema in sorted(schemas().items()):
        parts += [f"## {name}\n", schema.get("description", ""), _values(schema)]
        parts.append(_fields(schema))
    return page("Types", *(part for part in parts if part))


def _values(schema: Schema) -> str:
    return "" if "properties" in schema else f"{kind(schema)[:1].upper()}{kind(schema)[1:]}.\n"

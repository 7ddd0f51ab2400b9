"""The smallest JSON schema of an answer."""

from functools import lru_cache
from typing import Any

from pydantic import BaseModel

_KEPT_OUTPUTS = 64
_UNSAID = frozenset({"title", "default"})


@lru_cache(_KEPT_OUTPUTS)
def small_schema(output: type[BaseModel]) -> dict[str, Any]:
    """Return the schema without titles, defaults and docstrings, and with references resolved.

    Field descriptions stay: they are written for the model. The caller must not change the result.
    """
    schema = output.model_json_schema()
    definitions = schema.pop("$defs", {})
    small: dict[str, Any] = _shrunk(schema, definitions, ())
    return small


def _shrunk(node: Any, definitions: dict[str, Any], inside: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(node, list):
        return [_shrunk(item, definitions, inside) for item in node]
    if not isinstance(node, dict):
        return node
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if name in inside:
        # A recursive shape: described once, then left open.
        return {}
    if name:
        target = _shrunk(definitions[name], definitions, (*inside, name))
        beside = {key: value for key, value in node.items() if key not in _UNSAID | {"$ref"}}
        return target | beside
    is_object = node.get("type") == "object" or "enum" in node
    dropped = _UNSAID | ({"description"} if is_object else set())
    return {
        key: _fields(value, definitions, inside)
        if key == "properties"
        else _shrunk(value, definitions, inside)
        for key, value in node.items()
        if key not in dropped
    }


def _fields(
    properties: dict[str, Any], definitions: dict[str, Any], inside: tuple[str, ...]
) -> dict[str, Any]:
    """Shrink the fields, whatever their names: one may be called `title`."""
    return {name: _shrunk(field, definitions, inside) for name, field in properties.items()}

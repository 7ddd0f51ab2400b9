"""Namespaces, keys, values and filters of a LangGraph store, as scopes and memories (pure)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import product
from typing import Any

from open_memory_bank import types
from open_memory_bank._requests import metadata_value

Namespace = tuple[str, ...]
Condition = types.MetadataCondition

KEY = "lg_key"
WRITTEN_HERE = f"metadata.{KEY}:*"
"""The filter of the memories that a store wrote."""
_VALUE = "lg_value_"
_UNINDEXED = "lg_unindexed"
_FIELD = "v_"
_PIECE_CHARS = 4000
_MOST_PIECES = 24
_MOST_FIELDS = 20
_MOST_NAME_CHARS = 126
_MOST_FACT_CHARS = 10_000
_MOST_GROUPS = 50
_ID_CHARS = 40
_WHOLE = "namespace"


def scope_of(namespace: Namespace, levels: Sequence[str] | None) -> dict[str, str]:
    """Return the scope of a namespace.

    Raises:
        ValueError: it has not as many labels as there are levels.
    """
    if levels is None:
        return {_WHOLE: ".".join(namespace)}
    if len(namespace) != len(levels):
        raise ValueError(f"A namespace must have {len(levels)} labels; got {namespace}.")
    return dict(zip(levels, namespace, strict=True))


def namespace_of(scope: Mapping[str, str], levels: Sequence[str] | None) -> Namespace | None:
    """Return the namespace of a scope; None if it is none of a store."""
    if levels is None:
        return tuple(scope[_WHOLE].split(".")) if scope.keys() == {_WHOLE} else None
    return tuple(scope[level] for level in levels) if scope.keys() == set(levels) else None


def scopes_filter(prefix: Namespace, levels: Sequence[str] | None) -> str:
    """Return the filter of the scopes whose namespaces begin with a prefix."""
    if levels is not None:
        pairs = zip(levels, prefix, strict=False)
        return " AND ".join(f"scope.{_quoted(level)}={_quoted(label)}" for level, label in pairs)
    if not prefix:
        return ""
    pattern = f"(?s){re.escape('.'.join(prefix))}([.].*)?"
    return f"scope.{_WHOLE}=~{_quoted(pattern)}"


def memory_id_of(namespace: Namespace, key: str) -> str:
    """Return the id of the memory of a key."""
    digest = sha256(json.dumps([*namespace, key]).encode()).hexdigest()
    return f"lg-{digest[:_ID_CHARS]}"


def content_of(
    key: str, value: Mapping[str, Any], index_fields: Sequence[str], *, is_indexed: bool
) -> dict[str, Any]:
    """Return the fact and the metadata of an item.

    Raises:
        TypeError: the value is no JSON.
        ValueError: it is longer than 96,000 characters.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    starts = range(0, len(text), _PIECE_CHARS)
    if len(starts) > _MOST_PIECES:
        most = _MOST_PIECES * _PIECE_CHARS
        raise ValueError(f"A value must have at most {most} characters as JSON; got {len(text)}.")
    pieces = {
        f"{_VALUE}{place}": text[start : start + _PIECE_CHARS] for place, start in enumerate(starts)
    }
    fact = next((value[field] for field in index_fields if _is_text(value.get(field))), text)
    if not is_indexed and key.strip():
        fact = key
    metadata = {KEY: key, **pieces, **_fields(value), **({} if is_indexed else {_UNINDEXED: True})}
    return {"fact": fact[:_MOST_FACT_CHARS], "metadata": metadata}


def key_and_value(metadata: Mapping[str, types.MemoryMetadataValue]) -> tuple[str, dict[str, Any]]:
    """Return the key and the value that metadata hold."""
    pieces: list[str] = []
    while piece := metadata.get(f"{_VALUE}{len(pieces)}"):
        pieces.append(piece.get("stringValue") or "")
    value: dict[str, Any] = json.loads("".join(pieces))
    return metadata[KEY].get("stringValue") or "", value


def groups_of(wanted: Mapping[str, Any] | None, *, is_search: bool) -> list[types.FilterGroup]:
    """Return the filter groups of a store's filter; of a search also without what is not indexed.

    Raises:
        NotImplementedError: the service cannot filter by it.
    """
    choices = [list(_either(name, value)) for name, value in _comparisons(wanted or {})]
    own: list[Condition] = []
    if is_search:
        own.append({"key": _UNINDEXED, "value": {"boolValue": True}, "negate": True})
    groups = [[*own, *chosen] for chosen in product(*choices)]
    if len(groups) > _MOST_GROUPS:
        said = f"A filter may have {_MOST_GROUPS} groups; {wanted} makes {len(groups)}."
        raise NotImplementedError(said)
    return [{"filters": filters} for filters in groups if filters]


def _comparisons(wanted: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, Any]]]:
    for name, value in wanted.items():
        operators = value if isinstance(value, Mapping) else {"$eq": value}
        if not operators:
            raise NotImplementedError(f"The filter {name}: {value} is not served.")
        for operator, operand in operators.items():
            if not isinstance(operand, (str, int, float)) or operator not in _OPERATORS:
                raise NotImplementedError(f"The filter {name}: {value} is not served.")
            if operator not in {"$eq", "$ne"} and isinstance(operand, (str, bool)):
                raise NotImplementedError(f"{name}: {operator} takes a number; got {operand!r}.")
            yield name, (operator, operand)


_OPERATORS: Mapping[str, Sequence[types.MetadataOperator]] = {
    "$eq": ["EQUAL"],
    "$ne": ["EQUAL"],
    "$gt": ["GREATER_THAN"],
    "$lt": ["LESS_THAN"],
    "$gte": ["GREATER_THAN", "EQUAL"],
    "$lte": ["LESS_THAN", "EQUAL"],
}


def _either(name: str, comparison: tuple[str, Any]) -> Iterator[Condition]:
    """Yield the conditions of which one must hold."""
    operator, operand = comparison
    for op in _OPERATORS[operator]:
        condition: Condition = {
            "key": f"{_FIELD}{name}",
            "op": op,
            "value": metadata_value(operand),
        }
        if operator == "$ne":
            condition["negate"] = True
        yield condition


def _fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values at the top that a filter can ask for."""
    plain = {
        f"{_FIELD}{name}": inner
        for name, inner in value.items()
        if isinstance(inner, (str, int, float))
        and len(name) <= _MOST_NAME_CHARS
        and not (isinstance(inner, str) and len(inner) > _PIECE_CHARS)
    }
    return dict(list(plain.items())[:_MOST_FIELDS])


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

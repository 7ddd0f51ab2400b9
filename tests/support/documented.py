"""Operations held against the OpenAPI document, in every answer that a test's client gets."""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from jsonschema_rs import Draft202012Validator

_FILE = Path(__file__).parents[2] / "openapi" / "openapi.json"
_MARK = b'"genericMetadata"'
"""What an answer has if it holds an operation."""


async def check_operations(response: httpx.Response) -> None:
    """Check each operation of an answer; a hook of clients."""
    if response.headers.get("content-type") != "application/json":
        return
    if _MARK not in await response.aread():
        return
    answer = response.json()
    for found in answer.get("operations", [answer]):
        if "metadata" in found:
            check_operation(found)


_Hook = Callable[[httpx.Response], Awaitable[None]]
CHECKED: Mapping[str, list[_Hook]] = {"response": [check_operations]}
"""The hooks of a client whose operations are checked."""


def check_operation(found: Any) -> None:
    """Check that the document describes an operation."""
    errors = list(_validator().iter_errors(found))
    assert not errors, f"{errors[0]}\n{json.dumps(found, indent=1)}"


@cache
def _validator() -> Draft202012Validator:
    document = json.loads(_FILE.read_text(encoding="utf-8"))
    components = {"components": {"schemas": document["components"]["schemas"]}}
    return Draft202012Validator({"$ref": "#/components/schemas/Operation", **components})

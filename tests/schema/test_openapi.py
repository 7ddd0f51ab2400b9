"""The committed OpenAPI document is what the code says, and says all that a generator needs."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.kernel.wire.base import WireModel
from app.process.features import ANSWERS
from app.process.main import create_app
from app.process.start import offline_resources
from app.settings.settings import Settings
from tests.support.bank import Json

_FILE = Path(__file__).parents[2] / "openapi" / "openapi.json"


@pytest.fixture(scope="module")
def document() -> Json:
    """The document, which takes longer to make than all else here."""
    return create_app(offline_resources(Settings())).openapi()


def _objects(found: Any, path: str = "") -> Iterator[tuple[str, Json]]:
    """Yield every schema of the document that has properties, with its place."""
    if isinstance(found, dict):
        if isinstance(found.get("properties"), dict):
            yield path, found
        for key, value in found.items():
            if key not in {"example", "examples", "default"}:
                yield from _objects(value, f"{path}/{key}")
    elif isinstance(found, list):
        for number, value in enumerate(found):
            yield from _objects(value, f"{path}/{number}")


def test_the_committed_document_is_current(document: Json) -> None:
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    assert json.loads(_FILE.read_text(encoding="utf-8")) == document, "run `make openapi`"
    assert _FILE.read_text(encoding="utf-8") == text, "run `make openapi`"


def test_every_field_has_a_description(document: Json) -> None:
    fields = [
        (f"{path}.{name}", field)
        for path, schema in _objects(document)
        for name, field in schema["properties"].items()
    ]
    assert len(fields) > 700
    assert [name for name, field in fields if not field.get("description", "").strip()] == []


def test_no_schema_is_named_after_a_module_or_a_half(document: Json) -> None:
    names = document["components"]["schemas"].keys()
    halves = ("-Input", "-Output")
    assert [name for name in names if "__" in name or name.endswith(halves)] == []
    assert [name for name in names if not (name.isalnum() and name[0].isupper())] == []


def test_a_schema_with_fields_has_nothing_beside_them_that_generators_lose(document: Json) -> None:
    combining = {"anyOf", "oneOf", "allOf", "not", "if"}
    assert [path for path, schema in _objects(document) if not combining.isdisjoint(schema)] == []


def test_every_body_and_every_answer_has_a_type(document: Json) -> None:
    bodies = {
        (method["operationId"], media_type): media["schema"]
        for method in _methods(document)
        for part in (method.get("requestBody", {}), *method["responses"].values())
        for media_type, media in part.get("content", {}).items()
    }
    assert len(bodies) > 80
    assert [body for body, schema in bodies.items() if not {"$ref", "type"} & schema.keys()] == []


def test_methods_stand_in_described_groups_in_the_order_of_use(document: Json) -> None:
    groups = [tag["name"] for tag in document["tags"]]
    assert groups == [
        *("memories", "revisions", "retrieval", "generation", "sessions", "contexts"),
        *(
            "memory tools",
            "task memory",
            "operations",
            "engines",
            "usage",
            "keys",
            "audit",
            "service",
        ),
    ]
    assert all(tag["description"] for tag in document["tags"])
    assert {tag for method in _methods(document) for tag in method["tags"]} == set(groups)
    assert all(len(method["tags"]) == 1 for method in _methods(document))
    assert document["servers"] == [{"url": "/"}]


def _methods(document: Json) -> list[Json]:
    return [method for methods in document["paths"].values() for method in methods.values()]


def test_no_two_messages_have_the_same_name() -> None:
    names = Counter(message.__name__ for message in _below(WireModel))
    assert len(names) > 150
    assert [name for name, count in names.items() if count > 1] == []


def _below(message: type[WireModel]) -> set[type[WireModel]]:
    below = message.__subclasses__()
    return {*below, *(further for each in below for further in _below(each))}


def test_the_answers_of_operations_are_told_apart_by_their_type(document: Json) -> None:
    schemas = document["components"]["schemas"]
    response = schemas["Operation"]["properties"]["response"]
    mapping = response["discriminator"]["mapping"]
    assert [choice["$ref"] for choice in response["oneOf"]] == list(mapping.values())
    for url, reference in mapping.items():
        answer = schemas[reference.rpartition("/")[2]]
        assert answer["properties"]["@type"]["const"] == url
        assert "@type" in answer["required"]
    assert set(mapping) == set(ANSWERS)

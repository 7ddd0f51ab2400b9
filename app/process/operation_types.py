"""The types of operations in the OpenAPI document: responses, metadata and errors.

The framework sees these fields as untyped objects, because the features that produce responses
are in layers above the feature that stores operations.
"""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.platform.operations.logic.states import metadata_url
from app.platform.operations.schemas import OperationError, OperationMetadata
from app.process.features import ANSWERS

Schema = dict[str, Any]

_TEMPLATE = "#/components/schemas/{model}"


def with_operation_types(document: Schema) -> Schema:
    """Add types to the fields of operations in the document and return it."""
    answers = {url: answer.__name__ for url, answer in ANSWERS.items()}
    models: list[type[BaseModel]] = [*ANSWERS.values(), OperationMetadata, OperationError]
    _, definitions = models_json_schema(
        [(model, "serialization") for model in models], ref_template=_TEMPLATE
    )
    schemas: Schema = definitions["$defs"]
    for schema in schemas.values():
        _forget_null(schema)
    for url, name in answers.items():
        _add_type(schemas[name], {"const": url})
    # An enum would break generated clients when later releases add methods.
    _add_type(schemas[OperationMetadata.__name__], {"examples": [metadata_url("CreateMemory")]})
    schemas |= document["components"]["schemas"]
    fields = schemas["Operation"]["properties"]
    references = {url: _TEMPLATE.format(model=name) for url, name in answers.items()}
    fields["response"] = {
        "oneOf": [{"$ref": reference} for reference in references.values()],
        "discriminator": {"propertyName": "@type", "mapping": references},
        "description": fields["response"]["description"],
    }
    for field, model in (("metadata", OperationMetadata), ("error", OperationError)):
        reference = _TEMPLATE.format(model=model.__name__)
        fields[field] = {"$ref": reference, "description": fields[field]["description"]}
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    return document


def _forget_null(schema: Schema) -> None:
    """Remove null defaults of fields that are absent unless set, as the framework does."""
    for field in schema.get("properties", {}).values():
        if field.get("default", ...) is None:
            del field["default"]


def _add_type(schema: Schema, values: Schema) -> None:
    field = {"type": "string", **values, "description": "Full name of this message's type."}
    schema["properties"] = {"@type": field, **schema.get("properties", {})}
    schema["required"] = ["@type", *schema.get("required", ())]

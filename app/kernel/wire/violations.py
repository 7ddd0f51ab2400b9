"""Errors that name the invalid fields of a message. Source: google.rpc.BadRequest."""

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

from app.kernel.errors import FieldViolation, InvalidArgument, Reason
from app.kernel.wire.base import camel_name

# The answer must stay small even if every field of the request is wrong.
MAX_VIOLATIONS = 20
_MAX_NAME_CHARS = 80
_UNKNOWN = "extra_forbidden"


def invalid_fields(
    errors: Sequence[Any],
    message: type[BaseModel] | None = None,
    *,
    skipped: int = 0,
    where: Sequence[str | int] = (),
) -> InvalidArgument:
    """Return an error that names the refused fields in wire spelling, never their values.

    `message` is the model that was validated: for the first unknown field, the error lists the
    known ones. `skipped` is the number of leading path parts outside the message; `where` is the
    path of the message in the request.
    """
    named = errors[:MAX_VIOLATIONS]
    first = next((item for item in named if item["type"] == _UNKNOWN), None)
    violations = []
    for item in named:
        location = item["loc"][skipped:]
        known = _fields_at(message, location[:-1]) if item["type"] == _UNKNOWN else ()
        if known and camel_name(str(location[-1])) in known:
            described = "is given in both spellings; send one of them."
        else:
            described = _described(item, known if item is first else ())
        violations.append(FieldViolation(_path((*where, *location)), described))
    listed = "; ".join(f"{v.field}: {v.description}" for v in violations[:3]).replace(".; ", "; ")
    return InvalidArgument(listed, Reason.FIELD_INVALID, violations=violations)


def _fields_at(message: type[BaseModel] | None, location: Sequence[str | int]) -> Sequence[str]:
    """Return the fields of the object at a location; empty if its type has no fixed fields."""
    shape: Any = message
    for part in location:
        shape = next((it for one in _members(shape) if (it := _part(one, part))), None)
    models = [one for one in _members(shape) if _is_model(one)]
    if len(models) != 1:
        return ()
    # A field that only null fits is a field of the API that this service does not serve.
    return sorted(
        field.alias or name
        for name, field in models[0].model_fields.items()
        if field.annotation is not NoneType
    )


def _members(shape: Any) -> Iterator[Any]:  # noqa: ANN401 - any annotation
    """Yield the types of a union, or the one type, without their annotations."""
    origin, inner = get_origin(shape), get_args(shape)
    if origin is Annotated:
        yield from _members(inner[0])
    elif origin in {Union, UnionType}:
        for one in inner:
            yield from _members(one)
    else:
        yield shape


def _part(shape: Any, part: str | int) -> Any:  # noqa: ANN401 - any annotation
    """Return the type of an element or a field; None if there is none."""
    if _is_model(shape):
        fields = shape.model_fields.items()
        return next((one.annotation for name, one in fields if part in _names(name, one)), None)
    origin, inner = get_origin(shape), get_args(shape)
    if origin in {dict, Mapping}:
        return inner[1]
    return inner[0] if isinstance(part, int) and inner else None


def _is_model(shape: Any) -> bool:  # noqa: ANN401 - any annotation
    return isinstance(shape, type) and issubclass(shape, BaseModel)


def _names(name: str, field: FieldInfo) -> set[object]:
    """Return the names under which errors can have a field; some fields have a second one."""
    read = field.validation_alias
    return {field.alias or name, *(read.choices if isinstance(read, AliasChoices) else ())}


def _path(location: Sequence[str | int]) -> str:
    """Format `("events", 0, "content")` as `events[0].content`."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            # An unknown name may have any length.
            path += f".{part[:_MAX_NAME_CHARS]}" if path else part[:_MAX_NAME_CHARS]
    return path or "body"


_WORDS = {
    **dict.fromkeys(("string_type", "string_unicode", "bytes_type"), "a string"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "an integer"
    ),
    **dict.fromkeys(("float_type", "float_parsing", "decimal_type", "decimal_parsing"), "a number"),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"),
        "an object",
    ),
    **dict.fromkeys(
        (
            *("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"),
            # Of a `Sequence`.
            *("is_instance_of", "sequence_str"),
        ),
        "a list",
    ),
    "none_required": "null",
    "json_invalid": "JSON",
    "json_type": "a string",
    **dict.fromkeys(("date_type", "date_parsing"), "a date, such as 2026-01-31"),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing"),
        "a time, such as 2026-01-31T12:00:00Z",
    ),
    **dict.fromkeys(("uuid_type", "uuid_parsing"), "a UUID"),
    **dict.fromkeys(("url_type", "url_parsing", "url_syntax_violation"), "a URL"),
}
"""JSON words for the expected type, in place of pydantic's Python names."""
_FORMS = {
    "missing": "is required.",
    "string_pattern_mismatch": "must match the pattern {pattern}.",
    "union_tag_invalid": "must have as {discriminator} one of {expected_tags}.",
    "union_tag_not_found": "must have {discriminator}.",
}
_DEMAND = " should "
_COUNTED = " after validation, not "


def _described(item: Any, known: Sequence[str] = ()) -> str:  # noqa: ANN401 - the shape is pydantic's
    """Describe the requirement that a field violates in JSON terms, from one error of pydantic.

    `known` are the fields of the message in which an unknown one was sent.
    """
    kind, text = str(item["type"]), str(item["msg"])
    if kind == _UNKNOWN:
        listed = f"; it has {', '.join(known)}" if known else ""
        return f"is not a field of this message{listed}."
    if kind in _FORMS:
        return _FORMS[kind].format_map(item.get("ctx") or {})
    if kind == "value_error":
        return text.removeprefix("Value error, ")
    if kind in _WORDS:
        word = _WORDS[kind]
    elif _DEMAND in text:
        return f"must {text.partition(_DEMAND)[2].replace(_COUNTED, '; got ')}."
    else:
        word = "of another form"
    return f"must be {word}."

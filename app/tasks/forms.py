"""Fields that messages of task memory have, and the base of those that callers send.

Errors about what callers send here never repeat it, names of unknown fields included: outputs of
tools are among it.
"""

import string
from functools import cache
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel

from app.core.names import TASK_ID, TASK_ID_FORM, is_task_id
from app.documents.media_types import MediaType
from app.tasks.kinds import OffPrompt
from app.wire.base import WireModel

MAX_TEMPLATE_CHARS = 8_000
MAX_DIRECTORY_CHARS = 512
TEXT_PLACE, PREVIOUS_PLACE = "text", "previous_summary"
_PLACES = frozenset({TEXT_PLACE, PREVIOUS_PLACE, "char_limit"})


class TaskModel(WireModel):
    """A message that callers send: of its unknown fields, errors do not even tell the names."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_strange_fields(cls, data: Any) -> Any:  # noqa: ANN401 - pydantic hands over anything
        if isinstance(data, dict):
            known, listed = _names(cls)
            if not known.issuperset(data):
                raise ValueError(f"has a field that this message does not have; it has {listed}")
        return data


@cache
def _names(model: type[TaskModel]) -> tuple[frozenset[str], str]:
    """Return the names of fields that a model reads, and a list of them for errors."""
    aliases = {field.alias for field in model.model_fields.values() if field.alias}
    ignored = model.ignored.union(map(to_camel, model.ignored))
    return ignored.union(aliases, model.model_fields), ", ".join(sorted(aliases))


def _check_id(text: str) -> str:
    if not is_task_id(text):
        raise ValueError(TASK_ID_FORM)
    return text


TaskId = Annotated[
    str,
    AfterValidator(_check_id),
    WithJsonSchema({"type": "string", "pattern": f"^{TASK_ID}$", "examples": ["fetch-1"]}),
]


def _check_directory(text: str) -> str:
    if not all(map(is_task_id, text.split("/"))):
        raise ValueError(f'must be names with "/" between them; each {TASK_ID_FORM}')
    return text


Directory = Annotated[
    str,
    Field(min_length=1, max_length=MAX_DIRECTORY_CHARS),
    AfterValidator(_check_directory),
]
"""A folder below another: no way leads out of that."""


def _read_off_prompt(value: object) -> object:
    known = {True: OffPrompt.ALWAYS, False: OffPrompt.NEVER, "auto": OffPrompt.AUTO}
    if isinstance(value, OffPrompt):
        return value
    if not isinstance(value, bool | str) or value not in known:
        raise ValueError('must be true, false or "auto"')
    return known[value]


def _write_off_prompt(value: OffPrompt) -> bool | str:
    return "auto" if value is OffPrompt.AUTO else value is OffPrompt.ALWAYS


OffPromptField = Annotated[
    OffPrompt,
    BeforeValidator(_read_off_prompt),
    PlainSerializer(_write_off_prompt, when_used="json-unless-none"),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"const": "auto"}], "examples": ["auto"]}),
]


def _read_media_type(value: object) -> object:
    if isinstance(value, MediaType):
        return str(value)
    if not isinstance(value, str):
        raise ValueError('must be a string such as "text/csv"')  # noqa: TRY004 - pydantic reads ValueError
    return str(MediaType.parse(value))


MediaTypeField = Annotated[
    str,
    BeforeValidator(_read_media_type),
    WithJsonSchema({"type": "string", "examples": ["text/csv", "image/png"]}),
]
ModelName = Annotated[str, Field(min_length=1, max_length=512, examples=["builtin"])]
UserId = Annotated[str, Field(min_length=1, max_length=512, examples=["42"])]


def _check_template(text: str) -> str:
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        raise ValueError("must have its braces in pairs; write {{ for a brace") from None
    places = [name for _, name, _, _ in parts if name is not None]
    is_plain = all(not spec and not conversion for _, _, spec, conversion in parts)
    if places.count(TEXT_PLACE) != 1 or not is_plain or not _PLACES.issuperset(places):
        listed = ", ".join(f"{{{place}}}" for place in sorted(_PLACES - {TEXT_PLACE}))
        raise ValueError(f"must have {{{TEXT_PLACE}}} once, and may have {listed}; no other place")
    return text


Template = Annotated[
    str, Field(min_length=1, max_length=MAX_TEMPLATE_CHARS), AfterValidator(_check_template)
]

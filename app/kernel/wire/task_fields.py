"""Shared fields of task memory messages: names and media types.

Errors never repeat the callers' input here: even names of unknown fields may hold tool outputs.
"""

from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema, model_validator
from pydantic.alias_generators import to_camel

from app.kernel.media_types import MediaType
from app.kernel.names import TASK_ID, TASK_ID_FORM, is_task_id
from app.kernel.wire.base import WireModel


class TaskModel(WireModel):
    """A request message whose errors do not repeat the names of unknown fields."""

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

"""Field types of task memory messages, except those in `app.kernel.wire.task_fields`."""

from typing import Annotated

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

from app.artifacts.tasks.logic.kinds import OffPrompt
from app.kernel.names import TASK_ID_FORM, is_task_id
from app.kernel.text import places_of

MAX_TEMPLATE_CHARS = 8_000
MAX_DIRECTORY_CHARS = 512
TEXT_PLACE, PREVIOUS_PLACE = "text", "previous_summary"
_PLACES = frozenset({TEXT_PLACE, PREVIOUS_PLACE, "char_limit"})


def _check_directory(text: str) -> str:
    if not all(map(is_task_id, text.split("/"))):
        raise ValueError(f'must be names with "/" between them; each {TASK_ID_FORM}')
    return text


Directory = Annotated[
    str,
    Field(min_length=1, max_length=MAX_DIRECTORY_CHARS),
    AfterValidator(_check_directory),
]
"""A relative folder path that cannot leave its parent folder."""


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


ModelName = Annotated[str, Field(min_length=1, max_length=512, examples=["builtin"])]
UserId = Annotated[str, Field(min_length=1, max_length=512, examples=["42"])]


def _check_template(text: str) -> str:
    places = places_of(text)
    if places is None or places.count(TEXT_PLACE) != 1 or not _PLACES.issuperset(places):
        listed = ", ".join(f"{{{place}}}" for place in sorted(_PLACES - {TEXT_PLACE}))
        raise ValueError(f"must have {{{TEXT_PLACE}}} once, and may have {listed}; no other place")
    return text


Template = Annotated[
    str, Field(min_length=1, max_length=MAX_TEMPLATE_CHARS), AfterValidator(_check_template)
]

"""The strict shape of a model's replies.

Descriptions are left out on purpose: the shape travels with every call, and the prompt explains the
fields.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import SkipJsonSchema


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExtractedFact(_Reply):
    """A fact, with the words it rests on and the line they are in."""

    fact: str
    quote: str
    line: int
    topics: list[str] = []
    forget: bool = False


FieldAction = Literal["set", "clear", "add", "remove", "change"]


class ExtractedField(_Reply):
    """A change of a profile's field, with its value as text.

    `add`, `remove` and `change` are about one item of a list; `item` is its key.
    """

    profile: str
    field: str
    action: FieldAction = "set"
    item: str = ""
    value: str = ""
    quote: str
    line: int


class Facts(_Reply):
    """The facts of a conversation."""

    facts: list[ExtractedFact]


class FactsAndFields(Facts):
    """The facts of a conversation, and the values of profile fields."""

    fields: list[ExtractedField]


class Fields(_Reply):
    """The values of profile fields alone."""

    fields: list[ExtractedField]


DecisionAction = Literal["add", "same", "merge", "replace", "delete"]


class FactVerdict(_Reply):
    """A judgement of one new fact, and its effect on one memory that was shown.

    `memory` is the id of that memory, or, for a request to forget, the number of a new fact. The
    schema requires `holds` and `action`; a reply without them is taken as far as it goes.
    """

    model_config = ConfigDict(json_schema_extra={"required": ["fact", "holds", "action"]})

    fact: int
    holds: bool | SkipJsonSchema[None] = None
    action: DecisionAction = "add"
    memory: str = ""
    text: str = ""


class FactVerdicts(_Reply):
    """The judgements of the new facts."""

    verdicts: list[FactVerdict]

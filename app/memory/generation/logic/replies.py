"""The shape of a model's replies, and repairs of their entries.

Descriptions are left out on purpose: every call carries the schema, and the prompt explains the
fields. The parser is lenient, since weak models do not keep to a schema.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import override

from app.kernel.text import fold
from app.kernel.wire.model_entries import (
    EntriesReply,
    MendedFlag,
    MendedJson,
    MendedNumber,
    MendedQuote,
    MendedText,
    MendedTexts,
    ModelEntry,
    said_flag,
)

_UNTOLD = -1
"""The line of a fact if its reply names none; then only the quote identifies the line."""
_NO_LETTERS = re.compile(r"[\W_]+")
_MEMORY = re.compile(r"(?:memory)?m?(?=\d+\Z)")
"""Optional start of a memory's id: `m1`, `memory 1` and `1` are the same."""


def _known(synonyms: Mapping[str, str]) -> Callable[[object], object]:
    actions = {word: action for action, words in synonyms.items() for word in words.split()}

    def known(said: object) -> object:
        if not isinstance(said, str):
            return said
        word = _word(said)
        return actions.get(word, word)

    return known


def _word(said: str) -> str:
    return _NO_LETTERS.sub("", said).casefold()


class ExtractedFact(ModelEntry):
    """A fact, with the words it rests on and the line they are in."""

    model_config = ConfigDict(json_schema_extra={"required": ["fact", "quote", "line"]})

    fact: MendedText
    quote: MendedQuote
    line: MendedNumber = _UNTOLD
    topics: MendedTexts = Field(default_factory=list)
    forget: MendedFlag = False

    @property
    @override
    def subject(self) -> object:
        return fold(self.fact), fold(self.quote), self.forget


FieldAction = Literal["set", "clear", "add", "remove", "change"]
_FIELD_ACTIONS = {
    "set": "update create new replace overwrite",
    "clear": "delete reset unset empty",
    "add": "append insert",
    "remove": "drop",
    "change": "modify edit",
}


class ExtractedField(ModelEntry):
    """A change of a profile's field; `add`, `remove` and `change` are about one item of a list."""

    model_config = ConfigDict(json_schema_extra={"required": ["profile", "field", "quote", "line"]})

    profile: MendedText
    field: MendedText
    action: Annotated[FieldAction, BeforeValidator(_known(_FIELD_ACTIONS))] = "set"
    item: MendedText = ""
    value: MendedJson = ""
    quote: MendedQuote
    line: MendedNumber = _UNTOLD


class Facts(EntriesReply):
    """The facts of a conversation."""

    facts: list[ExtractedFact]


class FactsAndFields(Facts):
    """The facts of a conversation, and the values of profile fields."""

    fields: list[ExtractedField]


class Fields(EntriesReply):
    """The values of profile fields alone."""

    fields: list[ExtractedField]


DecisionAction = Literal["add", "same", "merge", "replace", "delete"]
_DECISION_ACTIONS = {
    "add": "create new insert store",
    "same": "known duplicate exists identical unchanged",
    "merge": "combine extend append augment",
    "replace": "update supersede overwrite change modify correct",
    "delete": "remove forget drop erase",
}


_NONE = frozenset(["none", "noop", "nochange", "nothing", "skip", "ignore", "keep", "null"])
"""Words for "do nothing"; with a memory, they mean that the memory already has the fact."""


def _if_said(said: object) -> object:
    flag = said_flag(said)
    return None if isinstance(flag, str) else flag


class FactVerdict(ModelEntry):
    """A judgement of one new fact, and its effect on one memory that was shown.

    `memory` is the id of that memory, or, for a request to forget, the number of a new fact. The
    schema requires `holds` and `action`; a reply without them is taken as far as it goes.
    """

    model_config = ConfigDict(json_schema_extra={"required": ["fact", "holds", "action"]})

    fact: MendedNumber
    holds: Annotated[bool | SkipJsonSchema[None], BeforeValidator(_if_said)] = None
    action: Annotated[DecisionAction, BeforeValidator(_known(_DECISION_ACTIONS))] = "add"
    memory: MendedText = ""
    text: MendedText = ""

    @model_validator(mode="before")
    @classmethod
    def _nothing(cls, said: Mapping[str, Any]) -> Mapping[str, Any]:
        action = said.get("action")
        if not isinstance(action, str) or _word(action) not in _NONE:
            return said
        memory = str(said.get("memory", ""))
        is_named = _word(memory) not in _NONE | {""}
        return {**said, "action": "same" if is_named else "add"}

    @property
    @override
    def subject(self) -> object:
        return self.fact, _MEMORY.sub("", _word(self.memory), count=1)


class FactVerdicts(EntriesReply):
    """The judgements of the new facts."""

    verdicts: list[FactVerdict]

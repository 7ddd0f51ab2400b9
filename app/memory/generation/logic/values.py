"""Conversion of a model's reply to values of profiles: a user must have said each of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from app.kernel.text import fold
from app.kernel.wire.json_schema import JsonObject
from app.kernel.wire.json_values import coerced, is_small, spelled
from app.language.answers import answered
from app.language.dates import day_in
from app.language.evidence import Evidence, alike
from app.language.lexicon import GENERIC, NEGATIONS, word_set
from app.language.profile_words import KINDS, thing
from app.language.reported import own_voice
from app.language.sentences import CLAUSE, sentences
from app.language.taking_back import takes_back
from app.language.text import content, negated, straight
from app.memory.generation.logic.profiles import FieldValue, ProfileField, ProfileSchema, validated
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.replies import ExtractedField
from app.memory.generation.logic.sources import Sources

_POINTS = re.compile(
    r"\b(?:there|it|that|this|them|those|these|both|dort|da|das|es|die|allí|ahí|eso|esto|lo|los|là"
    r"|ça|cela|y|le|les)\b",
    re.IGNORECASE,
)
"""Words by which a quote points to something that was said before."""
_ENDED = re.compile(
    r"\b(?:stop(?:ped)?|quit|gave up|given up|unsubscribe\w*|cancel\w*|used to|former\w*"
    r"|aufgehört|abgemeldet|gekündigt|hör\w* auf|dej[eé]|dejado|cancel[aeé]\w*|arrêt\w*|refus\w*"
    r"|annul\w*)\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^\W*(?:no|nope|nein|non)\s+(?=(?:I|my|we|ich|mein|je|mon)\b|j')", re.IGNORECASE
)
_WITHOUT = re.compile(r"\b(?:no|not|non|never|without|kein\w*|nicht|ohne|sin|sans|pas)\b")
_MEANINGLESS = word_set("whether true false user customer person is has are have does will")
_SEVERAL = frozenset({"allergies", "hobbies", "languages"})
_PLAIN_KINDS = frozenset(KINDS.values()) - _SEVERAL


def grounded_values(
    fields: Iterable[ExtractedField],
    sources: Sources,
    schemas: Sequence[ProfileSchema],
    guide: Guide,
) -> list[FieldValue]:
    """Return the values that a user said and that their fields accept, and those taken back."""
    known = {schema.schema_id: schema for schema in schemas}
    statements = _Statements(sources, guide)
    values: list[FieldValue] = []
    for extracted in fields:
        schema, turn = (
            known.get(extracted.profile),
            sources.turn_of(extracted.quote, extracted.line),
        )
        # The prompt names a field "profile.field"; a model may return the whole name.
        label = extracted.field.removeprefix(f"{extracted.profile}.")
        wanted = schema.labelled(label) if schema is not None else None
        if schema is not None and turn is not None and wanted is not None:
            context = _QuoteContext(statements, turn, extracted.quote)
            read = _retracted_value if extracted.clear else _stated_value
            values += read(extracted.value, schema, wanted, context)
    return values


def _stated_value(
    text: str, schema: ProfileSchema, wanted: ProfileField, context: "_QuoteContext"
) -> Iterator[FieldValue]:
    value = validated(schema, wanted.name, text)
    if value is not None and context.supports(value, wanted, schema.schema_id):
        yield FieldValue(
            schema.schema_id, wanted.name, value, source=context.quote, turn=context.turn
        )


def _retracted_value(
    text: str, schema: ProfileSchema, wanted: ProfileField, context: "_QuoteContext"
) -> Iterator[FieldValue]:
    """Yield the value that is taken back; its whole sentence decides what remains in the field."""
    value = context.named(coerced(wanted.json_schema, text)) if text.strip() else None
    if context.around and (value is not None or not text.strip()):
        source = " ".join(context.around)
        yield FieldValue(
            schema.schema_id, wanted.name, value, clear=True, source=source, turn=context.turn
        )


class _Statements:
    """The statements in a chunk of a conversation, computed once for all values."""

    def __init__(self, sources: Sources, guide: Guide) -> None:
        self._sources = sources
        self._guide = guide

    @cached_property
    def voices(self) -> dict[int, str]:
        """Users' own words, by turn."""
        said: dict[int, str] = {}
        for line in self._sources.lines:
            if line.is_users:
                said[line.turn] = f"{said.get(line.turn, '')} {line.text}".strip()
        return {turn: own_voice(text) for turn, text in said.items()}

    def before(self, turn: int) -> str:
        """Return the assistant's last words before a turn."""
        lines = [line for line in self._sources.lines if line.turn < turn]
        last = [line for line in lines if line.turn == lines[-1].turn]
        return " ".join(line.text for line in last if not line.is_users)

    def is_of_file(self, turn: int) -> bool:
        """Return True if a turn has a file, in which nothing can be looked up."""
        return turn in self._sources.files

    def evidence(self, text: str, turn: int) -> Evidence:
        """Return a text as evidence of the day of a turn."""
        said_on = self._sources.times.get(turn) or self._guide.now
        return Evidence(text, day_in(self._guide.time_zone, said_on))


@dataclass(frozen=True)
class _QuoteContext:
    """A user's own words around a quote."""

    statements: _Statements
    turn: int
    quote: str

    def supports(self, value: JsonValue, wanted: ProfileField, schema_id: str) -> bool:
        """Return True if the words support a value of a field."""
        if self.statements.is_of_file(self.turn):
            return True
        if not self.around or self._is_denied(value, wanted, schema_id):
            return False
        is_near = isinstance(value, bool) or self._here.touches(spelled(value))
        return (is_near or self._points_back) and self._has(
            value, wanted.json_schema, _meaning(wanted)
        )

    def named(self, value: JsonValue) -> JsonValue:
        """Return the parts of a value that the quote's sentences name, or None."""
        if not is_small(value):
            return None
        evidence = self.statements.evidence(" ".join(self.around), self.turn)
        if isinstance(value, list):
            return [item for item in value if evidence.says(spelled(item))] or None
        return value if evidence.says(spelled(value)) else None

    @cached_property
    def around(self) -> tuple[str, ...]:
        """Sentences of the quote; empty if the words are not the user's own."""
        wanted, own = fold(self.quote), self.statements.voices.get(self.turn, "")
        spoken = [sentence.text for sentence in sentences(own)]
        near = [
            sentence for sentence in spoken if wanted in fold(sentence) or fold(sentence) in wanted
        ]
        return tuple(near) if wanted in fold(own) else ()

    @property
    def _points_back(self) -> bool:
        return _POINTS.search(straight(self.quote)) is not None

    @cached_property
    def _answer(self) -> bool | None:
        """True for a short answer that says yes, False for no, None for any other words."""
        return answered(" ".join(self.around))

    @cached_property
    def _agreed(self) -> str:
        return self.statements.before(self.turn) if self._answer else ""

    @cached_property
    def _here(self) -> Evidence:
        text = f"{self.statements.voices.get(self.turn, '')}\n{self._agreed}"
        return self.statements.evidence(text, self.turn)

    @cached_property
    def _anywhere(self) -> Evidence:
        """Users' words in all turns, and the words that they agree to here."""
        return self.statements.evidence(
            "\n".join([*self.statements.voices.values(), self._agreed]), self.turn
        )

    def _has(self, value: JsonValue, schema: JsonValue, meaning: str) -> bool:
        known: JsonObject = schema if isinstance(schema, dict) else {}
        match value:
            case bool():
                return self._agrees(meaning, value=value)
            case list():
                return all(self._has(item, known.get("items"), meaning) for item in value)
            case dict():
                properties = known.get("properties")
                parts = properties if isinstance(properties, dict) else {}
                return all(
                    self._has(
                        part, parts.get(name), f"{thing(name)} {_description(parts.get(name))}"
                    )
                    for name, part in value.items()
                )
            case int() | float():
                return self._anywhere.has_figure(float(value))
            case _:
                return self._anywhere.says(spelled(value))

    def _agrees(self, meaning: str, *, value: bool) -> bool:
        """Return True if the words are about the meaning of a yes-or-no field, and say `value`."""
        said = [clause for clause in self._clauses() if _is_about(clause, meaning)]
        if said:
            denied = any(
                bool(NEGATIONS.search(clause)) != bool(_ENDED.search(clause)) for clause in said
            )
            return denied != value or bool(_WITHOUT.search(meaning))
        return self._answer is value and _is_about(self.statements.before(self.turn), meaning)

    def _clauses(self) -> Iterator[str]:
        for sentence in self.around:
            yield from (clause for clause in CLAUSE.split(straight(sentence)) if clause)

    def _is_denied(self, value: JsonValue, wanted: ProfileField, schema_id: str) -> bool:
        """Return True if the words deny the value of the field."""
        look = wanted.wanted(schema_id)
        if isinstance(value, bool | dict) or not look.kinds & (_PLAIN_KINDS | _SEVERAL):
            return False
        items = value if isinstance(value, list) else [value]
        source = " ".join(self.around)
        if any(takes_back(source, look, spelled(item)) for item in items):
            return True
        if not look.kinds & _PLAIN_KINDS:
            return False
        clauses = [_OPENING.sub("", clause) for clause in self._clauses()]
        text = spelled(value)
        named = [
            clause
            for clause in clauses
            if self.statements.evidence(clause, self.turn).touches(text)
        ]
        return bool(named) and all(negated(clause) for clause in named)


def _meaning(wanted: ProfileField) -> str:
    return f"{thing(wanted.name)} {wanted.title} {wanted.description}"


def _description(schema: JsonValue) -> str:
    return str(schema.get("description", "")) if isinstance(schema, dict) else ""


def _is_about(text: str, meaning: str) -> bool:
    """Return True if a text has a word of the meaning of a field."""
    telling = content(meaning, "en") - GENERIC - _MEANINGLESS
    return any(alike(word, other) for word in content(text) for other in telling)

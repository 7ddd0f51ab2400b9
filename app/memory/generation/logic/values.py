"""From a model's reply to values of profiles: each must be what a user said."""

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
from app.memory.generation.logic.profiles import Field, FieldValue, ProfileSchema, validated
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.replies import ExtractedField
from app.memory.generation.logic.sources import Sources

_POINTS = re.compile(
    r"\b(?:there|it|that|this|them|those|these|both|dort|da|das|es|die|allí|ahí|eso|esto|lo|los|là"
    r"|ça|cela|y|le|les)\b",
    re.IGNORECASE,
)
"""A quote may name something that was said before."""
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
    """Return the values that a user said and that their fields take, and those taken back."""
    known = {one.schema_id: one for one in schemas}
    heard = _Heard(sources, guide)
    found: list[FieldValue] = []
    for one in fields:
        schema, turn = known.get(one.profile), sources.turn_of(one.quote, one.line)
        # The prompt names a field "profile.field"; that may come back as it is.
        label = one.field.removeprefix(f"{one.profile}.")
        wanted = schema.labelled(label) if schema is not None else None
        if schema is not None and turn is not None and wanted is not None:
            saying = _Saying(heard, turn, one.quote)
            read = _taken_back if one.clear else _said
            found += read(one.value, schema, wanted, saying)
    return found


def _said(
    text: str, schema: ProfileSchema, wanted: Field, saying: "_Saying"
) -> Iterator[FieldValue]:
    value = validated(schema, wanted.name, text)
    if value is not None and saying.supports(value, wanted, schema.schema_id):
        yield FieldValue(
            schema.schema_id, wanted.name, value, source=saying.quote, turn=saying.turn
        )


def _taken_back(
    text: str, schema: ProfileSchema, wanted: Field, saying: "_Saying"
) -> Iterator[FieldValue]:
    """Yield what is taken back; its whole sentence decides what the field has then."""
    value = saying.named(coerced(wanted.json_schema, text)) if text.strip() else None
    if saying.around and (value is not None or not text.strip()):
        source = " ".join(saying.around)
        yield FieldValue(
            schema.schema_id, wanted.name, value, clear=True, source=source, turn=saying.turn
        )


class _Heard:
    """What was said in a piece of a conversation, worked out once for all values."""

    def __init__(self, sources: Sources, guide: Guide) -> None:
        self._sources = sources
        self._guide = guide

    @cached_property
    def voices(self) -> dict[int, str]:
        """What users say themselves, by turn."""
        said: dict[int, str] = {}
        for line in self._sources.lines:
            if line.is_users:
                said[line.turn] = f"{said.get(line.turn, '')} {line.text}".strip()
        return {turn: own_voice(text) for turn, text in said.items()}

    def before(self, turn: int) -> str:
        """Return what a model says right before a turn."""
        lines = [one for one in self._sources.lines if one.turn < turn]
        last = [one for one in lines if one.turn == lines[-1].turn]
        return " ".join(one.text for one in last if not one.is_users)

    def is_of_file(self, turn: int) -> bool:
        """Tell whether a turn has a file, in which nothing can be looked up."""
        return turn in self._sources.files

    def evidence(self, text: str, turn: int) -> Evidence:
        """Return a text as evidence of the day on which a turn was said."""
        said_on = self._sources.times.get(turn) or self._guide.now
        return Evidence(text, day_in(self._guide.time_zone, said_on))


@dataclass(frozen=True)
class _Saying:
    """What a user says around a quote, in their own voice."""

    heard: _Heard
    turn: int
    quote: str

    def supports(self, value: JsonValue, wanted: Field, schema_id: str) -> bool:
        """Tell whether a field can have the value because of it."""
        if self.heard.is_of_file(self.turn):
            return True
        if not self.around or self._is_denied(value, wanted, schema_id):
            return False
        is_near = isinstance(value, bool) or self._here.touches(spelled(value))
        return (is_near or self._points) and self._has(value, wanted.json_schema, _meaning(wanted))

    def named(self, value: JsonValue) -> JsonValue:
        """Return what the sentences of the quote name of a value, None if they do not."""
        if not is_small(value):
            return None
        evidence = self.heard.evidence(" ".join(self.around), self.turn)
        if isinstance(value, list):
            return [one for one in value if evidence.says(spelled(one))] or None
        return value if evidence.says(spelled(value)) else None

    @cached_property
    def around(self) -> tuple[str, ...]:
        """The sentences of the quote; none where others say it."""
        wanted, own = fold(self.quote), self.heard.voices.get(self.turn, "")
        found = [one.text for one in sentences(own)]
        near = [one for one in found if wanted in fold(one) or fold(one) in wanted]
        return tuple(near) if wanted in fold(own) else ()

    @property
    def _points(self) -> bool:
        return _POINTS.search(straight(self.quote)) is not None

    @cached_property
    def _answer(self) -> bool | None:
        """Whether a short answer says yes or no; none where it is no such answer."""
        return answered(" ".join(self.around))

    @cached_property
    def _agreed(self) -> str:
        return self.heard.before(self.turn) if self._answer else ""

    @cached_property
    def _here(self) -> Evidence:
        text = f"{self.heard.voices.get(self.turn, '')}\n{self._agreed}"
        return self.heard.evidence(text, self.turn)

    @cached_property
    def _anywhere(self) -> Evidence:
        """What users say in all turns, and what they agree to here."""
        return self.heard.evidence(
            "\n".join([*self.heard.voices.values(), self._agreed]), self.turn
        )

    def _has(self, value: JsonValue, schema: JsonValue, meaning: str) -> bool:
        known: JsonObject = schema if isinstance(schema, dict) else {}
        match value:
            case bool():
                return self._agrees(meaning, value=value)
            case list():
                return all(self._has(one, known.get("items"), meaning) for one in value)
            case dict():
                properties = known.get("properties")
                parts = properties if isinstance(properties, dict) else {}
                return all(
                    self._has(
                        one, parts.get(name), f"{thing(name)} {_description(parts.get(name))}"
                    )
                    for name, one in value.items()
                )
            case int() | float():
                return self._anywhere.has_figure(float(value))
            case _:
                return self._anywhere.says(spelled(value))

    def _agrees(self, meaning: str, *, value: bool) -> bool:
        """Tell whether the words are about what is yes or no, and say that it is so."""
        said = [one for one in self._clauses() if _is_about(one, meaning)]
        if said:
            denied = any(bool(NEGATIONS.search(one)) != bool(_ENDED.search(one)) for one in said)
            return denied != value or bool(_WITHOUT.search(meaning))
        return self._answer is value and _is_about(self.heard.before(self.turn), meaning)

    def _clauses(self) -> Iterator[str]:
        for sentence in self.around:
            yield from (one for one in CLAUSE.split(straight(sentence)) if one)

    def _is_denied(self, value: JsonValue, wanted: Field, schema_id: str) -> bool:
        """Tell whether the words say that the field does not have the value."""
        look = wanted.wanted(schema_id)
        if isinstance(value, bool | dict) or not look.kinds & (_PLAIN_KINDS | _SEVERAL):
            return False
        items = value if isinstance(value, list) else [value]
        source = " ".join(self.around)
        if any(takes_back(source, look, spelled(one)) for one in items):
            return True
        if not look.kinds & _PLAIN_KINDS:
            return False
        clauses = [_OPENING.sub("", one) for one in self._clauses()]
        text = spelled(value)
        named = [one for one in clauses if self.heard.evidence(one, self.turn).touches(text)]
        return bool(named) and all(negated(one) for one in named)


def _meaning(wanted: Field) -> str:
    return f"{thing(wanted.name)} {wanted.title} {wanted.description}"


def _description(schema: JsonValue) -> str:
    return str(schema.get("description", "")) if isinstance(schema, dict) else ""


def _is_about(text: str, meaning: str) -> bool:
    """Tell whether a text has a word that tells what a field means."""
    telling = content(meaning, "en") - GENERIC - _MEANINGLESS
    return any(alike(word, other) for word in content(text) for other in telling)

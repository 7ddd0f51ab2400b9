"""Rules about sensitive values: kinds, places and actions (`privacyConfig`)."""

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Self

import re2  # type: ignore[import-untyped]  # google-re2 ships no types
from pydantic import Field, model_validator

from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import one_of

MAX_CUSTOM_PATTERNS = 20
_MAX_PATTERN_CHARS = 256
_MAX_RULES = 100
_PROGRAM_BYTES = 16 * 1024 * 1024
"""Total memory of the custom patterns of an engine; RE2 refuses patterns that need more."""
_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")


class Kind(StrEnum):
    """The kinds of sensitive values that the service knows by their form."""

    CREDENTIAL = "CREDENTIAL"
    PAYMENT_CARD = "PAYMENT_CARD"
    IBAN = "IBAN"
    EMAIL = "EMAIL"
    PHONE = "PHONE"
    IP_ADDRESS = "IP_ADDRESS"
    NATIONAL_ID = "NATIONAL_ID"


class PrivacyAction(StrEnum):
    """The treatment of a sensitive value."""

    OFF = "OFF"
    """It is stored as sent."""
    MASK = "MASK"
    """Its kind in brackets is stored in its place."""
    REJECT = "REJECT"
    """The request is refused."""


class Place(StrEnum):
    """The ways by which a text enters the service and is searched."""

    GENERATION = "GENERATION"
    """Conversations that become memories: `generate`, `ingestEvents`."""
    DIRECT = "DIRECT"
    """Memories as callers write them, with metadata and labels."""
    SESSION_EVENTS = "SESSION_EVENTS"
    """Events of sessions, and their state."""
    ARTIFACTS = "ARTIFACTS"
    """Tool outputs that are text or JSON and kept off the prompt."""


class CustomPattern(WireModel):
    """A kind of sensitive value of an operator's own."""

    name: str = Field(
        pattern=r"^[A-Z_]{1,32}$", description="Name of the kind: capital letters and underscores."
    )
    pattern: str = Field(
        min_length=1, max_length=_MAX_PATTERN_CHARS, description="A pattern of RE2 syntax."
    )


class PrivacyRule(WireModel):
    """The treatment of one kind of value."""

    kind: str = Field(max_length=32, description="A kind, or the name of a custom pattern.")
    action: Annotated[PrivacyAction, one_of(PrivacyAction)] = Field(
        description="`OFF`: it is stored as sent. `MASK`: its kind in brackets is stored in its"
        " place. `REJECT`: the request is refused.",
    )
    where: list[Annotated[Place, one_of(Place)]] | None = Field(
        None,
        min_length=1,
        max_length=len(Place),
        description="Places that the rule is for; absent: everywhere.",
    )


class PrivacyConfig(WireModel):
    """Rules about sensitive values. A rule with `where` wins over one without."""

    rules: list[PrivacyRule] | None = Field(
        None, max_length=_MAX_RULES, description="One rule for each kind and place at most."
    )
    custom_patterns: list[CustomPattern] | None = Field(
        None,
        max_length=MAX_CUSTOM_PATTERNS,
        description="Further kinds of sensitive values.",
    )

    @model_validator(mode="after")
    def _has_one_rule_each(self) -> Self:
        known: set[str] = set(Kind)
        for number, pattern in enumerate(self.custom_patterns or ()):
            if pattern.name in known:
                raise ValueError(
                    f"customPatterns[{number}].name must differ from kinds and other patterns;"
                    f" got {pattern.name} again"
                )
            known.add(pattern.name)
        seen: set[tuple[str, Place | None]] = set()
        for number, rule in enumerate(self.rules or ()):
            if rule.kind not in known:
                raise ValueError(
                    f"rules[{number}].kind must be one of {', '.join(Kind)} or the name of a custom"
                    f" pattern; got {rule.kind!r}"
                )
            # A place named twice by one rule has no further effect.
            keys = {(rule.kind, place) for place in rule.where or (None,)}
            if not keys.isdisjoint(seen):
                raise ValueError(
                    f"rules[{number}] repeats a rule for {rule.kind} and the same place;"
                    " give one for each"
                )
            seen |= keys
        return self

    @model_validator(mode="after")
    def _has_sound_patterns(self) -> Self:
        compile_all(tuple(pattern.pattern for pattern in self.custom_patterns or ()))
        return self

    def actions(self, place: Place) -> dict[str, PrivacyAction]:
        """Return the action at a place for each kind that has a rule."""
        rules = self.rules or ()
        general = {rule.kind: rule.action for rule in rules if not rule.where}
        return general | {rule.kind: rule.action for rule in rules if place in (rule.where or ())}


def built_in_rules() -> PrivacyConfig:
    """Return the rules of an installation without rules of its own."""
    masked = [
        PrivacyRule(kind=kind, action=PrivacyAction.MASK, where=[Place.GENERATION])
        for kind in (Kind.CREDENTIAL, Kind.PAYMENT_CARD)
    ]
    return PrivacyConfig(rules=masked)


@lru_cache(maxsize=256)
def compile_all(patterns: Iterable[str]) -> tuple[Any, ...]:
    """Compile patterns with RE2, which matches in linear time, with equal shares of the memory.

    Raises:
        ValueError: a pattern is not of RE2 syntax, matches the empty text, or is too large.
    """
    compiled = []
    for number, pattern in enumerate(patterns):
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _PROGRAM_BYTES // MAX_CUSTOM_PATTERNS
        try:
            made = re2.compile(pattern.encode(), options)
        except re2.error:
            raise ValueError(
                f"customPatterns[{number}].pattern must be of RE2 syntax and at most"
                f" {options.max_mem // 1024} KiB when compiled"
            ) from None
        if _BYTE.search(pattern) is not None:
            raise ValueError(
                f"customPatterns[{number}].pattern must not have \\C, which splits characters"
            )
        if made.search(b"") is not None:
            raise ValueError(f"customPatterns[{number}].pattern must not match an empty text")
        compiled.append(made)
    return tuple(compiled)

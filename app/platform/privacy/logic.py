"""The rules of an engine about sensitive values at one place, applied to JSON values (pure)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.kernel.errors import FieldViolation, InvalidArgument, Reason
from app.kernel.wire.privacy_config import (
    Kind,
    Place,
    PrivacyAction,
    PrivacyConfig,
    compile_all,
)
from app.kernel.wire.violations import MAX_VIOLATIONS
from app.language.privacy.walk import Masked, mask_together, masked

MASKED_COUNTS = "maskedCounts"
"""Field of an operation's metadata: masked values, by kind."""


def noted(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the metadata about masked values; empty if there are none."""
    return {MASKED_COUNTS: dict(counts)} if counts else {}


def known_kinds(own: PrivacyConfig | None, defaults: PrivacyConfig) -> set[str]:
    """Return all kinds that an engine can detect, including its custom patterns."""
    return {*map(str, Kind), *Guard.of(own, defaults, Place.GENERATION).custom}


def kinds_sought(own: PrivacyConfig | None, defaults: PrivacyConfig) -> set[str]:
    """Return the kinds that an engine masks or refuses at any place."""
    rules = [Guard.of(own, defaults, place) for place in Place]
    return {kind for rule in rules for kind in rule.masks | rule.rejects}


@dataclass(frozen=True)
class Guard:
    """The kinds that are masked and refused at a place; `custom` has compiled patterns by name."""

    place: Place
    masks: frozenset[str] = frozenset()
    rejects: frozenset[str] = frozenset()
    custom: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, own: PrivacyConfig | None, defaults: PrivacyConfig, place: Place) -> "Guard":
        """Return an engine's rules; the defaults apply to kinds without a rule of its own.

        A custom pattern without a rule is masked in generation, as credentials are.
        """
        own = own or PrivacyConfig()
        patterns = [*(defaults.custom_patterns or ()), *(own.custom_patterns or ())]
        actions: dict[str, PrivacyAction] = {}
        if place is Place.GENERATION:
            actions = {pattern.name: PrivacyAction.MASK for pattern in patterns}
        actions |= defaults.actions(place) | own.actions(place)
        compiled = compile_all(tuple(pattern.pattern for pattern in patterns))
        return cls(
            place,
            frozenset(kind for kind, action in actions.items() if action is PrivacyAction.MASK),
            frozenset(kind for kind, action in actions.items() if action is PrivacyAction.REJECT),
            dict(zip((pattern.name for pattern in patterns), compiled, strict=True)),
        )

    @classmethod
    def of_writes(
        cls, own: PrivacyConfig | None, defaults: PrivacyConfig, *, is_told: bool
    ) -> "Guard":
        """Return an engine's rules about direct writes, and on conversations if `is_told`."""
        written = cls.of(own, defaults, Place.DIRECT)
        return written.joined(cls.of(own, defaults, Place.GENERATION)) if is_told else written

    @classmethod
    def seeking(
        cls, own: PrivacyConfig | None, defaults: PrivacyConfig, kinds: Collection[str]
    ) -> "Guard":
        """Return rules that mask the given kinds, regardless of the engine's own rules."""
        rules = cls.of(own, defaults, Place.GENERATION)
        return replace(rules, masks=frozenset(kinds), rejects=frozenset())

    def joined(self, other: "Guard") -> "Guard":
        """Return rules that also mask and refuse the kinds of other rules of the engine."""
        return replace(self, masks=self.masks | other.masks, rejects=self.rejects | other.rejects)

    @property
    def is_idle(self) -> bool:
        """True if no kinds are masked or refused."""
        return not self.masks and not self.rejects

    def admitted(self, value: object, path: str = "") -> Masked:
        """Return a value of a request with the masked kinds replaced.

        Raises:
            InvalidArgument: it holds a refused kind; the error names fields and kinds.
        """
        refused = masked(value, self.rejects, self.custom, path) if self.rejects else None
        if refused is not None and refused.places:
            raise _refusal(refused.places)
        return masked(value, self.masks, self.custom, path)

    def across(self, texts: Sequence[str]) -> tuple[list[str], Mapping[str, int]]:
        """Return consecutive texts of a conversation, masked together, and the counts by kind."""
        return mask_together(texts, self.masks | self.rejects, self.custom)

    def without(self, value: object) -> Masked:
        """Mask a value that no caller sent, such as a model's; refused kinds are masked, too."""
        return masked(value, self.masks | self.rejects, self.custom)


def _refusal(places: Mapping[str, tuple[str, ...]]) -> InvalidArgument:
    violations = [
        FieldViolation(path, f"must not hold sensitive content; got {', '.join(kinds)}.")
        for path, kinds in list(places.items())[:MAX_VIOLATIONS]
    ]
    listed = "; ".join(f"{v.field}: {v.description}" for v in violations[:3])
    return InvalidArgument(listed, Reason.SENSITIVE_CONTENT, violations=violations)

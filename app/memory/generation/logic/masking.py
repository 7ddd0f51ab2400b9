"""Masking of the results of a generation before they are sent on or written (pure)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.language.facts import Candidate, Verdict
from app.language.privacy.walk import Masked, is_only_mask
from app.memory.generation.logic.decisions import NewFact
from app.memory.generation.logic.plan import Plan, PlannedChange, QuotedFact
from app.memory.generation.logic.profiles import FieldChange, FieldValue, StoredField
from app.platform.privacy.logic import Guard, noted


@dataclass(frozen=True)
class Shown:
    """New facts with nearby stored memories, both in full and masked for a model."""

    facts: Sequence[NewFact]
    masked: Sequence[NewFact]
    histories: Mapping[str, Sequence[str]]

    def restored(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Return the verdicts with the full text where the model left a masked text unchanged."""
        new = {
            (masked.ordered_positions, masked.candidate.fact): fact.candidate.fact
            for fact, masked in zip(self.facts, self.masked, strict=True)
        }
        stored = {
            (was.memory_id, seen.fact): was.fact
            for fact, masked in zip(self.facts, self.masked, strict=True)
            for was, seen in zip(fact.near, masked.near, strict=True)
        }
        return [
            replace(verdict, fact=new.get((verdict.candidates, verdict.fact), verdict.fact))
            if verdict.action == "CREATE"
            else replace(
                verdict, fact=stored.get((verdict.memory_id or "", verdict.fact), verdict.fact)
            )
            for verdict in verdicts
        ]


@dataclass
class Masking:
    """The masking of one generation, and its counts.

    Attributes:
        guard: the rules for text that is written.
        sent: the rules for text that is sent to a model.
        origin: the rules of the engine that holds the session, if it is another one.
        only: number of facts left out because they would contain only a mask.
    """

    guard: Guard
    sent: Guard
    origin: Guard | None = None
    counts: Counter[str] = field(default_factory=Counter)
    only: int = 0
    _known: dict[str, Masked] = field(default_factory=dict)
    """Cache of masked texts: a short message is often a fact, its source and its context."""

    def details(self) -> dict[str, Any]:
        """Return the metadata about masked values."""
        return noted(self.counts) | ({"maskedOnly": self.only} if self.only else {})

    def admitted(self, content: object) -> Any:  # noqa: ANN401 - any JSON
        """Return an event's content masked, or raise InvalidArgument for a refused value."""
        for guard in filter(None, (self.origin, self.guard)):
            masked = guard.admitted(content, "vertexSessionSource")
            self.counts += masked.counts
            content = masked.value
        return content

    def across(self, texts: Sequence[str]) -> Sequence[str]:
        """Return consecutive texts with values masked that only show when the texts are joined."""
        for guard in filter(None, (self.origin, self.guard)):
            if not guard.is_idle:
                texts, counts = guard.across(texts)
                self.counts += Counter(counts)
        return texts

    def candidates(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates masked, without candidates that contain only a mask."""
        kept = [
            replace(
                candidate,
                fact=self._of(candidate.fact),
                source=self._of(candidate.source, is_counted=False),
                context=self._of(candidate.context, is_counted=False),
                question=self._of(candidate.question, is_counted=False),
            )
            for candidate in candidates
        ]
        says = [
            candidate for candidate in kept if candidate.forget or not self._is_only(candidate.fact)
        ]
        self.only += len(kept) - len(says)
        return says

    def shown(self, facts: Sequence[NewFact], histories: Mapping[str, Sequence[str]]) -> Shown:
        """Return new facts, nearby memories and earlier texts of these, masked for a model."""
        known: dict[str, str] = {}

        def seen(text: str) -> str:
            if text not in known:
                known[text] = self.sent.without(text).value
            return known[text]

        if self.sent.is_idle:
            return Shown(facts, facts, histories)
        masked = [
            replace(
                fact,
                candidate=replace(
                    fact.candidate,
                    fact=seen(fact.candidate.fact),
                    source=seen(fact.candidate.source),
                    context=seen(fact.candidate.context),
                    question=seen(fact.candidate.question),
                ),
                near=[replace(near, fact=seen(near.fact)) for near in fact.near],
            )
            for fact in facts
        ]
        earlier = {memory: [seen(text) for text in texts] for memory, texts in histories.items()}
        return Shown(facts, masked, earlier)

    def shown_fields(self, stored: Sequence[StoredField]) -> list[StoredField]:
        """Return the fields of profiles, masked for a model."""
        return [replace(field, value=self._shown(field.field, field.value)) for field in stored]

    def values(self, values: Sequence[FieldValue]) -> list[FieldValue]:
        """Return the statements about profiles masked, without values that are only a mask."""
        kept = [
            replace(
                value,
                # A value to take back identifies a stored value, and is not written.
                value=value.value if value.takes_back else self._named(value.field, value.value),
                source=self._of(value.source, is_counted=False),
            )
            for value in values
        ]
        says = [value for value in kept if not self._is_only(value.value)]
        self.only += len(kept) - len(says)
        return says

    def plan(self, planned: Plan) -> Plan:
        """Return the changes masked, ready to be written."""
        masked = [self._change(change) for change in planned.changes]
        kept = [
            change
            for change in masked
            if change.action == "DELETED" or not self._is_only(change.fact)
        ]
        self.only += len(masked) - len(kept)
        return replace(planned, changes=tuple(kept))

    def preview(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response of a preview masked, except names and changes already masked."""
        judged = {
            name: [
                {
                    key: value if key == "memory" else self.guard.without(value).value
                    for key, value in entry.items()
                }
                for entry in shown[name]
            ]
            for name in ("droppedFacts", "droppedFields", "refusedDecisions")
            if name in shown
        }
        return {**shown, **judged}

    def _change(self, change: PlannedChange) -> PlannedChange:
        return replace(
            change,
            # The text of a deleted memory identifies it, and is not written.
            fact=change.fact if change.action == "DELETED" else self._of(change.fact),
            extracted=tuple(
                QuotedFact(*(self._of(text, is_counted=False) for text in quoted))
                for quoted in change.extracted
            ),
            field=None if change.field is None else self._field(change.field),
        )

    def _field(self, change: FieldChange) -> FieldChange:
        data = self._of(change.data, is_counted=False)
        return replace(change, value=self._named(change.field, change.value), data=data)

    def _named(self, name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
        (masked,) = self._of({name: value}).values()
        return masked

    def _shown(self, name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
        # The name of a field may be masked, too.
        (masked,) = self.sent.without({name: value}).value.values()
        return masked

    def _of(self, value: Any, *, is_counted: bool = True) -> Any:  # noqa: ANN401 - any JSON
        if not isinstance(value, str):
            masked = self.guard.without(value)
        elif (known := self._known.get(value)) is not None:
            masked = known
        else:
            masked = self._known[value] = self.guard.without(value)
        if is_counted:
            self.counts += masked.counts
        return masked.value

    def _is_only(self, value: object) -> bool:
        return not self.guard.is_idle and isinstance(value, str) and is_only_mask(value)

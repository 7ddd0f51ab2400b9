"""Summary of a generation, for its operation's metadata, and the response of a preview.

The operation keeps the planned texts of a preview. The present texts of memories are added when the
response is read, and therefore do not outlive the memories.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic.alias_generators import to_camel

from app.adapters.llm.ports import Meter
from app.kernel.names import EngineName, MemoryName
from app.language.facts import ENGINE
from app.memory.generation.logic.masking import Masking
from app.memory.generation.logic.outcomes import (
    MAX_LISTED_OUTCOMES,
    Dropped,
    DroppedValue,
    Refused,
    Unmet,
    sums,
)
from app.memory.generation.logic.plan import Plan, PlannedChange
from app.memory.generation.logic.prompts import VERSION
from app.memory.generation.services.extraction import Extracted
from app.memory.generation.services.generation_input import Material
from app.memory.generation.services.turns import topic_columns
from app.platform.operations.logic.states import type_url
from app.platform.operations.store.repository import UNMET_REQUESTS

_MAX_SKIPPED_NAMED = 20
"""Maximum number of skipped files listed in the metadata; the others are only counted."""


@dataclass(frozen=True)
class Summary:
    """The result of a generation, for the operation's metadata and the memories' provenance."""

    inputs: Material
    extracted: Extracted
    planned: Plan
    masking: Masking

    @property
    def dropped(self) -> Sequence[Dropped]:
        """The facts that do not become memories."""
        lost = self.extracted.entries.dropped
        return [*self.extracted.dropped, *self.planned.outcome.dropped, *lost]

    @property
    def dropped_fields(self) -> Sequence[DroppedValue]:
        """The statements about fields of profiles that have no effect."""
        return [*self.extracted.dropped_fields, *self.planned.dropped_fields]

    @property
    def details(self) -> dict[str, Any]:
        """The counts for the operation's metadata."""
        extracted, outcome = self.extracted, self.planned.outcome
        details: dict[str, Any] = {
            "candidateCount": len(extracted.candidates),
            **extracted.counts,
            **extracted.entries.details(),
            **self.masking.details(),
            **sums(self.dropped, outcome.refused, self.dropped_fields),
        }
        if outcome.verified:
            details["verifiedFactCount"] = outcome.verified
        if extracted.unread_languages:
            details["unreadLanguages"] = sorted(extracted.unread_languages)
        if extracted.skipped_files:
            details["skippedFileCount"] = len(extracted.skipped_files)
            details["skippedFiles"] = [
                {"event": event, "mimeType": media_type}
                for event, media_type in extracted.skipped_files[:_MAX_SKIPPED_NAMED]
            ]
        return details

    def lines_read(self, now: datetime) -> Mapping[bytes, datetime]:
        """Return the digests of lines to store after a generation at `now`, with expiry times."""
        # A line has a result if it led to a memory, a change of one, or a decision.
        left = {turn for change in self.planned.changes for turn in change.turns}
        outcomes: list[Dropped | DroppedValue] = [*self.dropped, *self.dropped_fields]
        left |= {outcome.turn for outcome in outcomes if outcome.turn is not None}
        unread = self.extracted.unread | self.planned.outcome.unread
        return self.inputs.conversation.read_lines(left, unread, now)

    def unmet_requests(self, engine: EngineName) -> dict[str, Any]:
        """Return the requests to forget that were not carried out, in the form of the metadata."""
        requests = [
            {
                "request": unmet.request,
                "reason": unmet.reason,
                **({"nearest": _names(engine, unmet)} if unmet.nearest else {}),
                **({"hasMore": True} if unmet.has_more else {}),
            }
            for unmet in self.planned.outcome.unmet
        ]
        return {UNMET_REQUESTS: requests} if requests else {}

    def author(self, meter: Meter) -> tuple[str, str | None]:
        """Return the author and the version of the prompts; given facts may need no model."""
        model = self.inputs.model
        if model is not None and (meter.by_model or self.inputs.conversation.events):
            return model.model_id, VERSION
        return ENGINE, None


def _names(engine: EngineName, unmet: Unmet) -> list[str]:
    return [str(MemoryName(engine, memory_id)) for memory_id in unmet.nearest]


def preview(
    engine: EngineName,
    author: str,
    planned: Plan,
    dropped: Sequence[Dropped],
    fields: Sequence[DroppedValue],
) -> dict[str, Any]:
    """Return the response to store; `engine` is the stored full name."""
    most = MAX_LISTED_OUTCOMES
    lists = {
        "plannedChanges": [_render_change(engine, change) for change in planned.changes],
        "droppedFacts": [
            _render(engine, fact, "fact", "quote", "reason", optional="detail")
            for fact in dropped[:most]
        ],
        "droppedFields": [
            _render(engine, value, "schema_id", "field", "quote", "reason")
            for value in fields[:most]
        ],
        "refusedDecisions": [
            _render(engine, decision, "fact", "action", "reason", optional="text")
            for decision in planned.outcome.refused[:most]
        ],
    }
    filled = {name: entries for name, entries in lists.items() if entries}
    return {"@type": type_url("GenerateMemoriesResponse"), "author": author, **filled}


def _render(
    engine: EngineName, outcome: Dropped | DroppedValue | Refused, *names: str, optional: str = ""
) -> dict[str, Any]:
    fields = {to_camel(name): getattr(outcome, name) for name in names}
    if outcome.memory_id is not None:
        fields["memory"] = {"name": str(MemoryName(engine, outcome.memory_id))}
    if optional and (text := getattr(outcome, optional)):
        fields[optional] = text
    return fields


def _render_change(engine: EngineName, change: PlannedChange) -> dict[str, Any]:
    fields: dict[str, Any] = {"action": change.action, "reason": change.reason}
    if change.memory_id is not None:
        fields |= {
            "memory": {"name": str(MemoryName(engine, change.memory_id))},
            "etag": str(change.version),
        }
    if change.action != "DELETED":
        fields["after"] = _render_after(change)
    if extracted := change.extracted_memories():
        fields["extractedMemories"] = extracted
    return fields


def _render_after(change: PlannedChange) -> dict[str, Any]:
    if change.field is not None:
        return {"structuredContent": change.field.structured_content()}
    return {"fact": change.fact, "topics": topic_columns(change.topics)}

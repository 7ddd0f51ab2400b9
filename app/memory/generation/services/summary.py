"""Summary of a generation, for its operation's metadata and its memories' provenance."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from app.adapters.llm.ports import Meter
from app.kernel.names import EngineName, MemoryName
from app.language.facts import ENGINE
from app.memory.generation.logic.masking import Masking
from app.memory.generation.logic.outcomes import Dropped, DroppedValue, Unmet, sums
from app.memory.generation.logic.plan import Plan
from app.memory.generation.logic.prompts import VERSION
from app.memory.generation.schemas import ReadTo
from app.memory.generation.services.conversation import HeardConversation
from app.memory.generation.services.extraction import Extracted
from app.memory.generation.services.generation_input import Material
from app.platform.operations.store.repository import UNMET_REQUESTS

_MAX_SKIPPED_NAMED = 20
"""Maximum number of skipped files listed in the metadata; the others are only counted."""


@dataclass(frozen=True)
class Summary:
    """Facts about the work for the operation's metadata, and the provenance of its memories.

    Attributes:
        left: positions of the turns that led to a memory, a change of one, or a decision.
        unread: positions of the turns that were left out.
    """

    model_id: str | None
    has_conversation: bool
    details: dict[str, Any]
    dropped: Sequence[Dropped]
    dropped_fields: Sequence[DroppedValue]
    unmet: Sequence[Unmet]
    conversation: HeardConversation
    left: frozenset[int]
    unread: Collection[int]
    read_to: ReadTo | None
    masking: Masking

    @classmethod
    def of(
        cls, inputs: Material, extracted: Extracted, planned: Plan, masking: Masking
    ) -> "Summary":
        """Build the summary once the changes are planned."""
        dropped = [*extracted.dropped, *planned.outcome.dropped, *extracted.entries.dropped]
        details: dict[str, Any] = {
            "candidateCount": len(extracted.candidates),
            **extracted.counts,
            **extracted.entries.details(),
            **masking.details(),
        }
        dropped_fields = [*extracted.dropped_fields, *planned.dropped_fields]
        details |= sums(dropped, planned.outcome.refused, dropped_fields)
        if planned.outcome.verified:
            details["verifiedFactCount"] = planned.outcome.verified
        if extracted.skipped_files:
            details["skippedFileCount"] = len(extracted.skipped_files)
            details["skippedFiles"] = [
                {"event": event, "mimeType": media_type}
                for event, media_type in extracted.skipped_files[:_MAX_SKIPPED_NAMED]
            ]
        model_id = inputs.model.model_id if inputs.model is not None else None
        return cls(
            model_id=model_id,
            has_conversation=bool(inputs.conversation.events),
            details=details,
            dropped=dropped,
            dropped_fields=dropped_fields,
            unmet=planned.outcome.unmet,
            conversation=inputs.conversation,
            left=_left(planned, [*dropped, *dropped_fields]),
            unread=extracted.unread | planned.outcome.unread,
            read_to=inputs.read_to,
            masking=masking,
        )

    def unmet_requests(self, engine: EngineName) -> dict[str, Any]:
        """Return the requests to forget that were not carried out, in the form of the metadata."""
        requests = [
            {
                "request": unmet.request,
                "reason": unmet.reason,
                **({"nearest": _names(engine, unmet)} if unmet.nearest else {}),
                **({"hasMore": True} if unmet.has_more else {}),
            }
            for unmet in self.unmet
        ]
        return {UNMET_REQUESTS: requests} if requests else {}

    def author(self, meter: Meter) -> tuple[str, str | None]:
        """Return the author and the version of the prompts; given facts may need no model."""
        if self.model_id is not None and (meter.by_model or self.has_conversation):
            return self.model_id, VERSION
        return ENGINE, None


def _left(planned: Plan, dropped: Sequence[Dropped | DroppedValue]) -> frozenset[int]:
    turns = {turn for change in planned.changes for turn in change.turns}
    return frozenset(turns | {one.turn for one in dropped if one.turn is not None})


def _names(engine: EngineName, unmet: Unmet) -> list[str]:
    return [str(MemoryName(engine, memory_id)) for memory_id in unmet.nearest]

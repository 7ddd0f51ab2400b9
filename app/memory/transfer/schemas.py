"""Schemas of restore."""

from enum import StrEnum

from pydantic import Field

from app.kernel.wire.base import WireModel


class VectorsUse(StrEnum):
    """The origin of the vectors of a restored engine."""

    USED = "USED"
    """The archive's are used."""
    EMBEDDING = "EMBEDDING"
    """Facts are embedded in the background; searches go by words meanwhile."""


class RestoreReasoningEngineResponse(WireModel):
    """The result of a restore."""

    counts: dict[str, int] = Field(description="Number of lines of the archive, by kind.")
    vectors: VectorsUse = Field(
        description="USED: the vectors of the archive. EMBEDDING: facts are embedded in the"
        " background; searches match only words until then."
    )
    past_recovery: int = Field(
        description="Deleted memories past their recovery window; the next sweep removes them."
    )
    past_expiry: int = Field(
        description="Memories, sessions, namespaces and artifacts that have expired; the next"
        " sweep removes them."
    )
    converted: dict[str, int] = Field(
        {},
        description="Number of values that were converted from the form of a former release, by"
        " kind and field, such as `event.content`.",
    )
    warnings: list[str] = Field(description="Sentences for the person who restores.")

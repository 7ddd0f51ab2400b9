"""Answers of the operations that make summaries; the summaries tell the rest."""

from app.kernel.wire.base import WireModel


class SummarizeSessionResponse(WireModel):
    """The end of the making of summaries that were due."""


class RegenerateSummaryResponse(WireModel):
    """The end of the making of a summary anew."""

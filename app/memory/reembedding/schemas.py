"""Schemas of a queued re-embedding and its response."""

from pydantic import BaseModel, Field

from app.kernel.wire.base import WireModel


class QueuedReembedding(BaseModel):
    """A re-embedding as the queue keeps it; `model` is the id of the model that is to serve."""

    model: str


class ReembedReasoningEngineResponse(WireModel):
    """The end of a re-embedding."""

    embedding_model: str = Field(description="Id of the model that serves from now on.")
    refused_count: int | None = Field(
        None, description="Number of memories without a vector by it; absent: none."
    )
    refused_memories: list[str] | None = Field(
        None, description="Full names of some of them, in order; absent: none."
    )

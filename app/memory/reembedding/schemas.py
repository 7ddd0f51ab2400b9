"""The queued request of a re-embedding."""

from pydantic import BaseModel


class QueuedReembedding(BaseModel):
    """A re-embedding as the queue keeps it; `model` is the id of the model that is to serve."""

    model: str

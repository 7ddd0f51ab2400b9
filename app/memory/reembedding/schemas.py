"""What the worker is asked for."""

from pydantic import BaseModel


class QueuedReembedding(BaseModel):
    """A re-embedding, as the queue keeps it; `model` is the id of the model to serve."""

    model: str

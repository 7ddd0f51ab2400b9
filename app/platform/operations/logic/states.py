"""States of operations, and the `@type` of what they carry."""

from enum import StrEnum

_TYPES = "type.googleapis.com/google.cloud.aiplatform.v1beta1."


EMPTY = {"@type": "type.googleapis.com/google.protobuf.Empty"}


class OperationState(StrEnum):
    """The states of an operation; only the first two are not final."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        """True if the operation has ended."""
        return self not in {OperationState.PENDING, OperationState.RUNNING}


def type_url(name: str) -> str:
    """Return the `@type` URL of a message of the API."""
    return _TYPES + name

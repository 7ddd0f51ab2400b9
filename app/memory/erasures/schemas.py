"""The wire form of `:eraseScope`; the method is this service's own."""

from pydantic import ConfigDict, Field

from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp
from app.memory.memories.schemas.memories import Scope

RESIDUE = (
    "dead rows until vacuum",
    "write-ahead log",
    "backups made before endTime",
    "logs of this service",
    "logs of the embedding and text models' providers",
)
"""Places in which erased data may remain."""


class EraseScopeRequest(WireModel):
    """The scope to erase: everything in scopes that contain its pairs."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"scope": {"user_id": "42"}}]})

    scope: Scope
    validate_only: bool | None = Field(None, description="True: count, and change nothing.")
    include_sessions: bool | None = Field(
        None,
        description="False: sessions, task memory and state of the user `user_id` are kept;"
        " absent: they are erased, too.",
    )


class EraseScopeResponse(WireModel):
    """The certificate of an erasure; it contains no scope, id or text of the erased items."""

    certificate_id: str | None = Field(
        None, description="Id of the certificate; absent in a preview."
    )
    subject: str | None = Field(
        None, description="Pseudonym of the scope; who has the key can test a guess."
    )
    engine: str = Field(description="Full name of the engine.")
    start_time: Timestamp = Field(description="Time at which the erasure began.")
    end_time: Timestamp = Field(description="Time at which its last count was done.")
    release: str = Field(description="Release of the service that erased.")
    counts: dict[str, int] = Field(description="Removed rows, by table.")
    pseudonymised: dict[str, int] = Field(
        description="Rows that stay without the person, by table."
    )
    verified: bool = Field(description="True if a last count of all tables found nothing.")
    not_covered: list[str] = Field(
        description="Data that the erasure left out: `sessions` (the user's sessions, namespaces of"
        " task memory and state) and `api_keys` (keys that are bound to the scope)."
    )
    residue: list[str] = Field(description="Places in which erased data may remain.")

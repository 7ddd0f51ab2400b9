"""The wire form of what runs in the service; the method is this service's own."""

from pydantic import Field

from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp


class ServerDatabase(WireModel):
    """The database of the service."""

    schema_: str | None = Field(
        None,
        alias="schema",
        description="`ok`; `not migrated` if it is not that of this release; or `incomplete`, with"
        " what is missing.",
        examples=["ok"],
    )
    error: str | None = Field(
        None, description="`DATABASE_UNAVAILABLE` if the database does not answer."
    )


class ServerQueue(WireModel):
    """The operations of all engines."""

    due_count: int = Field(description="Operations that are due and wait for a worker.")
    oldest_due_seconds: float = Field(description="How long the oldest of them has been due.")
    running_count: int = Field(description="Operations that workers run now.")
    failed_count: int = Field(description="Operations that have failed within 24 hours.")


class ServerProcess(WireModel):
    """A process, at its last heartbeat."""

    process_id: str = Field(description="Id of the process, new at each start.")
    kind: str = Field(
        description="`API`, `WORKER`, `API_AND_WORKER`, or `MIGRATION`: one that is forced.",
        examples=["WORKER"],
    )
    release: str = Field(description="Release that it runs.")
    schema_: str = Field(alias="schema", description="Revision of the schema that it needs.")
    host: str = Field(description="Name of its machine or container.")
    pid: int = Field(description="Its number on that machine.")
    start_time: Timestamp = Field(description="When it started.")
    beat_time: Timestamp = Field(description="Time of the heartbeat.")
    running: int = Field(description="Operations that it ran.")
    skew_seconds: float | None = Field(
        None, description="Lead of its clock over the database's; absent: not measured."
    )
    last_sweep_time: Timestamp | None = Field(
        None, description="When it last ran the sweeps; absent: it has not."
    )


class ServerInfo(WireModel):
    """The service, as seen by the process that answers."""

    version: str = Field(description="Release of this process.")
    start_time: Timestamp = Field(description="When this process started.")
    database: ServerDatabase = Field(description="State of the database, as this process sees it.")
    queue: ServerQueue | None = Field(
        None,
        description="Operations that wait and run; absent: the database does not answer.",
    )
    processes: list[ServerProcess] | None = Field(
        None, description="Processes with a heartbeat within 30 seconds, the oldest first."
    )

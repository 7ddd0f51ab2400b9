"""The wire form of the state of the service; the method is this service's own."""

from pydantic import Field, JsonValue

from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp


class ServerDatabase(WireModel):
    """The database of the service; only `error` if it does not respond."""

    server_version: str | None = Field(None, description="Release of Postgres.", examples=["18.1"])
    vector_version: str | None = Field(
        None, description="Release of pgvector; absent: it is not installed.", examples=["0.8.1"]
    )
    schema_: str | None = Field(
        None,
        alias="schema",
        description="`ok`; `not migrated` if it differs from this release's schema; or"
        " `incomplete`, with the missing parts.",
        examples=["ok"],
    )
    is_standby: bool | None = Field(
        None, description="True if it takes no writes, since it follows another server."
    )
    size_bytes: int | None = Field(None, description="Size on disk, in bytes.")
    clock_skew_milliseconds: int | None = Field(
        None,
        description="Lead of this process's clock over the database's, in milliseconds; negative:"
        " it is behind; absent: not measured yet.",
    )
    error: str | None = Field(
        None, description="`DATABASE_UNAVAILABLE` if the database does not respond."
    )


class ServerQueue(WireModel):
    """The operations of all engines."""

    due_count: int = Field(description="Operations that are due and wait for a worker.")
    oldest_due_seconds: float = Field(
        description="Time since the oldest of them became due, in seconds."
    )
    running_count: int = Field(description="Operations that a worker runs now.")
    failed_count: int = Field(description="Operations that have failed within 24 hours.")


class ServerProcess(WireModel):
    """A process, at its last heartbeat."""

    process_id: str = Field(description="Random id, new at each start.")
    kind: str = Field(
        description="`API`, `WORKER`, `API_AND_WORKER`, or `MIGRATION` for a forced migration.",
        examples=["WORKER"],
    )
    release: str = Field(description="Release that it runs.")
    schema_: str = Field(alias="schema", description="Revision of the schema that it needs.")
    host: str = Field(description="Name of its machine.")
    pid: int = Field(description="Its id on that machine.")
    start_time: Timestamp = Field(description="Time of its start.")
    beat_time: Timestamp = Field(description="Time of the heartbeat.")
    running: int = Field(description="Operations that it ran.")
    skew_seconds: float | None = Field(
        None, description="Lead of its clock over the database's, in seconds; absent: not measured."
    )
    last_sweep_time: Timestamp | None = Field(
        None, description="Time at which it last ran the sweeps; absent: it has not."
    )


class EventLoopLag(WireModel):
    """Lag of the event loop within the last minute."""

    p50: float = Field(description="Median, in seconds.")
    p99: float = Field(description="Lag that 99 of 100 moments did not exceed, in seconds.")


class ServerEventLoop(WireModel):
    """The event loop of the responding process; its lag delays every request."""

    lag_seconds: EventLoopLag = Field(description="Lag at evenly spaced moments.")


class ServerEmbedder(WireModel):
    """The embedding model of the settings."""

    model: str = Field(description="Id of the model.", examples=["all-MiniLM-L6-v2/int8"])
    dimensions: int | None = Field(
        None, description="Length of its vectors; absent: unknown before its first response."
    )
    is_lexical_only: bool = Field(
        description="True if its vectors know words but no meaning, so that searches do as well."
    )
    is_ready: bool = Field(description="True if it is loaded.")


class ServerSetting(WireModel):
    """A setting of the responding process."""

    name: str = Field(description="Its variable.", examples=["MEMORY_BANK_WORKER_CONCURRENCY"])
    description: str = Field(description="Its meaning, with its unit.")
    is_default: bool = Field(description="True if the value is the default of an unset variable.")
    value: JsonValue = Field(
        None,
        description='Its value; `"set"` in place of a secret, and of an address with a password or'
        " a query; absent: none.",
    )


class ServerInfo(WireModel):
    """The service, as seen by the responding process."""

    version: str = Field(description="Release of this process.")
    start_time: Timestamp = Field(description="Time of this process's start.")
    python_version: str = Field(
        description="Release of Python that runs this process.", examples=["3.13.1"]
    )
    event_loop: ServerEventLoop | None = Field(
        None, description="The event loop of this process; absent: not measured yet."
    )
    database: ServerDatabase = Field(description="The database of the service.")
    embedder: ServerEmbedder = Field(description="The embedding model that new engines use.")
    model: str = Field(
        description="Writer of memories for engines that name no model: the id of a text model,"
        " or `builtin-rules/N`.",
        examples=["builtin-rules/3"],
    )
    queue: ServerQueue | None = Field(None, description="The operations of all engines.")
    settings: list[ServerSetting] = Field(
        description="Settings of this process, without their secrets."
    )
    processes: list[ServerProcess] | None = Field(
        None, description="Processes with a heartbeat within 30 seconds, the oldest first."
    )

"""Every setting of the service, read once from the environment (`MEMORY_BANK_*`).

The only reader of the environment. Names carry their unit; the settings page is made from this
module.
"""

from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from pydantic import Field, IPvAnyNetwork, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.kernel.ranking import Ranking
from app.settings.connection_settings import ConnectionSettings
from app.settings.embedding_settings import EmbedderChoice, EmbeddingSettings
from app.settings.model_settings import ModelPrice, ModelSettings, OutputMode
from app.settings.setting_types import DEFAULT_PORT, AdminKey, LogLevel, Port
from app.settings.task_settings import ReaderModel, TaskSettings
from app.settings.token_settings import TokenSettings

__all__ = [
    "EmbedderChoice",
    "LogFormat",
    "ModelPrice",
    "OutputMode",
    "Ranking",
    "ReaderModel",
    "Settings",
]

_DAY_SECONDS = 86_400


class LogFormat(StrEnum):
    """The format of log lines."""

    CONSOLE = "console"
    JSON = "json"


class Settings(
    TaskSettings,
    ModelSettings,
    EmbeddingSettings,
    TokenSettings,
    ConnectionSettings,
    BaseSettings,
):
    """The configuration of one process. Immutable."""

    model_config = SettingsConfigDict(
        env_prefix="MEMORY_BANK_", frozen=True, extra="ignore", env_parse_none_str="none"
    )

    # Where it runs
    host: str = Field("127.0.0.1", description="Address the server listens on.")
    port: Port = Field(DEFAULT_PORT, description="Port; 0 picks a free one.")
    data_dir: Path = Field(Path(".data"), description="Folder of the embedded Postgres.")
    log_format: LogFormat = Field(LogFormat.CONSOLE, description="`console` or `json`.")
    log_level: LogLevel = Field(
        "INFO",
        description="Least level of log lines that are written: `DEBUG`, `INFO`, `WARNING`,"
        " `ERROR` or `CRITICAL`.",
    )

    # Access
    admin_key: AdminKey | None = Field(
        None,
        description="Admin API key of at least 16 characters, until it is rotated or revoked;"
        " absent: the first start makes one and prints it.",
    )

    audit_reads: bool = Field(
        False, description="Whether the audit log has reads, too, not changes and refusals only."
    )
    audit_retention_seconds: float | None = Field(
        400 * _DAY_SECONDS,
        gt=0,
        le=36_500 * _DAY_SECONDS,
        description="How long an audit event is kept; `none`: for ever.",
    )
    trusted_proxies: list[IPvAnyNetwork] = Field(
        default_factory=list,
        description="JSON array of addresses and networks of proxies that say in `X-Forwarded-For`"
        " where a request came from; from others, the header is ignored.",
    )

    # Database
    database_url: SecretStr | None = Field(
        None,
        description="External Postgres (`postgresql://...`, or `host=...`); absent: the embedded"
        " one.",
    )
    listen_url: SecretStr | None = Field(
        None, description="Direct connection for LISTEN when `database_url` is a pooler."
    )
    database_pool_size: int = Field(
        20,
        ge=1,
        description="Connections held open per process; the hot statements have up to ten more.",
    )
    database_pool_overflow: int = Field(
        0, ge=0, description="Further connections under load, opened and closed each time."
    )
    database_pool_timeout_seconds: float = Field(
        10, gt=0, description="How long a request waits for a connection before 503."
    )
    database_connect_timeout_seconds: int = Field(
        5, ge=1, description="How long opening a connection may take."
    )
    database_statement_timeout_seconds: float = Field(
        30, gt=0, description="Longest run of one statement."
    )
    database_behind_pooler: bool = Field(
        False,
        description="Behind a transaction pooler: no prepared statements or session settings.",
    )
    postgres_user: str = Field(
        "nobody", description="User that runs the embedded Postgres when started by root."
    )
    postgres_start_seconds: float = Field(
        60, gt=0, description="How long the embedded Postgres may take to start."
    )

    # Retrieval, and counts of tokens
    ranking: Ranking = Field(
        Ranking.HYBRID,
        description="Order of searches where the engine does not set it: `hybrid` (meaning, words"
        " and signals) or `vector` (Euclidean distance alone).",
    )
    tiktoken_dir: Path | None = Field(
        None,
        description="Folder with `cl100k_base.tiktoken` or `o200k_base.tiktoken`, for policies that"
        " name these as `counter`; needs the extra `tokens`. Nothing is fetched.",
    )

    # Generation
    generation_neighbours: int = Field(
        20, ge=1, description="Memories of the scope that a new fact is compared with."
    )
    generation_max_deletes: int = Field(
        5, ge=0, description="Memories that one generation may delete."
    )
    generation_max_forgets: int = Field(
        20, ge=0, description="Memories that one generation may delete because a user asked for it."
    )
    generation_max_candidates: int = Field(
        200,
        ge=1,
        description="Facts that one generation compares and writes; its operation counts the rest.",
    )

    generation_max_pieces: int = Field(
        10, ge=1, description="Pieces of a long conversation that one generation reads."
    )
    preview_retention_seconds: float = Field(
        3_600, gt=0, description="How long the answer of a `validateOnly` generation is kept."
    )

    # Sessions and ingestion
    session_ttl_seconds: float = Field(
        365 * _DAY_SECONDS, gt=0, description="Life of a session when nothing else sets it."
    )
    ingestion_max_pending_seconds: float = Field(
        _DAY_SECONDS, gt=0, description="Longest time that an ingested event waits for its rule."
    )
    ingestion_event_id_seconds: float = Field(
        90 * _DAY_SECONDS, gt=0, description="How long the id of an ingested event is known."
    )
    ingestion_retry_seconds: float = Field(
        900, gt=0, description="First pause of a stream whose generation failed; doubles."
    )

    # Limits
    max_body_bytes: int = Field(8 * 1024 * 1024, ge=1, description="Longest JSON request body.")
    max_page_size: int = Field(
        1_000,
        ge=1,
        le=1_000,
        description="Rows of a page, of what a list or a retrieval answers; a larger page size is"
        " coerced. Of sessions, events and retrieved memories never more than 100.",
    )
    max_scope_pairs: int = Field(5, ge=1, le=5, description="Pairs of a scope that is written to.")
    max_scope_value_chars: int = Field(
        1_024, ge=1, le=1_024, description="Longest value of a scope that is written to."
    )
    max_metadata_entries: int = Field(50, ge=0, le=50, description="Keys of a memory's metadata.")
    max_metadata_value_chars: int = Field(
        4_096, ge=1, le=4_096, description="Longest text among a memory's metadata."
    )
    max_shared_state_bytes: int = Field(
        1024 * 1024,
        ge=1_024,
        description="Longest state, as JSON, that the sessions of a user share (`user:` keys), and"
        " that all sessions of an engine do (`app:` keys).",
    )
    max_session_policies: int = Field(
        20,
        ge=0,
        description="Policies, besides its own, by which one session has summaries at once: those"
        " that requests for contexts bring.",
    )
    max_stream_pending_events: int = Field(
        100_000, ge=1, description="Ingested events that wait in one stream."
    )
    max_stream_pending_bytes: int = Field(
        64 * 1024 * 1024, ge=1, description="What the events say that wait in one stream."
    )
    engine_max_memories: int | None = Field(
        10_000_000, ge=0, description="Memories of one engine; `none`: no bound."
    )
    engine_max_sessions: int | None = Field(
        1_000_000, ge=0, description="Sessions of one engine; `none`: no bound."
    )
    engine_max_events: int | None = Field(
        100_000_000,
        ge=0,
        description="Events of one engine, of sessions and not yet in memories; `none`: no bound.",
    )
    engine_max_bytes: int | None = Field(
        100 * 1024**3,
        ge=0,
        description="What memories, their revisions, sessions, events and summaries of one engine"
        " say, in all; `none`: no bound.",
    )
    engine_max_queued_operations: int | None = Field(
        10_000,
        ge=0,
        description="Operations of one engine that wait for a worker, ingestions and summaries"
        " aside; `none`: no bound.",
    )
    key_rate_units_per_second: int = Field(
        10_000,
        ge=0,
        description="What the requests of one key may take, over all processes: 1 unit for a read,"
        " up to 20 for the costliest; 0: no bound.",
    )
    engine_rate_units_per_second: int = Field(
        20_000, ge=0, description="The same for the requests on one engine; 0: no bound."
    )
    rate_burst_seconds: float = Field(
        10, gt=0, le=3_600, description="How long of their rate a key and an engine can save up."
    )
    rate_block_seconds: float = Field(
        0.1,
        gt=0,
        le=1,
        description="How long of a rate one process takes at a time, unshared with the others.",
    )
    max_costly_requests_per_key: int = Field(
        512, ge=1, description="Searches, generations and waits of one key at once, per process."
    )
    max_costly_requests: int = Field(1_024, ge=1, description="The same for all keys together.")
    filter_regex_max_chars: int = Field(
        256, ge=1, description="Longest regular expression in a filter."
    )
    filter_timeout_seconds: float = Field(
        2, gt=0, description="Longest run of a statement that holds a user's regular expression."
    )

    # Times of the ledger
    recovery_window_seconds: float = Field(
        2 * _DAY_SECONDS, ge=0, description="How long a deleted memory can be recovered."
    )
    revision_ttl_seconds: float = Field(
        365 * _DAY_SECONDS, gt=0, description="Life of a revision when nothing else sets it."
    )
    idempotency_seconds: float = Field(
        _DAY_SECONDS, gt=0, description="How long a request id replays its first answer."
    )
    operation_retention_seconds: float = Field(
        7 * _DAY_SECONDS, gt=0, description="How long a finished operation is kept."
    )

    # Worker
    worker_concurrency: int = Field(4, ge=1, description="Operations run at once per process.")
    worker_poll_seconds: float = Field(
        0.25, gt=0, description="Pause between looks for work when nothing wakes the worker."
    )
    worker_lease_seconds: float = Field(
        30, gt=0, description="Lease on an operation; renewed at a third of its length."
    )
    worker_max_attempts: int = Field(10, ge=1, description="Attempts before an operation fails.")
    worker_retry_base_seconds: float = Field(
        1, gt=0, description="First retry delay; doubles, with jitter."
    )
    worker_retry_max_seconds: float = Field(300, gt=0, description="Longest retry delay.")
    summary_retry_max_seconds: float = Field(
        3_600, gt=0, description="Longest pause before a summary that failed is tried again."
    )
    shutdown_grace_seconds: float = Field(
        10, ge=0, description="How long running work may take to stop."
    )
    stall_exit_seconds: float = Field(
        60,
        ge=0,
        description="How long the event loop may hang before the process ends, with status 70;"
        " 0: for ever.",
    )
    sweep_interval_seconds: float = Field(
        60, gt=0, description="Interval of every sweep (expiry, recovery end, old operations)."
    )
    sweep_batch_rows: int = Field(500, ge=1, description="Rows that a sweep removes at a time.")
    clock_skew_max_seconds: float = Field(
        30,
        gt=0,
        description="How far the clock of a process may be from the database's; beyond, `/readyz`"
        " tells it, and its sweeps rest.",
    )
    scope_index_memories: int = Field(
        20_000,
        ge=1,
        description="Memories of one scope from which it gets an index of its own for searches by"
        " meaning, which are then approximate.",
    )
    max_scope_indexes: int = Field(
        50, ge=0, description="Such indexes, over all engines; 0: none, every search is exact."
    )
    scope_index_interval_seconds: float = Field(
        600, gt=0, description="Interval of the look for scopes that need one, or no longer do."
    )
    operation_wait_max_seconds: float = Field(
        60, gt=0, description="Longest wait of `:wait` before it answers the running operation."
    )

    @property
    def recovery_window(self) -> timedelta:
        """The time during which a deleted memory can be recovered."""
        return timedelta(seconds=self.recovery_window_seconds)

    @property
    def revision_ttl(self) -> timedelta:
        """The life of a revision when nothing else sets it."""
        return timedelta(seconds=self.revision_ttl_seconds)

    @property
    def operation_retention(self) -> timedelta:
        """The time for which a finished operation is kept."""
        return timedelta(seconds=self.operation_retention_seconds)

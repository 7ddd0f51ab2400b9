"""Settings of the service, read once from the environment (`MEMORY_BANK_*`).

Names include their unit. The settings page of the documentation is generated from this module.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import Field, IPvAnyNetwork, SecretStr, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from typing_extensions import override

from app.kernel.ranking import Ranking
from app.kernel.tuning import Tuning
from app.kernel.wire.privacy_config import PrivacyConfig, built_in_rules
from app.settings.access_settings import ConnectionSettings, TokenSettings
from app.settings.environment import PREFIX, SecretFiles, environment
from app.settings.model_settings import (
    EmbedderChoice,
    EmbeddingSettings,
    ModelPrice,
    ModelSettings,
    OutputMode,
)
from app.settings.setting_types import DEFAULT_PORT, AdminKey, LogLevel, Port, PseudonymKey
from app.settings.surface_settings import ConsoleSettings, McpSettings, ReaderModel, TaskSettings

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
_PLACES = 4
"""Operations at once whose work computes in this process or on this machine."""
_PLACES_WITH_MODEL = 16
CONSTANTS = frozenset(constant.name for constant in fields(Tuning))
"""The names of `Tuning`. Many of them were settings in earlier releases."""


class LogFormat(StrEnum):
    """The format of log lines."""

    CONSOLE = "console"
    JSON = "json"


class FormerSettings(PydanticBaseSettingsSource):
    """The settings of the former release that are constants now; read until the next release."""

    NAMES = frozenset(
        {
            "embedding_cache_entries",
            "jwt_leeway_seconds",
            "max_page_bytes",
            "mcp_wait_seconds",
            "model_mode_retry_seconds",
            "rate_burst_seconds",
            "stall_exit_seconds",
            "sweep_interval_seconds",
            "task_chunk_overlap_tokens",
            "task_chunk_tokens",
            "task_max_inline_bytes",
            "task_max_inline_tokens",
            "task_max_namespace_artifacts",
            "worker_full_look_seconds",
            "worker_lease_seconds",
        }
    )

    @override
    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return environment().get(f"{PREFIX}{field_name.upper()}"), field_name, False

    @override
    def __call__(self) -> dict[str, Any]:
        variables = {name.lower(): value for name, value in environment().items()}
        given = {name: variables.get(f"{PREFIX}{name}".lower()) for name in self.NAMES}
        return {name: value for name, value in given.items() if value is not None}


class Settings(
    TaskSettings,
    ModelSettings,
    EmbeddingSettings,
    TokenSettings,
    ConnectionSettings,
    ConsoleSettings,
    McpSettings,
    BaseSettings,
):
    """The configuration of one process. Immutable."""

    model_config = SettingsConfigDict(
        env_prefix="MEMORY_BANK_",
        frozen=True,
        extra="ignore",
        env_parse_none_str="none",
        allow_inf_nan=False,
    )

    # Where it runs
    host: str = Field("127.0.0.1", description="Address the server listens on.")
    port: Port = Field(DEFAULT_PORT, description="Port; 0 picks a free one.")
    processes: int = Field(
        1,
        ge=1,
        le=256,
        description="Processes of `serve`, which share the port, or of `worker`. Use one per core,"
        " or a tenth fewer with Postgres on the same machine.",
    )
    data_dir: Path = Field(Path(".data"), description="Folder of the embedded Postgres.")
    log_format: LogFormat = Field(LogFormat.CONSOLE, description="`console` or `json`.")
    log_level: LogLevel = Field(
        "INFO",
        description="Lowest level of log lines that are written: `DEBUG`, `INFO`, `WARNING`,"
        " `ERROR` or `CRITICAL`.",
    )

    # Access
    admin_key: AdminKey | None = Field(
        None,
        description="Admin API key of at least 16 characters, until it is rotated or revoked;"
        " absent: the first start makes a key. It prints the key on a terminal, else writes it to"
        " `admin-key` in `data_dir`.",
    )

    pseudonym_key: PseudonymKey | None = Field(
        None,
        description="Secret of at least 32 characters that makes the pseudonyms of erased scopes;"
        " absent: the database has one of its own.",
    )
    audit_reads: bool = Field(
        False, description="True: the audit log also has reads, not only changes and refusals."
    )
    audit_retention_seconds: float | None = Field(
        400 * _DAY_SECONDS,
        gt=0,
        le=36_500 * _DAY_SECONDS,
        description="Life of an audit event; `none`: for ever.",
    )
    trusted_proxies: list[IPvAnyNetwork] = Field(
        default_factory=list,
        description="JSON array of addresses and networks of proxies whose `X-Forwarded-For` is"
        " trusted; from other addresses, the header is ignored.",
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
    read_url: SecretStr | None = Field(
        None,
        description="Streaming standby of `database_url`, which answers reads while the primary"
        " cannot be reached; absent: no standby.",
    )
    database_pool_size: int = Field(
        20,
        ge=1,
        description="Connections held open per process; the hot statements have up to ten more.",
    )
    database_statement_timeout_seconds: float = Field(
        30, gt=0, description="Longest run of one statement."
    )
    database_behind_pooler: bool = Field(
        False,
        description="True: behind a transaction pooler. Nothing is set on a connection, and"
        " nothing is prepared unless `database_pooler_prepared` is set.",
    )
    database_pooler_prepared: bool = Field(
        False,
        description="True: use prepared statements behind the pooler. Needs PgBouncer 1.22 or"
        " later, with its `max_prepared_statements` at 200 or more.",
    )
    postgres_user: str = Field(
        "nobody", description="User that runs the embedded Postgres when started by root."
    )
    backup_before_migration: bool = Field(
        True,
        description="True: before a start migrates the embedded Postgres, it makes a backup in"
        " `backups` in `data_dir`.",
    )

    # Retrieval, and counts of tokens
    ranking: Ranking = Field(
        Ranking.HYBRID,
        description="Order of searches where the engine does not set it: `hybrid` (meaning, words"
        " and signals) or `vector` (Euclidean distance alone).",
    )
    tiktoken_dir: Path | None = Field(
        None,
        description="Folder with `cl100k_base.tiktoken` or `o200k_base.tiktoken`, for policies"
        " that name these as `counter`; needs the extra `tokens`. Nothing is downloaded.",
    )

    # Generation
    generation_max_deletes: int = Field(
        5, ge=0, description="Memories that one generation may delete."
    )
    generation_max_forgets: int = Field(
        20, ge=0, description="Memories that one generation may delete because a user asked for it."
    )

    privacy_defaults: PrivacyConfig = Field(
        default_factory=built_in_rules,
        description="JSON object of the form of `privacyConfig`: the rules for kinds of secrets"
        " and personal data that an engine does not name; absent: credentials and payment cards are"
        " masked in generation and ingestion.",
    )

    # Sessions and ingestion
    session_ttl_seconds: float = Field(
        365 * _DAY_SECONDS, gt=0, description="Life of a session when nothing else sets it."
    )

    # Limits
    max_body_bytes: int = Field(8 * 1024 * 1024, ge=1, description="Longest JSON request body.")
    max_generation_chars: int = Field(
        2_000_000,
        ge=10_000,
        description="Characters of text in the conversation of one request to generate. Of longer"
        " sessions and streams, as many bytes are read at a time.",
    )
    max_shared_state_bytes: int = Field(
        1024 * 1024,
        ge=1_024,
        description="Longest state, as JSON, that the sessions of a user share (`user:` keys), and"
        " that all sessions of an engine share (`app:` keys).",
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
        description="Events of sessions, and ingested ones not in memories yet; `none`: no bound.",
    )
    engine_max_bytes: int | None = Field(
        100 * 1024**3,
        ge=0,
        description="Content of the memories, revisions, sessions, events and summaries of one"
        " engine together; `none`: no bound.",
    )
    engine_max_queued_operations: int | None = Field(
        10_000,
        ge=0,
        description="Operations of one engine that wait for a worker, except ingestions and"
        " summaries; `none`: no bound.",
    )
    key_rate_units_per_second: int = Field(
        10_000,
        ge=0,
        description="Rate of the requests of one key, over all processes: 1 unit for a read, up"
        " to 20 for the costliest; 0: no bound.",
    )
    engine_rate_units_per_second: int = Field(
        20_000, ge=0, description="The same for the requests on one engine; 0: no bound."
    )
    max_costly_requests_per_key: int = Field(
        512, ge=1, description="Searches, generations and waits of one key at once, per process."
    )
    max_costly_requests: int = Field(1_024, ge=1, description="The same for all keys together.")
    max_exports: int = Field(
        2, ge=1, description="Exports of engines at once, per process; each uses a connection."
    )
    export_max_seconds: float = Field(
        3_600, gt=0, description="Longest export; a longer one is aborted."
    )
    filter_timeout_seconds: float = Field(
        2,
        gt=0,
        description="Longest run of a statement with a filter that no index serves, such as a"
        " regular expression, metadata, or a list of scopes.",
    )

    # Times of the ledger
    recovery_window_seconds: float = Field(
        2 * _DAY_SECONDS, ge=0, description="Time for which a deleted memory can be recovered."
    )
    revision_ttl_seconds: float = Field(
        365 * _DAY_SECONDS, gt=0, description="Life of a revision when nothing else sets it."
    )
    idempotency_seconds: float = Field(
        _DAY_SECONDS, gt=0, description="Time for which a request id gets its first answer again."
    )
    operation_retention_seconds: float = Field(
        7 * _DAY_SECONDS, gt=0, description="Life of a finished operation."
    )
    failed_request_retention_seconds: float = Field(
        2 * _DAY_SECONDS,
        ge=0,
        description="Life of the request of a failed operation, for `:retry`; 0: it is not kept.",
    )

    # Worker
    worker_concurrency: int | None = Field(
        None,
        ge=1,
        description="Operations that a process runs at once. One engine, or one key, never takes"
        " the last place. Absent: 4; with a text model on other machines, up to 16, as"
        " `model_concurrency` and `database_pool_size` allow.",
    )
    require_worker: bool = Field(
        False,
        description="True: `/readyz` returns 503 without a worker's heartbeat for 30 seconds.",
    )
    shutdown_grace_seconds: float = Field(
        10, ge=0, description="Time that running work may take to stop."
    )
    clock_skew_max_seconds: float = Field(
        30,
        gt=0,
        description="Greatest difference between a process's clock and the database's. Beyond it,"
        " `/readyz` reports it, and the process runs no sweeps.",
    )

    tuning: Tuning = Field(
        Tuning(),
        description="JSON object that changes constants, by their names in `app/kernel/tuning.py`;"
        " these may change in any release.",
    )

    @model_validator(mode="before")
    @classmethod
    def _take_constants(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Accept constants of `Tuning` as keyword arguments from code, like settings."""
        tuning = given.get("tuning") or {}
        known = asdict(tuning) if isinstance(tuning, Tuning) else tuning
        if isinstance(known, dict) and (unknown := known.keys() - CONSTANTS):
            message = "MEMORY_BANK_TUNING must name constants of this release; got {names}."
            raise PydanticCustomError("constants", message, {"names": ", ".join(sorted(unknown))})
        constants = {name: given[name] for name in CONSTANTS & given.keys()}
        return {**given, "tuning": {**known, **constants}} if constants else given

    @model_validator(mode="after")
    def _check_pooler(self) -> Self:
        if self.database_pooler_prepared and not self.database_behind_pooler:
            raise PydanticCustomError(
                "pooler",
                "MEMORY_BANK_DATABASE_POOLER_PREPARED must be false unless"
                " MEMORY_BANK_DATABASE_BEHIND_POOLER is true; got true.",
            )
        return self

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the environment and files with secrets, but no `.env` file and no secrets folder."""
        return (
            init_settings,
            SecretFiles(settings_cls),
            env_settings,
            FormerSettings(settings_cls),
        )

    @override
    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with changed settings or constants, which are not validated."""
        values = dict(update or {})
        if constants := {name: values.pop(name) for name in CONSTANTS & values.keys()}:
            values["tuning"] = replace(self.tuning, **constants)
        return super().model_copy(update=values, deep=deep)

    @property
    def worker_places(self) -> int:
        """The number of operations that a process runs at once.

        Generations with a model on another machine wait, and do not compute. Each needs a
        connection for moments only, but some of the pool, and of the provider's places, are left
        to requests.
        """
        if self.worker_concurrency is not None:
            return self.worker_concurrency
        if not self.has_remote_model:
            return _PLACES
        free = self.database_pool_size - _PLACES
        of_provider = self.model_concurrency * 4 // 5
        return max(_PLACES, min(_PLACES_WITH_MODEL, of_provider, free))

    @property
    def recovery_window(self) -> timedelta:
        """The time during which a deleted memory can be recovered."""
        return timedelta(seconds=self.recovery_window_seconds)

    @property
    def revision_ttl(self) -> timedelta:
        """The default lifetime of a revision."""
        return timedelta(seconds=self.revision_ttl_seconds)

    @property
    def failed_request_retention(self) -> timedelta:
        """The time for which the request of a failed operation is kept."""
        return timedelta(seconds=self.failed_request_retention_seconds)

    @property
    def operation_retention(self) -> timedelta:
        """The time for which a finished operation is kept."""
        return timedelta(seconds=self.operation_retention_seconds)

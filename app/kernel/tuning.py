"""Constants: numbers that an operator has no reason to choose.

Tests inject other values. `MEMORY_BANK_TUNING` overrides them with a JSON object by name, in case
one proves wrong in operation. Names and meanings may change in any release. The types limit the
values of that object.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from app.kernel.paging import DEFAULT_PAGE_BYTES

_MIB = 1024 * 1024
_DAY_SECONDS = 86_400.0
MAX_NAMESPACE_ARTIFACTS = 10_000
"""The hard limit of artifacts of one namespace."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The constants of the service, by name. Names carry their unit."""

    # Connections and bodies
    max_header_bytes: Annotated[int, Field(ge=1024)] = 64 * 1024
    """Longest request line and headers of a request."""
    idle_seconds: PositiveFloat = 75.0
    """Longest time that a connection stays open between two requests."""
    header_seconds: PositiveFloat = 15.0
    """Longest time that a client may take for the headers of a request."""
    body_seconds: PositiveFloat = 60.0
    """Longest time that a client may take for the body of a request."""
    body_min_bytes_per_second: NonNegativeInt = 256
    """Slowest pace of a body, measured over five seconds; 0: no limit."""
    max_body_requests_per_key: PositiveInt = 64
    """Bodies that one key (without a key: one address) may keep open for a second or longer, per
    process.
    """
    max_body_requests: PositiveInt = 512
    """The same for all keys together."""
    max_body_bytes_per_key: PositiveInt = 64 * _MIB
    """Bytes held for one key at once: bodies longer than 64 KiB, from before they arrive until they
    are parsed, and answers of this length, from when they are read until the client has taken
    them. One is always accepted.
    """
    max_body_bytes_held: PositiveInt = 256 * _MIB
    """The same for all keys together."""
    send_seconds: PositiveFloat = 30.0
    """Longest time for which a client may leave its answer untaken."""
    stall_exit_seconds: NonNegativeFloat = 60.0
    """Time that the event loop may hang before the process exits with status 70; 0: for ever."""

    # Embeddings
    embedding_query_seconds: PositiveFloat = 10.0
    """Longest wait of a search, or of the write of one memory, for an embedding. Then the search
    uses words alone, and the memory is embedded later.
    """
    embedding_retry_seconds: PositiveFloat = 5.0
    """Pause between attempts at memories that wait for their vectors."""
    reembed_batch_rows: Annotated[PositiveInt, Field(le=1000)] = 64
    """Memories that a re-embedding takes at a time."""
    reembed_settle_seconds: NonNegativeFloat = 1.0
    """Wait after a switch of models for writes in progress; a sweep finds writes that end later."""

    embedding_cache_entries: NonNegativeInt = 4_096
    """Embeddings kept in memory by content hash."""

    # Models
    model_max_attempts: PositiveInt = 4
    """Requests for one answer after 429, 5xx and lost connections."""
    model_mode_retry_seconds: PositiveFloat = 600.0
    """Pause after a model's server refuses a way of asking, before it is tried again."""
    model_max_reply_bytes: PositiveInt = 2 * _MIB
    """Longest HTTP reply of a provider that is read."""
    model_breaker_failures: PositiveInt = 5
    """Failures in a row after which requests to a provider pause."""
    model_breaker_seconds: PositiveFloat = 30.0
    """Length of this pause."""

    # Database
    database_pool_overflow: NonNegativeInt = 0
    """Additional connections under load, opened and closed each time."""
    database_pool_timeout_seconds: PositiveFloat = 10.0
    """Longest wait of a request for a connection, before 503."""
    database_connect_timeout_seconds: PositiveInt = 5
    """Longest time that opening a connection may take."""
    database_transaction_max_seconds: Annotated[PositiveFloat, Field(le=120)] = 120.0
    """Longest transaction that may write vectors; a switch of models relies on two minutes."""
    postgres_start_seconds: PositiveFloat = 60.0
    """Longest time that the embedded Postgres may take to start."""

    # Generation
    generation_neighbours: PositiveInt = 20
    """Memories of the scope with which a new fact is compared."""
    generation_max_candidates: PositiveInt = 200
    """Facts that one generation compares and writes; its operation counts the rest."""
    generation_max_pieces: PositiveInt = 10
    """Pieces of a long conversation that one generation reads."""
    preview_retention_seconds: PositiveFloat = 3600.0
    """Time for which the result of a `validateOnly` generation is kept."""

    # Ingestion
    ingestion_max_pending_seconds: PositiveFloat = _DAY_SECONDS
    """Longest time that an ingested event waits for its rule."""
    ingestion_event_id_seconds: PositiveFloat = 90 * _DAY_SECONDS
    """Time for which the id of an ingested event is known."""
    ingestion_retry_seconds: PositiveFloat = 900.0
    """First pause of a stream whose generation failed; it doubles each time."""

    # Limits
    max_page_size: Annotated[PositiveInt, Field(le=1000)] = 1000
    """Rows of a page of a list or a retrieval; a larger page size is reduced to this. For sessions,
    events and retrieved memories, at most 100.
    """
    max_page_bytes: Annotated[int, Field(ge=_MIB, le=64 * _MIB)] = DEFAULT_PAGE_BYTES
    """Longest page of a list, and longest answer of `:retrieve`, as JSON; each has at least one
    item. The `nextPageToken` of a list returns the rest.
    """
    max_scope_pairs: Annotated[PositiveInt, Field(le=5)] = 5
    """Pairs of a scope in a write."""
    max_scope_value_chars: Annotated[PositiveInt, Field(le=1024)] = 1024
    """Longest value of a scope in a write."""
    max_metadata_entries: Annotated[NonNegativeInt, Field(le=50)] = 50
    """Keys of a memory's metadata."""
    max_metadata_value_chars: Annotated[PositiveInt, Field(le=4096)] = 4096
    """Longest text in a memory's metadata."""
    max_session_policies: NonNegativeInt = 20
    """Policies other than its own by which one session has summaries at once; requests for
    contexts name them.
    """
    max_stream_pending_events: PositiveInt = 100_000
    """Ingested events that wait in one stream."""
    max_stream_pending_bytes: PositiveInt = 64 * _MIB
    """Bytes of the events that wait in one stream."""
    rate_burst_seconds: Annotated[PositiveFloat, Field(le=3_600)] = 10.0
    """Time for which a key and an engine can save up their rate."""
    rate_block_seconds: Annotated[PositiveFloat, Field(le=1)] = 0.1
    """Seconds of a rate that one process takes for itself at a time."""
    filter_regex_max_chars: PositiveInt = 256
    """Longest regular expression in a filter."""

    # Operations, sweeps and indexes
    worker_poll_seconds: PositiveFloat = 0.25
    """Pause between searches for work while no notifications arrive from the database; otherwise
    up to five seconds.
    """
    worker_full_look_seconds: Annotated[float, Field(ge=1, le=300)] = 5.0
    """Interval of the searches for work on all nodes of a distributed database, by all workers
    together. They find work that a killed process did not announce.
    """
    worker_lease_seconds: PositiveFloat = 30.0
    """Lease on an operation; renewed after a third of its length."""
    worker_hung_seconds: PositiveFloat = 30.0
    """Time without a search for work after which a worker with free places counts as hung."""
    worker_silent_node_seconds: PositiveFloat = 5.0
    """Time after which a node of a distributed database that has not answered counts as silent."""
    worker_max_attempts: PositiveInt = 10
    """Attempts before an operation fails."""
    worker_retry_base_seconds: PositiveFloat = 1.0
    """First retry delay; it doubles each time, with jitter."""
    worker_retry_max_seconds: PositiveFloat = 300.0
    """Longest retry delay."""
    summary_retry_max_seconds: PositiveFloat = 3600.0
    """Longest pause before a summary that failed is tried again."""
    sweep_interval_seconds: PositiveFloat = 60.0
    """Interval of every sweep (expiry, recovery end, old operations)."""
    sweep_batch_rows: PositiveInt = 500
    """Rows that a sweep removes at a time."""
    scope_index_memories: PositiveInt = 8_000
    """Memories from which a scope gets its own index for searches by meaning, which are then
    approximate. In smaller scopes, the index would cost a search more than it saves.
    """
    max_scope_indexes: NonNegativeInt = 50
    """Such indexes, over all engines; 0: none, every search is exact."""
    scope_index_interval_seconds: PositiveFloat = 600.0
    """Interval of the search for scopes that need such an index, or no longer need it."""
    process_beat_seconds: PositiveFloat = 5.0
    """Pause between two heartbeats of a process."""
    process_seen_seconds: PositiveFloat = 30.0
    """Greatest age of the last heartbeat of a process that counts as live."""
    undo_embedded_memories: PositiveInt = 20_000
    """Memories up to which an undo writes their vectors itself. The memories of a larger undo are
    embedded afterwards, since only a transaction that writes vectors has a time limit.
    """
    operation_wait_max_seconds: PositiveFloat = 60.0
    """Longest wait of `:wait` before it returns the running operation."""

    # Task memory
    task_max_passthrough_bytes: PositiveInt = 4096
    """Longest `info` or `error` output, which is never stored."""
    task_max_inline_tokens: NonNegativeInt = 1_000
    """Tokens up to which an output stays in the prompt under `offPrompt: auto`."""
    task_max_inline_bytes: PositiveInt = _MIB
    """Greatest size of the artifacts of one JSON request."""
    task_max_namespace_artifacts: Annotated[PositiveInt, Field(le=MAX_NAMESPACE_ARTIFACTS)] = 1_000
    """Artifacts of one namespace, and elements of a list."""
    task_chunk_tokens: Annotated[int, Field(ge=50, le=8_000)] = 400
    """Longest piece of a text that readers get."""
    task_chunk_overlap_tokens: NonNegativeInt = 50
    """Tokens at the end of a piece that the next one repeats; at most half a piece."""
    task_index_at_once_bytes: Annotated[NonNegativeInt, Field(le=8 * _MIB)] = _MIB
    """Longest text that is cut into pieces before the upload is answered."""
    task_index_seconds: PositiveFloat = 600.0
    """Longest work on the text of one artifact; an artifact that takes longer has no text."""
    task_pdf_cpu_seconds: PositiveInt = 120
    """Longest CPU time for the text of a PDF; a PDF that takes longer has no text."""
    task_pdf_memory_bytes: PositiveInt = 184 * _MIB
    """Limit of the address space of the process that reads a PDF."""
    task_upload_seconds: PositiveFloat = 3600.0
    """Time after which an unfinished upload is swept."""
    task_sweep_grace_seconds: NonNegativeFloat = 2.0
    """Time from the expiry of something in task memory until a sweep frees it. It must exceed the
    difference between the clocks of processes.
    """
    task_max_summary_calls: PositiveInt = 200
    """Calls of a reader's model that one summary or extraction may take."""

    # MCP
    mcp_wait_seconds: Annotated[float, Field(ge=0, le=60)] = 20.0
    """Time for which the tools `remember` and `learn_from_conversation` wait for their operation
    before they return its name.
    """

    # A distributed database
    treats_database_as_distributed: bool = False
    """True to use a single Postgres like a distributed one; for tests."""

    # Tokens of an issuer
    jwt_jwks_max_age_seconds: Annotated[float, Field(ge=1)] = 300.0
    """Time for which keys from an address are current; if the address fails, an hour more."""
    jwt_leeway_seconds: Annotated[float, Field(ge=0, le=300)] = 10.0
    """Greatest error of the issuer's clock."""
    jwt_key_timeout_seconds: PositiveFloat = 5.0
    """Longest wait for the keys of the issuer."""
    jwt_max_token_bytes: Annotated[int, Field(ge=256)] = 8192
    """Longest token."""

"""SQL statements of `memory-bank check` for memories, their revisions and vectors."""

from app.kernel.checks import Batches, CheckName, CountedRows, Examination, overdue
from app.kernel.limits import Counted
from app.memory.memories.store.tables import (
    ColumnRole,
    MemoryRow,
    RevisionRow,
    Row,
    columns_of,
    counted_columns,
)

_MEMORIES = Batches("memories", "memory_id")
_OF_BATCH = "m.engine_id = :engine and m.memory_id > :after and m.memory_id <= :last"
# Provenance is left out: a sweep has added it to memories with revisions that lack it.
_COMPARED = [
    column.name for column in columns_of(MemoryRow, ColumnRole.CONTENT, ColumnRole.KEPT).values()
]
_NOT_IN_DELETIONS = {"fact", "structured_content"}


def _differs(column: str) -> str:
    of_memory = f"m.{column}"
    if column in _NOT_IN_DELETIONS:
        of_memory = f"case when m.delete_time is null then m.{column} end"
    return f"r.{column} is distinct from {of_memory}"


_NEWEST = f"""
select case
        when r.version is null or r.version < m.version then 'NOTE'
        else 'FAILED'
    end as level,
    case
        when r.version is null or r.version < m.version
            then 'no revision of its version: it has expired, or revisions were off'
        when r.version > m.version then 'its newest revision is newer than the memory'
        when (r.action = 'DELETED') <> (m.delete_time is not null)
            then 'the action of its newest revision contradicts whether it is deleted'
        else 'its newest revision has other content'
    end as problem,
    m.engine_id, 'memories/' || m.memory_id as name
from memories m
left join lateral (
    select version, action, {", ".join(_COMPARED)}
    from memory_revisions
    where engine_id = :engine and memory_id = m.memory_id
    order by version desc
    limit 1
) r on true
where {_OF_BATCH} and (
    r.version is distinct from m.version
    or (r.action = 'DELETED') <> (m.delete_time is not null)
    or {" or ".join(map(_differs, _COMPARED))}
)
"""  # noqa: S608 - of constants

# A request may disable its revision or shorten its life. Of revisions with the same life, the
# earlier ones expire first.
_VERSIONS = f"""
with versions as (
    select m.engine_id, m.memory_id, m.version, m.expire_time - m.create_time as life,
        lag(m.version) over by_version as former,
        lag(m.expire_time - m.create_time) over by_version as former_life
    from memory_revisions m
    where {_OF_BATCH}
    window by_version as (partition by m.engine_id, m.memory_id order by m.version)
)
select case when version = former then 'FAILED' else 'WARNING' end as level,
    case
        when version = former then 'two revisions have one version'
        else 'lacks revisions between others: they were removed, or revisions were off'
    end as problem,
    engine_id, 'memories/' || memory_id as name
from versions
where version = former or (version > former + 1 and life = former_life)
"""  # noqa: S608 - of constants

_VECTORS = f"""
select
    -- A write that began under the former model is embedded again by a later pass.
    case when e.stale_vectors_until is null then 'FAILED' else 'WARNING' end as level,
    'has no vector by the serving model, and does not wait for one' as problem,
    m.engine_id, 'memories/' || m.memory_id as name
from memories m join engines e on e.engine_id = m.engine_id
where {_OF_BATCH} and m.delete_time is null and m.fact is not null
    and (m.expire_time is null or m.expire_time > statement_timestamp())
    and not exists (
        select from memory_vectors v
        where v.engine_id = :engine and v.memory_id = m.memory_id
            and v.model_id = e.embedding_model
    )
    and not exists (
        select from unembedded_memories u
        where u.engine_id = :engine and u.memory_id = m.memory_id
    )
union all
select 'FAILED' as level,
    case
        when m.delete_time is not null then 'is deleted, and has a vector'
        when v.scope_hash <> m.scope_hash then 'has a vector of another scope'
        else 'has a vector of another length than its model'
    end as problem,
    m.engine_id, 'memories/' || m.memory_id as name
from memories m
join memory_vectors v on v.engine_id = m.engine_id and v.memory_id = m.memory_id
where {_OF_BATCH} and (
    m.delete_time is not null
    or v.scope_hash <> m.scope_hash
    or vector_dims(v.vector) <> (cast(:lengths as jsonb) ->> v.model_id)::integer
)
"""  # noqa: S608 - of constants

# The canonical text of `app/kernel/ids.py`, in the form that Postgres writes.
_SCOPE_HASH = f"""
select 'FAILED' as level, 'its digest is not that of its scope' as problem,
    engine_id, 'memories/' || memory_id as name
from (
    select m.engine_id, m.memory_id, m.scope, m.scope_hash from memories m
    where {_OF_BATCH} and random() < :share
    offset 0
) sample
where scope_hash <> (
    select sha256(convert_to('{{' || coalesce(string_agg(
        to_json(key) || chr(58) || to_json(value), ',' order by key collate "C"
    ), '') || '}}', 'UTF8'))
    from jsonb_each_text(scope)
)
"""  # noqa: S608 - of constants


EXAMINATIONS = (
    Examination(CheckName.NEWEST, _NEWEST, _MEMORIES),
    Examination(CheckName.VERSIONS, _VERSIONS, _MEMORIES),
    Examination(CheckName.VECTORS, _VECTORS, _MEMORIES),
    Examination(CheckName.SCOPE_HASH, _SCOPE_HASH, _MEMORIES),
    overdue("deleted memories past their recovery", "memories", "recover_until"),
    overdue("expired memories", "memories", "expire_time", "delete_time is null"),
    overdue("expired revisions", "memory_revisions", "expire_time"),
)


def _bytes_of(row: Row) -> str:
    return f"octet_length(concat({', '.join(sorted(counted_columns(row)))}))"


COUNTED = (
    CountedRows(
        "memories",
        {Counted.MEMORIES: "(delete_time is null)::int", Counted.BYTES: _bytes_of(MemoryRow)},
    ),
    CountedRows("memory_revisions", {Counted.BYTES: _bytes_of(RevisionRow)}),
)

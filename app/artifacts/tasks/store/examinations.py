"""Statements that `memory-bank check` runs to examine artifacts."""

from app.kernel.checks import Batches, CheckName, CountedRows, Examination, overdue
from app.kernel.limits import Counted

_NAME = """
    'taskMemories/' || a.memory || '/namespaces/' || a.namespace || '/artifacts/' || a.name as name
"""
# Expired artifacts and engines with an erasure under way are excluded: pages are deleted first.
_OF_BATCH = """
    a.engine_id = :engine and a.content_id > :after and a.content_id <= :last
    and a.state <> 'uploading' and a.expire_time > statement_timestamp()
    and not exists (select from erasures where engine_id = :engine and scope is not null)
"""
_PAGES = f"""
select 'FAILED' as level, 'its pages have another length than the artifact' as problem,
    a.engine_id, {_NAME}
from task_artifacts a
where {_OF_BATCH} and a.size_bytes <> (
    select coalesce(sum(octet_length(data)), 0) from task_pages p
    where p.engine_id = :engine and p.content_id = a.content_id
)
union all
select 'FAILED' as level, 'its digest is not that of its pages' as problem, a.engine_id, {_NAME}
from (
    select * from task_artifacts a
    where {_OF_BATCH} and a.sha256 is not null and random() < :share
    offset 0
) a
where a.sha256 <> (
    select sha256(coalesce(string_agg(data, ''::bytea order by page), ''::bytea))
    from task_pages p
    where p.engine_id = :engine and p.content_id = a.content_id
)
"""  # noqa: S608 - of constants
EXAMINATIONS = (
    Examination(CheckName.ARTIFACTS, _PAGES, Batches("task_artifacts", "content_id")),
    overdue("expired artifacts", "task_artifacts", "expire_time"),
)
COUNTED = (CountedRows("task_artifacts", {Counted.ARTIFACT_BYTES: "size_bytes"}),)

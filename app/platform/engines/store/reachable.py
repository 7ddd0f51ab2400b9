"""The engines of a distributed database that lie on nodes which answer.

Citus answers a statement over all shards with all rows or with none. So each node is asked for the
ids on it; then the statement names them, and reaches no other node.
"""

from collections.abc import Collection

from sqlalchemy import BigInteger, ColumnElement, any_, literal, text, true
from sqlalchemy.dialects.postgresql import ARRAY

from app.adapters.db.session import Session
from app.platform.engines.store.tables import EngineRow

_IDS = text("""
select engine_id::bigint
from (
    select nodename::text, nodeport,
        format('select coalesce(json_agg(engine_id), ''[]'') from (%s) as held', string_agg(
            format('select engine_id from %s', shard_name(logicalrelid, shardid)), ' union all '
        )) as question
    from pg_dist_shard
    join pg_dist_placement using (shardid)
    join pg_dist_node using (groupid)
    where logicalrelid = 'engines'::regclass and noderole = 'primary'
        and nodename || ':' || nodeport <> all(:away)
    group by nodename, nodeport
) as asked,
lateral master_run_on_worker(
    array[nodename], array[nodeport], array[question], false
) as answered,
lateral json_array_elements_text(case when success then result::json else '[]' end) as engine_id
""")


async def is_elsewhere(session: Session, away: Collection[str]) -> ColumnElement[bool]:
    """Select the engines on all nodes but those that are away, if there are some."""
    if not away:
        return true()
    ids = (await session.execute(_IDS, {"away": list(away)})).scalars().all()
    condition: ColumnElement[bool] = EngineRow.engine_id == any_(
        literal(list(ids), ARRAY(BigInteger()))
    )
    return condition

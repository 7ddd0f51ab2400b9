"""Contents of each worker of a cluster: engines, memories and bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from app.adapters.db.cluster import Address

# The totals are read from all shards first; then the coordinator knows where each engine lies.
_HELD = text("""
with counted as materialized (
    select engine_id, sum(memories) as memories
    from (
        select engine_id, 0 as memories from engines where delete_time is null
        union all
        select engine_id, memories from engine_totals
    ) as either
    group by engine_id
), placed as materialized (
    select get_shard_id_for_distribution_column('engines', engine_id) as shardid, memories
    from counted
), sizes as materialized (
    select nodename, nodeport, sum(shard_size) as bytes from citus_shards group by 1, 2
)
select node.nodename, node.nodeport, count(placed.shardid),
    coalesce(sum(placed.memories), 0)::bigint, coalesce(min(sizes.bytes), 0)::bigint
from pg_dist_node as node
left join pg_dist_placement as placement using (groupid)
left join placed using (shardid)
left join sizes on (sizes.nodename, sizes.nodeport) = (node.nodename, node.nodeport)
where node.noderole = 'primary' and node.groupid <> 0
group by node.nodename, node.nodeport
order by node.nodename, node.nodeport
""")


@dataclass(frozen=True)
class Held:
    """The contents of a worker; the bytes are of all tables that lie by engine."""

    node: Address
    engines: int
    memories: int
    bytes: int


def read_held(connection: Connection) -> Sequence[Held]:
    """Return the contents of each worker; all nodes are asked."""
    return [
        Held(Address(host, port), engines, memories, size)
        for host, port, engines, memories, size in connection.execute(_HELD)
    ]

"""Moves, isolations and splits of the shard that holds an engine, as operators make them."""

from tests.support.citus import Cluster, ask

Place = tuple[object, ...]
"""The host and the port of a worker."""
ONLINE, BLOCKING = "force_logical", "block_writes"
ISOLATE = "select isolate_tenant_to_new_shard('engines', %s, 'cascade', 'block_writes')"
# Citus isolates online only onto another node: on the same one, the parts have no keys at first, by
# which changes that came meanwhile could be made there, and the copy waits for ever.
SPLIT = """
    with cut as (
        select shardid, array_agg(point::text order by point) as points
        from (select %s::bigint as engine) as given,
            worker_hash(engine) as hash, pg_dist_shard as shard,
            unnest(array[hash - 1, hash]) as point
        where shardid = get_shard_id_for_distribution_column('engines', engine)
            and point >= shardminvalue::int and point < shardmaxvalue::int
        group by shardid
    )
    select citus_split_shard_by_split_points(
        shardid, points, array_fill(nodeid, array[cardinality(points) + 1]), 'force_logical'
    )
    from cut, pg_dist_node where nodename = %s and nodeport = %s
"""
# The job is seen once the statement that starts it has ended.
REBALANCE = ("select citus_rebalance_start()", "select citus_rebalance_wait()")
_PLACE = """
    select nodename, nodeport from citus_shards
    where shardid = get_shard_id_for_distribution_column('engines', %s)
"""
_MOVE = """
    select citus_move_shard_placement(shardid, nodename, nodeport, %s, %s, '{mode}')
    from citus_shards where shardid = get_shard_id_for_distribution_column('engines', %s)
"""


def move(mode: str) -> str:
    """Return the statement that moves an engine's shard; its values are host, port and engine."""
    return _MOVE.format(mode=mode)


def place_of(url: str, engine: int) -> Place:
    """Return the place that holds an engine."""
    (place,) = ask(url, _PLACE, engine)
    return place


def elsewhere(cluster: Cluster, url: str, engine: int) -> Place:
    """Return the place that does not hold the engine, of the first two workers."""
    here = place_of(url, engine)
    (other,) = {(worker.host, worker.port) for worker in cluster.workers[:2]} - {here}
    return other

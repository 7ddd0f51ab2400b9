"""The CPU of Postgres that one search for a free operation takes."""

from pathlib import Path

from sqlalchemy import text

from app.adapters.resources import Resources
from app.platform.operations.logic.places import NONE, PassedOver
from app.platform.operations.store import queue
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.processes import connections_seconds

_FLOOD, _CALLER = 77, "flooding"
_WAITING = 10_000
_FEW = 20
_BAR_MS = 20.0
_UNCHANGED_MS = 0.5
"""More that a claim may cost beside a flood that it does not pass over: a deeper index."""
_INSERT = text("""
    insert into operations (engine_id, operation_id, engine_name, kind, key, state, request,
      create_time, update_time, due_time, caller)
    select :engine, :engine || '-' || n, 'reasoningEngines/' || :engine, 'none', 'key-' || n,
      'PENDING', '{}', now(), now(), now() + n * interval '1 millisecond' - interval '1 hour',
      :caller
    from generate_series(1, :count) n
""")


async def show_claims(folder: Path, rounds: int) -> bool:
    """Print what claims cost without the flood and beside it; return True if bars are kept."""
    settings = Settings(data_dir=folder, admin_key="shares-admin-key", embedder=EmbedderChoice.HASH)
    async with open_process(settings) as found:
        resources = found.resources
        await _fill(resources, _FLOOD + 1, "another", _FEW)
        quiet = await _milliseconds(resources, rounds, NONE)
        await _fill(resources, _FLOOD, _CALLER, _WAITING)
        beside = await _milliseconds(resources, rounds, NONE)
        engine = await _milliseconds(resources, rounds, PassedOver(engines=(_FLOOD,)))
        caller = await _milliseconds(resources, rounds, PassedOver(callers=(_CALLER,)))
        both = await _milliseconds(resources, rounds, PassedOver((_FLOOD,), (_CALLER,)))
    print(f"milliseconds of Postgres a claim, {_WAITING} operations of one engine waiting")
    print(f"  {'claim':<44}{'found':>8}{'bar':>8}")
    print(f"  {'without the flood':<44}{quiet:>8.2f}")
    cases = {
        "beside it, nothing passed over": (beside, quiet + _UNCHANGED_MS),
        "its engine passed over": (engine, _BAR_MS),
        "its caller passed over": (caller, _BAR_MS),
        "both passed over": (both, _BAR_MS),
    }
    for name, (taken, bar) in cases.items():
        print(f"  {name:<44}{taken:>8.2f}{bar:>8.2f} {'kept' if taken <= bar else 'MISSED'}")
    return all(taken <= bar for taken, bar in cases.values())


async def _fill(resources: Resources, engine: int, caller: str, count: int) -> None:
    values = {"engine": str(engine), "caller": caller, "count": count}
    statement = text(_INSERT.text.replace("select :engine,", f"select {engine},"))
    async with resources.db.transaction() as session:
        await session.execute(statement, values)


async def _milliseconds(resources: Resources, rounds: int, passed: PassedOver) -> float:
    """Return what one search costs, once its plan is known."""
    now = resources.clock.now()
    for _ in range(10):
        assert await queue.find(resources.db, now, (), passed)
    before = connections_seconds(resources.database_url)
    for _ in range(rounds):
        await queue.find(resources.db, now, (), passed)
    return (connections_seconds(resources.database_url) - before) / rounds * 1_000

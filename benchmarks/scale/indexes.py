"""The cost of many indexes of scopes for searches and writes in other scopes."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import cycle

from app.kernel.ids import scope_hash
from app.kernel.ranking import Ranking
from app.memory.retrieval.jobs import IndexSweep
from app.memory.retrieval.store import indexes
from benchmarks.processes import connections_seconds
from benchmarks.scale.bank import IN_SCOPE
from benchmarks.scale.served import Served

_BAR = 1.15
_WARM = 30


async def show_many_indexes(bank: Served, requests: int) -> bool:
    """Print the CPU of requests while many scopes have an index, and without these indexes.

    Return True if the bar is kept.
    """
    await _sweep(bank, scope_index_memories=IN_SCOPE // 2)
    async with bank.resources.db.snapshot() as session:
        ready = await indexes.list_ready(session)
    digests = {key.scope_hash for key in ready if key.engine_id == 1}
    scopes = [{"user_id": str(number)} for number in range(1, bank.bank.scopes + 1)]
    others = [scope for scope in scopes if scope_hash(scope) not in digests]
    beside = await _milliseconds(bank, others, requests)
    await _sweep(bank, max_scope_indexes=0)
    without = await _milliseconds(bank, others, requests)
    is_kept = True
    for name, first in without.items():
        ratio = beside[name] / first
        is_kept = is_kept and ratio <= _BAR
        said = "kept" if ratio <= _BAR else "MISSED"
        print(
            f"{name} beside {len(ready)} indexes of scopes: {beside[name]:.2f} ms of CPU, without"
            f" them {first:.2f}: {ratio:.2f} times (bar {_BAR}) {said}",
            flush=True,
        )
    return is_kept


async def _sweep(bank: Served, **constants: int) -> None:
    settings = bank.resources.settings.model_copy(update=constants)
    await IndexSweep(replace(bank.resources, settings=settings)).run()


async def _milliseconds(
    bank: Served, scopes: Sequence[dict[str, str]], requests: int
) -> dict[str, float]:
    """Return the CPU of service and Postgres for a request of each kind."""
    url, took, asked = bank.resources.database_url, {}, cycle(scopes)
    kinds: dict[str, Callable[[dict[str, str]], Awaitable[object]]] = {
        "retrieve": lambda scope: bank.retrieve(Ranking.HYBRID, scope),
        "create": bank.create,
    }
    for name, ask in kinds.items():
        for _ in range(_WARM):
            await ask(next(asked))
        began = time.process_time() + connections_seconds(url)
        for _ in range(requests):
            await ask(next(asked))
        ended = time.process_time() + connections_seconds(url)
        took[name] = 1_000 * (ended - began) / requests
    return took

"""Single sweeps, and single batches of them."""

from collections.abc import Sequence

from app.adapters.batches import SweepBatches
from app.adapters.db.spread import Changed, ChangeKeys, FindRows
from app.adapters.resources import Resources
from app.process.features import FEATURES


async def sweep(resources: Resources, name: str) -> int:
    """Run the sweep of this name; return the number of its rows."""
    sweeps = (sweep for feature in FEATURES for sweep in feature.sweeps)
    return await next(one for one in sweeps if one.name == name).run(resources)


async def batch(
    resources: Resources, find: FindRows, change: ChangeKeys[Changed], limit: int = 100
) -> tuple[int, Sequence[Changed]]:
    """Find and change rows once; return how many were found, and the results by engine."""
    batches = SweepBatches(resources, "trials")
    done = await batches.changed(find, change, batches.search(limit))
    return done.found, [result for _, result in done.changed]

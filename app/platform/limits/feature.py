"""Registers limits."""

from app.adapters.batches import batched, spread
from app.adapters.resources import Sweep
from app.platform.limits.store import claims, repository
from app.web.feature import Feature

FEATURE = Feature(
    "limits",
    sweeps=(
        Sweep("rate buckets", batched(claims.remove_full)),
        Sweep("totals", spread(repository.find_addable, repository.add_up)),
    ),
)

"""Registers limits."""

from app.adapters.batches import batched, spread
from app.platform.limits.store import repository
from app.web.feature import Feature

FEATURE = Feature(
    "limits",
    sweeps=(
        batched("rate buckets", repository.select_full, repository.remove_full),
        spread("totals", repository.find_addable, repository.add_up),
    ),
)

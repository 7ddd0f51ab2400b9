"""Registers limits."""

from app.adapters.batches import batched, spread
from app.platform.limits import store
from app.web.feature import Feature

FEATURE = Feature(
    "limits",
    sweeps=(
        batched("rate buckets", store.select_full, store.remove_full),
        spread("totals", store.find_addable, store.add_up),
    ),
)

"""Registers limits."""

from app.adapters.batches import batched, spread
from app.platform.limits.store import claims, repository
from app.web.feature import Feature

FEATURE = Feature(
    "limits",
    sweeps=(
        batched("rate buckets", claims.select_full, claims.remove_full),
        spread("totals", repository.find_addable, repository.add_up),
    ),
)

"""Rounds in which one operation reads an input that is too long for one generation (pure)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate, takewhile
from typing import Any

from app.platform.usage.logic import costs

GENERATED = "generatedMemories"
"""Field of a response that lists the changes."""


def count_fitting(sizes: Iterable[int], most: int) -> int:
    """Return the number of leading sizes whose sum stays within a bound."""
    return sum(1 for _ in takewhile(lambda total: total <= most, accumulate(sizes)))


def response_of_both(own: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response of a round joined with the response of the rounds before."""
    generated = [memory for part in (earlier, own) for memory in part.get(GENERATED, [])]
    return {**earlier, **own, **({GENERATED: generated} if generated else {})}


def together(own: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata joined with the metadata of the earlier rounds: counts, costs, lists."""
    joined = {key: _join(value, earlier[key]) for key, value in own.items() if key in earlier}
    sums = {key: value for key, value in joined.items() if value is not None}
    return {**costs.with_earlier(own, earlier), **sums}


def _join(own: object, earlier: object) -> object:
    """Return two counts, maps of counts or lists of records as one, or None for other values."""
    match own, earlier:
        case int(), int() if not isinstance(own, bool):
            return own + earlier
        case dict(), dict() if all(
            type(count) is int for count in (*own.values(), *earlier.values())
        ):
            return dict(Counter(own) + Counter(earlier))
        case list(), list():
            return [*earlier, *own]
        case _:
            return None

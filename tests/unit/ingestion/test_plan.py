"""Which events one generation reads."""

from datetime import UTC, datetime

import pytest

from app.memory.ingestion.logic import ListedEvent, first_batch, last

NOW = datetime(2026, 1, 15, tzinfo=UTC)
MOST = 1_000
HALF = MOST // 2


def _events(*sizes: int, limit: int | None = None) -> list[ListedEvent]:
    return [ListedEvent(seq, NOW, NOW, size, limit) for seq, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("sizes", "limit", "read"),
    [
        ((), None, 0),
        ((1, 1, 1), None, 3),
        ((HALF, HALF, 1), None, 2),
        ((3 * HALF, 1), None, 1),
        ((1, 3 * HALF), None, 1),
        ((1, 1, 1), 2, 2),
        ((1, 1, 1), 1, 1),
        ((3 * HALF, 1), 2, 1),
    ],
)
def test_a_batch_is_bounded_and_never_empty(
    sizes: tuple[int, ...], limit: int | None, read: int
) -> None:
    events = _events(*sizes, limit=limit)
    assert list(first_batch(events, MOST)) == events[:read]


def test_what_failed_is_not_read_with_what_did_not() -> None:
    fresh, failed = _events(1, 1), _events(1, 1, limit=4)
    assert list(first_batch([*fresh, *failed], MOST)) == fresh
    assert list(first_batch([*failed, *fresh], MOST)) == failed


@pytest.mark.parametrize(
    ("sizes", "count", "kept"),
    [
        ((1, 1, 1), 2, 2),
        ((1, 1, 1), 0, 0),
        ((1, 1), 9, 2),
        ((1, HALF, HALF), 3, 2),
        ((1, 3 * HALF), 2, 0),
    ],
)
def test_the_last_are_bounded(sizes: tuple[int, ...], count: int, kept: int) -> None:
    events = _events(*sizes)
    assert list(last(events, count, MOST)) == events[len(events) - kept :]

"""The way through sessions: each event that was there is read once, whatever interrupts it."""

from datetime import UTC, datetime, timedelta
from itertools import cycle

from hypothesis import given, settings
from hypothesis import strategies as st

from app.conversation.recall.logic import SessionPlace, SessionStretch, SessionWalk

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_MOST_SESSIONS = 12


class _Sessions:
    """Sessions, each with the number of its events, in the order of their creation."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes

    def listed(self, since: SessionPlace | None, limit: int) -> list[SessionStretch]:
        """Return sessions newest first, from one on, as the database does."""
        rows = [
            SessionStretch(f"s{n}", 1, size, _BEGIN + timedelta(days=n))
            for n, size in reversed([*enumerate(self.sizes)])
        ]
        if since is not None:
            key = (since.create_time, since.session_id)
            rows = [row for row in rows if (row.create_time, row.session_id) <= key]
        return rows[:limit]

    def append(self) -> None:
        """Append events to every session, and create one."""
        self.sizes = [*(size + 2 for size in self.sizes), 3]


def _walked(sessions: _Sessions, listed: int, most: int, steps: list[int]) -> list[tuple[str, int]]:
    """Read all events, stopping after so many steps each time, while others are appended.

    A step of 0 stops in the midst of what was taken.
    """
    read: list[tuple[str, int]] = []
    place: SessionPlace | None = None
    waiting = cycle(steps)
    while True:
        walk = SessionWalk(end=place)
        for step in range(next(waiting) + 1):
            if walk.needs_more:
                stretches = sessions.listed(walk.end, listed)
                walk.extend(stretches, is_all=len(stretches) < listed)
            taken = walk.take(most)
            events = [
                (one.session_id, seq)
                for one in taken
                for seq in range(one.last_seq, one.first_seq - 1, -1)
            ]
            if step == 0 and len(events) > 1:
                events = events[: len(events) // 2]
                walk.put_back(taken, *events[-1])
            read += events
        if walk.is_over:
            return read
        place = walk.place
        if len(sessions.sizes) < _MOST_SESSIONS:
            sessions.append()


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), max_size=6),
    listed=st.integers(2, 4),
    most=st.integers(1, 8),
    steps=st.lists(st.integers(0, 4), min_size=1, max_size=4),
)
def test_each_event_is_read_once_in_order_while_others_are_appended(
    sizes: list[int], listed: int, most: int, steps: list[int]
) -> None:
    sessions = _Sessions(sizes)
    read = _walked(sessions, listed, most, steps)
    assert len(set(read)) == len(read)
    old = [(f"s{n}", seq) for n, size in enumerate(sizes) for seq in range(1, size + 1)]
    assert [event for event in read if event in set(old)] == sorted(old, reverse=True)


def test_a_long_session_is_divided_and_a_gone_one_left_out() -> None:
    walk = SessionWalk(end=SessionPlace(_BEGIN, "gone", 7))
    earlier = _BEGIN - timedelta(days=1)
    walk.extend([SessionStretch("s", 3, 9, earlier)], is_all=True)
    assert walk.take(5) == [SessionStretch("s", 5, 9, earlier)]
    assert walk.place == SessionPlace(earlier, "s", 4)
    assert walk.take(5) == [SessionStretch("s", 3, 4, earlier)]
    assert walk.is_over
    assert walk.place is None

"""What an undo decides for one memory, in every state that a memory can be in."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.undo.logic import Before, Present, Skipped, Trace, Undone, expiry, verdict
from app.platform.engines.logic.config import GranularTtlConfig, MemoryBankConfig, TtlConfig
from tests.conftest import START

HOUR = timedelta(hours=1)
PAST, FUTURE = START - HOUR, START + HOUR
LIVE = Present(2, is_deleted=False, expire_time=None, recover_until=None)
TOMBSTONE = Present(2, is_deleted=True, expire_time=None, recover_until=FUTURE)
CREATED = Trace("m", 1, 1, 10)
CHANGED = Trace("m", 2, 2, 20)
THERE, GONE = Before(is_deletion=False), Before(is_deletion=True)
EXPIRED = Before(is_deletion=False, expire_time=START)
# Put back to its second version, which had been put back to the first one.
AGAIN = Present(5, False, None, None, frozenset({5, 2, 1}))

moments = st.none() | st.sampled_from([PAST, START, FUTURE])
befores = st.none() | st.builds(Before, is_deletion=st.booleans(), expire_time=moments)
presents = st.builds(
    Present,
    version=st.integers(1, 4),
    is_deleted=st.booleans(),
    expire_time=moments,
    recover_until=moments,
    put_back=st.frozensets(st.integers(1, 3)),
)
traces = st.tuples(st.integers(1, 4), st.integers(0, 2)).map(
    lambda found: Trace("m", found[0], found[0] + found[1], 1)
)


@pytest.mark.parametrize(
    ("trace", "present", "before", "expected"),
    [
        (CREATED, Present(1, False, None, None), None, Undone.DELETED),
        (CREATED, Present(1, False, FUTURE, None), None, Undone.DELETED),
        (CHANGED, LIVE, THERE, Undone.UPDATED),
        (CHANGED, LIVE, GONE, Undone.DELETED),
        (CHANGED, TOMBSTONE, THERE, Undone.RESTORED),
        (CHANGED, TOMBSTONE, GONE, None),
        (Trace("m", 1, 2, 20), TOMBSTONE, None, None),
        (Trace("m", 1, 2, 20), LIVE, None, Undone.DELETED),
        (CHANGED, None, THERE, Skipped.ERASED),
        (CHANGED, LIVE, None, Skipped.REVISION_NOT_KEPT),
        (CHANGED, TOMBSTONE, None, Undone.RESTORED),
        (Trace("m", 2, 3, 30), Present(3, True, None, FUTURE), None, Skipped.REVISION_NOT_KEPT),
        (CREATED, LIVE, None, Skipped.CHANGED_SINCE),
        (CREATED, TOMBSTONE, None, Skipped.CHANGED_SINCE),
        (CHANGED, Present(2, False, START, None), THERE, Skipped.EXPIRED),
        (CHANGED, Present(2, True, PAST, START), THERE, Skipped.NOT_RECOVERABLE),
        (CHANGED, Present(2, True, PAST, FUTURE), THERE, Undone.RESTORED),
        (CHANGED, TOMBSTONE, EXPIRED, Skipped.EXPIRED),
        (CHANGED, LIVE, EXPIRED, Undone.UPDATED),
        (CREATED, AGAIN, None, Undone.DELETED),
        (CHANGED, AGAIN, THERE, Undone.UPDATED),
        (Trace("m", 3, 3, 30), AGAIN, THERE, Skipped.CHANGED_SINCE),
        (Trace("m", 2, 3, 30), AGAIN, THERE, Skipped.CHANGED_SINCE),
    ],
)
def test_a_memory_is_put_back_or_left_alone(
    trace: Trace, present: Present | None, before: Before | None, expected: Undone | Skipped | None
) -> None:
    assert verdict(trace, present, before, START) is expected


@given(traces, presents, befores)
def test_only_what_the_operation_left_is_touched(
    trace: Trace, present: Present, before: Before | None
) -> None:
    found = verdict(trace, present, before, START)
    if trace.last_version not in {present.version, *present.put_back}:
        assert found is Skipped.CHANGED_SINCE
    if isinstance(found, Undone):
        # What is there is not restored, and what is not there is not changed.
        assert present.is_deleted == (found is Undone.RESTORED)
        is_whole = present.is_deleted and trace.first_version == present.version
        is_known = before is not None and not before.is_deletion
        assert found is Undone.DELETED or is_known or is_whole


@given(traces, presents, befores, st.sampled_from([PAST, START]))
def test_what_was_left_alone_is_so_later_as_well(
    trace: Trace, present: Present, before: Before | None, earlier: datetime
) -> None:
    """An undo embeds what it means to put back, and decides again when it does so."""
    if isinstance(verdict(trace, present, before, earlier), Skipped):
        assert isinstance(verdict(trace, present, before, FUTURE), Skipped)


BANK = MemoryBankConfig(ttl_config=TtlConfig(default_ttl=2 * HOUR))
GRANULAR = MemoryBankConfig(
    ttl_config=TtlConfig(granular_ttl_config=GranularTtlConfig(create_ttl=2 * HOUR))
)


@pytest.mark.parametrize(
    ("config", "before", "present", "expected"),
    [
        (MemoryBankConfig(), None, FUTURE, None),
        (MemoryBankConfig(), FUTURE, None, FUTURE),
        (BANK, FUTURE, None, FUTURE),
        (BANK, None, FUTURE, None),
        (MemoryBankConfig(), START, FUTURE, FUTURE),
        (MemoryBankConfig(), PAST, None, None),
        (BANK, PAST, FUTURE, START + 2 * HOUR),
        (GRANULAR, PAST, FUTURE, FUTURE),
    ],
)
def test_the_expiry_of_before_counts_while_it_lies_ahead(
    config: MemoryBankConfig,
    before: datetime | None,
    present: datetime | None,
    expected: datetime | None,
) -> None:
    assert expiry(config, before, present, START) == expected


@given(
    moments, st.sampled_from([None, FUTURE]), st.sampled_from([MemoryBankConfig(), BANK, GRANULAR])
)
def test_what_is_put_back_has_not_expired(
    before: datetime | None, present: datetime | None, config: MemoryBankConfig
) -> None:
    found = expiry(config, before, present, START)
    assert found is None or found > START

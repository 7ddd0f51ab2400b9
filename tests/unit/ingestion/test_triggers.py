"""When a stream is ripe. Source: wire specification, section 9."""

from datetime import UTC, datetime, timedelta

import pytest

from app.memory.ingestion.logic import Buffer, ripe_time, rule_for
from app.platform.engines.logic.config import GenerationRule, GenerationTriggerConfig

BEGIN = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def at(minutes: float) -> datetime:
    return BEGIN + timedelta(minutes=minutes)


def ripe(
    rule: GenerationRule | None,
    *,
    oldest: float = 0,
    newest: float = 0,
    now: float = 0,
    count: int = 1,
    is_flushed: bool = False,
) -> float:
    """Return the minute at which a stream is ripe; the arguments are minutes, too."""
    buffer = Buffer(
        begin=BEGIN,
        oldest=at(oldest),
        newest=at(newest),
        count=count,
        is_flushed=is_flushed,
    )
    return (ripe_time(rule, buffer, at(now), DAY) - BEGIN) / timedelta(minutes=1)


def rule(**parts: object) -> GenerationRule:
    return GenerationRule.model_validate(parts)


IDLE = rule(idle_duration="300s")
TICKS = rule(fixed_interval="600s")
MINUTES_OF_A_DAY = 24 * 60


def test_without_a_rule_it_is_ripe_at_once() -> None:
    assert ripe(None, now=3) == 3


@pytest.mark.parametrize(("newest", "expected"), [(0, 5), (2, 7), (4.5, 9.5)])
def test_idleness_counts_from_the_last_arrival(newest: float, expected: float) -> None:
    assert ripe(IDLE, newest=newest, now=newest) == expected


def test_what_was_idle_long_enough_is_ripe_now() -> None:
    assert ripe(IDLE, now=60) == 60


@pytest.mark.parametrize(("oldest", "expected"), [(0, 10), (1, 10), (9.5, 10), (10, 20), (35, 40)])
def test_ticks_are_counted_from_the_beginning(oldest: float, expected: float) -> None:
    assert ripe(TICKS, oldest=oldest, newest=oldest, now=oldest) == expected


def test_a_later_event_does_not_move_the_tick() -> None:
    assert ripe(TICKS, oldest=1, newest=9, now=9) == 10


@pytest.mark.parametrize(("count", "expected"), [(2, 1440), (3, 0), (4, 0)])
def test_so_many_events_are_enough(count: int, expected: float) -> None:
    assert ripe(rule(event_count=3), count=count) == expected


def test_what_is_met_first_counts() -> None:
    both = rule(event_count=3, idle_duration="300s")
    assert ripe(both, count=2) == 5
    assert ripe(both, count=3, now=1, newest=1) == 1


@pytest.mark.parametrize(
    "slow",
    [
        rule(idle_duration="172800s"),
        rule(fixed_interval="172800s"),
        rule(event_count=100),
        rule(idle_duration="315576000000s"),
        rule(fixed_interval="315576000000s"),
    ],
)
def test_nothing_waits_longer_than_the_bound(slow: GenerationRule) -> None:
    assert ripe(slow, oldest=2, newest=2, now=2) == MINUTES_OF_A_DAY + 2


def test_arrivals_do_not_put_the_bound_off() -> None:
    busy = MINUTES_OF_A_DAY - 1
    assert ripe(IDLE, oldest=0, newest=busy, now=busy) == MINUTES_OF_A_DAY


def test_what_was_asked_for_does_not_wait() -> None:
    assert ripe(IDLE, oldest=1, newest=4, now=4, is_flushed=True) == 4


def config(**parts: object) -> GenerationTriggerConfig:
    return GenerationTriggerConfig.model_validate({"generation_rule": parts})


BANK = config(event_count=5)


def test_the_request_s_rule_goes_before_the_bank_s() -> None:
    assert rule_for(config(event_count=2), BANK) == rule(event_count=2)
    assert rule_for(None, BANK) == rule(event_count=5)
    assert rule_for(None, None) is None


@pytest.mark.parametrize("asked", [GenerationTriggerConfig(), config()])
def test_a_configuration_without_conditions_is_at_once(asked: GenerationTriggerConfig) -> None:
    assert rule_for(asked, BANK) is None
    assert rule_for(None, asked) is None

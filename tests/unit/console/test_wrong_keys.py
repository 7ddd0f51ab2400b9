"""The number of wrong keys by address."""

from datetime import UTC, datetime, timedelta

import pytest

from app.surfaces.console.wrongkeys import WrongKeys, is_audited

_NOW = datetime(2026, 1, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "second", "number"),
    [
        ("192.0.2.1", "192.0.2.1", 2),
        ("192.0.2.1", "192.0.2.2", 1),
        ("2001:db8::1", "2001:db8::ffff:2", 2),
        ("2001:db8::1", "2001:db8:0:1::1", 1),
        ("fe80::1%eth0", "fe80::2%eth1", 2),
        (None, None, 2),
    ],
)
def test_a_network_of_ipv6_counts_as_one_address(
    first: str | None, second: str | None, number: int
) -> None:
    wrong = WrongKeys()
    assert wrong.note(first, _NOW) == 1
    assert wrong.note(second, _NOW) == number


def test_an_address_is_forgotten_after_an_hour_without_a_wrong_key() -> None:
    wrong = WrongKeys()
    minutes = [0, 50, 100, 161]
    found = [wrong.note("192.0.2.1", _NOW + timedelta(minutes=one)) for one in minutes]
    assert found == [1, 2, 3, 1]


def test_the_longest_silent_addresses_make_room_for_new_ones() -> None:
    wrong = WrongKeys()
    for number in range(5_000):
        wrong.note("192.0.2.1", _NOW)
        wrong.note(f"10.0.{number // 256}.{number % 256}", _NOW)
    assert wrong.note("192.0.2.1", _NOW) == 5_001
    assert wrong.note("10.0.19.135", _NOW) == 2
    assert wrong.note("10.0.0.0", _NOW) == 1


def test_the_first_and_each_hundredth_is_in_the_log() -> None:
    assert [number for number in range(1, 301) if is_audited(number)] == [1, 100, 200, 300]

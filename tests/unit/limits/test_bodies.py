"""Whatever way a body ends, nothing of it counts any more."""

import pytest

from app.kernel.errors import Reason, ResourceExhausted
from app.platform.limits.services.bodies import Bodies, BodyBounds

_FEW = 8


class _Owner:
    """Whose bodies are held; counts how many were given up."""

    def __init__(self) -> None:
        self.given_up = 0

    def give_up(self) -> None:
        self.given_up += 1


def _nobody() -> None:
    raise AssertionError("there was no need to give it up")


def _bodies(requests: int = 2, size: int = 100) -> Bodies:
    """Return bodies of which all together may have half more than one key."""
    return Bodies(BodyBounds(requests, size), BodyBounds(requests * 3 // 2, size * 3 // 2))


def _refused(error: ResourceExhausted) -> dict[str, str]:
    assert error.reason is Reason.TOO_MANY_AT_ONCE
    assert error.retry_after_seconds == 1
    assert error.ends_connection
    return error.metadata


def _is_empty(bodies: Bodies) -> bool:
    return not bodies._shares and not bodies._all.requests and not bodies._all.bytes


def test_a_key_has_so_many_slow_bodies_and_any_number_of_others() -> None:
    bodies = _bodies()
    held = [bodies.hold("key", "one", _nobody) for _ in range(5)]
    for body in held[:2]:
        body.count()
        body.count()
    with pytest.raises(ResourceExhausted) as refused:
        held[2].count()
    assert _refused(refused.value) == {"limit": "key", "requests": "2"}
    held[0].end()
    held[2].count()
    for body in held:
        body.release()
    assert _is_empty(bodies)


def test_a_key_keeps_so_many_bytes() -> None:
    bodies = _bodies()
    first, second = (bodies.hold("key", "one", _nobody) for _ in range(2))
    first.keep(60)
    second.keep(40)
    with pytest.raises(ResourceExhausted) as refused:
        second.keep(41)
    assert _refused(refused.value) == {"limit": "key", "bytes": "100"}
    first.end()
    with pytest.raises(ResourceExhausted):
        second.keep(41)
    first.release()
    second.keep(41)
    second.release()
    assert _is_empty(bodies)


def test_all_keys_together_have_bounds_and_another_key_is_told_of_those_alone() -> None:
    bodies = _bodies()
    for who in ("one", "one", "two"):
        bodies.hold("key", who, _nobody).count()
    with pytest.raises(ResourceExhausted) as refused:
        bodies.hold("key", "two", _nobody).count()
    assert _refused(refused.value) == {"limit": "process", "requests": "3"}
    bodies.hold("key", "one", _nobody).keep(100)
    with pytest.raises(ResourceExhausted) as refused:
        bodies.hold("key", "two", _nobody).keep(51)
    assert _refused(refused.value) == {"limit": "process", "bytes": "150"}
    with pytest.raises(ResourceExhausted) as refused:
        bodies.hold("key", "one", _nobody).keep(51)
    assert _refused(refused.value) == {"limit": "key", "bytes": "100"}


def test_an_address_is_no_key_of_the_same_name() -> None:
    bodies = _bodies(requests=1)
    bodies.hold("key", "::1", _nobody).count()
    with pytest.raises(ResourceExhausted) as refused:
        bodies.hold("address", "::1", _nobody).count()
    assert _refused(refused.value)["limit"] == "process"


def test_one_body_is_taken_however_long_the_settings_let_it_be() -> None:
    bodies = _bodies()
    body = bodies.hold("key", "one", _nobody)
    body.keep(1_000)
    with pytest.raises(ResourceExhausted):
        bodies.hold("key", "one", _nobody).keep(1)
    body.release()
    bodies.hold("key", "two", _nobody).keep(1)


def test_a_body_that_grows_is_not_refused_for_what_it_has_itself() -> None:
    bodies = _bodies()
    body = bodies.hold("key", "one", _nobody)
    for size in range(100, 1_000, 100):
        body.keep(size)
    with pytest.raises(ResourceExhausted):
        bodies.hold("key", "one", _nobody).keep(1)


def test_a_body_that_is_released_twice_counts_once() -> None:
    bodies = _bodies()
    one, other = (bodies.hold("key", "one", _nobody) for _ in range(2))
    for body in (one, other):
        body.keep(50)
        body.count()
    one.release()
    one.release()
    assert (bodies._all.bytes, bodies._all.requests) == (50, 1)
    other.release()
    other.end()
    assert _is_empty(bodies)


@pytest.mark.parametrize("slow", [False, True])
def test_who_has_most_bodies_loses_the_one_that_is_open_longest(slow: bool) -> None:  # noqa: FBT001 - a parameter
    bodies = _bodies(requests=100)
    owners = [_Owner() for _ in range(_FEW + 2)]
    held = [bodies.hold("key", "many", owner.give_up) for owner in owners]
    few = [bodies.hold("key", "few", _nobody) for _ in range(_FEW)]
    for body in (*held, *few):
        body.count()
    assert [bodies.give_up_one(slow=slow) for _ in range(4)] == [True, True, False, False]
    assert [owner.given_up for owner in owners] == [1, 1] + [0] * _FEW
    for body in (*held, *few):
        body.release()
    assert _is_empty(bodies)


def test_bodies_that_are_not_slow_are_given_up_only_where_asked_for() -> None:
    bodies = _bodies(requests=100)
    owners = [_Owner() for _ in range(_FEW + 1)]
    for owner in owners:
        bodies.hold("key", "many", owner.give_up)
    assert not bodies.give_up_one(slow=True)
    assert bodies.give_up_one(slow=False)
    assert owners[0].given_up == 1


def test_a_body_that_is_there_is_not_given_up() -> None:
    bodies = _bodies(requests=100)
    held = [bodies.hold("key", "many", _nobody) for _ in range(_FEW + 1)]
    held[0].end()
    assert not bodies.give_up_one(slow=False)

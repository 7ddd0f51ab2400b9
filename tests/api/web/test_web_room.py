"""Who makes room for a connection where all are taken, and in which order."""

from dataclasses import dataclass, field

from app.adapters.uvicorn.room import Rooms


@dataclass(eq=False)
class _Connection:
    is_gone: bool = False

    def make_room(self) -> None:
        self.is_gone = True


@dataclass
class _Callers:
    """How many bodies can be given up, slow ones and any."""

    slow: int = 0
    others: int = 0
    asked: list[bool] = field(default_factory=list)

    def give_up(self, *, slow: bool) -> bool:
        self.asked.append(slow)
        there = self.slow if slow else self.others
        if slow:
            self.slow = max(0, there - 1)
        else:
            self.others = max(0, there - 1)
        return there > 0


def _full(callers: _Callers, reserve: int = 0) -> tuple[Rooms[_Connection], list[_Connection]]:
    """Return rooms with three connections that are served, and no place for another."""
    rooms = Rooms[_Connection](3, reserve, callers.give_up)
    inside = [_Connection() for _ in range(3)]
    for one in inside:
        assert rooms.enter(one, 0) is rooms.general
    return rooms, inside


def test_a_slow_body_makes_room_before_who_waits() -> None:
    rooms, inside = _full(_Callers(slow=1))
    rooms.general.wait(inside[0], 0)
    assert rooms.enter(_Connection(), 10) is rooms.general
    assert not inside[0].is_gone
    # The one that was given up leaves by itself; the next must make room, too.
    assert rooms.enter(_Connection(), 10) is rooms.general
    assert inside[0].is_gone


def test_who_has_waited_long_makes_room_before_any_body_and_who_has_not_after() -> None:
    callers = _Callers(others=1)
    rooms, inside = _full(callers)
    rooms.general.wait(inside[0], 0)
    rooms.general.wait(inside[1], 9.5)
    assert rooms.enter(_Connection(), 10) is rooms.general
    assert ([one.is_gone for one in inside], callers.others) == ([True, False, False], 1)
    assert rooms.enter(_Connection(), 10) is rooms.general
    assert ([one.is_gone for one in inside], callers.others) == ([True, False, False], 0)
    assert rooms.enter(_Connection(), 10) is rooms.general
    assert [one.is_gone for one in inside] == [True, True, False]
    assert rooms.enter(_Connection(), 10) is None


def test_who_asks_again_makes_no_room() -> None:
    rooms, inside = _full(_Callers())
    rooms.general.wait(inside[0], 0)
    rooms.general.ask(inside[0])
    assert rooms.enter(_Connection(), 10) is None
    assert not inside[0].is_gone


def test_in_the_reserve_who_is_silent_makes_room() -> None:
    rooms, _ = _full(_Callers(), reserve=1)
    silent = _Connection()
    assert rooms.enter(silent, 10) is rooms.reserve
    assert rooms.enter(_Connection(), 10) is None
    rooms.reserve.wait(silent, 10)
    assert rooms.enter(_Connection(), 10) is rooms.reserve
    assert silent.is_gone


def test_who_lingers_takes_no_place_and_goes_once_there_are_too_many() -> None:
    rooms, _ = _full(_Callers())
    lingering = [_Connection() for _ in range(33)]
    for one in lingering:
        rooms.linger(one)
    assert [one.is_gone for one in lingering] == [True] + [False] * 32
    rooms.leave(lingering[1])
    rooms.linger(_Connection())
    assert not lingering[2].is_gone

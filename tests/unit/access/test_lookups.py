"""No look-up waits for one that has ended: every caller is answered soon after the database.

The database is in the tests' hands, statement by statement and turn by turn of the event loop;
tests/api/access/test_keys_lookups.py has the real one.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from typing_extensions import override

from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.access.logic import hash_of, mint
from app.platform.access.services.lookups import KeyLookups, KnownKey
from app.platform.access.store import ApiKeyRow, KeyHit
from tests.support.spinning import no_spinning

_KEY, _UNKNOWN, _GARBAGE = mint(), mint(), "garbage"
_TURNS = 5
"""Of the event loop, in which whoever waits for a statement goes on."""
_MOST_STATEMENTS = 8
"""That one caller waits for, whatever happens meanwhile."""
_TOO_OLD = 0.8

_Asking = asyncio.Task[KnownKey | None]


class _Database:
    """Sends nothing: each statement is answered when the test says so."""

    turn = 0

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []
        self.version = 1

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[None]:
        yield

    async def find_version(self, _: object) -> int:
        await self._answered()
        return self.version

    async def list_own_shape(self, _: object) -> set[bytes]:
        await self._answered()
        return set()

    async def find_by_hashes(self, _: object, hashes: Sequence[bytes]) -> list[KeyHit]:
        await self._answered()
        row = ApiKeyRow(key_id="key", roles=["viewer"], permissions=[])
        return [KeyHit(row, one, None) for one in hashes if one == hash_of(_KEY)]

    async def _answered(self) -> None:
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(answered)
        await answered

    def answer(self, error: Exception | None = None) -> None:
        """Answer the statement that waits for the longest time."""
        answered = self.waiting.pop(0)
        if error is None:
            answered.set_result(None)
        else:
            answered.set_exception(error)


class _Scene:
    """Look-ups, and all that they depend on."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.database = _Database()
        self._clock = FixedClock(datetime(2026, 1, 15, tzinfo=UTC))
        self._seconds = 0.0
        self.lookups = KeyLookups(self.database, self._clock, lambda: self._seconds)  # type: ignore[arg-type]  # of what it asks for

    def ask(self, secret: str = _KEY) -> _Asking:
        return self.loop.create_task(self.lookups.find(secret))

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()

    def advance(self, seconds: float) -> None:
        self._seconds += seconds
        self._clock.advance(timedelta(seconds=seconds))

    def answer(self, error: Exception | None = None) -> None:
        self.database.answer(error)
        self.turn(_TURNS)

    def close(self) -> None:
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.turn(_TURNS)
        self.loop.close()


@contextmanager
def _opened() -> Iterator[_Scene]:
    scene = _Scene()
    with pytest.MonkeyPatch.context() as patched, no_spinning():
        patched.setattr("app.platform.access.services.lookups.store", scene.database)
        patched.setattr("app.platform.access.services.lookups._PAUSE_SECONDS", 0)
        yield scene
        scene.close()


@pytest.fixture
def scene() -> Iterator[_Scene]:
    with _opened() as found:
        yield found


def test_who_asks_in_the_turn_in_which_a_slow_look_up_ends_is_answered(scene: _Scene) -> None:
    first = scene.ask()
    scene.turn(_TURNS)
    scene.advance(_TOO_OLD)
    scene.database.answer()
    second = scene.ask()
    scene.turn(_TURNS)
    while scene.database.waiting:
        scene.answer()
    for one in (first, second):
        found = one.result()
        assert found is not None
        assert found.caller.key_id == "key"


def test_a_caller_that_only_gets_old_answers_is_told_to_come_back(scene: _Scene) -> None:
    asking = scene.ask()
    scene.turn(_TURNS)
    for _ in range(_MOST_STATEMENTS):
        if not asking.done():
            # The machine's clock is set back, so that each answer seems to be of long ago.
            scene.advance(-_TOO_OLD)
            scene.answer()
    with pytest.raises(Unavailable) as refused:
        asking.result()
    assert refused.value.reason is Reason.DATABASE_UNAVAILABLE
    assert refused.value.retry_after_seconds == 1


def test_who_waits_for_a_look_up_that_is_broken_off_is_told(scene: _Scene) -> None:
    asking = [scene.ask(_KEY), scene.ask(_UNKNOWN)]
    scene.turn(_TURNS)
    scene.answer()
    assert len(scene.database.waiting) == 1
    answering = scene.lookups._answering
    assert answering is not None
    answering.cancel()
    scene.turn(_TURNS)
    for one in asking:
        with pytest.raises(Unavailable, match="broken off"):
            one.result()
    scene.database.waiting.clear()
    again = scene.ask(_KEY)
    scene.turn(_TURNS)
    scene.answer()
    assert again.result() is not None


class _Machine(RuleBasedStateMachine):
    """Any order of questions, answers, failures, changes and broken-off requests."""

    def __init__(self) -> None:
        super().__init__()
        self._opened = _opened()
        self.scene = self._opened.__enter__()
        self.asking: list[_Asking] = []

    @rule(secret=st.sampled_from([_KEY, _UNKNOWN, _GARBAGE]))
    def find(self, secret: str) -> None:
        self.asking.append(self.scene.ask(secret))

    @rule()
    def turn(self) -> None:
        self.scene.turn()

    @rule(seconds=st.sampled_from([0.1, _TOO_OLD, -_TOO_OLD]))
    def advance(self, seconds: float) -> None:
        self.scene.advance(seconds)

    @rule()
    def forget(self) -> None:
        self.scene.lookups.forget()

    @rule()
    def change(self) -> None:
        self.scene.database.version += 1

    @precondition(lambda self: self.scene.database.waiting)
    @rule(fails=st.booleans())
    def answer(self, *, fails: bool) -> None:
        """Without a turn: what else happens now happens before anyone goes on."""
        self.scene.database.answer(OSError() if fails else None)

    @precondition(lambda self: self.asking)
    @rule(number=st.integers(0, 5))
    def cancel(self, number: int) -> None:
        self.asking[number % len(self.asking)].cancel()

    @override
    def teardown(self) -> None:
        self.scene.turn(_TURNS)
        for _ in range(_MOST_STATEMENTS):
            for _ in range(len(self.scene.database.waiting)):
                self.scene.answer()
        assert [one for one in self.asking if not one.done()] == []
        for one in self.asking:
            if not one.cancelled():
                assert isinstance(one.exception(), (OSError, Unavailable, type(None)))
        self._opened.__exit__(None, None, None)


def test_every_caller_is_answered_whatever_happens() -> None:
    run_state_machine_as_test(
        _Machine,
        settings=settings(
            deadline=None,
            # No shrinking: each example that spins takes as long as the guard lets it.
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
        ),
    )

"""The share of each process of a listening socket."""

import asyncio
from contextlib import ExitStack
from functools import partial
from socket import create_connection, create_server

import pytest

from app.adapters.uvicorn.sharing import Acceptor, ConnectionShare, ConnectionShares

_SOON_SECONDS = 30


def test_a_process_waits_for_those_with_fewer_connections() -> None:
    shares = ConnectionShares(3)
    assert shares.note(0, 5), "the others do not run"
    assert not shares.note(1, 6)
    assert shares.note(2, 5), "as few as another"
    shares.leave(0)
    shares.leave(2)
    assert shares.note(1, 6), "those that have ended get nothing"


class _Taken(list[int]):
    """How many connections each process has taken."""

    def __init__(self) -> None:
        super().__init__([0, 0])
        self._wanted, self._has_all = 0, asyncio.Event()

    def take(self, number: int) -> asyncio.Protocol:
        self[number] += 1
        if sum(self) == self._wanted:
            self._has_all.set()
        return asyncio.Protocol()

    async def wait_for(self, count: int) -> None:
        self._wanted = count
        self._has_all.clear()
        async with asyncio.timeout(_SOON_SECONDS):
            await self._has_all.wait()


async def test_connections_go_evenly_to_those_that_share_a_socket() -> None:
    shares, taken = ConnectionShares(2), _Taken()

    def acceptor(number: int) -> Acceptor:
        share = ConnectionShare(shares, number)
        return Acceptor(listener.dup(), partial(taken.take, number), share, lambda: taken[number])

    with ExitStack() as opened:
        listener = opened.enter_context(create_server(("127.0.0.1", 0), backlog=64))

        def connect(count: int) -> None:
            for _ in range(count):
                opened.enter_context(create_connection(listener.getsockname()))

        connect(20)
        first, second = acceptor(0), acceptor(1)
        opened.callback(second.close)
        await taken.wait_for(20)
        assert min(taken) >= 7, "a stalled event loop may give a process a few more"
        before = taken[1]
        first.close()
        connect(4)
        await taken.wait_for(24)
        assert taken[1] == before + 4, "what another would have taken is not lost"


@pytest.mark.parametrize(("catch_up", "looks"), [(2, 2), (3, 3), (None, 4)])
async def test_a_connection_is_left_to_a_slow_process_for_a_while(
    catch_up: int | None, looks: int
) -> None:
    """Looks are counted, since a stalled machine makes any time longer."""
    shares, taken = ConnectionShares(2), _Taken()
    slow, looked = 1, 0
    shares.note(slow, 0)

    def count() -> int:
        nonlocal looked
        looked += 1
        if looked == catch_up:
            shares.note(slow, 9)
        return 5

    with ExitStack() as opened:
        listener = opened.enter_context(create_server(("127.0.0.1", 0)))
        opened.enter_context(create_connection(listener.getsockname()))
        share = ConnectionShare(shares, 0)
        acceptor = Acceptor(listener.dup(), partial(taken.take, 0), share, count)
        opened.callback(acceptor.close)
        await taken.wait_for(1)
    assert looked == looks

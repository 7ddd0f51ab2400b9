"""The share of each process of a listening socket."""

import asyncio
from functools import partial
from socket import create_connection, create_server

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

    with create_server(("127.0.0.1", 0), backlog=64) as listener:
        clients = [create_connection(listener.getsockname()) for _ in range(20)]
        acceptors = [acceptor(0), acceptor(1)]
        await taken.wait_for(len(clients))
        assert taken == [10, 10]
        acceptors[0].close()
        clients += [create_connection(listener.getsockname()) for _ in range(4)]
        await taken.wait_for(len(clients))
        assert taken == [10, 14], "what another would have taken is not lost"
        acceptors[1].close()
    for client in clients:
        client.close()

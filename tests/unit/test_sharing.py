"""The share of each process of a listening socket."""

import asyncio
from socket import create_connection, create_server

from app.adapters.uvicorn.sharing import Acceptor, Share, Shares

_SOON_SECONDS = 30


def test_a_process_waits_for_those_with_fewer_connections() -> None:
    shares = Shares(3)
    assert shares.note(0, 5), "the others do not run"
    assert not shares.note(1, 6)
    assert shares.note(2, 5), "as few as another"
    shares.leave(0)
    shares.leave(2)
    assert shares.note(1, 6), "those that have ended get nothing"


class _Kept(asyncio.Protocol):
    """A connection that stays."""


async def test_connections_go_evenly_to_those_that_share_a_socket() -> None:
    shares, taken = Shares(2), [0, 0]

    def acceptor(number: int) -> Acceptor:
        def make() -> asyncio.Protocol:
            taken[number] += 1
            return _Kept()

        return Acceptor(listener.dup(), make, Share(shares, number), lambda: taken[number])

    with create_server(("127.0.0.1", 0), backlog=64) as listener:
        clients = [create_connection(listener.getsockname()) for _ in range(20)]
        acceptors = [acceptor(0), acceptor(1)]
        async with asyncio.timeout(_SOON_SECONDS):
            while sum(taken) < len(clients):
                await asyncio.sleep(0.01)
        assert taken == [10, 10]
        acceptors[0].close()
        clients += [create_connection(listener.getsockname()) for _ in range(4)]
        async with asyncio.timeout(_SOON_SECONDS):
            while sum(taken) < len(clients):
                await asyncio.sleep(0.01)
        assert taken == [10, 14], "what another would have taken is not lost"
        acceptors[1].close()
    for client in clients:
        client.close()

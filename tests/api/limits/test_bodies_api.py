"""Bodies that are held: what their senders are told, and that whatever ends one frees it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from prometheus_client import REGISTRY
from starlette.types import Message, Receive, Scope, Send

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.limits.services.bodies import Bodies
from app.process.main import create_app
from app.web.body import BodyPace, BodyRoutes, JsonBody
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE
from tests.support.cases import in_one_test
from tests.support.keys import make_key
from tests.support.operations import USER
from tests.support.senders import GONE, Sender, piece, scope_of
from tests.support.tasks import ARTIFACT

_PIECE_BYTES = 64 * 1024
_LONG = 100_000
_MEMORIES = f"/v1beta1/{ENGINE}/memories"
_IMPORT = _MEMORIES + ":import"
_ARTIFACT = f"/v1beta1/{ENGINE}{ARTIFACT}"


@pytest.fixture
def narrow(resources: Resources) -> FastAPI:
    """A process that holds few bodies."""
    bounds = {
        "max_body_requests_per_key": 1,
        "max_body_requests": 2,
        "max_body_bytes_per_key": 2 * _LONG,
        "max_body_bytes_held": 3 * _LONG,
        "body_min_bytes_per_second": 0,
    }
    return create_app(replace(resources, settings=resources.settings.model_copy(update=bounds)))


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have bodies be slow after a hundredth of a second."""
    monkeypatch.setattr("app.web.body.LOOK_SECONDS", 0.01)


@pytest.fixture
async def other(database: Database, clock: FixedClock) -> str:
    """Another key."""
    return await make_key(database, clock.now(), "editor")


def _bodies(app: FastAPI) -> Bodies:
    found: Bodies = app.state.gate.limits._bodies
    return found


def _held(app: FastAPI) -> tuple[int, int, int]:
    """Return how many bodies are open, how many of them are slow, and the bytes that count."""
    bodies = _bodies(app)
    is_open = sum(len(share.open) for share in bodies._shares.values())
    return is_open, bodies._all.requests, bodies._all.bytes


def _nothing_is_held(app: FastAPI) -> bool:
    return _held(app) == (0, 0, 0) and not _bodies(app)._shares


def _scope(
    path: str, length: int | None, key: str = ADMIN_KEY, method: str = "POST", **fields: Any
) -> dict[str, Any]:
    scope = dict(scope_of(path, length, method=method, **fields))
    scope["headers"] = [
        (b"authorization", f"Bearer {key}".encode()),
        *[header for header in scope["headers"] if header[0] != b"authorization"],
    ]
    return scope


async def _sent(app: FastAPI, scope: dict[str, Any], *messages: Message) -> Sender:
    """Send all of a request; return its sender, who was answered."""
    sender = Sender(*messages)
    await asyncio.wait_for(app(scope, sender.receive, sender.send), 10)
    return sender


@asynccontextmanager
async def _open(
    app: FastAPI, scope: dict[str, Any], *messages: Message
) -> AsyncIterator[asyncio.Task[None]]:
    """Leave a request without its last bytes while the block runs; break it off then."""
    sender = Sender(*messages or [piece(b"{")])
    task = asyncio.ensure_future(app(scope, sender.receive, sender.send))
    await asyncio.wait_for(sender.has_sent_all.wait(), 10)
    yield task
    task.cancel()
    await asyncio.wait({task})


async def _until(app: FastAPI, held: tuple[int, int, int]) -> None:
    async with asyncio.timeout(10):
        while _held(app) != held:  # noqa: ASYNC110 - a body is not to know who looks
            await asyncio.sleep(0.005)


@contextmanager
def _refused_bodies(count: int) -> Iterator[None]:
    def value() -> float:
        found = REGISTRY.get_sample_value("memory_bank_requests_refused_total", {"by": "bodies"})
        assert found is not None
        return found

    before = value()
    yield
    assert value() == before + count


def _assert_refused(sender: Sender, limit: str, what: str) -> None:
    assert sender.status == 429
    assert sender.headers[b"connection"] == b"close"
    assert sender.headers[b"retry-after"] == b"1"
    error = json.loads(sender.body)["error"]
    assert error["status"] == "RESOURCE_EXHAUSTED"
    info = error["details"][0]
    assert (info["reason"], info["metadata"]["limit"]) == (Reason.TOO_MANY_AT_ONCE, limit)
    assert what in info["metadata"]


# Bytes


async def test_long_bodies_count_before_they_come_and_another_key_has_its_own(
    narrow: FastAPI, other: str
) -> None:
    scope = _scope(_MEMORIES, _LONG)
    async with _open(narrow, dict(scope)), _open(narrow, dict(scope)):
        assert _held(narrow) == (2, 0, 2 * _LONG)
        with _refused_bodies(1):
            _assert_refused(await _sent(narrow, dict(scope)), "key", "bytes")
        async with _open(narrow, _scope(_MEMORIES, _LONG, other)):
            # The process has as many as it may; whose own bound is reached is told of that.
            _assert_refused(await _sent(narrow, dict(scope)), "key", "bytes")
            _assert_refused(
                await _sent(narrow, _scope(_MEMORIES, _LONG, other)), "process", "bytes"
            )
        short = await _sent(narrow, _scope(_MEMORIES, 2), piece(b"{}", is_last=True))
        assert short.status == 400, "what is short is read"
    assert _nothing_is_held(narrow)


async def test_a_body_without_a_length_asks_for_each_64_kib(narrow: FastAPI) -> None:
    first = [piece(b" " * _PIECE_BYTES)]
    async with _open(narrow, _scope(_MEMORIES, None), *first, piece(b" ")):
        assert _held(narrow) == (1, 0, 2 * _PIECE_BYTES)
        async with _open(narrow, _scope(_MEMORIES, None), *first):
            assert _held(narrow) == (2, 0, 2 * _PIECE_BYTES), (
                "as short as others that are not counted"
            )
            refused = await _sent(narrow, _scope(_MEMORIES, None), *first, piece(b" "))
            _assert_refused(refused, "key", "bytes")
    assert _nothing_is_held(narrow)


@pytest.mark.parametrize(("path", "method"), [(_IMPORT, "POST"), (_ARTIFACT, "PUT")])
async def test_a_body_that_is_taken_piece_by_piece_counts_for_one_of_them(
    narrow: FastAPI, path: str, method: str
) -> None:
    scope = _scope(path, 64 * 1024 * 1024, method=method)
    async with _open(narrow, scope, *[piece(b"\n" * _PIECE_BYTES)] * 5):
        assert _held(narrow) == (1, 0, _PIECE_BYTES)
    assert _nothing_is_held(narrow)


async def test_a_long_body_counts_no_more_once_its_route_has_it(
    narrow: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a request goes on with is not its body: many may run at once."""
    seen = asyncio.Event()
    go_on = asyncio.Event()

    async def wait(*_: object, **__: object) -> None:
        seen.set()
        await go_on.wait()
        raise ZeroDivisionError

    monkeypatch.setattr("app.memory.memories.services.memories.MemoryService.create", wait)
    body = json.dumps({"fact": "I like tea.", "scope": USER}).encode() + b" " * _LONG
    sender = Sender(piece(body, is_last=True))
    task = asyncio.ensure_future(narrow(_scope(_MEMORIES, len(body)), sender.receive, sender.send))
    await asyncio.wait_for(seen.wait(), 10)
    assert _nothing_is_held(narrow)
    go_on.set()
    await task
    assert sender.status == 500


# Numbers


@pytest.mark.usefixtures("soon")
async def test_a_key_has_few_slow_bodies_and_others_have_their_own(
    narrow: FastAPI, other: str
) -> None:
    async with _open(narrow, _scope(_MEMORIES, 100)):
        await _until(narrow, (1, 1, 0))
        with _refused_bodies(1):
            _assert_refused(
                await _sent(narrow, _scope(_MEMORIES, 100), piece(b"{")), "key", "requests"
            )
        prompt = await _sent(narrow, _scope(_MEMORIES, 2), piece(b"{}", is_last=True))
        assert prompt.status == 400, "one that comes at once is read"
        async with _open(narrow, _scope(_MEMORIES, 100, other)):
            await _until(narrow, (2, 2, 0))
            third = await _sent(narrow, _scope("/healthz", 100), piece(b"{"))
            _assert_refused(third, "process", "requests")
    assert _nothing_is_held(narrow)


@pytest.mark.usefixtures("soon")
async def test_where_no_key_is_needed_an_address_has_the_bounds_of_a_key(narrow: FastAPI) -> None:
    async with _open(narrow, _scope("/healthz", 100)):
        await _until(narrow, (1, 1, 0))
        refused = await _sent(narrow, _scope("/healthz", 100), piece(b"{"))
        _assert_refused(refused, "address", "requests")
        elsewhere = _scope("/healthz", 100, client=("127.0.0.2", 1))
        async with _open(narrow, elsewhere):
            await _until(narrow, (2, 2, 0))


async def test_who_has_many_bodies_makes_room_for_another_connection(narrow: FastAPI) -> None:
    senders = [Sender(piece(b"{")) for _ in range(9)]
    tasks = [
        asyncio.ensure_future(narrow(_scope(_MEMORIES, 100), sender.receive, sender.send))
        for sender in senders
    ]
    await _until(narrow, (9, 0, 0))
    limits = narrow.state.gate.limits
    with _refused_bodies(1):
        assert not limits.give_up_body(slow=True)
        assert limits.give_up_body(slow=False)
        assert not limits.give_up_body(slow=False)
    await asyncio.wait_for(tasks[0], 10)
    assert senders[0].status == 503
    assert senders[0].headers[b"connection"] == b"close"
    assert Reason.TOO_MANY_CONNECTIONS.encode() in senders[0].body
    for task in tasks[1:]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert _nothing_is_held(narrow)


async def test_a_body_that_is_given_up_while_nobody_waits_for_it_ends_with_its_next_piece(
    narrow: FastAPI,
) -> None:
    """What takes a body piece by piece writes each before it asks for the next."""
    is_writing, go_on = asyncio.Event(), asyncio.Event()

    async def write(_: Scope, receive: Receive, __: Send) -> None:
        await receive()
        is_writing.set()
        await go_on.wait()
        with pytest.raises(Unavailable) as refused:
            await receive()
        assert refused.value.reason is Reason.TOO_MANY_CONNECTIONS
        assert await receive() == GONE

    sender = Sender(piece(b"\n"), piece(b"\n"))
    scope = _scope(_IMPORT.replace("/v1beta1/", "/"), 10, app=narrow)
    body = JsonBody(write, 100, BodyPace(60, 0), BodyRoutes(re.compile("POST .*:import")))
    task = asyncio.ensure_future(body(scope, sender.receive, sender.send))
    await asyncio.wait_for(is_writing.wait(), 10)
    limits = narrow.state.gate.limits
    others = [limits.hold_body(None, "127.0.0.1", pytest.fail) for _ in range(8)]
    assert limits.give_up_body(slow=False)
    go_on.set()
    await asyncio.wait_for(task, 10)
    for other in others:
        other.release()
    assert _nothing_is_held(narrow)


# Ends


_WHOLE = json.dumps({"fact": "I like tea.", "scope": USER}).encode() + b" " * _LONG
_LINES = b'{"fact": "I like tea.", "scope": {"user_id": "42"}}\n' * 2_000


@in_one_test(
    ("path", "method", "messages", "status"),
    [
        (_MEMORIES, "POST", [piece(_WHOLE, is_last=True)], 200),
        (_MEMORIES, "POST", [piece(b"[" * _LONG, is_last=True)], 400),
        (_MEMORIES, "POST", [piece(b"{"), GONE], 400),
        (_MEMORIES.replace("/1/", "/999/"), "POST", [piece(_WHOLE, is_last=True)], 404),
        ("/v1beta1/nowhere", "POST", [piece(_WHOLE, is_last=True)], 404),
        (_MEMORIES, "PUT", [piece(_WHOLE, is_last=True)], 405),
        (_IMPORT, "POST", [piece(_LINES, is_last=True)], 200),
        (_IMPORT, "POST", [piece(_LINES[:100]), GONE], 400),
        (_IMPORT.replace("/1/", "/999/"), "POST", [piece(_LINES, is_last=True)], 404),
        (_ARTIFACT, "PUT", [piece(_LINES, is_last=True)], 200),
        (_ARTIFACT, "PUT", [piece(_LINES), GONE], 400),
    ],
)
async def test_whatever_ends_a_request_frees_its_body(
    narrow: FastAPI, path: str, method: str, messages: list[Message], status: int
) -> None:
    length = sum(len(message.get("body", b"")) for message in messages) + (GONE in messages)
    sender = await _sent(narrow, _scope(path, length, method=method), *messages)
    assert sender.status == status, sender.body
    assert _nothing_is_held(narrow)


@pytest.mark.parametrize("path", [_MEMORIES, _IMPORT])
async def test_a_failure_of_the_service_frees_the_body(
    narrow: FastAPI, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("app.memory.memories.services.memories.MemoryService.create", fail)
    monkeypatch.setattr("app.memory.bulk.routes.Import.run", fail)
    sender = await _sent(narrow, _scope(path, len(_WHOLE)), piece(_WHOLE, is_last=True))
    assert sender.status == 500
    assert _nothing_is_held(narrow)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(("path", "method"), [(_MEMORIES, "POST"), (_ARTIFACT, "PUT")])
async def test_a_body_that_is_too_slow_is_freed(
    resources: Resources, path: str, method: str
) -> None:
    app = create_app(
        replace(resources, settings=resources.settings.model_copy(update={"body_seconds": 0.1}))
    )
    sender = await _sent(app, _scope(path, _LONG, method=method), piece(b"{"))
    assert sender.status == 408
    assert sender.headers[b"connection"] == b"close"
    assert _nothing_is_held(app)

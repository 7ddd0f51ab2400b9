"""The keys of the issuer change, and go away for a while: in a file, and at an address."""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.support.errors import refusal
from tests.support.keys import client_with
from tests.support.tokens import (
    KeyServer,
    claims,
    jwk,
    jwks,
    key_server,
    publish,
    sign,
    token_app,
)

_INVALID = (401, "UNAUTHENTICATED", Reason.CREDENTIAL_INVALID)
_AWAY = (503, "UNAVAILABLE", Reason.ISSUER_KEYS_UNAVAILABLE)
_TRIES = 500
_HELD_SECONDS = 5
"""Who must not wait for the issuer gets an answer in this time, which an issuer would exceed."""


@pytest.fixture
def server() -> Iterator[KeyServer]:
    """The issuer's server, with the usual keys."""
    with key_server() as found:
        yield found


class Caller:
    """Asks with tokens that are signed by one key or another."""

    def __init__(self, client: httpx.AsyncClient, clock: FixedClock) -> None:
        self._client = client
        self._clock = clock

    async def ask(self, key_id: str = "rsa") -> httpx.Response:
        """Ask with a new token."""
        headers = {"x-goog-api-key": self.token(key_id)}
        return await self._client.get("/memories", headers=headers)

    def token(self, key_id: str) -> str:
        """Return a token that lasts for long."""
        ends = (self._clock.now() + timedelta(days=1)).timestamp()
        return sign(claims(self._clock.now(), exp=ends), key_id)

    async def is_let_in(self, key_id: str = "rsa") -> bool:
        """Say whether a token of this key is taken."""
        answer = await self.ask(key_id)
        if answer.status_code != 200:
            assert refusal(answer) == _INVALID
        return answer.status_code == 200


def caller(resources: Resources, source: object, clock: FixedClock, **settings: object) -> Caller:
    """Return a caller of a new application."""
    return Caller(client_with(token_app(resources, source, **settings), None), clock)


async def until_asked(server: KeyServer, times: int) -> None:
    """Wait until the address has been asked so often."""
    for _ in range(_TRIES):
        if server.asked >= times:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"asked {server.asked} times")


async def test_a_key_is_taken_when_the_file_has_it_and_no_longer_when_not(
    resources: Resources, tmp_path: Path, clock: FixedClock
) -> None:
    file = publish(tmp_path / "jwks.json", "rsa")
    user = caller(resources, file, clock)
    assert await user.is_let_in("rsa")
    publish(file, "rsa", "ec")
    clock.advance(timedelta(seconds=1))
    assert await user.is_let_in("ec")
    assert await user.is_let_in("rsa")
    publish(file, "ec")
    clock.advance(timedelta(seconds=1))
    assert not await user.is_let_in("rsa")
    assert await user.is_let_in("ec")


async def test_a_token_that_is_remembered_ends_with_its_key(
    resources: Resources, tmp_path: Path, clock: FixedClock
) -> None:
    file = publish(tmp_path / "jwks.json", "rsa", "ec")
    token = sign(claims(clock.now()))
    async with client_with(token_app(resources, file), token) as client:
        for _ in range(2):
            assert (await client.get("/memories")).status_code == 200
        publish(file, "ec", jwk("rsa", of="rsa-2"))
        clock.advance(timedelta(seconds=1))
        assert refusal(await client.get("/memories")) == _INVALID


@pytest.mark.parametrize("body", [b"", b'{"keys": [', b"[]", b"\xff", b"a" * 300_000])
async def test_a_file_that_cannot_be_read_leaves_the_keys_as_they_were_for_an_hour(
    resources: Resources, tmp_path: Path, clock: FixedClock, body: bytes
) -> None:
    file = publish(tmp_path / "jwks.json")
    user = caller(resources, file, clock)
    assert await user.is_let_in()
    broken(file, body)
    clock.advance(timedelta(minutes=59))
    assert await user.is_let_in()
    clock.advance(timedelta(minutes=2))
    assert refusal(await user.ask()) == _AWAY
    publish(file)
    clock.advance(timedelta(seconds=2))
    assert await user.is_let_in()


def broken(file: Path, body: bytes) -> None:
    file.write_bytes(body)


async def test_without_any_keys_the_caller_is_told_to_come_again(
    resources: Resources, tmp_path: Path, clock: FixedClock
) -> None:
    file = tmp_path / "jwks.json"
    user = caller(resources, file, clock)
    for _ in range(2):
        answer = await user.ask()
        assert refusal(answer) == _AWAY
        assert answer.headers["retry-after"] == "2"
    publish(file)
    clock.advance(timedelta(seconds=2))
    assert await user.is_let_in()


async def test_keys_of_an_address_are_asked_for_once_in_their_age(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    user = caller(resources, server.url, clock, jwt_jwks_max_age_seconds=60)
    assert all(await asyncio.gather(*(user.is_let_in() for _ in range(20))))
    for _ in range(3):
        assert await user.is_let_in("ec")
    assert server.asked == 1
    clock.advance(timedelta(seconds=60))
    assert all(await asyncio.gather(*(user.is_let_in() for _ in range(20))))
    assert server.asked == 2


async def test_a_key_that_is_gone_from_the_address_works_no_longer_than_its_age(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    user = caller(resources, server.url, clock, jwt_jwks_max_age_seconds=60)
    assert await user.is_let_in("rsa")
    server.body = jwks("ec")
    clock.advance(timedelta(seconds=59))
    assert await user.is_let_in("rsa")
    clock.advance(timedelta(seconds=1))
    assert not await user.is_let_in("rsa")
    assert await user.is_let_in("ec")


async def test_a_new_key_at_the_address_is_found_at_once(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    user = caller(resources, server.url, clock)
    assert await user.is_let_in("rsa")
    server.body = jwks("ec-2", "ec-3")
    assert all(await asyncio.gather(*(user.is_let_in("ec-2") for _ in range(20))))
    assert not await user.is_let_in("rsa")
    assert server.asked == 2


async def test_made_up_names_of_keys_do_not_make_the_address_be_asked_each_time(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    user = caller(resources, server.url, clock)
    assert await user.is_let_in()
    for seconds in range(20):
        assert not await user.is_let_in(f"ed-{seconds}")
        clock.advance(timedelta(seconds=1))
    assert server.asked == 3


async def test_nobody_with_a_known_key_waits_for_one_that_is_looked_for(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    user = caller(resources, server.url, clock, jwt_key_timeout_seconds=60)
    assert await user.is_let_in()
    server.answers.clear()
    looking = asyncio.create_task(user.is_let_in("ed-2"))
    async with asyncio.timeout(_HELD_SECONDS):
        await until_asked(server, 2)
        assert await user.is_let_in()
    assert not looking.done()
    server.answers.set()
    assert not await looking


async def test_who_gives_up_does_not_take_the_keys_from_those_who_wait(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    user = caller(resources, server.url, clock)
    server.answers.clear()
    first = asyncio.create_task(user.ask())
    await until_asked(server, 1)
    second = asyncio.create_task(user.is_let_in())
    await asyncio.sleep(0.01)
    first.cancel()
    server.answers.set()
    assert await second
    assert server.asked == 1


async def test_an_address_that_is_away_leaves_the_keys_as_they_were_for_an_hour(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    user = caller(resources, server.url, clock, jwt_jwks_max_age_seconds=60)
    assert await user.is_let_in()
    server.status = 500
    clock.advance(timedelta(seconds=60))
    with capture_logs() as lines:
        for _ in range(3):
            assert await user.is_let_in()
    assert [line["why"] for line in lines if line["event"] == "issuer_keys.unread"] == [
        "HTTP status 500"
    ]
    assert server.asked == 2
    clock.advance(timedelta(minutes=59))
    assert await user.is_let_in()
    clock.advance(timedelta(minutes=2))
    assert refusal(await user.ask()) == _AWAY
    server.status = 200
    clock.advance(timedelta(seconds=2))
    assert await user.is_let_in()


async def test_while_an_address_is_away_nobody_waits_for_it(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    settings = {"jwt_jwks_max_age_seconds": 60, "jwt_key_timeout_seconds": 60}
    user = caller(resources, server.url, clock, **settings)
    assert await user.is_let_in()
    server.status = 500
    clock.advance(timedelta(seconds=60))
    assert await user.is_let_in()
    server.answers.clear()
    clock.advance(timedelta(seconds=2))
    async with asyncio.timeout(_HELD_SECONDS):
        assert await user.is_let_in()
        await until_asked(server, 3)
    server.status, server.body = 200, jwks("ec")
    server.answers.set()
    for _ in range(_TRIES):
        if not await user.is_let_in("rsa"):
            break
        await asyncio.sleep(0.01)
    assert await user.is_let_in("ec")


@pytest.mark.parametrize("status", [201, 204, 404, 500])
async def test_an_address_that_has_no_keys_at_first_is_asked_again(
    resources: Resources, server: KeyServer, clock: FixedClock, status: int
) -> None:
    user = caller(resources, server.url, clock)
    server.status = status
    for _ in range(3):
        assert refusal(await user.ask()) == _AWAY
    assert server.asked == 1
    server.status = 200
    clock.advance(timedelta(seconds=2))
    assert await user.is_let_in()


async def test_nothing_listens_at_the_address(resources: Resources, clock: FixedClock) -> None:
    with key_server() as server:
        url = server.url
    user = caller(resources, url, clock)
    assert refusal(await user.ask()) == _AWAY


@pytest.mark.parametrize("kind", ["oct", "short"])
async def test_an_issuer_that_withdraws_all_its_keys_is_believed(
    resources: Resources, server: KeyServer, clock: FixedClock, kind: str
) -> None:
    user = caller(resources, server.url, clock, jwt_jwks_max_age_seconds=60)
    assert await user.is_let_in()
    unusable = {"oct": {"kty": "oct", "k": "AAAA", "kid": "rsa"}, "short": jwk("short")}
    server.body = jwks(unusable[kind])
    clock.advance(timedelta(seconds=60))
    assert refusal(await user.ask()) == _AWAY
    server.body = jwks("rsa")
    clock.advance(timedelta(seconds=2))
    assert await user.is_let_in()


async def test_an_address_that_points_to_another_is_not_followed(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    with key_server() as other:
        for status in (301, 302, 307, 308):
            server.status, server.headers = status, {"Location": other.url}
            user = caller(resources, server.url, clock)
            assert refusal(await user.ask()) == _AWAY
        assert other.asked == 0


async def test_no_more_is_read_from_the_address_than_may_be(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    server.body = json.dumps({"padding": "a" * 300_000} | json.loads(jwks())).encode()
    assert refusal(await caller(resources, server.url, clock).ask()) == _AWAY


async def test_the_address_is_not_waited_for_longer_than_the_settings_say(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    server.answers.clear()
    user = caller(resources, server.url, clock, jwt_key_timeout_seconds=0.1)
    async with asyncio.timeout(_HELD_SECONDS):
        assert refusal(await user.ask()) == _AWAY


async def test_nor_for_keys_that_trickle_in(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    server.piece_bytes, server.pause_seconds = 10, 0.02
    user = caller(resources, server.url, clock, jwt_key_timeout_seconds=0.2)
    async with asyncio.timeout(_HELD_SECONDS):
        assert refusal(await user.ask()) == _AWAY


async def test_nothing_of_what_was_read_is_told(
    resources: Resources, server: KeyServer, clock: FixedClock
) -> None:
    secret = "published-by-mistake"
    bodies = [
        jwks(jwk("rsa", d=secret)),
        jwks({"kty": "oct", "k": secret, "kid": secret}),
        secret.encode(),
        json.dumps({"keys": secret}).encode(),
        jwks({"kty": "EC", "crv": "P-256", "x": secret, "y": secret}),
    ]
    with capture_logs() as lines:
        for body in bodies:
            server.body = body
            answer = await caller(resources, server.url, clock).ask()
            assert secret not in answer.text
    assert lines
    assert secret not in json.dumps(lines)
    assert server.url not in json.dumps(lines)

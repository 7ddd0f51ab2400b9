"""What is done before a request is admitted is charged, too: the reading of its body."""

import json

import pytest

from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.asgi import ADMIN, JSON, Sent, call
from tests.support.bank import ENGINE

_PATH = f"/v1beta1/{ENGINE}/memories".encode()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"key_rate_units_per_second": 5, "rate_burst_seconds": 4})


async def _send(app: object, body: bytes, key: str = ADMIN_KEY) -> int:
    headers = ((b"authorization", f"Bearer {key}".encode()), JSON)
    sent = Sent("POST", _PATH, headers=headers if key != ADMIN_KEY else (ADMIN, JSON), body=body)
    return (await call(app, sent)).status  # type: ignore[arg-type]  # the fixture's


async def test_bodies_that_are_no_json_use_up_the_rate_of_their_key(app: object) -> None:
    answers = [await _send(app, b"{") for _ in range(40)]
    assert answers[:20] == [400] * 20, "four seconds of five units"
    assert answers[-5:] == [429] * 5


async def test_a_large_body_is_not_checked_for_a_key_whose_rate_is_used_up(app: object) -> None:
    body = json.dumps({"a": ["x" * 1000] * 5_000}).encode()
    answers = [await _send(app, body) for _ in range(6)]
    assert answers[0] == 400, "it is checked, and has no such field"
    assert answers[-1] == 429


async def test_bodies_without_a_key_are_not_charged_to_anybody(app: object) -> None:
    assert {await _send(app, b"{", "nobody") for _ in range(40)} == {401}
    assert await _send(app, b"{") == 400

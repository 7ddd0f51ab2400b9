"""No request makes the service fail: whatever the bytes, the answer is one of its own making.

Tens of thousands were sent while this was written; here are a few hundred, the same every time.
"""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings

from app.kernel.errors import Reason
from app.platform.operations.services.runner import Runner
from tests.support.asgi import Answer, Sent, call
from tests.support.hostile import hostile_requests

_REQUESTS = 500
_LISTS = [
    "reasoningEngines",
    "reasoningEngines/1/memories",
    "reasoningEngines/1/memories/-/revisions",
    "reasoningEngines/1/operations",
    "reasoningEngines/1/sessions",
    "reasoningEngines/1/sessions/known/events",
    "reasoningEngines/1/auditEvents",
    "auditEvents",
    "keys",
]
_MAX_REFUSAL_BYTES = 20_000
_OURS = {reason.value for reason in Reason} - {Reason.INTERNAL.value}
_NOT_SERVED = 501


def _requests() -> Iterator[Sent]:
    found: list[Sent] = []

    @hypothesis_settings(
        max_examples=_REQUESTS,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(hostile_requests())
    def collect(sent: Sent) -> None:
        found.append(sent)

    collect()
    yield from found


@pytest.fixture
async def known(app: FastAPI) -> FastAPI:
    """The application with the memory and the session that good requests name."""
    path, query = b"/v1/reasoningEngines/1/memories", b"memoryId=known"
    body = b'{"fact": "I like tea.", "scope": {"user_id": "42"}}'
    assert (await call(app, Sent("POST", path, query, body=body))).status == 200
    path, query = b"/v1/reasoningEngines/1/sessions", b"sessionId=known"
    body = b'{"userId": "42"}'
    assert (await call(app, Sent("POST", path, query, body=body))).status == 200
    return app


def _check(answer: Answer, sent: Sent) -> None:
    assert answer.headers["x-request-id"], sent
    if answer.status == 200:
        return
    assert answer.status < 500 or answer.status == _NOT_SERVED, sent
    assert answer.json["error"]["code"] == answer.status, sent
    assert answer.reason in _OURS, sent
    assert len(answer.body) < _MAX_REFUSAL_BYTES, sent


async def test_a_hostile_request_is_answered_and_what_it_stored_can_be_read(
    known: FastAPI, runner: Runner
) -> None:
    statuses: set[int] = set()
    for sent in _requests():
        answer = await call(known, sent)
        _check(answer, sent)
        statuses.add(answer.status)
    assert {200, 400, 404} <= statuses
    await runner.run_pending()
    for name in _LISTS:
        assert (await call(known, Sent("GET", f"/v1/{name}".encode()))).status == 200
    operations = await call(known, Sent("GET", b"/v1/reasoningEngines/1/operations"))
    codes = {found.get("error", {}).get("code") for found in operations.json["operations"]}
    # 13 is INTERNAL: the worker, too, has an answer to everything.
    assert 13 not in codes

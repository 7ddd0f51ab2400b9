"""The reserve of connections: for who watches over the service, and nobody else."""

import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.uvicorn.room import RESERVED
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE
from tests.support.keys import make_key
from tests.support.senders import Sender, piece, scope_of

_MEMORIES = f"/v1beta1/{ENGINE}/memories"


async def _get(app: FastAPI, path: str, key: str | None) -> Sender:
    """Ask on a connection of the reserve."""
    sender = Sender(piece(b"", is_last=True))
    headers = [] if key is None else [(b"authorization", f"Bearer {key}".encode())]
    scope = scope_of(path, 0, method="GET", headers=headers, state={RESERVED: True})
    await app(scope, sender.receive, sender.send)
    return sender


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_are_served(app: FastAPI, path: str) -> None:
    sender = await _get(app, path, None)
    assert Reason.TOO_MANY_CONNECTIONS.encode() not in sender.body


async def test_who_may_manage_keys_is_served(app: FastAPI) -> None:
    assert (await _get(app, _MEMORIES, ADMIN_KEY)).status == 200
    assert (await _get(app, "/metrics", ADMIN_KEY)).status == 200


async def test_a_key_that_reads_metrics_is_served_those_alone(
    app: FastAPI, database: Database, clock: FixedClock
) -> None:
    key = await make_key(database, clock.now(), permissions=["metrics.get", "memories.list"])
    assert (await _get(app, "/metrics", key)).status == 200
    assert (await _get(app, _MEMORIES, key)).status == 503


@pytest.mark.parametrize("bound", [{}, {"scope_conditions": {"user_id": ["42"]}}])
async def test_others_are_told_to_come_back(
    app: FastAPI, database: Database, clock: FixedClock, bound: dict[str, dict[str, list[str]]]
) -> None:
    role = "admin" if bound else "editor"
    key = await make_key(database, clock.now(), role, **bound)  # type: ignore[arg-type]  # of one field
    sender = await _get(app, _MEMORIES, key)
    assert sender.status == 503
    assert Reason.TOO_MANY_CONNECTIONS.encode() in sender.body
    assert sender.headers[b"retry-after"] == b"1"


async def test_without_a_valid_key_there_is_no_more_than_a_refusal(app: FastAPI) -> None:
    assert (await _get(app, _MEMORIES, "nobody")).status == 401

"""Keys that are bound to scopes, for the tests of what they see."""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.support.bank import ok
from tests.support.bound import KINDS, SCOPES, Bound, bound_client, fill
from tests.support.copies import Copies


@pytest.fixture
async def bank(client: httpx.AsyncClient, database: Database, copies: Copies) -> httpx.AsyncClient:
    """The administrator's client, of a bank of several users."""
    if await copies.fill(database, "bound", lambda: fill(client)):
        # The process knows the engine by a request, as it does where it has filled the bank.
        search = {"searchQuery": "x", "topK": 1}
        body = {"scope": SCOPES["mine"], "similaritySearchParams": search}
        ok(await client.post("/memories:retrieve", json=body))
    return client


@pytest.fixture(params=KINDS)
async def bound(
    request: pytest.FixtureRequest,
    bank: httpx.AsyncClient,
    app: FastAPI,
    database: Database,
    clock: FixedClock,
) -> AsyncIterator[Bound]:
    """A client of that bank, by a key of each kind that is bound."""
    del bank
    kind = KINDS[request.param]
    async with await bound_client(app, database, clock, kind.conditions) as client:
        yield Bound(client, kind)


@pytest.fixture
async def mine(
    bank: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that bank, by a key that is bound to the user 42."""
    del bank
    async with await bound_client(app, database, clock, {"user_id": ["42"]}) as client:
        yield client

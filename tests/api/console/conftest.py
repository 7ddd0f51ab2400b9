"""Browsers of the console: clients that keep cookies, signed in with keys of each kind."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.support.console import browser, sign_in
from tests.support.keys import make_key

SignedIn = Callable[..., Awaitable[httpx.AsyncClient]]


@pytest.fixture
async def visitor(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A browser on the loopback address without a session."""
    async with browser(app) as found:
        yield found


@pytest.fixture
async def signed_in(app: FastAPI, database: Database, clock: FixedClock) -> AsyncIterator[SignedIn]:
    """Open browsers that are signed in with a new key of a role and a reach."""
    async with AsyncExitStack() as stack:

        async def open_browser(*roles: str, **reach: object) -> httpx.AsyncClient:
            secret = await make_key(database, clock.now(), *roles, **reach)  # type: ignore[arg-type]  # as they are named there
            found = await stack.enter_async_context(browser(app))
            await sign_in(found, secret)
            return found

        yield open_browser

"""Runs a command directly on the database, with or without a running service."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TypeVar

from app.adapters.db.migrate import SchemaError
from app.adapters.llm.names import ModelSetupError
from app.adapters.postgres.process import PostgresStartError
from app.adapters.resources import Resources, open_resources
from app.adapters.terminal import fail
from app.kernel.errors import ServiceError
from app.process.features import register
from app.process.key_admin import database_of
from app.settings.settings import Settings

_T = TypeVar("_T")


def run(settings: Settings, work: Callable[[Resources], Awaitable[_T]]) -> _T:
    """Run `work` on the resources of the settings; report errors in one sentence."""

    async def main() -> _T:
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(database_of(settings, may_make=False))
            return await work(
                register(await stack.enter_async_context(open_resources(settings, url)))
            )

    try:
        return asyncio.run(main())
    except (SchemaError, PostgresStartError, ModelSetupError, ServiceError) as error:
        fail(str(error))

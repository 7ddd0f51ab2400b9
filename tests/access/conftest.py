"""The service in this process, for the sweep."""

from pathlib import Path

import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.access.clients import Inside
from tests.access.routes import task_folders
from tests.access.service import TOKEN_KEY, Service
from tests.conftest import ADMIN_KEY
from tests.support.tokens import publish, token_app


@pytest.fixture
def app(resources: Resources, tmp_path: Path) -> FastAPI:
    """The application, which takes tokens, too."""
    folders = task_folders(tmp_path)
    keys = publish(tmp_path / "jwks.json", TOKEN_KEY)
    return token_app(resources, keys, **folders)


@pytest.fixture
def service(app: FastAPI, database: Database, clock: FixedClock, runner: Runner) -> Service:
    async def settled() -> None:
        await runner.run_pending()

    return Service([Inside(app)], database, clock.now, settled, ADMIN_KEY)

"""The service as a synchronous test drives it: requests, the worker, sweeps, and its tables."""

import asyncio
import json
from collections.abc import Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode

import httpx
import psycopg
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import create_async_engine

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.access.services.access import AccessService
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.service import UpkeepService
from app.process.features import register
from app.process.main import create_app
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.support.asgi import JSON, Sent, call
from tests.support.copies import EMPTIED
from tests.support.scripted_models import ScriptedEmbedder

START = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
_KEY = "ledger-bench-admin-key"
_AS_ADMIN = (b"authorization", b"Bearer " + _KEY.encode())
_ROOT = "/v1beta1/"
_T = TypeVar("_T")


class Bench:
    """One service on an event loop of its own, for as long as the test takes."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._loop = asyncio.new_event_loop()
        # Rows may get lost here when the machine loses its power, which spares many waits.
        options = "-c synchronous_commit=off -c timezone=UTC"
        connect = partial(psycopg.AsyncConnection.connect, url, options=options)
        # Rows of the audit log are removed, too.
        removing = "-c memory_bank.audit_retention=on"
        self._sql = psycopg.connect(url, autocommit=True, row_factory=dict_row, options=removing)
        self.clock = FixedClock(START)
        engine = create_async_engine("postgresql+psycopg://", async_creator=connect)
        self._database = Database(engine).at(self.clock)
        resources = register(
            Resources(settings, self.clock, self._database, url, ScriptedEmbedder())
        )
        self._wait(AccessService(self._database, self.clock).ensure_first_key(_KEY))
        self._app = create_app(resources)
        self._runner: Runner = make_runner(resources)
        self._retention = UpkeepService(resources)

    def close(self) -> None:
        self.empty()
        self.rows("delete from api_keys")
        self._sql.close()
        self._wait(self._database.close())
        self._loop.close()

    def empty(self) -> None:
        """Remove every row but the key, and set the clock back."""
        emptied = [one.name for one in EMPTIED if one.name not in {"api_keys", "api_key_secrets"}]
        self.rows("; ".join(f"delete from {name}" for name in emptied))
        self.clock.advance(START - self.clock.now())

    def ask(self, method: str, path: str, body: object = None, **query: str) -> httpx.Response:
        """Send a request; `path` is relative to the version."""
        content = b"" if body is None else json.dumps(body).encode()
        where = (_ROOT + path).encode()
        sent = Sent(method, where, urlencode(query).encode(), (_AS_ADMIN, JSON), content)
        answer = self._wait(call(self._app, sent))
        return httpx.Response(answer.status, headers=answer.headers, content=answer.body)

    def work(self) -> None:
        """Run every operation that is due."""
        self._wait(self._runner.run_pending())

    def sweep(self) -> None:
        self._wait(self._retention.sweep())

    def rows(self, statement: str) -> list[dict[str, Any]]:
        """Run a statement beside the service."""
        cursor = self._sql.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def _wait(self, what: Coroutine[Any, Any, _T]) -> _T:
        return self._loop.run_until_complete(what)

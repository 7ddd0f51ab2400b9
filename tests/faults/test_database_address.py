"""No traceback for what an operator typed: addresses of the database, and poolers before it."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url, text

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.migrate import SchemaError
from app.adapters.db.own_connections import Notices, listen
from app.adapters.db.session import Database
from app.settings.settings import Settings
from tests.schema.conftest import database_beside
from tests.support.commands import command, sentence
from tests.support.live import KEY, live_server
from tests.support.operations import USER
from tests.support.poolers import PROGRAM, keeps_prepared, pooler

_SECRET = "s3cret"
_NOWHERE = "/nowhere"
_OFTEN = 12
"""More requests than a statement takes before it is prepared."""


@pytest.fixture
def own_url(database_url: str) -> Iterator[str]:
    with database_beside(database_url, "addressed") as url:
        yield url


def _two_hosts(url: str, form: str) -> str:
    """Return an address whose first host is not there."""
    told = conninfo_to_dict(url)
    user, host, port, name = (str(told[one]) for one in ("user", "host", "port", "dbname"))
    if form == "url":
        hosts = f"{quote(_NOWHERE, safe='')}:1,{quote(host, safe='')}:{port}"
        return f"postgresql+psycopg://{user}@{hosts}/{name}?target_session_attrs=read-write"
    return f"host={_NOWHERE},{host} port=1,{port} user={user} dbname={name}"


@pytest.mark.parametrize("form", ["url", "pairs"])
async def test_of_several_hosts_one_that_answers_is_used(
    own_url: str, settings: Settings, form: str
) -> None:
    address = _two_hosts(own_url, form)
    migrate.upgrade(address)
    migrate.check(address)
    database = Database(open_engine(address, settings))
    async with database.snapshot() as session:
        assert (await session.execute(text("select current_database()"))).scalar() == "addressed"
    notices = Notices()
    listening = asyncio.create_task(listen(address, "memory_bank_heard", notices))
    await notices.wait(10)
    assert notices.are_heard
    listening.cancel()
    with suppress(asyncio.CancelledError):
        await listening
    await database.close()


def test_a_server_starts_with_several_hosts(own_url: str, tmp_path: Path) -> None:
    address = _two_hosts(own_url, "url")
    migrate.upgrade(address)
    settings = {"MEMORY_BANK_DATABASE_URL": address, "MEMORY_BANK_EMBEDDER": "hash"}
    with live_server(tmp_path, **settings) as server:
        assert httpx.get(f"{server.url}/readyz").status_code == 200


@pytest.mark.parametrize(
    ("start", "settings", "told"),
    [
        (
            "serve",
            {"database_url": f"postgresql://u:{_SECRET}@a:{_SECRET},b:2/d"},
            "MEMORY_BANK_DATABASE_URL is not a Postgres address: its port is no number",
        ),
        (
            "migrate",
            {"database_url": f"postgresql://u:{_SECRET}@127.0.0.1:1/d"},
            "The database cannot be reached (connection to server at",
        ),
        (
            "worker",
            {"listen_url": f"mysql://u:{_SECRET}@h/d"},
            "MEMORY_BANK_LISTEN_URL is not a Postgres address: it begins with another scheme",
        ),
    ],
)
def test_what_is_wrong_with_an_address_is_one_sentence(
    database_url: str, start: str, settings: dict[str, str], told: str
) -> None:
    said = sentence(start, **{"database_url": database_url, **settings})
    assert told in said
    assert _SECRET not in said


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"username": "stranger"}, "refuses the user .*; check the user and the password"),
        ({"database": "elsewhere"}, "does not exist .*; create it, or name another"),
    ],
)
def test_who_or_what_is_not_there_is_told_apart(
    database_url: str, changed: dict[str, str], told: str
) -> None:
    url = make_url(database_url).set(**changed).render_as_string()  # type: ignore[arg-type]  # the parts of an address
    with pytest.raises(SchemaError, match=told):
        migrate.check(url)


@pytest.fixture
def pooled(own_url: str) -> str:
    if PROGRAM is None:
        pytest.skip("needs PgBouncer on the machine")
    migrate.upgrade(own_url)
    return own_url


@pytest.mark.parametrize("line", ["", "ignore_startup_parameters = options"])
def test_a_pooler_without_its_setting_is_told(pooled: str, tmp_path: Path, line: str) -> None:
    with pooler(pooled, tmp_path, line) as url:
        said = sentence("serve", database_url=url)
    assert "behind a pooler in transaction mode" in said
    assert "set MEMORY_BANK_DATABASE_BEHIND_POOLER to true" in said


@pytest.mark.parametrize("prepared", ["false", "true"])
def test_behind_a_pooler_all_is_served(pooled: str, tmp_path: Path, prepared: str) -> None:
    if prepared == "true" and not keeps_prepared():
        pytest.skip("needs PgBouncer 1.22 or later on the machine")
    lines = ["max_prepared_statements = 200"] if prepared == "true" else []
    with pooler(pooled, tmp_path, *lines) as url:
        migrate.upgrade(url)
        settings = {
            "MEMORY_BANK_DATABASE_URL": url,
            "MEMORY_BANK_DATABASE_BEHIND_POOLER": "true",
            "MEMORY_BANK_DATABASE_POOLER_PREPARED": prepared,
            "MEMORY_BANK_EMBEDDER": "hash",
        }
        with live_server(tmp_path, **settings) as server:
            base = f"{server.url}/v1beta1/projects/default/locations/local/reasoningEngines/1"
            for _ in range(_OFTEN):
                answer = httpx.post(
                    f"{base}/memories",
                    json={"scope": USER, "fact": "I like tea."},
                    headers={"x-goog-api-key": KEY},
                )
                assert answer.status_code == 200, answer.text


def test_prepared_statements_of_a_pooler_need_one(database_url: str) -> None:
    ended = command("serve", database_url=database_url, database_pooler_prepared="true")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "MEMORY_BANK_DATABASE_POOLER_PREPARED must be false unless"
        " MEMORY_BANK_DATABASE_BEHIND_POOLER is true; got true.\n"
    )

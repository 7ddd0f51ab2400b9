"""Where a request came from: what the connection says, unless a known proxy says more."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic import SecretStr, ValidationError

from app.adapters.resources import Resources
from app.process import serving
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.audit import stored
from tests.support.operations import USER

_FORWARDED = "203.0.113.7"


@asynccontextmanager
async def _served(
    resources: Resources, trusted: list[str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    """Give a client of a server over the loopback address, which is what connects to it."""
    # What the server's library would read by itself.
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    monkeypatch.setenv("MEMORY_BANK_TRUSTED_PROXIES", json.dumps(trusted))
    values = {
        "trusted_proxies": Settings().trusted_proxies,
        "database_url": SecretStr(resources.database_url),
        "port": 0,
    }
    settings = resources.settings.model_copy(update=values)
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    async with serving.serving(settings, resources) as (port, _):
        base = f"http://127.0.0.1:{port}/v1/reasoningEngines/1"
        async with httpx.AsyncClient(base_url=base, headers=headers) as client:
            yield client


@pytest.mark.parametrize(
    ("trusted", "header", "expected"),
    [
        ([], None, "127.0.0.1"),
        ([], _FORWARDED, "127.0.0.1"),
        (["10.0.0.0/8"], _FORWARDED, "127.0.0.1"),
        (["127.0.0.1"], None, "127.0.0.1"),
        (["127.0.0.1"], _FORWARDED, _FORWARDED),
        (["127.0.0.0/8"], f"{_FORWARDED}:4711", _FORWARDED),
        (["127.0.0.1"], "2001:DB8::1", "2001:db8::1"),
        (["127.0.0.1"], f"198.51.100.1, {_FORWARDED}", _FORWARDED),
        (["127.0.0.1", "10.1.0.0/16"], f"198.51.100.1, {_FORWARDED}, 10.1.2.3", _FORWARDED),
        (["127.0.0.1"], "I like canaries", None),
        (["127.0.0.1"], f"{_FORWARDED}, I like canaries", None),
    ],
)
async def test_only_a_proxy_that_is_known_is_believed(
    resources: Resources,
    monkeypatch: pytest.MonkeyPatch,
    trusted: list[str],
    header: str | None,
    expected: str | None,
) -> None:
    headers = {} if header is None else {"X-Forwarded-For": header}
    async with _served(resources, trusted, monkeypatch) as client:
        body: dict[str, Any] = {"fact": "I like tea.", "scope": USER}
        answer = await client.post("/memories", json=body, headers=headers)
    assert answer.status_code == 200
    (found,) = await stored(resources.db)
    assert found.address == expected


@pytest.mark.parametrize("wrong", ["*", "localhost", "10.0.0.1/8", ""])
def test_what_is_no_address_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("MEMORY_BANK_TRUSTED_PROXIES", json.dumps([wrong]))
    with pytest.raises(ValidationError, match="trusted_proxies"):
        Settings()

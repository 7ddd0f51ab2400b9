"""Every page shows what lacks all fields that the API may leave out."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urldefrag, urljoin

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.inprocess import InProcess, InProcessAnswer
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.api.console.conftest import SignedIn
from tests.support.console import Page
from tests.support.person import fill

_FILES = re.compile(r"export|download|csv|raw")
_ID = re.compile(r"(?<=/)[^/]*(?:\d|quill|other|CanaryMoth|Harmless)[^/]*")
_STARTS = (
    "/console",
    *("/console/e/1/memories", "/console/e/1/streams", "/console/e/1/search?q=tea"),
    "/console/e/1/find?q=none",
)

Json = dict[str, Any]


class Sparse:
    """Answers without what their schemas do not require.

    Attributes:
        dropped: how many fields were left out.
    """

    def __init__(self, document: Json) -> None:
        self._schemas: Mapping[str, Json] = document["components"]["schemas"]
        self._answers = list(_answers(document))
        self.dropped = 0

    def of(self, method: str, path: str, answer: InProcessAnswer) -> InProcessAnswer:
        """Return an answer with its required fields alone; a list keeps its items."""
        for asked, pattern, schema in self._answers:
            if asked == method and pattern.fullmatch(path):
                found = self._without(json.loads(answer.body), schema)
                return InProcessAnswer(answer.status, json.dumps(found).encode())
        return answer

    def _without(self, value: Any, schema: Json) -> Any:
        schema = self._resolved(schema)
        if isinstance(value, list):
            return [self._without(item, schema.get("items", {})) for item in value]
        fields = schema.get("properties")
        if not isinstance(value, dict) or fields is None:
            return value
        kept = {
            name: self._without(part, fields.get(name, {}))
            for name, part in value.items()
            # A list is kept for its items, which lose their fields in turn.
            if name in schema.get("required", ()) or isinstance(part, list)
        }
        self.dropped += len(value) - len(kept)
        return kept

    def _resolved(self, schema: Json) -> Json:
        while "$ref" in schema:
            schema = self._schemas[schema["$ref"].rpartition("/")[2]]
        return schema


def _answers(document: Json) -> Iterator[tuple[str, re.Pattern[str], Json]]:
    for path, methods in document["paths"].items():
        parts = re.split(r"\{[^}]*\}", path)
        pattern = re.compile(r"[^/]+?".join(re.escape(part) for part in parts))
        for method, operation in methods.items():
            content = operation["responses"].get("200", {}).get("content", {})
            if "application/json" in content:
                yield method.upper(), pattern, content["application/json"]["schema"]


@pytest.fixture
def sparse(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Sparse:
    """Answers of the API, as the console gets them, without what is not required."""
    found = Sparse(app.openapi())
    call: Callable[..., Any] = InProcess.call

    async def stripped(self: InProcess, method: str, path: str, **sent: object) -> InProcessAnswer:
        answer = await call(self, method, path, **sent)
        return found.of(method, path, answer) if answer.status == 200 else answer

    monkeypatch.setattr(InProcess, "call", stripped)
    return found


def _kind(url: str) -> str:
    """Return what pages that differ in an id or a value alone have in common."""
    path, mark, _ = url.partition("?")
    return _ID.sub("*", path) + mark


async def _visited(browser: httpx.AsyncClient) -> tuple[list[str], list[str]]:
    """Open a page of each kind to which links lead; return the kinds, and what failed."""
    waiting = list(_STARTS)
    found: list[str] = []
    failed: list[str] = []
    while waiting:
        url = waiting.pop(0)
        if _kind(url) in found:
            continue
        answer = await browser.get(url)
        found.append(_kind(url))
        if answer.status_code != 200:
            failed.append(f"{url}: {answer.status_code} {Page(answer).text[:200]}")
        links = (urldefrag(urljoin(url, link)).url for link in Page(answer).links)
        waiting += [
            link for link in links if link.startswith("/console") and not _FILES.search(link)
        ]
    return found, failed


@pytest.fixture
async def browser(
    app: FastAPI,
    client: httpx.AsyncClient,
    database: Database,
    clock: FixedClock,
    runner: Runner,
    signed_in: SignedIn,
) -> httpx.AsyncClient:
    """An administrator's browser, in a bank with data of every kind."""
    await fill(client, app, database, clock, runner)
    return await signed_in("admin")


async def test_pages_render_what_has_required_fields_alone(
    browser: httpx.AsyncClient, request: pytest.FixtureRequest
) -> None:
    whole, failed = await _visited(browser)
    assert failed == []
    assert len(whole) >= 30, whole
    sparse: Sparse = request.getfixturevalue("sparse")
    found, failed = await _visited(browser)
    assert failed == []
    assert sparse.dropped > 100
    assert len(found) >= 20, found

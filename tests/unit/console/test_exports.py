"""The pages of a download: they wait for the rate of the key, and break with any other refusal."""

import json
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl

import pytest
from starlette.types import Receive, Scope, Send

from app.adapters.inprocess import InProcess
from app.kernel.auth import Caller, Reach
from app.kernel.errors import Unauthenticated
from app.surfaces.api import Api, ApiRefusal, Json
from app.surfaces.console.exports import download, pages_of

_CALLER = Caller("somebody", frozenset(), Reach())


class _List:
    """A list of three pages, whose requests are refused with these statuses first."""

    def __init__(self, *refusals: int) -> None:
        self._refusals = list(refusals)
        self.asked: list[dict[str, str]] = []

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        query = dict(parse_qsl(scope["query_string"].decode()))
        self.asked.append(query)
        status = self._refusals.pop(0) if self._refusals else 200
        page = int(query["pageToken"])
        body: dict[str, object] = {"memories": [{"name": f"memories/{page}", "fact": "x"}]}
        if page < 3:
            body["nextPageToken"] = str(page + 1)
        if status != 200:
            body = {"error": {"message": "no", "details": []}}
        start = {"type": "http.response.start", "status": status}
        await send({**start, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


def _pages(application: _List, opens: int = 9) -> tuple[Api, AsyncIterator[Json]]:
    """Return the pages of a list, in a session that ends after it was found so many times."""
    api = Api(InProcess(application, _CALLER, "console", "test", None, "a-request"), "test")
    first = Json(memories=[Json(name="memories/1", fact="x")], nextPageToken="2")
    left = iter(range(opens))

    async def is_open() -> bool:
        return next(left, None) is not None

    return api, pages_of(api, "/memories", [("filter", "a")], first, is_open)


async def test_a_used_up_rate_is_waited_for_and_the_calls_are_not_kept() -> None:
    application = _List(429)
    api, pages = _pages(application)
    names = [answer["memories"][0]["name"] async for answer in pages]
    assert names == ["memories/1", "memories/2", "memories/3"]
    assert [asked["pageToken"] for asked in application.asked] == ["2", "2", "3"]
    assert {asked["filter"] for asked in application.asked} == {"a"}
    assert len(api.made) == 1


async def test_the_end_of_the_session_breaks_the_download() -> None:
    application = _List()
    _, pages = _pages(application, opens=1)
    await anext(pages)
    assert (await anext(pages))["memories"][0]["name"] == "memories/2"
    with pytest.raises(Unauthenticated):
        await anext(pages)
    assert len(application.asked) == 1


async def test_a_refusal_breaks_the_download_after_what_is_written() -> None:
    _, pages = _pages(_List(403))
    answer = download(pages, "memories", "x.ndjson", frozenset())
    written = aiter(answer.body_iterator)  # type: ignore[attr-defined]  # it is streamed
    assert await anext(written) == '{"name":"memories/1","fact":"x"}\n'
    with pytest.raises(ApiRefusal):
        await anext(written)

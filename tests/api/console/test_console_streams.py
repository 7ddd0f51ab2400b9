"""Streams: what waits and why, the flush of one, and whose they are."""

from collections.abc import AsyncIterator

import httpx
import pytest

from app.adapters.resources import Resources
from app.kernel.errors import InvalidArgument, Reason
from app.platform.operations.services.runner import Runner
from tests.api.console.conftest import SignedIn
from tests.support.bank import ok
from tests.support.console import page, submit
from tests.support.ingestion import IDLE, OSLO, TEA, MeddlingEmbedder, ingest
from tests.support.sweeping import sweep

STREAMS = "/console/e/1/streams"
FLUSH = f"{STREAMS}/flush"
_HOSTILE = "<script>alert(1)</script> '\""
_THEIRS = {"user_id": "7-CANARY"}


@pytest.fixture
async def embedder() -> AsyncIterator[MeddlingEmbedder]:
    meddling = MeddlingEmbedder()
    yield meddling
    await meddling.close()


async def test_a_stream_is_flushed_once_however_often_its_form_is_sent(
    client: httpx.AsyncClient, runner: Runner, signed_in: SignedIn
) -> None:
    await ingest(client, TEA, **IDLE, streamId=_HOSTILE, scope={"k": _HOSTILE + "\u202e"})
    user = await signed_in("user")
    answer = await user.get(STREAMS)
    assert "<script>alert" not in answer.text
    shown = await page(user, STREAMS)
    assert "in 5 min" in shown.text
    assert "[U+202E]" in shown.text
    form = shown.forms[FLUSH]
    assert form["streamId"] == _HOSTILE
    for token in ({}, {"token": "x"}):
        sent = {**form, "token": "", **token}
        assert (await user.post(FLUSH, data=sent)).status_code == 403
    for scope in ('{"k": NaN}', '{"k": "\\ud800"}', "[" * 100_000):
        assert (await user.post(FLUSH, data={**form, "scope": scope})).status_code == 400
    assert await runner.run_pending() == 0
    counts = []
    for _ in range(2):
        answer = await user.post(FLUSH, data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, STREAMS)
        await runner.run_pending()
        counts.append(len(ok(await client.get("/operations"))["operations"]))
    assert counts[0] == counts[1]
    kept = await user.post(f"{FLUSH}?state=waiting", data={**form, "requestId": "another"})
    assert kept.headers["location"] == f"{STREAMS}?state=waiting"
    (stream,) = ok(await client.get("/streams"))["streams"]
    assert stream["pendingCount"] == 0
    assert FLUSH not in (await page(user, STREAMS)).forms


async def test_a_stream_that_rests_says_why_and_until_when(
    client: httpx.AsyncClient,
    runner: Runner,
    resources: Resources,
    embedder: MeddlingEmbedder,
    signed_in: SignedIn,
) -> None:
    await ingest(client, TEA, OSLO)
    embedder.failure = InvalidArgument("The model is <b>not</b> there.", Reason.FIELD_INVALID)
    await runner.run_pending()
    await sweep(resources, "stranded streams")
    viewer = await signed_in("viewer")
    for url in (STREAMS, f"{STREAMS}?state=failing", f"{STREAMS}?state=waiting"):
        shown = await page(viewer, url)
        for told in ("The model is <b>not</b> there.", "in 15 min", "2 of them set aside"):
            assert told in shown.text, told
        assert FLUSH not in shown.forms, "a viewer ingests nothing"


async def test_filters_narrow_the_list_and_pages_have_all(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    assert "no streams here yet" in (await page(viewer, STREAMS)).text
    for number in range(51):
        await ingest(client, TEA, **IDLE, streamId=f"chat-{number:02}.")
    await ingest(client, TEA, **IDLE, streamId="theirs", scope=_THEIRS)
    shown = await page(viewer, f"{STREAMS}?scope=user_id%3D42&state=waiting")
    older = next(link for link in shown.links if "page=" in link)
    text = shown.text + (await page(viewer, older)).text
    assert [number for number in range(51) if f"chat-{number:02}." not in text] == []
    assert "theirs" not in text
    assert "chat-07." in (await page(viewer, f"{STREAMS}?stream=chat-07.")).text
    assert "No stream matches" in (await page(viewer, f"{STREAMS}?state=failing")).text


async def test_a_bound_key_sees_and_flushes_its_own_streams_alone(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await ingest(client, TEA, **IDLE, streamId="mine")
    await ingest(client, TEA, **IDLE, streamId="theirs-CANARY", scope=_THEIRS)
    bound = await signed_in("user", scope_conditions={"user_id": ["42"]})
    for url in (STREAMS, f"{STREAMS}?state=waiting"):
        assert "CANARY" not in (await bound.get(url)).text
    assert "theirs" not in (await bound.get(f"{STREAMS}?scope=user_id%3D7-CANARY")).text
    form = (await page(bound, STREAMS)).forms[FLUSH]
    theirs = {**form, "scope": '{"user_id":"7-CANARY"}', "streamId": "theirs-CANARY"}
    answer = await bound.post(FLUSH, data=theirs)
    assert answer.status_code in {403, 404}
    assert 'role="alert"' in answer.text
    assert (await submit(bound, STREAMS, FLUSH)).status_code == 303
    next_times = {
        one["streamId"]: one["nextGenerateTime"]
        for one in ok(await client.get("/streams"))["streams"]
    }
    assert next_times["mine"] < next_times["theirs-CANARY"]
    answer = await submit(bound, STREAMS, FLUSH, scope="{")
    assert answer.status_code == 400

"""`sessions/-:recall`: passages of all sessions of a user, page by page."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.conversation.recall.schemas import RecallSessionsRequest
from app.conversation.recall.services import recall, searching
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.kernel.names import EngineName
from app.platform.sessions.logic.event_text import text_of
from tests.support.bank import ENGINE, Json, ok
from tests.support.bound import bound_client
from tests.support.cases import in_one_test
from tests.support.contexts import said, talk
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.keys import client_with, make_key
from tests.support.sessions import WHEN, events, new_path

ALL = "/sessions/-:recall"
LATER = "2026-01-20T08:00:00Z"
NOTHING = {"sessions": 0, "events": 0, "isComplete": True}


async def _recall(client: httpx.AsyncClient, query: str, **asked: Any) -> Json:
    return ok(await client.post(ALL, json={"userId": "42", "query": query, **asked}))


async def _texts(client: httpx.AsyncClient, query: str, **asked: Any) -> list[str]:
    return [one["text"] for one in (await _recall(client, query, **asked))["spans"]]


async def _all_pages(client: httpx.AsyncClient, query: str, **asked: Any) -> list[Json]:
    """Return the answers to a request and to those that go on from it."""
    pages = [await _recall(client, query, **asked)]
    while token := pages[-1].get("nextPageToken"):
        pages.append(await _recall(client, query, **asked, pageToken=token))
    return pages


async def _session(
    client: httpx.AsyncClient, clock: FixedClock, *lines: str, when: str = WHEN, **fields: Any
) -> str:
    """Create a session of what a user says, a second after the one before."""
    clock.advance(timedelta(seconds=1))
    path = await new_path(client, **fields)
    await talk(client, path, [said("user", line, timestamp=when) for line in lines])
    return path


async def test_a_passage_is_told_with_its_session_and_time(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await _session(client, clock, "I booked the Hotel Aurora.", when=LATER)
    await _session(client, clock, "Hello.", "How are you?")
    await _session(client, clock, "The hotel of others.", userId="7")
    found = await _recall(client, "Which hotel?")
    (event,) = await events(client, path)
    (span,) = found["spans"]
    assert span.pop("score") > 0
    assert span == {
        "session": event["name"].rpartition("/events/")[0],
        "event": event["name"],
        "eventTime": LATER,
        "seq": 1,
        "speaker": "user",
        "startOffset": 0,
        "endOffset": 26,
        "text": "I booked the Hotel Aurora.",
        "tokens": 7,
    }
    assert {name: found[name] for name in found.keys() - {"spans"}} == {
        "mode": "extractive",
        "tokens": 7,
        "counter": "chars4",
        "searched": {"sessions": 2, "events": 3, "oldestEventTime": WHEN, "isComplete": True},
    }


async def test_an_answer_is_not_to_a_question_of_another_session(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _session(client, clock, "What is the door code?")
    clock.advance(timedelta(seconds=1))
    other = await new_path(client)
    await talk(client, other, [said("agent", "It is 4711.")])
    assert await _texts(client, "door code") == ["What is the door code?"]
    await talk(client, other, [said("user", "And the door code?"), said("agent", "It is 4712.")])
    assert (await _texts(client, "door code"))[0] == "It is 4712."


async def test_of_equal_passages_the_later_event_comes_first(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _session(client, clock, "The plan is red.", when=LATER)
    await _session(client, clock, "The plan is blue.")
    assert await _texts(client, "plan") == ["The plan is red.", "The plan is blue."]


async def test_what_was_cleared_erased_or_has_expired_is_not_found(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    cleared = await _session(client, clock, "The zebra was cleared.")
    erased = await _session(client, clock, "The zebra was erased.", "Well.")
    await _session(client, clock, "The zebra expires.", ttl="60s")
    await _session(client, clock, "The zebra stays.")
    assert len(await _texts(client, "zebra")) == 4
    ok(await client.post(f"{cleared}:clear", json={}))
    name = (await events(client, erased))[0]["name"]
    ok(await client.delete(f"{erased}/events/{name.rpartition('/')[2]}"))
    clock.advance(timedelta(seconds=90))
    assert await _texts(client, "zebra") == ["The zebra stays."]


async def test_sessions_and_times_can_be_chosen(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    first = await _session(client, clock, "A red zebra.", labels={"channel": "web"})
    await _session(client, clock, "A blue zebra.", when=LATER)
    excluded = [first.rpartition("/")[2], "unknown"]
    assert await _texts(client, "zebra", excludeSessions=excluded) == ["A blue zebra."]
    assert await _texts(client, "zebra", filter='labels.channel="web"') == ["A red zebra."]
    assert await _texts(client, "zebra", startTime=LATER) == ["A blue zebra."]
    assert await _texts(client, "zebra", endTime=LATER) == ["A red zebra."]
    found = await _recall(client, "zebra", startTime=WHEN, endTime=LATER)
    assert found["searched"]["events"] == len(found["spans"]) == 1


async def test_pages_have_each_event_once_while_others_are_appended(
    client: httpx.AsyncClient, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_EVENTS", 5)
    monkeypatch.setattr(searching, "PAGE", 4)
    monkeypatch.setattr(searching, "LISTED", 2)
    written = [[f"Zebra {n} of session {s}." for n in range(7)] for s in range(4)]
    paths = [await _session(client, clock, *lines) for lines in written]
    asked = {"topK": 100, "maxTokens": 10_000}
    found = await _recall(client, "zebra", **asked)
    pages = [found]
    while token := found.get("nextPageToken"):
        assert not found["searched"]["isComplete"]
        for path in paths:
            await talk(client, path, [said("user", "A zebra more.")])
        await _session(client, clock, "A new zebra.")
        found = await _recall(client, "zebra", **asked, pageToken=token)
        pages.append(found)
    assert found["searched"]["isComplete"]
    spans = [span for page in pages for span in page["spans"]]
    old = [span["text"] for span in spans if " of session " in span["text"]]
    assert sorted(old) == sorted(line for lines in written for line in lines)
    names = [span["event"] for span in spans]
    assert len(set(names)) == len(names)
    assert len(pages) >= 4
    assert all(1 <= page["searched"]["events"] <= 8 for page in pages[:-1])


@in_one_test("bound", ["MAX_BYTES", "MAX_SECONDS", "MAX_SENTENCES"])
async def test_every_bound_leaves_the_rest_to_another_page(
    client: httpx.AsyncClient, clock: FixedClock, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(searching, bound, 0)
    monkeypatch.setattr(searching, "PAGE", 2)
    lines = [f"Zebra {n} of {bound}." for n in range(6)]
    await _session(client, clock, *lines, userId=bound)
    pages = await _all_pages(client, "zebra", userId=bound)
    assert len(pages) == 3
    texts = [span["text"] for page in pages for span in page["spans"]]
    assert sorted(texts) == sorted(lines)


async def test_long_events_are_read_in_several_statements(
    client: httpx.AsyncClient, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.platform.sessions.store.event_texts.MAX_SAID_BYTES", 30_000)
    monkeypatch.setattr(searching, "MAX_SAID_BYTES", 30_000)
    for n in range(3):
        lines = [f"Zebra {n} {m}. " + "Well. " * 2_000 for m in range(3)]
        await _session(client, clock, *lines)
    found = await _recall(client, "zebra", topK=20)
    assert found["searched"]["events"] == 9
    assert found["searched"]["isComplete"]
    starts = {span["text"] for span in found["spans"]}
    assert starts == {f"Zebra {n} {m}." for n in range(3) for m in range(3)}


async def test_passages_are_parts_of_their_events(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    paths = [
        await _session(client, clock, "🍐🍐 are ripe. The oats are gone.", "Oats? Yes."),
        await _session(client, clock, "Oats and pears. And oats again; more of them."),
    ]
    said_by = [one for path in paths for one in await events(client, path)]
    listed = {one["name"]: text_of(one["content"]) for one in said_by}
    for most in (1, 5, 300):
        found = await _recall(client, "ripe oats", maxTokens=most)
        assert found["spans"]
        for span in found["spans"]:
            text = listed[span["event"]][span["startOffset"] : span["endOffset"]]
            assert text == span["text"]
        assert sum(one["tokens"] for one in found["spans"]) == found["tokens"] <= most


class TestReach:
    """Whose sessions a key searches."""

    async def test_a_bound_key_searches_its_user_without_naming_it(
        self, client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
    ) -> None:
        await _session(client, clock, "My zebra.")
        await _session(client, clock, "Their zebra.", userId="7")
        async with await bound_client(app, database, clock, {"user_id": ["42"]}) as mine:
            found = ok(await mine.post(ALL, json={"query": "zebra"}))
            assert [span["text"] for span in found["spans"]] == ["My zebra."]
            theirs = ok(await mine.post(ALL, json={"query": "zebra", "userId": "7"}))
            nobody = ok(await mine.post(ALL, json={"query": "zebra", "userId": "none"}))
        assert theirs == nobody
        assert theirs["searched"] == NOTHING
        async with await bound_client(app, database, clock, {"app": ["x"]}) as other:
            found = ok(await other.post(ALL, json={"query": "zebra", "userId": "42"}))
            assert found == nobody
        async with await bound_client(app, database, clock, {"user_id": ["42", "7"]}) as two:
            assert list(violations(await two.post(ALL, json={"query": "zebra"}))) == ["userId"]

    async def test_a_token_of_another_reach_finds_nothing_more(
        self,
        client: httpx.AsyncClient,
        app: FastAPI,
        database: Database,
        clock: FixedClock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(searching, "MAX_EVENTS", 1)
        monkeypatch.setattr(searching, "PAGE", 1)
        await _session(client, clock, "A zebra.", "Another zebra.", userId="7")
        asked = {"query": "zebra", "userId": "7"}
        token = ok(await client.post(ALL, json=asked))["nextPageToken"]
        async with await bound_client(app, database, clock, {"user_id": ["42"]}) as mine:
            found = ok(await mine.post(ALL, json={**asked, "pageToken": token}))
        assert (found["spans"], found["searched"]) == ([], NOTHING)

    async def test_who_only_reads_may_have_no_answer_made(
        self, client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
    ) -> None:
        await _session(client, clock, "A zebra.")
        async with client_with(app, await make_key(database, clock.now(), "viewer")) as viewer:
            assert await _texts(viewer, "zebra") == ["A zebra."]
            body = {"query": "zebra", "userId": "42", "mode": "summary"}
            assert (await viewer.post(ALL, json=body)).status_code == 403


@in_one_test(
    ("asked", "field"),
    [
        ({"userId": None}, "userId"),
        ({"userId": ""}, "userId"),
        ({"startTime": WHEN, "endTime": WHEN}, "endTime"),
        ({"excludeSessions": ["a b"]}, "excludeSessions[0]"),
        ({"excludeSessions": ["s"] * 101}, "excludeSessions"),
        ({"excludeRecent": 1}, "excludeRecent"),
        ({"counter": "by-feel"}, "counter"),
        ({"model": "nobody:else"}, "model"),
    ],
)
async def test_bad_requests_name_the_field(
    client: httpx.AsyncClient, asked: Json, field: str
) -> None:
    body = {"userId": "42", "query": "x", **asked}
    answer = await client.post(ALL, json={key: body[key] for key in body if body[key] is not None})
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == [field]


async def test_filters_and_tokens_are_checked(
    client: httpx.AsyncClient, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_EVENTS", 1)
    monkeypatch.setattr(searching, "PAGE", 1)
    await _session(client, clock, "A zebra.", "Another zebra.")
    body = {"userId": "42", "query": "zebra"}
    answer = await client.post(ALL, json={**body, "filter": "mood=good"})
    assert refusal(answer)[2] is Reason.FILTER_INVALID
    token = (await _recall(client, "zebra"))["nextPageToken"]
    for other in ({"query": "lion"}, {"topK": 7}, {"pageToken": "x"}, {"userId": "7"}):
        answer = await client.post(ALL, json={**body, "pageToken": token, **other})
        assert refusal(answer)[2] is Reason.PAGE_TOKEN_INVALID
    assert await _texts(client, "zebra", pageToken="") == ["Another zebra."]


async def test_without_words_or_sessions_nothing_is_searched(client: httpx.AsyncClient) -> None:
    for query in ("?!", "zebra"):
        found = await _recall(client, query)
        assert (found["spans"], found["tokens"], found["searched"]) == ([], 0, NOTHING)
        assert "nextPageToken" not in found


async def test_who_has_left_is_not_searched_for(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock
) -> None:
    await _session(client, clock, "A zebra.")

    async def is_given_up() -> bool:
        return True

    asked = RecallSessionsRequest(user_id="42", query="zebra")
    left = await recall.recall_sessions(resources, EngineName.parse(ENGINE), asked, {}, is_given_up)
    assert left.spans == []

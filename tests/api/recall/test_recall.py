"""`{session}:recall`: passages of a session, word for word."""

from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.llm import encodings
from app.adapters.resources import Resources
from app.conversation.recall.schemas import RecallRequest
from app.conversation.recall.services import recall
from app.kernel.clock import FixedClock
from app.kernel.names import EngineName, SessionName
from app.platform.sessions.logic.event_text import text_of
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE, GONE, Json, ok, refusal
from tests.support.bound import assert_alike, bound_client
from tests.support.cases import in_one_test
from tests.support.contexts import said, talk
from tests.support.encodings import write_encoding
from tests.support.errors import BAD_FIELD, violations
from tests.support.errors import refusal as reason_of
from tests.support.keys import client_with, make_key
from tests.support.sessions import events, new_path

TALK = [
    said("user", "Can you book a hotel in Lisbon for May?"),
    said("agent", "I booked the Hotel Aurora. It is near the river. Breakfast costs extra."),
    said("user", "What is the door code of the flat?"),
    said("agent", "It is 4711."),
    said("user", "My sister Ada lives in Graz. She works as a vet."),
    said("agent", "Noted."),
]


@pytest.fixture
async def path(client: httpx.AsyncClient) -> str:
    found = await new_path(client)
    await talk(client, found, TALK)
    return found


async def _recall(client: httpx.AsyncClient, path: str, query: str, **asked: Any) -> Json:
    return ok(await client.post(f"{path}:recall", json={"query": query, **asked}))


async def _texts(client: httpx.AsyncClient, path: str, query: str, **asked: Any) -> list[str]:
    return [one["text"] for one in (await _recall(client, path, query, **asked))["spans"]]


@in_one_test(
    ("query", "passage"),
    [
        ("门的密码是什么", "门的密码是四七一一。"),
        ("ドアの暗証番号は", "ドアの暗証番号は四七一一です。"),
        ("รหัสประตูคืออะไร", "รหัสประตูคือสี่เจ็ด"),
        ("현관 비밀번호가 뭐야", "현관 비밀번호는 사칠일일이다."),
    ],
)
async def test_words_without_blanks_are_found(
    client: httpx.AsyncClient, query: str, passage: str
) -> None:
    path = await new_path(client)
    others = [
        "我订了河边的酒店。",
        "川のそばのホテルを予約した。",
        "จองโรงแรมริมน้ำแล้ว",
        "강가 호텔을 예약했다.",
    ]
    await talk(client, path, [said("user", text) for text in [*others, passage, *others]])
    assert (await _texts(client, path, query, topK=1)) == [passage]


async def test_the_passage_that_answers_is_told_with_its_event(
    client: httpx.AsyncClient, path: str
) -> None:
    found = await _recall(client, path, "Which hotel in Lisbon did you book?", topK=1)
    (span,) = found["spans"]
    assert span.pop("score") > 0
    assert span == {
        "event": (await events(client, path))[1]["name"],
        "seq": 2,
        "speaker": "agent",
        "startOffset": 0,
        "endOffset": 48,
        "text": "I booked the Hotel Aurora. It is near the river.",
        "tokens": 12,
    }
    assert found["tokens"] == 12
    assert (found["mode"], found["counter"]) == ("extractive", "chars4")
    assert found["searched"] == {"firstSeq": 1, "lastSeq": 6}
    assert not {"text", "seqs", "model", "usage"} & found.keys()


async def test_an_answer_is_found_by_what_was_asked(client: httpx.AsyncClient, path: str) -> None:
    assert (await _texts(client, path, "door code"))[0] == "It is 4711."


@in_one_test("most", [1, 5, 12, 13, 30, 300])
async def test_passages_are_parts_of_their_events_and_within_their_tokens(
    client: httpx.AsyncClient, path: str, most: int
) -> None:
    found = await _recall(client, path, "Did Ada book a hotel in Graz?", maxTokens=most)
    listed = {one["name"]: text_of(one["content"]) for one in await events(client, path)}
    assert found["spans"]
    for span in found["spans"]:
        assert listed[span["event"]][span["startOffset"] : span["endOffset"]] == span["text"]
    assert sum(one["tokens"] for one in found["spans"]) == found["tokens"] <= most


async def test_offsets_count_characters_beyond_the_first_plane_once(
    client: httpx.AsyncClient,
) -> None:
    path = await new_path(client)
    await talk(client, path, [said("user", "🍐🍐 are ripe. The oats are gone.")])
    (span,) = (await _recall(client, path, "oats"))["spans"]
    assert (span["startOffset"], span["endOffset"]) == (13, 31)


async def test_results_of_tools_are_found(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    result = {"functionResponse": {"name": "find", "response": {"gate": "B12"}}}
    await talk(client, path, [said("tool", "", content={"role": "user", "parts": [result]})])
    (span,) = (await _recall(client, path, "Which gate?"))["spans"]
    assert (span["speaker"], span["text"]) == ("tool", '[result find {"gate":"B12"}]')


async def test_nothing_on_a_query_is_an_empty_answer(client: httpx.AsyncClient, path: str) -> None:
    found = await _recall(client, path, "quantum physics")
    assert (found["spans"], found["tokens"]) == ([], 0)
    assert (await _recall(client, await new_path(client), "hotel"))["spans"] == []


async def test_the_newest_events_can_be_left_out(client: httpx.AsyncClient, path: str) -> None:
    found = await _recall(client, path, "Ada's sister in Graz, the hotel", excludeRecent=2)
    assert max(one["seq"] for one in found["spans"]) == 2
    assert found["searched"]["lastSeq"] == 4
    for count in (6, 7):
        nothing = await _recall(client, path, "hotel", excludeRecent=count)
        assert nothing["spans"] == []
        assert "searched" not in nothing


async def test_what_was_erased_or_cleared_is_not_found(
    client: httpx.AsyncClient, path: str
) -> None:
    name = (await events(client, path))[1]["name"]
    ok(await client.delete(f"{path}/events/{name.rpartition('/')[2]}"))
    assert await _texts(client, path, "Hotel Aurora river") == [
        "Can you book a hotel in Lisbon for May?"
    ]
    ok(await client.post(f"{path}:clear", json={}))
    assert await _texts(client, path, "Hotel Aurora river") == []
    await talk(client, path, [said("user", "The hotel was fine.")])
    assert await _texts(client, path, "Hotel Aurora river") == ["The hotel was fine."]


async def test_a_long_session_is_read_in_pages_up_to_its_bounds(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await new_path(client)
    await talk(client, path, [said("user", "The first zebra."), said("agent", "Yes.")])
    await talk(client, path, [said("user", f"Number {n}.") for n in range(450)])
    await talk(client, path, [said("user", "The last zebra.")])
    found = await _recall(client, path, "zebra")
    assert [one["seq"] for one in found["spans"]] == [453, 1]
    assert found["searched"] == {"firstSeq": 1, "lastSeq": 453}
    monkeypatch.setattr(recall, "MAX_EVENTS", 300)
    found = await _recall(client, path, "zebra")
    assert [one["seq"] for one in found["spans"]] == [453]
    assert found["searched"] == {"firstSeq": 54, "lastSeq": 453}
    for bound in ("MAX_BYTES", "MAX_SECONDS", "MAX_SENTENCES"):
        with monkeypatch.context() as patch:
            patch.setattr(recall, bound, 0)
            found = await _recall(client, path, "zebra")
        assert found["searched"] == {"firstSeq": 254, "lastSeq": 453}


async def test_long_events_are_read_no_further_than_the_bounds(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await new_path(client)
    await talk(client, path, [said("user", f"Zebra {n}. " + "Well. " * 9_000) for n in range(6)])
    monkeypatch.setattr(recall, "MAX_BYTES", 100_000)
    found = await _recall(client, path, "zebra", topK=10)
    assert found["searched"] == {"firstSeq": 5, "lastSeq": 6}
    assert sorted(one["seq"] for one in found["spans"]) == [5, 6]


async def test_who_has_left_is_not_searched_for(resources: Resources, path: str) -> None:
    name = SessionName(EngineName.parse(ENGINE), path.rpartition("/")[2])
    asked = RecallRequest(query="hotel in Lisbon")
    looks = iter([False, True])

    async def is_given_up() -> bool:
        return next(looks)

    assert (await recall.recall_session(resources, name, asked, is_given_up)).spans
    left = await recall.recall_session(resources, name, asked, is_given_up)
    assert (left.spans, left.searched) == ([], None)


@in_one_test(
    ("asked", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "x" * 10_001}, "query"),
        ({"query": "x", "topK": 0}, "topK"),
        ({"query": "x", "topK": 101}, "topK"),
        ({"query": "x", "maxTokens": 0}, "maxTokens"),
        ({"query": "x", "maxTokens": 100_001}, "maxTokens"),
        ({"query": "x", "excludeRecent": -1}, "excludeRecent"),
        ({"query": "x", "mode": "vectors"}, "mode"),
        ({"query": "x", "counter": "by-feel"}, "counter"),
        ({"query": "x", "model": "nobody:else"}, "model"),
        ({"query": "x", "model": ""}, "model"),
        ({"query": "x", "strange": 1}, "strange"),
    ],
)
async def test_bad_requests_name_the_field(
    client: httpx.AsyncClient, path: str, asked: Json, field: str
) -> None:
    answer = await client.post(f"{path}:recall", json=asked)
    assert reason_of(answer) == BAD_FIELD
    assert list(violations(answer)) == [field]


async def test_both_spellings_are_read(client: httpx.AsyncClient, path: str) -> None:
    spelt = await _recall(client, path, "hotel Ada", top_k=1, max_tokens=50, exclude_recent=2)
    assert spelt == await _recall(client, path, "hotel Ada", topK=1, maxTokens=50, excludeRecent=2)


async def test_a_session_that_is_not_there_is_not_found(client: httpx.AsyncClient) -> None:
    answer = await client.post("/sessions/none:recall", json={"query": "x"})
    assert refusal(answer) == GONE


async def test_a_session_of_others_is_told_as_none(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    foreign = await new_path(client, userId="7")
    await talk(client, foreign, TALK)
    theirs = await bound_client(app, database, clock, {"user_id": ["42"]})
    async with theirs:
        mine = await new_path(theirs, userId="42")
        await talk(theirs, mine, TALK)
        assert await _texts(theirs, mine, "hotel")
        asked = {"query": "hotel"}
        assert_alike(
            await theirs.post(f"{foreign}:recall", json=asked),
            await theirs.post("/sessions/none:recall", json=asked),
            foreign.rpartition("/")[2],
            "none",
        )


async def test_who_only_reads_may_have_no_answer_made(
    app: FastAPI, database: Database, clock: FixedClock, path: str
) -> None:
    async with client_with(app, await make_key(database, clock.now(), "viewer")) as viewer:
        assert await _texts(viewer, path, "hotel")
        asked = {"query": "hotel", "mode": "summary"}
        assert (await viewer.post(f"{path}:recall", json=asked)).status_code == 403
    async with client_with(app, await make_key(database, clock.now(), "user")) as user:
        assert await _texts(user, path, "hotel")


class TestCounters:
    """A counter whose table is a file."""

    @pytest.fixture
    def settings(self, data_dir: Path, tmp_path: Path) -> Settings:
        write_encoding(tmp_path, "o200k_base", "hello")
        return Settings(data_dir=data_dir, admin_key=ADMIN_KEY, tiktoken_dir=tmp_path)

    async def test_the_file_is_read_beside_the_event_loop(
        self, client: httpx.AsyncClient, path: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        load, readers = encodings.load, []

        def watched(folder: Path, name: str) -> object:
            readers.append(current_thread())
            return load(folder, name)

        monkeypatch.setattr(encodings, "load", watched)
        found = await _recall(client, path, "hotel", counter="o200k_base", maxTokens=1_000)
        assert found["counter"] == "o200k_base"
        assert found["tokens"] > len("I booked")
        assert readers
        assert main_thread() not in readers

"""Ingestion through the official clients. Source: wire specification, section 9."""

import asyncio
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.live import LiveServer
from tests.support.model_server import model_server, slow
from tests.support.official import (
    USER,
    Bank,
    Client,
    at,
    invalid,
    missing,
    platform_client,
    refused,
    says,
    to_its_end,
    vertex_client,
)
from tests.support.scripted import SecondPrompt, confirmed
from tests.support.serving import serving

TEA = "I like green tea."
MILK = "I like oat milk."
OSLO = "I live in Oslo."
SLOW = {"generation_rule": {"idle_duration": "300s"}}
WAIT = {"wait_for_completion": True}
_SOON_SECONDS = 60
_THOUGHT_SECONDS = 2


@pytest.fixture(scope="module")
async def aio_platform(server: LiveServer) -> AsyncIterator[Client]:
    """The asynchronous half of the successor."""
    client = platform_client(**at(server.url))
    yield client.aio
    await client.aio.aclose()


def _ingest(bank: Bank, *texts: str, config: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Ingest turns of the user."""
    source = says(*texts) if texts else None
    return bank.memories.ingest_events(
        name=bank.name, scope=USER, direct_contents_source=source, config=config, **fields
    )


def _numbered(*texts: str) -> dict[str, Any]:
    """Return a source of turns with ids and times, as the ADK sends them."""
    events = says(*texts)["events"]
    return {
        "events": [
            {**one, "event_id": f"e{n}", "event_time": f"2026-01-02T03:04:0{n}+00:00"}
            for n, one in enumerate(events)
        ]
    }


def test_the_offset_of_an_event_tells_the_day_of_its_speaker(bank: Bank) -> None:
    (event,) = says("I saw the dentist today.")["events"]
    event |= {"event_time": "2025-11-26T23:30:00-05:00"}
    bank.memories.ingest_events(
        name=bank.name,
        scope=USER,
        direct_contents_source={"events": [event]},
        config={"force_flush": True, **WAIT},
    )
    assert bank.listed_facts() == ["I saw the dentist today (2025-11-26)."]


def test_a_flush_and_a_wait_leave_memories(bank: Bank) -> None:
    operation = _ingest(bank, TEA, config={"force_flush": True, **WAIT})
    assert operation.done
    assert operation.error is None
    assert bank.listed_facts() == [TEA]


def test_without_a_trigger_met_there_are_none_right_after(bank: Bank) -> None:
    operation = _ingest(bank, TEA, generation_trigger_config=SLOW)
    assert not operation.done
    assert bank.listed_facts() == []
    again = _ingest(bank, OSLO, generation_trigger_config=SLOW)
    assert again.name == operation.name
    flush = _ingest(bank, config={"force_flush": True, **WAIT})
    assert (flush.name, flush.done) == (operation.name, True)
    assert sorted(bank.listed_facts()) == [TEA, OSLO]


def test_as_the_adk_calls_it_the_flush_is_at_once(bank: Bank) -> None:
    for texts in ((TEA,), (TEA, OSLO)):
        bank.memories.ingest_events(
            name=bank.name, stream_id="", scope=USER, direct_contents_source=_numbered(*texts)
        )
    deadline = time.monotonic() + _SOON_SECONDS
    while len(bank.listed()) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert sorted(bank.listed_facts()) == [TEA, OSLO]
    # The whole session once more: nothing in it is new.
    repeated = bank.memories.ingest_events(
        name=bank.name, scope=USER, direct_contents_source=_numbered(TEA, OSLO), config=WAIT
    )
    assert repeated.done
    assert all(len(bank.revisions(memory.name)) == 1 for memory in bank.listed())


def test_the_done_operation_names_the_generation(bank: Bank, http: httpx.Client) -> None:
    operation = _ingest(bank, TEA, config=WAIT)
    raw = to_its_end(http, operation.name)
    assert raw["metadata"]["@type"].endswith(".IngestEventsOperationMetadata")
    generated = to_its_end(http, raw["response"]["generateMemoriesOperation"])
    (change,) = generated["response"]["generatedMemories"]
    assert bank.get(change["memory"]["name"]).fact == TEA


def test_nothing_to_ingest_is_done(bank: Bank) -> None:
    assert _ingest(bank).done
    assert _ingest(bank, config={"force_flush": True, **WAIT}).done


def test_a_count_triggers(bank: Bank) -> None:
    two = {"generation_rule": {"event_count": 2}}
    assert not _ingest(bank, TEA, generation_trigger_config=two).done
    assert _ingest(bank, OSLO, generation_trigger_config=two, config=WAIT).done
    assert sorted(bank.listed_facts()) == [TEA, OSLO]


def test_streams_are_apart(bank: Bank) -> None:
    for stream in ("a", "b"):
        _ingest(bank, TEA, stream_id=stream, generation_trigger_config=SLOW)
    flushed = {"force_flush": True, **WAIT}
    assert _ingest(bank, stream_id="a", config=flushed).done
    assert bank.listed_facts() == [TEA]


def test_what_is_refused(bank: Bank) -> None:
    with invalid("generationRule"):
        _ingest(bank, TEA, generation_trigger_config={"generation_rule": {"idle_duration": "90s"}})
    with invalid("scope"):
        bank.memories.ingest_events(name=bank.name, scope={"user_id": "*"})
    with missing():
        bank.memories.ingest_events(name=f"{bank.name}0", scope=USER)


def test_an_engine_s_events_go_with_it(bank: Bank) -> None:
    _ingest(bank, TEA, generation_trigger_config=SLOW)
    bank.client.agent_engines.delete(name=bank.name, force=True)
    with refused(404, "NOT_FOUND"):
        _ingest(bank, OSLO)


async def test_the_asynchronous_client_ingests_alike(aio: Client, engine: str) -> None:
    memories = aio.agent_engines.memories
    waiting = await memories.ingest_events(
        name=engine,
        scope=USER,
        direct_contents_source=says(TEA),
        generation_trigger_config=SLOW,
    )
    assert not waiting.done
    flushed = await memories.ingest_events(
        name=engine, scope=USER, config={"force_flush": True, **WAIT}
    )
    assert (flushed.name, flushed.done) == (waiting.name, True)
    assert [one.fact async for one in await memories.list(name=engine)] == [TEA]


async def test_flushes_at_once_lose_nothing(aio: Client, engine: str) -> None:
    memories = aio.agent_engines.memories
    facts = [f"My {kind} is called Rex." for kind in ("dog", "cat", "horse", "parrot", "fish")]
    await asyncio.gather(
        *(
            memories.ingest_events(
                name=engine,
                scope=USER,
                direct_contents_source=says(fact),
                config={"force_flush": True},
            )
            for fact in facts
        )
    )
    deadline = time.monotonic() + _SOON_SECONDS
    while True:
        found = sorted([one.fact async for one in await memories.list(name=engine)])
        if found == sorted(facts):
            return
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.05)


def _heard(body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer as a model that finds what users like, and adds it to what is known."""
    text = str(body["messages"][-1]["content"])
    heard = re.findall(r"^(\d+) U.*?: (I like .*\.)$", text, re.MULTILINE)
    facts = [
        {"fact": fact, "quote": fact, "line": int(line), "topics": ["USER_PREFERENCES"]}
        for line, fact in heard
    ]
    if heard:
        return {"facts": facts}
    second = SecondPrompt.read(text)
    return confirmed(len(second.facts) if second is not None else 0)


@pytest.fixture
def thinking(pytestconfig: pytest.Config) -> Iterator[Bank]:
    """A bank of a server whose model takes its time."""
    folder = Path(tempfile.mkdtemp(prefix="omb-"))
    folder.chmod(0o755)
    with model_server() as model:
        model.always(slow(_THOUGHT_SECONDS, _heard))
        model_of = {"MEMORY_BANK_MODEL": "openai:any", "MEMORY_BANK_MODEL_BASE_URL": model.url}
        with serving(pytestconfig, folder, **model_of) as server:
            client = vertex_client(**at(server.url))
            yield Bank(client, client.agent_engines.create().api_resource.name)
    shutil.rmtree(folder, ignore_errors=True)


def test_a_flush_that_comes_while_the_model_thinks_has_its_memories_when_done(
    thinking: Bank,
) -> None:
    first = _ingest(thinking, TEA)
    time.sleep(_THOUGHT_SECONDS / 2)
    flush = _ingest(thinking, MILK, config={"force_flush": True, **WAIT})
    assert (flush.name, flush.done, flush.error) == (first.name, True, None)
    assert sorted(thinking.listed_facts()) == sorted([TEA, MILK])


def _full(name: str) -> dict[str, Any]:
    """Return what only the successor sends beside."""
    return {
        "name": name,
        "scope": USER,
        "direct_contents_source": says(TEA),
        "generation_trigger_config": {
            "generation_rule": {
                "event_count": 3,
                "fixed_interval": "300s",
                "overlap_event_count": 2,
            }
        },
        "config": {
            "force_flush": True,
            **WAIT,
            "revision_labels": {"run": "7"},
            "revision_ttl": "3600s",
            "disable_memory_revisions": False,
            "metadata": {"src": {"string_value": "chat"}},
            "metadata_merge_strategy": "MERGE",
        },
    }


def _check_full(memory: Any, revision: dict[str, Any]) -> None:
    assert memory.fact == TEA
    assert memory.metadata["src"].string_value == "chat"
    assert revision["labels"] == {"run": "7"}


def _revision(http: httpx.Client, memory: str) -> dict[str, Any]:
    (found,) = http.get(f"{memory}/revisions").json()["memoryRevisions"]
    assert isinstance(found, dict)
    return found


def test_the_successor_ingests_with_all_its_options(
    platform: Client, engine: str, http: httpx.Client
) -> None:
    assert platform.memory_banks.ingest_events(**_full(engine)).done
    (memory,) = platform.memory_banks.memories.list(name=engine)
    _check_full(memory, _revision(http, memory.name))


async def test_its_asynchronous_half_does_alike(
    aio_platform: Client, engine: str, http: httpx.Client
) -> None:
    operation = await aio_platform.memory_banks.ingest_events(**_full(engine))
    assert operation.done
    (memory,) = [one async for one in await aio_platform.memory_banks.memories.list(name=engine)]
    _check_full(memory, _revision(http, memory.name))

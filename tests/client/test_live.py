"""The client and a service: what is lost on the way is done once, lists skip nothing."""

import io
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from open_memory_bank import AlreadyExists, AsyncClient, Client, NotFound
from open_memory_bank.openai_agents import MemoryBankSession
from tests.client.faulty import Fault, Proxy, proxy
from tests.packaging.checkout import scratch_folder
from tests.support.live import KEY, LiveServer, live_server

_SCOPE = {"user_id": "42"}
_SEATS = "I prefer window seats."


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    with scratch_folder() as folder, live_server(folder) as running:
        yield running


@pytest.fixture(scope="module")
def between(server: LiveServer) -> Iterator[Proxy]:
    with proxy(server.url) as made:
        yield made


@pytest.fixture
def bank(between: Proxy) -> Iterator[Client]:
    """A client of an engine of its own, through the proxy."""
    with Client(between.url, key=KEY) as first:
        engine = first.engines.create(display_name="client")
        yield first.at(engine["name"])
        between.faults.clear()


@pytest.fixture
async def awaited(between: Proxy, bank: Client) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(between.url, key=KEY, engine=bank.engine) as made:
        yield made


@pytest.mark.parametrize("kind", ["before", "in", "after"])
def test_a_lost_answer_is_one_memory(bank: Client, between: Proxy, kind: Any) -> None:
    between.faults.append(Fault(kind))
    memory = bank.memories.create(scope=_SCOPE, fact=_SEATS, metadata={"n": 1, "s": "x"})
    assert memory["metadata"] == {"n": {"doubleValue": 1}, "s": {"stringValue": "x"}}
    between.faults.append(Fault(kind))
    changed = bank.memories.update(memory["name"], fact="I prefer aisle seats.")
    assert changed["fact"] == "I prefer aisle seats."
    assert len(list(bank.memories.list())) == 1
    assert len(list(bank.memories.revisions.list(memory["name"]))) == 2


def test_what_is_said_is_remembered_found_and_undone(bank: Client) -> None:
    """The sample of the guide, and the way back."""
    done = bank.memories.generate(scope=_SCOPE, texts=[_SEATS], with_facts=True)
    (made,) = done["generatedMemories"] or []
    assert made["memory"]["fact"] == _SEATS  # type: ignore[typeddict-item]  # it was read
    assert [memory["fact"] for memory in bank.memories.list(filter='scope.user_id="42"')] == [
        _SEATS
    ]
    (hit,) = bank.memories.retrieve(scope=_SCOPE, query="Where to sit?", top_k=1)
    assert hit["memory"]["name"] == made["memory"]["name"]
    name = made["memory"]["name"]
    bank.memories.delete(name)
    assert list(bank.memories.list()) == []
    with pytest.raises(NotFound):
        bank.memories.get(name)
    assert bank.memories.undelete(name)["fact"] == _SEATS
    first = list(bank.memories.revisions.list(name))[-1]
    revision = first["name"].rpartition("/")[2]
    bank.memories.update(name, fact="x")
    bank.memories.rollback(name, target_revision_id=revision)
    assert bank.memories.get(name)["fact"] == _SEATS
    purge = bank.memories.start_purge(filter='scope.user_id="42"', force=True)
    assert purge.wait()["purgeCount"] == 1
    assert bank.operations.undo(purge.name)["undoneMemories"] is not None
    assert len(list(bank.memories.list())) == 1


def test_a_list_skips_and_repeats_nothing_while_others_insert_and_connections_break(
    bank: Client, between: Proxy
) -> None:
    names = [
        bank.memories.create(scope=_SCOPE, fact=f"I own {number} hats.")["name"]
        for number in range(6)
    ]
    seen = []
    for number, memory in enumerate(bank.memories.list(page_size=2)):
        seen.append(memory["name"])
        bank.memories.create(scope=_SCOPE, fact=f"I own {number} coats.")
        if number % 2 == 1:
            # The page has ended: the answer with the next is cut, or lost.
            between.faults.append(Fault("in" if number % 4 == 1 else "after"))
    assert len(seen) == len(set(seen))
    assert set(names) <= set(seen)


@pytest.mark.parametrize(
    "options", [{}, {"page_size": 2}, {"simple_retrieval_params": {"pageSize": 2}}], ids=str
)
def test_a_scope_is_listed_to_its_end(bank: Client, options: Any) -> None:
    requests: Any = [{"memory": {"scope": _SCOPE, "fact": f"I own hat {n}."}} for n in range(5)]
    bank.memories.batch_create(requests=requests)
    found = {hit["memory"]["fact"] for hit in bank.memories.retrieve(scope=_SCOPE, **options)}
    assert found == {f"I own hat {number}." for number in range(5)}
    within = list(bank.memories.retrieve(scope=_SCOPE, max_tokens=9, **options))
    assert 0 < len(within) < 5


def test_an_update_changes_what_is_given(bank: Client) -> None:
    memory = bank.memories.create(scope=_SCOPE, fact=_SEATS, display_name="Seats", ttl="60s")
    changed = bank.memories.update(memory["name"], display_name=None, ttl=None, scope=_SCOPE)
    assert changed["fact"] == _SEATS
    assert not {"displayName", "expireTime"} & changed.keys()
    bank.sessions.create(user_id="42", session_id="s", display_name="Trip", labels={"a": "b"})
    session = bank.sessions.update("s", display_name="Tour")
    assert (session.get("displayName"), session.get("labels")) == ("Tour", {"a": "b"})
    engine = bank.engines.update(description="Of a test.")
    assert (engine.get("displayName"), engine.get("description")) == ("client", "Of a test.")


def test_imports_and_exports_are_streams(bank: Client) -> None:
    rows = ({"scope": _SCOPE, "fact": f"Fact {n}.", "memoryId": f"m{n}"} for n in range(3))
    assert bank.memories.import_(rows)["imported"] == 3
    line = b'{"scope": {"user_id": "42"}, "fact": "Fact 0.", "memoryId": "m0"}\n'
    assert bank.memories.import_(io.BytesIO(line))["existing"] == 1
    changed = [{"scope": _SCOPE, "fact": "Fact 3.", "memoryId": "m0"}]
    answer = bank.memories.import_(changed, overwrite=True, import_id="run", max_errors=10_000)
    assert (answer["changedHere"], answer["overwritten"]) == (1, 1)
    assert len(list(bank.memories.revisions.export())) == 4
    assert {event["method"] for event in bank.audit.export()} >= {"importMemories"}


def test_sessions_and_task_memory(bank: Client) -> None:
    bank.sessions.create(user_id="42", session_id="trip")
    with pytest.raises(AlreadyExists):
        bank.sessions.create(user_id="42", session_id="trip")
    bank.sessions.exchange("trip", input="Book 12A.", output="Done.")
    context = bank.sessions.context("trip", token_limit=4000, format="openai")
    assert [message["role"] for message in context["messages"] or []] == ["user", "assistant"]
    spans = bank.sessions.recall("trip", query="12A")["spans"]
    assert [span["text"] for span in spans][:1] == ["Book 12A."]
    everywhere = bank.sessions.recall_all(user_id="42", query="12A")
    assert [span["text"] for span in everywhere["spans"]] == [span["text"] for span in spans]
    assert bank.memories.recall(scope=_SCOPE, query="12A", include_sessions=True)["spans"]
    event = next(iter(bank.sessions.events("trip")))
    bank.sessions.erase_event("trip", event["name"])
    assert len(list(bank.sessions.events("trip"))) == 1
    stored = bank.task_memory.upload("T", "n", "a", io.BytesIO(b"\0word"), user_id="42")
    assert stored["sizeBytes"] == "5"
    assert bank.task_memory.download("T", "n", "a") == b"\0word"


async def test_the_other_client_does_the_same(bank: Client, awaited: AsyncClient) -> None:
    done = await awaited.memories.generate(scope=_SCOPE, texts=[_SEATS], with_facts=True)
    assert done["generatedMemories"]
    assert [memory["fact"] async for memory in awaited.memories.list()] == [_SEATS]
    found = awaited.memories.retrieve(scope=_SCOPE, page_size=1)
    assert [hit["memory"]["fact"] async for hit in found] == [_SEATS]
    exported = [row async for row in awaited.memories.revisions.export()]
    assert exported == list(bank.memories.revisions.export())
    stored = await awaited.task_memory.upload("T", "n", "a", io.BytesIO(b"word"), user_id="42")
    assert stored["sizeBytes"] == "4"
    assert await awaited.task_memory.download("T", "n", "a") == b"word"
    assert await awaited.memories.import_([{"scope": _SCOPE, "fact": "x"}])
    assert (await awaited.service.self_())["permissions"]


_CALL = {"type": "function_call", "call_id": "c1", "name": "seats", "arguments": '{"row": 12}'}
_OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "12A is free."}
_ASKED = {"role": "user", "content": "Is 12A free?"}
_THOUGHT = {"type": "reasoning", "id": "r1", "summary": []}
_SAID = {"role": "assistant", "content": "It is."}


async def test_a_session_of_agents_gives_back_what_it_was_given(awaited: AsyncClient) -> None:
    session = MemoryBankSession(awaited, "agents", "42")
    items: list[Any] = [_ASKED, _THOUGHT, _CALL, _OUTPUT, _SAID]
    assert await session.pop_item() is None
    await session.add_items(items[:1])
    await session.add_items(items[1:])
    assert await session.get_items() == items
    assert await MemoryBankSession(awaited, "agents", "42").get_items(2) == [_SAID]
    session.session_settings = SimpleNamespace(limit=1)
    assert await session.get_items() == [_SAID]
    session.session_settings = None
    assert [await session.pop_item(), await session.pop_item()] == [_SAID, _OUTPUT]
    assert await session.get_items() == [_ASKED]
    await session.clear_session()
    assert await session.get_items() == []
    with pytest.raises(PermissionError, match="'agents' is another user's"):
        await MemoryBankSession(awaited, "agents", "43").get_items()


async def test_a_session_of_agents_keeps_to_its_policy(awaited: AsyncClient) -> None:
    session = MemoryBankSession(
        awaited, "window", "42", policy={"strategy": "window", "window": 1}, include_memories={}
    )
    await awaited.memories.create(scope=_SCOPE, fact=_SEATS)
    turns = [{"role": "user", "content": "Where do I sit?"}, {"role": "assistant", "content": "A."}]
    await session.add_items([_ASKED, _SAID, *turns])
    *kept, memories = await session.get_items()
    assert kept == turns
    assert memories["role"] == "system"
    assert _SEATS in memories["content"]
    assert await session.get_items(10) == [_ASKED, _SAID, *turns]

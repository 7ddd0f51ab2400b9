"""A model that fails: a failed operation with its reason, nothing written, its price told."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database
from app.adapters.llm.factory import open_models
from app.adapters.llm.ports import Usage
from app.adapters.resources import Resources
from app.kernel.errors import Internal, Reason, Unavailable
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.platform.usage.store import ModelUsageRow
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.support.bank import Json, count, listed, ok
from tests.support.generation import given, run, said, start
from tests.support.model_server import (
    Behaviour,
    ModelServer,
    cut_off,
    echoed_schema,
    fenced,
    huge,
    prose,
    slow,
    status,
    thinking,
    truncated,
)
from tests.support.operations import USER, create_memory
from tests.support.scripted import facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedEmbedder, ScriptedTextModel

TEA, COFFEE = "I like tea.", "I like coffee."
TOLD = facts(TEA)
MODEL = "openai:small"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Work that is tried but once: what outlasts an outage is tested elsewhere."""
    return settings.model_copy(update={"worker_max_attempts": 1})


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    """A model's server that answers an extraction."""
    server.always(TOLD)
    return server


@pytest.fixture
async def served(resources: Resources, server: ModelServer) -> AsyncIterator[Runner]:
    """A worker whose model is at the server, and who waits for no more than a second."""
    values = {
        "model": MODEL,
        "model_base_url": server.url,
        "model_timeout_seconds": 1.0,
        "model_max_attempts": 2,
    }
    models = open_models(resources.settings.model_copy(update=values))
    yield make_runner(replace(resources, models=models))
    await models.close()


async def _failed(client: httpx.AsyncClient, runner: Runner, source: Json, **more: object) -> Json:
    """Run a generation that must fail; return its operation."""
    path = await start(client, source, **more)
    await runner.run_pending()
    operation = ok(await client.get(path))
    assert operation["done"], operation
    assert "response" not in operation
    # Errors never say what was said.
    assert "tea" not in str(operation["error"])
    return operation


def _reason(operation: Json) -> str:
    reason: str = operation["error"]["details"][0]["reason"]
    return reason


async def _usage(database: Database) -> dict[str, Usage]:
    async with database.snapshot() as session:
        statement = select(ModelUsageRow).where(ModelUsageRow.engine_id == 1)
        rows = (await session.execute(statement)).scalars()
        return {
            row.model_id: Usage(row.calls, row.input_tokens, row.output_tokens, row.milliseconds)
            for row in rows
        }


@pytest.mark.parametrize(
    "case",
    [
        (slow(3, TOLD), "MODEL_TIMEOUT", 4),
        (status(429), "MODEL_RATE_LIMITED", 8),
        (status(429, retry_after="60"), "MODEL_RATE_LIMITED", 8),
        (status(500), "MODEL_UNAVAILABLE", 14),
        (status(401), "MODEL_REFUSED", 9),
        (cut_off(TOLD), "MODEL_UNAVAILABLE", 14),
        (truncated(TOLD), "MODEL_OUTPUT_INVALID", 14),
        (echoed_schema(), "MODEL_OUTPUT_INVALID", 14),
        (Behaviour({}), "MODEL_OUTPUT_INVALID", 14),
        (Behaviour("I cannot help with that."), "MODEL_OUTPUT_INVALID", 14),
        (Behaviour({"facts": [{"fact": TEA}]}), "MODEL_OUTPUT_INVALID", 14),
        (huge(10 * 1024 * 1024), "MODEL_OUTPUT_INVALID", 14),
    ],
)
async def test_a_failing_provider_is_a_failed_operation(
    client: httpx.AsyncClient,
    served: Runner,
    server: ModelServer,
    database: Database,
    case: tuple[Behaviour, str, int],
) -> None:
    trouble, *expected = case
    server.always(trouble)
    operation = await _failed(client, served, said(TEA))
    assert [_reason(operation), operation["error"]["code"]] == expected
    assert await count(database, MemoryRow, RevisionRow) == (0, 0)
    calls = operation["metadata"]["modelCallCount"]
    assert calls == len(server.seen) >= 1
    assert (await _usage(database))[MODEL].calls == calls
    async with database.snapshot() as session:
        statement = select(OperationRow.request).where(OperationRow.engine_id == 1)
        # Kept for a retry.
        (request,) = (await session.execute(statement)).scalars()
    assert request is not None
    assert request["scope"] == USER


async def test_an_answer_that_is_cut_off_names_the_setting(
    client: httpx.AsyncClient, served: Runner, server: ModelServer
) -> None:
    server.always(Behaviour('{"facts": [{"fact": "I', finish="length"))
    operation = await _failed(client, served, said(TEA, "Hello there."))
    assert "MEMORY_BANK_MODEL_MAX_OUTPUT_TOKENS" in operation["error"]["message"]
    # The whole, and its first half; what is asked for once more is another question.
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    "trouble",
    [
        status(500),
        status(429, retry_after="0"),
        cut_off(TOLD),
        truncated(TOLD),
        echoed_schema(),
        Behaviour({}),
    ],
)
async def test_trouble_that_passes_is_no_failure(
    client: httpx.AsyncClient, served: Runner, server: ModelServer, trouble: Behaviour
) -> None:
    server.will(trouble)
    operation = await run(client, served, said(TEA))
    assert operation["metadata"]["modelCallCount"] == len(server.seen) == 2
    assert await listed(client) == [TEA]


@pytest.mark.parametrize(
    "reply",
    [
        prose(TOLD),
        fenced(TOLD),
        thinking(TOLD),
        # What was not asked for is not read: the scope is the request's.
        Behaviour({**TOLD, "scope": {"user_id": "other"}}),
    ],
)
async def test_words_around_an_answer_do_no_harm(
    client: httpx.AsyncClient, served: Runner, server: ModelServer, reply: Behaviour
) -> None:
    server.will(reply)
    operation = await run(client, served, said(TEA))
    assert len(server.seen) == 1
    assert operation["metadata"]["author"] == MODEL
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert (memory["fact"], memory["scope"]) == (TEA, USER)


async def test_an_unknown_id_is_refused_and_nothing_lost(
    client: httpx.AsyncClient, served: Runner, server: ModelServer, embedder: ScriptedEmbedder
) -> None:
    embedder.place(COFFEE, near=TEA, distance=0.6)
    await create_memory(client, TEA)
    server.will(facts(COFFEE), verdicts(verdict("delete", "m7"), verdict("same", "m99")))
    operation = await run(client, served, said(COFFEE))
    assert operation["metadata"]["refusedVerdictCount"] == 2
    assert sorted(await listed(client)) == sorted([TEA, COFFEE])


@pytest.fixture
def scripted(resources: Resources, model: ScriptedTextModel) -> Runner:
    return make_runner(written_by(resources, model))


@pytest.mark.parametrize("error", [RuntimeError("secret tea"), Internal("x", Reason.INTERNAL)])
async def test_what_fails_in_the_middle_has_written_nothing(
    client: httpx.AsyncClient,
    scripted: Runner,
    script: list[Reply],
    database: Database,
    embedder: ScriptedEmbedder,
    error: Exception,
) -> None:
    embedder.place(COFFEE, near=TEA, distance=0.6)
    await create_memory(client, TEA)
    script += [facts(COFFEE, "I own a boat."), error]
    operation = await _failed(client, scripted, said(f"{COFFEE} I own a boat."))
    assert _reason(operation) == "INTERNAL"
    assert await listed(client) == [TEA]
    metadata = operation["metadata"]
    assert metadata["modelCallCount"] == 2
    spent = (await _usage(database))["scripted:1"]
    assert (spent.calls, spent.input_tokens) == (2, metadata["inputTokenCount"])


async def test_given_facts_fail_with_the_model_too(
    client: httpx.AsyncClient,
    scripted: Runner,
    script: list[Reply],
    embedder: ScriptedEmbedder,
) -> None:
    embedder.place(COFFEE, near=TEA, distance=0.6)
    await create_memory(client, TEA)
    script += [Unavailable("away", Reason.MODEL_UNAVAILABLE)]
    assert _reason(await _failed(client, scripted, given(COFFEE))) == "MODEL_UNAVAILABLE"
    assert await listed(client) == [TEA]


async def test_a_preview_fails_as_its_generation_would(
    client: httpx.AsyncClient, scripted: Runner, script: list[Reply], database: Database
) -> None:
    script += ["nothing", "nothing"]
    operation = await _failed(client, scripted, said(TEA), validateOnly=True)
    assert _reason(operation) == "MODEL_OUTPUT_INVALID"
    assert (await _usage(database))["scripted:1"].calls == 2

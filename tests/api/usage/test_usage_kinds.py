"""The kind under which each piece of work records what its models took."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from app.adapters.llm.factory import open_readers
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import ENGINE_URL, ok
from tests.support.contexts import exchange
from tests.support.generation import run, said
from tests.support.ingestion import ingest
from tests.support.model_server import ModelServer
from tests.support.readers import answered, query, readers
from tests.support.scripted import confirmed, facts, written_by
from tests.support.scripted_models import Reply, ScriptedQuery, ScriptedTextModel
from tests.support.sessions import new_path
from tests.support.tasks import store, text_output

_REPLIES: dict[str, Reply] = {
    "facts": facts("I like tea."),
    "verdicts": confirmed(),
    "summary": {"summary": "Of tea."},
    "seqs": {"text": "Tea.", "seqs": [1]},
}


def _reply(asked: ScriptedQuery) -> Reply:
    return next(reply for field, reply in _REPLIES.items() if field in asked.output.model_fields)


@pytest.fixture
def settings(settings: Settings, server: ModelServer) -> Settings:
    return settings.model_copy(update={"task_readers": readers(server)})


@pytest.fixture
def model() -> ScriptedTextModel:
    return ScriptedTextModel(_reply)


@pytest.fixture
async def resources(
    resources: Resources, settings: Settings, model: ScriptedTextModel
) -> AsyncIterator[Resources]:
    found = open_readers(settings)
    yield replace(written_by(resources, model), readers=found)
    await found.close()


async def test_usage_is_recorded_under_the_kind_of_its_work(
    client: httpx.AsyncClient, runner: Runner, model: ScriptedTextModel, server: ModelServer
) -> None:
    made: dict[str, int] = {}

    def note(kind: str) -> None:
        made[kind] = len(model.asked) + len(server.seen) - sum(made.values())

    await run(client, runner, said("I like tea."))
    note("generation.generate")
    await ingest(client, "I like tea.", forceFlush=True)
    await runner.run_pending()
    note("ingestion.ingest")
    path = await new_path(client, memoryPolicy={"strategy": "every_n", "every": 1})
    await exchange(client, path, "I like tea.", "Noted.")
    await runner.run_pending()
    note("sessions.summarize")
    ok(await client.post(f"{path}:recall", json={"query": "tea", "mode": "summary"}))
    note("recall")
    ok(await store(client, text_output("Tea costs 42 coins.")))
    server.will(answered("42.", 1))
    ok(await query(client))
    note("query")
    usage = ok(await client.get(f"{ENGINE_URL}:usage", params={"groupBy": "kind"}))
    assert min(made.values()) > 0
    assert {one["kind"]: one["callCount"] for one in usage["usage"]} == made

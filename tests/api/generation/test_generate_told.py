"""What a generation with a model leaves out or leaves undone is told, and erased with its scope."""

from datetime import timedelta

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.service import UpkeepService
from app.settings.settings import Settings
from tests.support.bank import ENGINE_URL, Json, id_of, listed, ok
from tests.support.generation import run, said
from tests.support.ingestion import ended, ingest
from tests.support.operations import create_memory, path_of
from tests.support.rows import rows_with
from tests.support.scripted import confirmed, fact, facts, forget, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

_CANARY = "zebrafish-4711"
_REQUEST = f"Please forget my {_CANARY}."
_LIMIT = 100


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings, changed as a test's indirect parameter says."""
    return settings.model_copy(update=getattr(request, "param", {}))


@pytest.fixture
def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    return written_by(resources, model)


async def test_a_preview_names_the_number_that_a_model_invents(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    script += [facts(fact("I have 170 dogs.", "I have dogs"))]
    operation = await run(client, runner, said("I have dogs."), validateOnly=True)
    assert operation["response"]["droppedFacts"] == [
        {
            "fact": "I have 170 dogs.",
            "quote": "I have dogs",
            "reason": "FOREIGN_NUMBER",
            "detail": "170",
        }
    ]
    assert operation["metadata"]["droppedFactCounts"] == {"FOREIGN_NUMBER": 1}


async def test_a_preview_tells_a_decision_that_it_refuses(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    memory = await create_memory(client, "I pay 900 euros of rent.")
    new, hacked = "My rent went up.", "I pay 1200 euros of rent."
    script += [facts(new), verdicts(verdict("replace", "m1", hacked), verdict("delete", "m9"))]
    operation = await run(client, runner, said(new), validateOnly=True)
    assert operation["response"]["refusedDecisions"] == [
        {
            "fact": new,
            "action": "replace",
            "reason": "FOREIGN_NUMBER",
            "memory": {"name": memory["name"]},
            "text": hacked,
        },
        {"fact": new, "action": "delete", "reason": "UNKNOWN_MEMORY"},
    ]
    counts = {"FOREIGN_NUMBER": 1, "UNKNOWN_MEMORY": 1}
    assert operation["metadata"]["refusedDecisionCounts"] == counts


async def test_a_preview_tells_at_most_a_hundred_of_each(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    invented = [fact(f"I have {n} dogs.", "I have dogs") for n in range(200, 305)]
    unknown = [verdict("delete", f"m{n}") for n in range(100, 205)]
    script += [facts("I have dogs.", *invented), verdicts(*unknown)]
    await create_memory(client, "I like cats.")
    operation = await run(client, runner, said("I have dogs."), validateOnly=True)
    for told, counts in (
        ("droppedFacts", {"droppedFactCounts": {"FOREIGN_NUMBER": 105}}),
        ("refusedDecisions", {"refusedDecisionCounts": {"UNKNOWN_MEMORY": 105}}),
    ):
        assert len(operation["response"][told]) == _LIMIT
        assert counts.items() <= operation["metadata"].items()


async def test_a_request_whose_every_decision_is_refused_is_told(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    memory = await create_memory(client, "I have a cat and a boat.")
    longer = "I have a cat, and the boat now belongs to Tom."
    script += [
        facts(forget("my boat", "forget my boat")),
        verdicts(verdict("replace", "m1", longer), verdict("delete", "m7")),
    ]
    operation = await run(client, runner, said("Please forget my boat."))
    assert operation["metadata"]["unmetForgetRequests"] == [
        {"request": "forget my boat", "reason": "REFUSED", "nearest": [memory["name"]]}
    ]
    assert await listed(client) == ["I have a cat and a boat."]


async def test_a_request_may_take_a_part_out_of_a_memory(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    await create_memory(client, "I have a cat and a boat.")
    script += [
        facts(forget("my boat", "forget my boat")),
        verdicts(verdict("replace", "m1", "I have a cat.")),
    ]
    operation = await run(client, runner, said("Please forget my boat."))
    assert await listed(client) == ["I have a cat."]
    assert "unmetForgetRequests" not in operation["metadata"]


async def test_what_was_forgotten_comes_back_by_undo(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    known = ["Priya is coeliac.", "I live in Oslo."]
    for one in known:
        await create_memory(client, one)
    script += [
        facts(forget("gluten", "drop her gluten stuff")),
        verdicts(verdict("delete", "m1"), verdict("delete", "m2")),
    ]
    operation = await run(client, runner, said("I go alone, so drop her gluten stuff please."))
    assert await listed(client) == []
    ok(await client.post(f"/operations/{id_of(operation)}:undo", json={}))
    await runner.run_pending()
    assert sorted(await listed(client)) == sorted(known)


@pytest.mark.parametrize(
    ("known", "line", "new"),
    [
        (
            "I work at the bank.",
            "I'm at the university now, not at the bank.",
            "I work at the university.",
        ),
        ("I live in Oslo.", "We moved, so I live in Bergen.", "I live in Bergen."),
    ],
)
async def test_what_was_corrected_is_one_memory(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    known: str,
    line: str,
    new: str,
) -> None:
    await create_memory(client, known)
    script += [facts(fact(new, line)), verdicts(verdict("replace", "m1", new))]
    await run(client, runner, said(line))
    assert await listed(client) == [new]


@pytest.mark.parametrize(
    "case",
    [
        ("Off the record, I'm in debt. I work at the port.", "I'm in debt", "I am in debt."),
        ("Don't store this: I'm in debt. I work at the port.", "I'm in debt", "I am in debt."),
        ("Unter uns: ich bin pleite. Ich bin Koch.", "ich bin pleite", "Ich bin pleite."),
        ("Entre nosotros, debo dinero. Soy cocinero.", "debo dinero", "Debo dinero."),
        ("Entre nous, j'ai des dettes. Je suis cuisinier.", "j'ai des dettes", "J'ai des dettes."),
    ],
)
async def test_what_is_not_to_be_kept_has_to_be_confirmed_and_ends_nothing(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    case: tuple[str, str, str],
) -> None:
    line, quote, secret = case
    open_ = line.partition(". ")[2]
    await create_memory(client, secret)
    script += [
        facts(fact(secret + " Now.", quote), fact(open_, open_)),
        verdicts(verdict("add", holds=False), verdict("add", number=1)),
    ]
    operation = await run(client, runner, said(line))
    assert operation["metadata"]["droppedFactCounts"] == {"NOT_SAID": 1}
    assert "unmetForgetRequests" not in operation["metadata"]
    assert sorted(await listed(client)) == sorted([secret, open_])


async def test_a_request_ends_what_was_said_before_it_in_a_stream_too(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    for _ in range(2):
        script += [
            facts("I owe Bob 50 euros.", forget("what I owe", "forget what I owe", 1)),
            verdicts(verdict("add"), verdict("delete", "0", number=1)),
        ]
        sent = await ingest(
            client, "I owe Bob 50 euros.", "Please forget what I owe.", forceFlush=True
        )
        operation = await ended(client, runner, sent)
        assert operation["metadata"]["droppedFactCounts"] == {"FORGOTTEN": 1}
        assert await listed(client) == []


async def _permanently(client: httpx.AsyncClient, **fields: object) -> None:
    body = {"filter": 'scope.user_id="3"', "force": True, **fields}
    ok(await client.post("/memories:purge", json=body))


async def _purge(client: httpx.AsyncClient, _: Json) -> None:
    await _permanently(client, permanent=True)


async def _purge_recoverably(client: httpx.AsyncClient, memory: Json) -> None:
    # What is left of the memory itself goes with the sweep.
    ok(await client.patch(path_of(memory["name"]), json={"fact": "I like tea."}))
    await _permanently(client)


async def _delete(client: httpx.AsyncClient, memory: Json) -> None:
    ok(await client.delete(path_of(memory["name"]), params={"permanent": True}))


async def _delete_engine(client: httpx.AsyncClient, _: Json) -> None:
    ok(await client.delete(ENGINE_URL, params={"force": True}))


@pytest.mark.parametrize("erase", [_purge, _purge_recoverably, _delete, _delete_engine])
async def test_erased_words_of_users_are_left_in_no_operation(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    database: Database,
    erase: object,
) -> None:
    memory = await create_memory(client, "I like tea.")
    script += [
        facts(forget("my fish", _REQUEST)),
        confirmed(),
        facts(forget("my fish", _REQUEST)),
        confirmed(),
        facts(fact(f"I have 170 {_CANARY}.", f"a {_CANARY}")),
        facts(f"I have a {_CANARY}."),
        verdicts(verdict("replace", "m1", f"I have 3 {_CANARY}s."), verdict("same", "m1")),
    ]
    await run(client, runner, said(_REQUEST))
    await ended(client, runner, await ingest(client, _REQUEST, forceFlush=True))
    await run(client, runner, said(f"I have a {_CANARY}."), validateOnly=True)
    await run(client, runner, said(f"I have a {_CANARY}."), validateOnly=True)
    assert await rows_with(database, _CANARY) == {"operations": 5}
    await erase(client, memory)  # type: ignore[operator]
    await runner.run_pending()
    assert await rows_with(database, _CANARY) == {}


async def test_the_sweep_takes_the_requests_that_named_what_it_removes(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    database: Database,
    clock: FixedClock,
    resources: Resources,
) -> None:
    await create_memory(client, "I like tea.", ttl="60s")
    script += [facts(forget("my fish", _REQUEST)), confirmed(), facts(forget("x", "forget my x"))]
    await run(client, runner, said(_REQUEST))
    clock.advance(timedelta(seconds=61))
    kept = await run(client, runner, said("Please forget my x."))
    await UpkeepService(resources).sweep()
    assert await rows_with(database, _CANARY) == {}
    assert await rows_with(database, "forget my x") == {"operations": 1}
    assert kept["metadata"]["unmetForgetRequests"][0]["reason"] == "NOTHING_FOUND"

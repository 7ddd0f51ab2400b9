"""What a model is shown of a conversation with secrets, and what it may put together."""

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from tests.support.bank import configure, id_of, listed, ok
from tests.support.generation import given, run, said
from tests.support.operations import create_memory
from tests.support.scripted import fact, facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

CARD = "4111 1111 1111 1111"
TEA = "I like tea 4111 1111."


@pytest.fixture
def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    """A service whose model writes."""
    return written_by(resources, model)


async def test_a_model_is_shown_no_secret(
    client: httpx.AsyncClient, runner: Runner, model: ScriptedTextModel, script: list[Reply]
) -> None:
    script += [facts(fact("I pay for tea with [PAYMENT_CARD].")), verdicts()]
    text = f"I pay for tea with {CARD}. My password is swordfish-9."
    operation = await run(client, runner, said(text))
    shown = " ".join(asked.prompt.instructions + asked.prompt.text for asked in model.asked)
    assert "[PAYMENT_CARD]" in shown
    assert CARD not in shown
    assert "swordfish" not in shown
    assert operation["metadata"]["maskedCounts"] == {"CREDENTIAL": 1, "PAYMENT_CARD": 1}


async def test_what_a_model_puts_together_is_masked_before_it_is_written(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    script += [facts(TEA), facts("I like coffee 1111 1111.")]
    merged = verdict("merge", "m1", f"I like tea and coffee {CARD}.")
    script += [verdicts(merged)]
    await run(client, runner, said(TEA))
    operation = await run(client, runner, said("I like coffee 1111 1111."))
    assert await listed(client) == ["I like tea and coffee [PAYMENT_CARD]."]
    assert operation["metadata"]["maskedCounts"] == {"PAYMENT_CARD": 1}


async def test_a_model_is_shown_no_secret_of_memories_that_are_older_than_the_rules(
    client: httpx.AsyncClient, runner: Runner, model: ScriptedTextModel, script: list[Reply]
) -> None:
    """The memory itself changes only if the model rewrites it, and then loses the value."""
    customized = {"consolidationConfig": {"revisionsPerCandidateCount": 5}}
    await configure(client, customizationConfigs=[customized])
    memory = await create_memory(client, f"I pay for tea with {CARD}.")
    path = f"/memories/{id_of(memory)}"
    paid = f"I pay for green tea with {CARD}."
    ok(await client.patch(path, json={"fact": paid}))
    script += [facts("I like tea in bags."), verdicts(verdict("add"))]
    await run(client, runner, said("I like tea in bags."))
    assert sorted(await listed(client)) == ["I like tea in bags.", paid]
    merged = "I pay for green tea and coffee with [PAYMENT_CARD]."
    script += [facts("I also pay for coffee."), verdicts(verdict("merge", "m2", merged))]
    await run(client, runner, said("I also pay for coffee."))
    shown = " ".join(asked.prompt.text for asked in model.asked)
    assert "I pay for green tea with [PAYMENT_CARD]." in shown
    assert "before: I pay for tea with [PAYMENT_CARD]." in shown
    assert CARD not in shown
    assert sorted(await listed(client)) == ["I like tea in bags.", merged]


async def test_given_facts_are_stored_as_sent_and_shown_masked(
    client: httpx.AsyncClient, runner: Runner, model: ScriptedTextModel, script: list[Reply]
) -> None:
    """What a model leaves alone keeps its text, also where it is said again."""
    first, second = f"I pay for tea with {CARD}.", "I pay for beer with 5555 5555 5555 4444."
    await create_memory(client, first)
    script += [verdicts(verdict("add"))]
    await run(client, runner, given(second))
    script += [verdicts(verdict("same", "m1"))]
    await run(client, runner, given(f"I do pay for tea with {CARD}."))
    shown = " ".join(asked.prompt.text for asked in model.asked)
    assert "I pay for beer with [PAYMENT_CARD]." in shown
    assert (CARD in shown, "5555" in shown) == (False, False)
    assert sorted(await listed(client)) == sorted([first, second])

"""What a model is shown of a conversation with secrets, and what it may put together."""

import httpx
import pytest

from app.adapters.llm.scripted import Reply, ScriptedTextModel
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from tests.support.bank import listed
from tests.support.generation import run, said
from tests.support.scripted import fact, facts, verdict, verdicts, written_by

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

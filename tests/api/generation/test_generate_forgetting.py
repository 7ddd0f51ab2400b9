"""What is forgotten on request without a model: everything within the cap, and by meaning."""

from dataclasses import replace

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from tests.support.bank import listed
from tests.support.embedding import NewEmbedder, changed
from tests.support.generation import actions, run, said
from tests.support.operations import create_memory
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.undo import undo, undone

MALTA, TRIP = "I sail to Malta.", "Please forget the trip."
CAP = 20
"""Of a request to forget, by the settings' default."""


class MeasuredEmbedder(NewEmbedder):
    """Stands for the model whose similarities were measured, with distances of the test."""

    model_id = "all-MiniLM-L6-v2/scripted"


async def _facts(client: httpx.AsyncClient, number: int) -> list[str]:
    facts = [f"Fact {one:02} of mine." for one in range(number)]
    for fact in facts:
        await create_memory(client, fact)
    return facts


@pytest.mark.parametrize(
    "text",
    [
        "Please forget everything you know about me.",
        "Vergiss bitte alles, was du über mich weißt.",
        "Olvida todo lo que sabes de mí.",
        "Oublie tout ce que tu sais de moi.",
    ],
)
async def test_everything_means_the_newest_and_an_undo_brings_all_back(
    client: httpx.AsyncClient, runner: Runner, text: str
) -> None:
    facts = await _facts(client, CAP + 3)
    operation = await run(client, runner, said(text))
    deleted = operation["response"]["generatedMemories"]
    assert [one["action"] for one in deleted] == ["DELETED"] * CAP
    assert sorted(await listed(client)) == facts[:3]
    (unmet,) = operation["metadata"]["unmetForgetRequests"]
    assert (unmet["request"], unmet["reason"], unmet["hasMore"]) == (text, "TOO_MANY", True)
    done = await undo(client, runner, operation["name"])
    assert len(undone(done)) == CAP
    assert sorted(await listed(client)) == facts


async def test_all_within_the_cap_go_and_nothing_is_unmet(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    facts = await _facts(client, CAP)
    operation = await run(client, runner, said("Forget everything about me."))
    assert await listed(client) == []
    assert "unmetForgetRequests" not in operation["metadata"]
    await undo(client, runner, operation["name"])
    assert sorted(await listed(client)) == facts


async def test_the_nearest_is_meant_only_by_the_measured_model_that_serves_the_engine(
    client: httpx.AsyncClient, resources: Resources, embedder: ScriptedEmbedder
) -> None:
    """The settings may name the measured one while another still serves the engine."""
    embedder.place("the trip", near=MALTA, distance=0.6)
    await create_memory(client, MALTA)
    await create_memory(client, "I like jazz.")
    now = changed(resources, MeasuredEmbedder(), embedder)
    now.embedder.place("the trip", near=MALTA, distance=0.6)
    assert await actions(now.client, now.runner, said(TRIP)) == []
    await now.reembedded()
    assert await actions(now.client, now.runner, said(TRIP)) == ["DELETED"]
    assert await listed(now.client) == ["I like jazz."]


async def test_the_measured_model_counts_while_the_settings_name_another(
    resources: Resources,
) -> None:
    measured = MeasuredEmbedder()
    before = changed(replace(resources), measured)
    measured.place("the trip", near=MALTA, distance=0.6)
    await create_memory(before.client, MALTA)
    now = changed(resources, NewEmbedder(), measured)
    assert await actions(now.client, now.runner, said(TRIP)) == ["DELETED"]

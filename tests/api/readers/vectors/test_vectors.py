"""Pieces are found by what they mean where their namespace names a model, and only that sees them.

The remote model's server is on the loopback address, and keeps what it was asked.
"""

import json

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.operations.services.runner import Runner
from tests.support.bank import BAD, field_of, ok, refusal
from tests.support.embedding import NewEmbedder
from tests.support.keys import client_with, make_key
from tests.support.model_server import ModelServer
from tests.support.scripted_models import ScriptedTextModel
from tests.support.task_vectors import (
    CANARY,
    FACT,
    FILLING,
    HASH,
    LOCAL,
    OTHER,
    OWN,
    QUESTION,
    REMOTE,
    operations,
    query,
    vectors,
)
from tests.support.tasks import (
    NAMESPACE,
    NOTHING,
    process,
    store,
    stored,
    text_output,
    upload,
)


class TestFinding:
    """What is found."""

    @pytest.mark.parametrize("model", [LOCAL, None])
    async def test_minilm_finds_what_no_word_of_a_question_would(
        self,
        client: httpx.AsyncClient,
        runner: Runner,
        reader: ScriptedTextModel,
        model: str | None,
    ) -> None:
        outputs = map(text_output, [*FILLING, FACT])
        ok(await store(client, *outputs, embeddingModel=model, localOnly=True))
        await runner.run_pending()
        await query(client, QUESTION)
        (prompt,) = reader.prompts
        assert (FACT in prompt.text) is (model is not None)

    async def test_so_it_does_at_the_end_of_a_long_piece(
        self, client: httpx.AsyncClient, runner: Runner, reader: ScriptedTextModel
    ) -> None:
        long = " ".join(FILLING * 9)
        ok(
            await store(
                client,
                *map(text_output, [f"{long} {one}" for one in (*FILLING, FACT)]),
                embeddingModel=LOCAL,
            )
        )
        await runner.run_pending()
        await query(client, QUESTION)
        assert FACT in reader.prompts[0].text

    async def test_what_both_words_and_vectors_find_comes_first(
        self,
        client: httpx.AsyncClient,
        runner: Runner,
        embedder: NewEmbedder,
        reader: ScriptedTextModel,
    ) -> None:
        # By words, the first; by vectors, the third; the second is well placed by both.
        said = ["Saffron is dear.", "Saffron is dear, they say.", *FILLING[:3]]
        for one, distance in zip(said, (1.2, 0.3, 0.2, 0.4, 0.5), strict=True):
            embedder.place(one, near="saffron", distance=distance)
        ok(await store(client, *map(text_output, said), embeddingModel=OWN))
        await runner.run_pending()
        await query(client, "saffron")
        assert said[1] in reader.prompts[0].text

    async def test_pieces_without_vectors_are_found_by_their_words(
        self, client: httpx.AsyncClient, runner: Runner, reader: ScriptedTextModel
    ) -> None:
        ok(await store(client, *map(text_output, FILLING), embeddingModel=OWN))
        await runner.run_pending()
        ok(await store(client, text_output("Saffron is dear.")))
        await query(client, "How dear is saffron?")
        assert "Saffron is dear." in reader.prompts[0].text

    async def test_a_model_that_is_away_leaves_the_words(
        self,
        client: httpx.AsyncClient,
        runner: Runner,
        embedder: NewEmbedder,
        reader: ScriptedTextModel,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        ok(await store(client, *map(text_output, [*FILLING, CANARY]), embeddingModel=OWN))
        await runner.run_pending()
        embedder.failure = Unavailable("Away.", Reason.MODEL_UNAVAILABLE)
        await query(client, CANARY)
        assert CANARY in reader.prompts[0].text
        told = "".join(capfd.readouterr())
        assert CANARY not in told


class TestAllowed:
    """Which model may embed a namespace."""

    @pytest.mark.parametrize("name", ["minilm", CANARY, "local", "builtin"])
    async def test_it_is_one_of_those_that_are_open(
        self, client: httpx.AsyncClient, database: Database, name: str
    ) -> None:
        unknown = await store(client, text_output("tea"), embeddingModel=name)
        assert field_of(unknown) == "embeddingModel"
        assert LOCAL in unknown.text
        assert REMOTE in unknown.text
        assert CANARY not in unknown.text
        output = await process(client, text_output("a"), offPrompt=True, embeddingModel=name)
        assert refusal(output) == BAD
        assert await stored(database) == NOTHING
        ok(await store(client, text_output("tea")))
        assert field_of(await client.patch(NAMESPACE, json={"embeddingModel": name})) == (
            "embeddingModel"
        )

    async def test_none_that_is_remote_gets_what_is_to_stay_local(
        self, client: httpx.AsyncClient, database: Database, runner: Runner, server: ModelServer
    ) -> None:
        both = await store(client, text_output(CANARY), embeddingModel=REMOTE, localOnly=True)
        assert _not_allowed(both) == f"{LOCAL},{HASH},{OWN}"
        assert await stored(database) == NOTHING
        ok(await store(client, text_output(CANARY), localOnly=True))
        _not_allowed(await client.patch(NAMESPACE, json={"embeddingModel": REMOTE}))
        ok(await store(client, text_output(CANARY), path=OTHER, embeddingModel=REMOTE))
        _not_allowed(await client.patch(OTHER, json={"localOnly": True}))
        _not_allowed(await store(client, text_output(CANARY), path=OTHER, localOnly=True))
        changed = {"localOnly": True, "embeddingModel": None}
        assert "embeddingModel" not in ok(await client.patch(OTHER, json=changed))
        await runner.run_pending()
        await query(client, CANARY)
        await query(client, CANARY, OTHER)
        assert server.seen == []
        assert await vectors(database) == []

    async def test_it_is_among_those_that_may_read(
        self, client: httpx.AsyncClient, database: Database, embedder: NewEmbedder, runner: Runner
    ) -> None:
        some = ["local"]
        none = await store(client, text_output("tea"), embeddingModel=OWN, allowedModels=some)
        assert _not_allowed(none) == ""
        ok(await store(client, text_output("tea"), embeddingModel=OWN))
        _not_allowed(await client.patch(NAMESPACE, json={"allowedModels": some}))
        _not_allowed(await store(client, text_output("tea"), allowedModels=some))
        ok(await client.patch(NAMESPACE, json={"allowedModels": ["local", OWN]}))
        await runner.run_pending()
        assert embedder.texts == ["tea"]
        assert await vectors(database) == [(OWN, 1)]

    async def test_without_a_name_none_is_asked(
        self,
        client: httpx.AsyncClient,
        runner: Runner,
        server: ModelServer,
        embedder: NewEmbedder,
    ) -> None:
        ok(await process(client, text_output(CANARY), offPrompt=True, namespace="n"))
        ok(await store(client, text_output(f"{CANARY} again")))
        ok(await upload(client, CANARY.encode(), media_type="text/plain"))
        await runner.run_pending()
        await query(client, CANARY)
        assert (embedder.calls, server.seen) == ([], [])
        assert await operations(client) == []

    async def test_only_the_one_that_is_named_is_asked(
        self, client: httpx.AsyncClient, runner: Runner, server: ModelServer, embedder: NewEmbedder
    ) -> None:
        ok(await store(client, text_output(CANARY), embeddingModel=OWN))
        ok(await store(client, text_output("tea"), path=OTHER, embeddingModel=REMOTE))
        await runner.run_pending()
        await query(client, f"{CANARY}?")
        await query(client, "Which tea?", OTHER)
        assert embedder.texts == [CANARY, f"{CANARY}?"]
        assert [one.body["input"] for one in server.seen] == [["tea"], ["Which tea?"]]
        assert CANARY not in json.dumps(await operations(client))


def _not_allowed(answer: httpx.Response) -> str:
    """Return the models that may, of a refusal."""
    assert answer.status_code == 403, answer.text
    (detail,) = answer.json()["error"]["details"]
    assert detail["reason"] == "MODEL_NOT_ALLOWED"
    assert CANARY not in answer.text
    may: str = detail["metadata"]["allowedModels"]
    return may


async def test_a_key_that_is_bound_to_users_has_its_own_embedded(
    client: httpx.AsyncClient,
    app: FastAPI,
    database: Database,
    clock: FixedClock,
    runner: Runner,
    reader: ScriptedTextModel,
) -> None:
    ok(await store(client, text_output(CANARY), path=OTHER, userId="7", embeddingModel=OWN))
    bound = {"user_id": ["42"]}
    key = await make_key(database, clock.now(), "admin", scope_conditions=bound)
    async with client_with(app, key) as mine:
        ok(await store(mine, text_output("tea"), userId="42", embeddingModel=OWN))
        await runner.run_pending()
        await query(mine, "Which tea?")
        assert "tea" in reader.prompts[0].text
        assert [one["done"] for one in await operations(mine)] == [True]
        ok(await mine.patch(NAMESPACE, json={"embeddingModel": None}))
    assert await vectors(database) == [(OWN, 1)]

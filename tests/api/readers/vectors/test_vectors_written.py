"""Pieces get their vectors from a worker, and lose them with what they are of."""

from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.llm.embedders import Embedders
from app.adapters.resources import Resources
from app.artifacts.tasks import jobs
from app.artifacts.tasks.store import erasure
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.service import UpkeepService
from app.process.main import create_app
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE_URL, ok
from tests.support.embedding import NewEmbedder
from tests.support.keys import client_with
from tests.support.task_vectors import (
    CANARY,
    FILLING,
    HASH,
    OWN,
    operations,
    vectors,
)
from tests.support.tasks import (
    ARTIFACT,
    MEMORY,
    NAMESPACE,
    NOTHING,
    store,
    stored,
    text_output,
    upload,
)


class TestEmbedding:
    """When pieces get vectors, and lose them."""

    async def test_all_that_becomes_ready_does_in_one_operation_at_a_time(
        self, client: httpx.AsyncClient, database: Database, runner: Runner
    ) -> None:
        ok(await store(client, text_output("tea"), text_output("milk"), embeddingModel=OWN))
        ok(await store(client, text_output("tea")))
        ok(await upload(client, b"sugar", media_type="text/plain"))
        ok(await upload(client, b"\x89PNG\r\n\x1a\n\x00\x01", f"{NAMESPACE}/artifacts/b"))
        assert len(await operations(client)) == 1
        await runner.run_pending()
        assert await vectors(database) == [(OWN, 4)]
        ok(await store(client, text_output("salt")))
        await runner.run_pending()
        assert await vectors(database) == [(OWN, 5)]
        ended = await operations(client)
        assert [("response" in one, one["done"]) for one in ended] == [(True, True)] * 2

    async def test_what_readers_make_is_embedded_as_what_it_is_made_of(
        self, client: httpx.AsyncClient, database: Database, runner: Runner
    ) -> None:
        ok(await store(client, text_output("tea"), embeddingModel=OWN))
        body = {"query": "tea", "model": "local", "offPrompt": True}
        made = ok(await client.post(f"{NAMESPACE}:query", json=body))["reference"]["namespace"]
        await runner.run_pending()
        assert ok(await client.get(f"{MEMORY}/namespaces/{made}"))["embeddingModel"] == OWN
        assert await vectors(database) == [(OWN, 2)]

    async def test_a_model_named_later_embeds_what_is_there_and_none_removes_the_vectors(
        self, client: httpx.AsyncClient, database: Database, runner: Runner
    ) -> None:
        ok(await store(client, text_output("tea"), text_output("milk")))
        ok(await client.patch(NAMESPACE, json={"embeddingModel": OWN}))
        await runner.run_pending()
        assert await vectors(database) == [(OWN, 2)]
        ok(await client.patch(NAMESPACE, json={"embeddingModel": HASH}))
        assert await vectors(database) == []
        await runner.run_pending()
        assert await vectors(database) == [(HASH, 2)]
        ok(await client.patch(NAMESPACE, json={"embeddingModel": None}))
        assert await vectors(database) == []
        await runner.run_pending()
        assert await vectors(database) == []

    async def test_who_goes_on_embeds_what_lacks_a_vector(
        self,
        client: httpx.AsyncClient,
        database: Database,
        runner: Runner,
        embedder: NewEmbedder,
        clock: FixedClock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(jobs, "EMBEDDED_AT_ONCE", 2)
        said = [f"tea {number}" for number in range(5)]

        async def fail(call: int) -> None:
            if call == 2:
                raise Unavailable("Away.", Reason.MODEL_UNAVAILABLE)

        embedder.meddle = fail
        ok(await store(client, *map(text_output, said), embeddingModel=OWN))
        await runner.run_pending()
        assert await vectors(database) == [(OWN, 2)]
        (waiting,) = await operations(client)
        assert not waiting["done"]
        clock.advance(timedelta(minutes=1))
        await runner.run_pending()
        assert await vectors(database) == [(OWN, 5)]
        assert sorted(embedder.texts) == sorted([*said, *embedder.calls[1]])

    async def test_what_comes_meanwhile_is_embedded_by_the_same_operation(
        self, client: httpx.AsyncClient, database: Database, runner: Runner, embedder: NewEmbedder
    ) -> None:
        async def meddle(call: int) -> None:
            if call < 3:
                ok(await store(client, text_output(f"milk {call}")))

        embedder.meddle = meddle
        ok(await store(client, text_output("tea"), embeddingModel=OWN))
        await runner.run_pending()
        assert await vectors(database) == [(OWN, 3)]
        assert len(await operations(client)) == 1

    @pytest.mark.parametrize("left", [0, 1])
    async def test_it_gives_way_to_what_becomes_of_the_namespace(
        self,
        client: httpx.AsyncClient,
        database: Database,
        runner: Runner,
        embedder: NewEmbedder,
        left: int,
    ) -> None:
        async def meddle(_: int) -> None:
            embedder.meddle = None
            path = ARTIFACT if left else NAMESPACE
            ok(await client.delete(path))

        embedder.meddle = meddle
        ok(
            await store(
                client,
                text_output("tea", name="a"),
                text_output("milk"),
                embeddingModel=OWN,
            )
        )
        await runner.run_pending()
        assert sum(count for _, count in await vectors(database)) == left
        (ended,) = await operations(client)
        assert "response" in ended

    async def test_it_gives_way_to_another_model(
        self, client: httpx.AsyncClient, database: Database, runner: Runner, embedder: NewEmbedder
    ) -> None:
        async def meddle(_: int) -> None:
            embedder.meddle = None
            ok(await client.patch(NAMESPACE, json={"embeddingModel": HASH}))

        embedder.meddle = meddle
        ok(await store(client, text_output("tea"), embeddingModel=OWN))
        await runner.run_pending()
        assert await vectors(database) == [(HASH, 1)]


class TestLater:
    """A service that cuts up to a thousand bytes while the caller waits."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_index_at_once_bytes": 1_000})

    async def test_what_is_cut_later_is_embedded_then(
        self, client: httpx.AsyncClient, database: Database, runner: Runner
    ) -> None:
        ok(await store(client, text_output("tea"), embeddingModel=OWN))
        await runner.run_pending()
        said = "The kettle on the third shelf is green. " * 100
        ok(await upload(client, said.encode(), media_type="text/plain"))
        assert len(await operations(client)) == 1
        await runner.run_pending()
        # Three pieces, each in two parts.
        assert await vectors(database) == [(OWN, 1 + 3 * 2)]


class TestClosed:
    """A service whose settings name the embedder no longer that a namespace has."""

    async def test_words_are_searched_and_what_is_made_has_none(
        self,
        client: httpx.AsyncClient,
        database: Database,
        runner: Runner,
        resources: Resources,
        embedder: NewEmbedder,
    ) -> None:
        ok(await store(client, text_output("tea"), embeddingModel=HASH))
        await runner.run_pending()
        later = replace(resources, embedders=Embedders(embedder))
        async with client_with(create_app(later), ADMIN_KEY) as mine:
            ok(await store(mine, text_output(CANARY)))
            await make_runner(later).run_pending()
            body = {"query": CANARY, "model": "local", "offPrompt": True}
            made = ok(await mine.post(f"{NAMESPACE}:query", json=body))["reference"]["namespace"]
            shown = ok(await mine.get(f"{MEMORY}/namespaces/{made}"))
            assert "embeddingModel" not in shown
            assert [one["done"] for one in await operations(mine)] == [False, True]
            ok(await mine.patch(NAMESPACE, json={"localOnly": True}))
        assert embedder.calls == []
        assert await vectors(database) == [(HASH, 1)]


class TestErasing:
    """Vectors go with what they are of."""

    async def test_with_an_artifact_and_with_a_namespace(
        self, client: httpx.AsyncClient, database: Database, runner: Runner
    ) -> None:
        ok(await store(client, text_output("tea", name="a"), text_output("b"), embeddingModel=OWN))
        await runner.run_pending()
        ok(await client.delete(ARTIFACT))
        assert await vectors(database) == [(OWN, 1)]
        ok(await client.delete(NAMESPACE))
        assert await stored(database) == NOTHING

    async def test_with_the_sweep(
        self,
        client: httpx.AsyncClient,
        database: Database,
        runner: Runner,
        clock: FixedClock,
        resources: Resources,
    ) -> None:
        ok(await store(client, text_output("tea"), ttl="1s", embeddingModel=OWN))
        await runner.run_pending()
        grace = resources.settings.tuning.task_sweep_grace_seconds
        clock.advance(timedelta(seconds=2 + grace))
        await UpkeepService(resources).sweep()
        assert await stored(database) == NOTHING

    async def test_with_the_engine(
        self,
        client: httpx.AsyncClient,
        database: Database,
        runner: Runner,
    ) -> None:
        ok(await store(client, *map(text_output, FILLING), embeddingModel=OWN))
        await runner.run_pending()
        async with database.transaction() as session:
            parts = [await erasure.remove_of_engine(session, 1, 3) for _ in range(3)]
        # The pages, then the vectors.
        assert parts == [4, 3, 1]
        ok(await client.delete(ENGINE_URL, params={"force": "true"}))
        await runner.run_pending()
        assert await stored(database) == NOTHING

"""Languages that the embedder does not understand: told in explanations, and daily in the log."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from app.adapters.llm.ports import Prefixes
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, ok, retrieve
from tests.support.operations import USER, create_memory
from tests.support.scripted_models import ScriptedEmbedder

GERMAN = "Ich wohne mit der Schwester in Kassel."
ENGLISH = "I live with my sister in Kassel."
EVENT = "embedding.language_not_covered"


class EnglishEmbedder(ScriptedEmbedder):
    """Understands English, and is given prefixes."""

    covers: tuple[str, ...] | None = ("en",)
    prefixes = Prefixes("query: ", "passage: ")


@pytest.fixture
async def embedder() -> AsyncIterator[EnglishEmbedder]:
    found = EnglishEmbedder()
    yield found
    await found.close()


async def _explained(client: httpx.AsyncClient, query: str) -> list[Json]:
    search = {"searchQuery": query, "topK": 5}
    found = await retrieve(client, similaritySearchParams=search, explain=True)
    return [one["explanation"] for one in found]


@pytest.mark.parametrize("ranking", ["hybrid", "vector"])
async def test_vectors_are_unsuited_to_queries_in_other_languages(
    client: httpx.AsyncClient, ranking: str
) -> None:
    config = {"similaritySearchConfig": {"ranking": ranking}}
    body = {"contextSpec": {"memoryBankConfig": config}}
    ok(await client.patch("", json=body))
    await create_memory(client, ENGLISH)
    await create_memory(client, GERMAN)
    for query in ("Wo wohne ich mit meiner Schwester und wer ist das?", "Где я живу?"):
        explained = await _explained(client, query)
        assert [one["vectorsUnsuited"] for one in explained] == [True, True]
        assert [one["ranking"] for one in explained] == [ranking, ranking]
        # They count as ever.
        assert all("vectorDistance" in one for one in explained)
    # English, and two words, which leave a doubt.
    for query in ("Where do I live with my sister?", "Wo ich?", "Kassel"):
        explained = await _explained(client, query)
        assert len(explained) == 2
        assert all("vectorsUnsuited" not in one for one in explained)


async def test_a_filtered_search_tells_it_too(client: httpx.AsyncClient) -> None:
    await create_memory(client, GERMAN)
    search = {"searchQuery": "Wo wohne ich mit der Schwester?"}
    body = {"similaritySearchParams": search, "filter": "metadata.k!=1", "explain": True}
    (found,) = await retrieve(client, **body)
    assert found["explanation"]["vectorsUnsuited"] is True


async def test_queries_and_texts_are_embedded_behind_their_prefixes(
    client: httpx.AsyncClient, embedder: EnglishEmbedder
) -> None:
    await create_memory(client, ENGLISH)
    await _explained(client, "Where?")
    assert embedder.calls == [[f"passage: {ENGLISH}"], ["query: Where?"]]


def _lines(logs: list[EventDict]) -> list[tuple[int, str, int]]:
    found = [one for one in logs if one["event"] == EVENT]
    assert all(one["log_level"] == "warning" for one in found)
    assert "Schwester" not in str(found)
    return [(one["engine"], one["language"], one["count"]) for one in found]


async def test_one_line_a_day_counts_memories_in_other_languages(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    with capture_logs() as logs:
        await create_memory(client, ENGLISH)
        assert _lines(logs) == []
        await create_memory(client, GERMAN)
        assert _lines(logs) == [(1, "de", 1)]
        await create_memory(client, "Vivo con mi hermana en una casa de Madrid.")
        source = {"directMemories": [{"fact": "Ich trinke gern Tee und esse kein Fleisch."}]}
        body = {"scope": USER, "directMemoriesSource": source}
        for asked in ({**body, "validateOnly": True}, body):
            ok(await client.post("/memories:generate", json=asked))
            await runner.run_pending()
        assert _lines(logs) == [(1, "de", 1)], "the day has had its line"
        clock.advance(timedelta(days=1))
        many = [{"memory": {"fact": f"{GERMAN} {number}", "scope": USER}} for number in range(2)]
        ok(await client.post("/memories:batchCreate", json={"requests": many}))
        # The Spanish one, the generated one, and these two; most of them are German.
        assert _lines(logs)[1:] == [(1, "de", 4)]


async def test_an_embedder_that_is_not_known_to_lack_a_language_says_nothing(
    client: httpx.AsyncClient, embedder: EnglishEmbedder
) -> None:
    embedder.covers = None
    with capture_logs() as logs:
        await create_memory(client, GERMAN)
        (told,) = await _explained(client, "Wo wohne ich mit der Schwester?")
    assert "vectorsUnsuited" not in told
    assert _lines(logs) == []

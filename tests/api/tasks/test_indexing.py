"""Texts become pieces: at once, or by a worker where that takes long."""

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import ok
from tests.support.tasks import ARTIFACT, NAMESPACE, NOTHING, store, stored, text_output, upload

SENTENCE = "The kettle on the third shelf is green. "


async def chunks(database: Database) -> list[tuple[int, int, str, int]]:
    async with database.snapshot() as session:
        statement = "select start_offset, end_offset, text, tokens from task_chunks order by n"
        return [tuple(row) for row in await session.execute(text(statement))]


def joined(found: list[tuple[int, int, str, int]]) -> str:
    """Return the text that pieces were cut from."""
    whole = ""
    for start, _, piece, _ in found:
        whole += piece[len(whole) - start :]
    return whole


async def test_pieces_are_no_longer_than_they_may_be_and_together_are_the_text(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = SENTENCE * 500
    ok(await store(client, text_output(said)))
    found = await chunks(database)
    assert joined(found) == said
    assert all(tokens <= 400 and end - start <= 1_600 for start, end, _, tokens in found)
    assert 12 < len(found) < 20


async def test_a_text_is_found_by_its_words(client: httpx.AsyncClient, database: Database) -> None:
    ok(await store(client, text_output(f"{SENTENCE}Café and more.")))
    async with database.snapshot() as session:
        for words in ("kettles", "cafe"):
            statement = text(
                "select count(*) from task_chunks where engine_id = 1"
                " and terms @@ plainto_tsquery(language, :words)"
            )
            assert (await session.execute(statement, {"words": words})).scalar_one() == 1, words


@pytest.mark.parametrize(
    ("media_type", "content", "says"),
    [
        ("text/html", b"<p>green <b>kettle</b></p><script>x()</script>", "green kettle"),
        ("text/plain; charset=latin-1", "grüner Kessel".encode("latin-1"), "grüner Kessel"),
        ("image/png", b"\x89PNG\r\n\x1a\n\x00\x00", ""),
    ],
)
async def test_an_upload_is_read_as_what_it_is(
    client: httpx.AsyncClient, database: Database, media_type: str, content: bytes, says: str
) -> None:
    found = ok(await upload(client, content, media_type=media_type))
    assert joined(await chunks(database)).strip() == says
    assert ("query" in found["readableWith"]) is bool(says)


class TestLater:
    """A service that cuts up to ten thousand bytes while the caller waits."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_index_at_once_bytes": 10_000})

    async def test_a_long_text_is_cut_by_a_worker(
        self, client: httpx.AsyncClient, database: Database, runner: Runner
    ) -> None:
        said = SENTENCE * 20_000
        found = ok(await upload(client, said.encode(), media_type="text/plain"))
        assert found["state"] == "indexing"
        assert "query" in found["readableWith"]
        assert await chunks(database) == []
        assert (await client.get(f"{ARTIFACT}/content")).text == said
        await runner.run_pending()
        assert joined(await chunks(database)) == said
        ready = ok(await client.get(ARTIFACT))
        assert (ready["state"], ready["tokenEstimate"]) == ("ready", len(said) // 4)
        operations = ok(await client.get("/operations"))["operations"]
        assert "kettle" not in str(operations)
        assert operations[0]["done"] is True

    async def test_what_is_deleted_meanwhile_is_not_cut(
        self, client: httpx.AsyncClient, database: Database, runner: Runner
    ) -> None:
        ok(await store(client, text_output(SENTENCE * 1_000)))
        ok(await client.delete(NAMESPACE))
        await runner.run_pending()
        assert await stored(database) == NOTHING
        operations = ok(await client.get("/operations"))["operations"]
        assert operations[0]["error"]["details"][0]["reason"] == "RESOURCE_NOT_FOUND"

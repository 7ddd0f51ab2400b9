"""Long conversations and files: nothing is cut silently, and nothing is kept that nobody reads."""

import base64

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database
from app.adapters.llm.ports import Attachment
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings
from tests.support.bank import Json, listed, ok
from tests.support.generation import events, run, said, start
from tests.support.scripted import confirmed, facts, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

TEA = "I like tea."
IMAGE = base64.b64encode(b"\x89PNG secret bytes").decode()
LONG = "This is about the weather, of which nothing is worth keeping. "
PIECES = 3


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"generation_max_pieces": PIECES})


@pytest.fixture
def model(script: list[Reply]) -> ScriptedTextModel:
    return ScriptedTextModel(script, max_input_tokens=1_960, media_types=["image/png"])


@pytest.fixture
def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    return written_by(resources, model)


async def test_a_long_conversation_is_read_in_pieces(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    texts = ["I own a boat. " + LONG * 25, "I like tea. " + LONG * 25]
    tea = {**facts(TEA)["facts"][0], "line": 1}
    script += [facts("I own a boat."), facts(tea), confirmed(2)]
    operation = await run(client, runner, said(*texts))
    metadata = operation["metadata"]
    # One call for each piece, and one about all facts: lines so long may be pasted.
    assert (metadata["pieceCount"], metadata["modelCallCount"]) == (2, 3)
    assert "omittedEventCount" not in metadata
    assert [prompt.text.splitlines()[1][:16] for prompt in model.prompts[:2]] == [
        "0 U: I own a boa",
        "1 U: I like tea.",
    ]
    assert sorted(await listed(client)) == [TEA, "I own a boat."]


async def test_what_is_left_out_is_counted_the_oldest_first(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    script += [facts()] * PIECES
    operation = await run(client, runner, said(*[f"{n} {LONG * 25}" for n in range(PIECES + 2)]))
    metadata = operation["metadata"]
    assert (metadata["pieceCount"], metadata["omittedEventCount"]) == (PIECES, 2)
    read = [prompt.text.splitlines()[1][:3] for prompt in model.prompts]
    assert read == ["2 U", "3 U", "4 U"]


async def test_one_turn_that_is_too_long_is_read_whole(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    text = "".join(f"The {n}th word of it is just {n * 7}. " for n in range(200))
    script += [facts()] * PIECES
    await run(client, runner, said(text))
    read = " ".join(
        line.partition(": ")[2] for one in model.prompts for line in one.text.splitlines()[1:]
    )
    assert len(model.asked) > 1
    assert read.split() == text.split()


async def test_a_conversation_without_a_user_costs_nothing(
    client: httpx.AsyncClient, runner: Runner, model: ScriptedTextModel
) -> None:
    operation = await run(client, runner, said(TEA, LONG, role="model"))
    assert operation["metadata"]["modelCallCount"] == 0
    assert model.asked == []


def _with(*parts: Json, role: str = "user") -> Json:
    return events({"role": role, "parts": [{"text": "Look!"}, *parts]})


def _image(media_type: str = "image/png") -> Json:
    return {"inlineData": {"mimeType": media_type, "data": IMAGE}}


async def test_a_file_is_given_to_a_model_that_reads_it(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    car = {**facts("I own a red car.")["facts"][0], "quote": ""}
    script += [{"facts": [car]}]
    path = await start(client, _with(_image()))
    await runner.run_pending()
    operation = ok(await client.get(path))
    (prompt,) = model.prompts
    assert prompt.attachments == (Attachment("image/png", base64.b64decode(IMAGE)),)
    assert prompt.text.splitlines()[-1].startswith("File of line 0")
    assert "skippedFileCount" not in operation["metadata"]
    assert await listed(client) == ["I own a red car."]


async def test_a_file_alone_is_read_too(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    script += [facts()]
    file = {"fileData": {"fileUri": "https://example.com/a.png", "mimeType": "image/png"}}
    await run(client, runner, events({"role": "user", "parts": [file]}))
    (attachment,) = model.prompts[0].attachments
    assert attachment == Attachment("image/png", uri="https://example.com/a.png")


async def test_files_go_along_once(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    script += [facts(), facts()]
    source = _with(_image())
    for text in (LONG * 25, LONG * 25):
        source["directContentsSource"]["events"] += said(text)["directContentsSource"]["events"]
    await run(client, runner, source)
    assert [len(prompt.attachments) for prompt in model.prompts] == [0, 1]


async def test_other_files_are_named_as_skipped(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    script += [facts()]
    parts = [_image("video/mp4"), {"fileData": {"fileUri": "gs://a/b", "mimeType": "text/csv"}}]
    operation = await run(client, runner, _with(*parts, *[_image("video/mp4")] * 30))
    metadata = operation["metadata"]
    assert metadata["skippedFileCount"] == 32
    assert metadata["skippedFiles"][:2] == [
        {"event": 0, "mimeType": "video/mp4"},
        {"event": 0, "mimeType": "text/csv"},
    ]
    assert len(metadata["skippedFiles"]) == 20
    assert model.prompts[0].attachments == ()
    # That of a model is nobody's.
    operation = await run(client, runner, _with(_image(), role="model"))
    assert "skippedFileCount" not in operation["metadata"]


@pytest.mark.parametrize(("media_type", "is_kept"), [("image/png", True), ("video/mp4", False)])
async def test_bytes_wait_only_for_a_model_that_reads_them(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    database: Database,
    media_type: str,
    *,
    is_kept: bool,
) -> None:
    script += [facts()]
    await start(client, _with(_image(media_type)))
    for kept in (is_kept, False):
        async with database.snapshot() as session:
            statement = select(OperationRow.request).where(OperationRow.engine_id == 1)
            stored = str((await session.execute(statement)).scalar_one())
        assert (IMAGE.rstrip("=") in stored.replace("-", "+").replace("_", "/")) is kept
        await runner.run_pending()


async def test_calls_of_functions_are_not_told(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    script += [facts()]
    parts: list[Json] = [
        {"functionCall": {"name": "f", "args": {"secret": "x"}}},
        {"functionResponse": {"name": "f", "response": {"secret": "x"}}},
        {"executableCode": {"code": "secret", "language": "PYTHON"}},
        {"text": "A secret thought.", "thought": True},
    ]
    await run(client, runner, _with(*parts))
    assert "secret" not in model.prompts[0].text
    await run(client, runner, events({"role": "user", "parts": parts}))
    assert len(model.asked) == 1

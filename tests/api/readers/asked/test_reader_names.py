"""Results of readers under names that requests choose, and their files."""

import asyncio
from pathlib import Path

import httpx
import pytest

from app.kernel.errors import Reason
from app.settings.settings import Settings
from tests.support.bank import Json, field_of, ok
from tests.support.errors import refusal
from tests.support.model_server import ModelServer
from tests.support.readers import FACT, answered, kept_in, query, summarised, summarize
from tests.support.tasks import NAMESPACE, store, text_output, upload

ANSWER = "It costs 42 coins."
TAKEN = (409, "ALREADY_EXISTS", Reason.ID_TAKEN)
PADDED = 400 * 4 * 4
"""Bytes of a padded answer of up to 400 tokens."""


@pytest.fixture
def sink(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def settings(settings: Settings, sink: Path) -> Settings:
    return settings.model_copy(update={"task_export_sinks": {"out": sink}})


def _kept_as(name: str, **fields: object) -> Json:
    return {"offPrompt": True, "as": name, **fields}


def _name(answer: Json) -> str:
    (artifact,) = answer["reference"]["artifacts"]
    found: str = artifact["name"]
    return found


async def _exported(client: httpx.AsyncClient, sink: Path, path: str) -> tuple[Json, str]:
    found = ok(await client.post(f"{path}:export", json={"sink": "out"}))
    return found, (sink / found["files"][0]["path"]).read_text()


@pytest.mark.parametrize(("chosen", "name"), [("elden-ring", "elden-ring.txt"), ("a.md", "a.md")])
async def test_a_result_has_the_name_that_the_request_chose(
    client: httpx.AsyncClient, server: ModelServer, chosen: str, name: str
) -> None:
    ok(await store(client, text_output(FACT)))
    server.will(answered(ANSWER, 1))
    assert _name(ok(await query(client, **_kept_as(chosen)))) == name
    server.will(summarised("A kettle."))
    assert _name(ok(await summarize(client, **_kept_as(f"of-{chosen}")))) == f"of-{name}"


async def test_an_equal_question_is_reused_under_its_own_name_only(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT)))
    server.always(answered(ANSWER, 1))
    unnamed = ok(await query(client, offPrompt=True))
    once = {"params": {"requestId": "r"}}
    first = ok(await query(client, **_kept_as("a"), **once))
    assert [_name(one) for one in (unnamed, first)] == ["answer", "a.txt"]
    assert "reused" not in first
    # By its request id, by an equal request, and by the same name in full.
    for again in (_kept_as("a", **once), _kept_as("a"), _kept_as("a.txt")):
        found = ok(await query(client, **again))
        assert (found["reused"], found["reference"]) == (True, first["reference"])
    other = ok(await query(client, **_kept_as("b")))
    assert "reused" not in other
    assert _name(other) == "b.txt"
    assert ok(await query(client, offPrompt=True))["reference"] == unnamed["reference"]
    refused = await query(client, **_kept_as("b"), **once)
    assert refusal(refused) == (409, "ALREADY_EXISTS", Reason.REQUEST_ID_REUSED)
    assert len(server.seen) == 3


async def test_a_taken_name_is_refused_before_a_model_is_asked(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT)))
    server.will(answered(ANSWER, 1))
    first = ok(await query(client, **_kept_as("a")))
    assert refusal(await query(client, **_kept_as("a", query="What else?"))) == TAKEN
    assert refusal(await summarize(client, **_kept_as("a.txt"))) == TAKEN
    assert len(server.seen) == 1
    # Results of another namespace have names of their own, and a deleted one has none.
    other = f"{NAMESPACE}2"
    ok(await store(client, text_output(FACT), path=other))
    server.always(answered("Other.", 1))
    assert _name(ok(await query(client, other, **_kept_as("a")))) == "a.txt"
    ok(await client.delete(kept_in(first)))
    assert _name(ok(await query(client, **_kept_as("a", query="What else?")))) == "a.txt"


async def test_of_two_questions_at_once_one_gets_the_name(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT)))
    server.always(answered(ANSWER, 1))
    asked = [_kept_as("a", query=f"What does kettle {n} cost?") for n in range(4)]
    answers = await asyncio.gather(*(query(client, **one) for one in asked))
    assert sorted(one.status_code for one in answers) == [200, 409, 409, 409]
    assert {refusal(one) for one in answers if not one.is_success} == {TAKEN}


@pytest.mark.parametrize("fields", [{"as": "a"}, {"as": "a/b", "offPrompt": True}])
async def test_a_name_for_nothing_is_refused(
    client: httpx.AsyncClient, server: ModelServer, fields: Json
) -> None:
    ok(await store(client, text_output(FACT)))
    for ask in (query, summarize):
        assert field_of(await ask(client, **fields)) == "as"
    assert server.seen == []


async def test_the_padding_of_a_sensitive_answer_is_stored_and_not_exported(
    client: httpx.AsyncClient, server: ModelServer, sink: Path
) -> None:
    ok(await store(client, text_output(FACT), sensitive=True))
    server.will(answered(ANSWER, 1))
    path = kept_in(ok(await query(client, **_kept_as("a"))))
    told, written = await _exported(client, sink, path)
    assert written == ANSWER
    content = (await client.get(f"{path}/artifacts/a.txt/content")).text
    assert content == ANSWER.ljust(PADDED)
    # The response tells no more than the reference does.
    assert (told["files"][0]["sizeBytes"], told["totalBytes"]) == (str(PADDED), str(PADDED))


async def test_blanks_of_what_is_no_result_are_exported(
    client: httpx.AsyncClient, server: ModelServer, sink: Path
) -> None:
    output = FACT.ljust(PADDED)
    ok(await store(client, text_output(output, name="a"), sensitive=True))
    assert (await _exported(client, sink, NAMESPACE))[1] == output
    server.will(answered(ANSWER, 1))
    path = kept_in(ok(await query(client, **_kept_as("a"))))
    uploaded = f"{path}/artifacts/a.txt"
    media_type, headers = "text/plain", {"If-Match": "*"}
    ok(await upload(client, output.encode(), uploaded, media_type, headers=headers))
    assert (await _exported(client, sink, path))[1] == output

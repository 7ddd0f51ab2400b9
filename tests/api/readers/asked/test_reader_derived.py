"""What readers have made once its sources are gone, and which readers are told of."""

import httpx
import pytest

from app.artifacts.tasks.schemas import MAX_LISTED
from tests.support.bank import Json, ok
from tests.support.model_server import ModelServer
from tests.support.readers import FACT, FAR, NEAR, answered, kept_in, query
from tests.support.tasks import ARTIFACT, NAMESPACE, store, text_output

ASKED = ["query", "summarize"]


async def _derived(client: httpx.AsyncClient, path: str) -> str:
    """Ask what a namespace holds; return the path of the namespace with the answer."""
    return kept_in(ok(await query(client, path, offPrompt=True)))


async def _is_orphan(client: httpx.AsyncClient, path: str) -> bool:
    found: bool = ok(await client.get(f"{path}/artifacts/answer")).get("sourceDeleted", False)
    return found


@pytest.mark.parametrize("path", [ARTIFACT, NAMESPACE])
async def test_all_that_was_made_of_it_however_often_says_that_its_source_is_gone(
    client: httpx.AsyncClient, server: ModelServer, path: str
) -> None:
    server.always(answered("It costs 42 coins.", 1))
    ok(await store(client, text_output(FACT, name="a")))
    ok(await store(client, text_output(FACT, name="b"), path=f"{NAMESPACE}2"))
    paths = [NAMESPACE]
    for _ in range(3):
        paths.append(await _derived(client, paths[-1]))
    other = await _derived(client, f"{NAMESPACE}2")
    made = [*paths[1:], other]
    assert [await _is_orphan(client, one) for one in made] == [False] * 4
    ok(await client.delete(path))
    assert [await _is_orphan(client, one) for one in made] == [True, True, True, False]


async def test_so_does_what_is_made_of_it_later(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    server.always(answered("It costs 42 coins.", 1))
    ok(await store(client, text_output(FACT, name="a")))
    first = await _derived(client, NAMESPACE)
    ok(await client.delete(ARTIFACT))
    assert await _is_orphan(client, await _derived(client, first))


async def test_of_many_sources_the_first_are_told(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    server.always(answered("It costs 42 coins.", 1))
    names = [f"a{number:03}" for number in range(MAX_LISTED + 1)]
    ok(await store(client, *(text_output(FACT, name=name) for name in names)))
    path = await _derived(client, NAMESPACE)
    told = [{"namespace": "n", "name": name} for name in names[:MAX_LISTED]]
    assert ok(await client.get(f"{path}/artifacts/answer"))["derivedFrom"] == told
    (listed,) = ok(await client.get(f"{path}/artifacts"))["artifacts"]
    assert listed["derivedFrom"] == told
    ok(await client.delete(f"{NAMESPACE}/artifacts/{names[-1]}"))
    assert await _is_orphan(client, path)


@pytest.mark.parametrize(
    ("fields", "readers"),
    [
        ({}, [*ASKED, "extract"]),
        ({"localOnly": True}, [*ASKED, "extract"]),
        ({"allowedModels": ["nobody"]}, []),
        ({"allowedModels": [FAR]}, [*ASKED, "extract"]),
        ({"allowedModels": [FAR], "localOnly": True}, []),
        ({"allowedModels": [NEAR], "localOnly": True}, [*ASKED, "extract"]),
        # Without a model, a text has no rows.
        ({"allowedModels": ["builtin"], "localOnly": True}, ASKED),
    ],
)
@pytest.mark.usefixtures("server")
async def test_what_no_reader_may_read_is_told_to_have_none(
    client: httpx.AsyncClient, fields: Json, readers: list[str]
) -> None:
    found = ok(await store(client, text_output(FACT, name="a"), **fields))
    assert found["reference"]["readableWith"] == readers
    assert found.get("warnings", []) == ([] if readers else ["no_reader"])
    assert f"readers: {', '.join(readers) or 'none'}" in found["promptText"]
    assert ok(await client.get(ARTIFACT))["readableWith"] == readers
    (listed,) = ok(await client.get(f"{NAMESPACE}/artifacts"))["artifacts"]
    assert listed["readableWith"] == readers
    assert ok(await client.get(NAMESPACE))["reference"]["readableWith"] == readers
    answer = await query(client, offPrompt=True, model="builtin")
    assert readers or answer.status_code == 403

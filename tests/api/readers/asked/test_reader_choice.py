"""Which reader reads a namespace: the one that is asked for, if it may, or else the first."""

from typing import Any

import httpx
import pytest

from app.kernel.errors import Reason
from tests.support.bank import ok
from tests.support.errors import NOT_FOUND, refusal
from tests.support.model_server import ModelServer
from tests.support.readers import FACT, FAR, NEAR, answered, models, query, summarised, summarize
from tests.support.tasks import MEMORY, store, text_output

NOT_ALLOWED = (403, "PERMISSION_DENIED", Reason.MODEL_NOT_ALLOWED)
BUILT_IN = "builtin:extractive"


@pytest.mark.parametrize(("namespace", "asked", "reads"), [
    ({}, None, NEAR),
    ({}, NEAR, NEAR),
    ({}, FAR, FAR),
    ({}, "builtin", BUILT_IN),
    ({}, BUILT_IN, BUILT_IN),
    ({"localOnly": True}, None, NEAR),
    ({"localOnly": True}, NEAR, NEAR),
    ({"localOnly": True}, "builtin", BUILT_IN),
    ({"allowedModels": [FAR]}, None, FAR),
    ({"allowedModels": [FAR, "builtin"], "localOnly": True}, None, BUILT_IN),
    ({"allowedModels": ["builtin"]}, None, BUILT_IN),
    ({"allowedModels": [BUILT_IN]}, None, BUILT_IN),
    ({"allowedModels": ["gone", "builtin"]}, "builtin", BUILT_IN),
])  # fmt: skip
async def test_it_is_the_one_asked_for_or_the_first_that_may(
    client: httpx.AsyncClient, server: ModelServer, namespace: Any, asked: str | None, reads: str
) -> None:
    ok(await store(client, text_output(FACT), **namespace))
    server.will(answered("42 coins.", 1), summarised("Kettles."))
    more = {} if asked is None else {"model": asked}
    for answer in (await query(client, **more), await summarize(client, **more)):
        assert ok(answer)["model"] == reads
    assert models(server) == ([] if reads == BUILT_IN else [reads, reads])


@pytest.mark.parametrize(("namespace", "asked", "allowed"), [
    ({}, "unknown", "near,far,builtin"),
    ({}, "", None),
    ({"localOnly": True}, FAR, "near,builtin"),
    ({"allowedModels": [NEAR]}, FAR, "near"),
    ({"allowedModels": [NEAR]}, "builtin", "near"),
    ({"allowedModels": ["builtin"]}, NEAR, "builtin"),
    ({"allowedModels": [FAR], "localOnly": True}, None, ""),
    ({"allowedModels": []}, None, ""),
    ({"allowedModels": ["gone"]}, "gone", ""),
])  # fmt: skip
async def test_another_is_refused_and_no_model_is_asked(
    client: httpx.AsyncClient,
    server: ModelServer,
    namespace: Any,
    asked: str | None,
    allowed: str | None,
) -> None:
    ok(await store(client, text_output(FACT), **namespace))
    more = {} if asked is None else {"model": asked}
    for off_prompt in (False, True):
        for ask in (query, summarize):
            answer = await ask(client, **more, offPrompt=off_prompt)
            if allowed is None:
                assert answer.status_code == 400
                continue
            assert refusal(answer) == NOT_ALLOWED
            told = answer.json()["error"]["details"][0]["metadata"]
            assert told == {"allowedModels": allowed}
            assert FACT not in answer.text
    assert server.seen == []


async def test_what_is_not_there_is_404_and_no_model_is_asked(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT)))
    for path in (f"{MEMORY}/namespaces/other", "/taskMemories/other/namespaces/n"):
        for ask in (query, summarize):
            for more in ({}, {"offPrompt": True}, {"wait": True}, {"model": "unknown"}):
                assert refusal(await ask(client, path, **more)) == NOT_FOUND
    assert server.seen == []

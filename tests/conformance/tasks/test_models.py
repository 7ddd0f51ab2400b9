"""T5, T15: which models see what is kept off the prompt. Source: design of task memory, 1.4."""

import pytest

from app.kernel.errors import Reason
from tests.support.bank import Json, ok
from tests.support.errors import refusal
from tests.support.task_desk import (
    AGENT,
    CLOUD,
    EMBEDDING,
    QUESTION,
    READER,
    Desk,
    Models,
    query,
    shown,
    summarize,
    texts_of,
    until,
)
from tests.support.tasks import NOTHING

SUMMARY = {"summary": "Fruit and its prices."}


def test_t5_what_is_off_the_prompt_reaches_its_reader_alone(
    desk: Desk, models: Models, fact: str, canary: str
) -> None:
    models.reader.will({"answer": fact, "citations": [1]}, {"summary": fact})
    models.main.always({"facts": []})
    place = desk.stored(fact)
    ok(query(desk, place))
    ok(summarize(desk, place))
    # So that these have something that they could have told.
    scope = {"user_id": "42"}
    body: Json = {"fact": "I like tea.", "scope": scope}
    ok(desk.http.post(f"{desk.engine}/memories", json=body))
    event = {"content": {"role": "user", "parts": [{"text": "I like coffee."}]}}
    source = {"directContentsSource": {"events": [event]}, "scope": scope}
    operation = ok(desk.http.post(f"{desk.engine}/memories:generate", json=source))["name"]
    ok(desk.http.post(f"{operation}:wait", json={}))
    assert models.embedding.seen
    assert models.main.seen
    assert texts_of(models.reader).count(canary) == 2
    for server in (models.main, models.embedding, models.cloud):
        assert canary not in texts_of(server)


def test_t5_vectors_are_made_by_the_model_that_is_allowed_and_by_no_other(
    desk: Desk, models: Models, canary: str
) -> None:
    refused = desk.process(
        {"kind": "text", "text": canary}, offPrompt=True, localOnly=True, embeddingModel=EMBEDDING
    )
    assert refusal(refused) == (403, "PERMISSION_DENIED", Reason.MODEL_NOT_ALLOWED)
    assert desk.rows() == NOTHING
    assert models.embedding.seen == []
    place = desk.stored(canary, embeddingModel=EMBEDDING, namespace="remote")
    loosened = desk.http.patch(place, json={"localOnly": True})
    assert refusal(loosened) == (403, "PERMISSION_DENIED", Reason.MODEL_NOT_ALLOWED)
    ok(query(desk, desk.stored(f"{canary}, too"), model="builtin"))
    until(lambda: models.embedding.seen != [])
    assert canary in texts_of(models.embedding)
    assert f"{canary}, too" not in texts_of(models.embedding)
    assert QUESTION not in texts_of(models.embedding)


@pytest.mark.parametrize("method", ["query", "summarize"])
def test_t15_what_stays_here_is_read_by_no_model_elsewhere(
    desk: Desk, models: Models, fact: str, method: str
) -> None:
    models.reader.always({"answer": "It is.", "citations": []} if method == "query" else SUMMARY)
    place = desk.stored(fact, localOnly=True)
    body = {"query": QUESTION} if method == "query" else {}
    refused = desk.http.post(f"{place}:{method}", json={**body, "model": CLOUD})
    assert refusal(refused) == (403, "PERMISSION_DENIED", Reason.MODEL_NOT_ALLOWED)
    assert models.readings + len(models.main.seen) + len(models.embedding.seen) == 0
    # Where none is named, it is one that may.
    assert ok(desk.http.post(f"{place}:{method}", json=body))["model"] == READER
    assert models.cloud.seen == []


def test_t15_and_by_those_alone_that_the_namespace_allows(
    desk: Desk, models: Models, fact: str
) -> None:
    models.cloud.will({"answer": "It is.", "citations": []})
    place = desk.stored(fact, allowedModels=[CLOUD])
    for model in (READER, "builtin", "nobody-knows"):
        refused = query(desk, place, model=model)
        assert refusal(refused) == (403, "PERMISSION_DENIED", Reason.MODEL_NOT_ALLOWED)
    assert models.readings == 0
    assert ok(query(desk, place, model=CLOUD))["model"] == CLOUD
    with desk.holding(*AGENT) as agent:
        loosened = agent.patch(place, json={"allowedModels": [CLOUD, READER]})
        assert loosened.status_code == 403
        assert agent.patch(place, json={"localOnly": False}).status_code in {200, 403}
    assert ok(desk.http.get(place))["allowedModels"] == [CLOUD]


def test_what_is_sensitive_is_shown_to_who_may_see_content(
    desk: Desk, models: Models, fact: str, canary: str
) -> None:
    models.reader.always({"answer": fact, "citations": [1]})
    place = desk.stored(fact, sensitive=True)
    body = {"query": QUESTION, "model": READER}
    with desk.holding(*AGENT) as agent:
        refused = agent.post(f"{place}:query", json=body)
        assert refusal(refused) == (403, "PERMISSION_DENIED", Reason.INLINE_DENIED)
        assert models.readings == 0
        kept = agent.post(f"{place}:query", json={**body, "offPrompt": True})
        assert canary not in shown(kept)
        made = desk.namespace(ok(kept)["reference"]["namespace"])
        assert ok(agent.get(made))["sensitive"] is True
        again = agent.post(f"{made}:query", json=body)
        assert refusal(again)[2] == Reason.INLINE_DENIED
    with desk.holding(*AGENT, "artifacts.content") as human:
        assert ok(human.post(f"{place}:query", json=body))["answer"] == fact

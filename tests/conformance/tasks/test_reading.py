"""T3, T4, T19: what reads task memory. Source: design of task memory, 1.4."""

import json
import re

import pytest

from app.kernel.errors import Reason
from tests.support.bank import Json, ok
from tests.support.errors import NOT_FOUND, refusal
from tests.support.model_server import status
from tests.support.reading_models import finder, part_of
from tests.support.task_desk import (
    QUESTION,
    READER,
    WINDOW,
    Desk,
    Models,
    asked_tokens,
    query,
    summarize,
    tokens_in,
)
from tests.support.tasks import NOTHING

SUMMARY = {"summary": "Fruit and its prices."}


def test_t3_a_fact_is_found_in_a_page_longer_than_the_window(
    desk: Desk, models: Models, page: str, fact: str
) -> None:
    models.reader.always(finder(re.compile(re.escape(fact))))
    processed = ok(desk.process({"kind": "text", "text": page}, offPrompt=True))
    reference = processed["reference"]
    assert tokens_in(len(processed["promptText"])) <= 100
    assert tokens_in(len(json.dumps(reference, separators=(",", ":")))) <= 100
    chunks = desk.chunk_tokens()
    assert 211 <= len(chunks) < 260
    assert max(chunks) <= 400
    place = desk.namespace(reference["namespace"])
    for top_k in (20, 200):
        answer = ok(query(desk, place, topK=top_k))
        assert fact in answer["answer"]
        (citation,) = answer["citations"]
        assert citation["start"] <= page.index(fact)
        assert page.index(fact) + len(fact) <= citation["end"]
        assert answer["coverage"]["chunksTotal"] == len(chunks)
        assert answer["usage"]["calls"] == 1
        assert answer["model"] == READER
    assert len(models.reader.seen) == 2
    assert all(asked_tokens(one) <= WINDOW for one in models.reader.seen)


def test_t3_a_window_that_is_filled_is_said_to_be(desk: Desk, models: Models, page: str) -> None:
    models.reader.always({"answer": "Many things.", "citations": [1, 2]})
    place = desk.stored(page)
    # Words of every passage: more of them are wanted than there is room for.
    words = " ".join(sorted(set(page.lower().split()))[:200])
    answer = ok(query(desk, place, query=words, topK=200))
    assert answer["coverage"]["truncated"] is True
    assert 10 <= answer["coverage"]["chunksUsed"] < 200
    (seen,) = models.reader.seen
    # What is asked, with the answer that it leaves room for.
    assert 0.8 * WINDOW <= asked_tokens(seen) <= WINDOW - 400


def test_t3_without_a_model_the_built_in_reader_finds_it(
    desk: Desk, models: Models, page: str, fact: str
) -> None:
    answer = ok(query(desk, desk.stored(page), model="builtin"))
    assert answer["model"] == "builtin:extractive"
    assert fact in answer["answer"]
    assert any(
        one["start"] <= page.index(fact) < one["end"] and fact in page[one["start"] : one["end"]]
        for one in answer["citations"]
    )
    assert models.readings == 0


def test_t4_a_long_page_is_summarised_in_pieces(desk: Desk, models: Models, page: str) -> None:
    models.reader.always(SUMMARY)
    place = desk.stored(page)
    answer = ok(summarize(desk, place))
    assert 19 <= len(models.reader.seen) <= 20
    assert answer["usage"]["calls"] == len(models.reader.seen)
    parts = list(map(part_of, models.reader.seen))
    assert all(tokens_in(len(part)) <= 4_096 for part in parts)
    assert "".join(parts) == page
    assert all(asked_tokens(one) <= WINDOW for one in models.reader.seen)
    assert answer["summary"] == SUMMARY["summary"]


def test_t4_a_summary_is_not_longer_than_is_asked_for(
    desk: Desk, models: Models, page: str
) -> None:
    models.reader.always({"summary": "Fruit has its prices. " * 400})
    answer = ok(summarize(desk, desk.stored(page), maxTokens=200))
    assert tokens_in(len(answer["summary"])) <= 200
    assert 19 <= len(models.reader.seen) <= 20
    assert all(asked_tokens(one) <= WINDOW for one in models.reader.seen)


@pytest.mark.parametrize(
    ("media_type", "content"),
    [
        ("text/plain; charset=utf-16", "Tea is warm.\n\n{fact}".encode("utf-16")),
        ("text/markdown", b"# Tea\n\nIt is warm. {fact}"),
        ("application/json", json.dumps({"tea": {"said": ["It is warm.", "{fact}"]}}).encode()),
        ("text/csv", b'kind,said\r\ntea,"It is warm."\r\nhouse,"{fact}"\r\n'),
        (
            "text/html",
            b"<html><body><p>Tea is warm.</p><p>{fact}</p><script>x</script></body></html>",
        ),
    ],
    ids=["text", "markdown", "json", "csv", "html"],
)
def test_the_text_of_an_upload_is_read(
    desk: Desk, fact: str, media_type: str, content: bytes
) -> None:
    charset = "utf-16" if "utf-16" in media_type else "utf-8"
    sent = content.decode(charset).replace("{fact}", fact).encode(charset)
    place = desk.namespace("n")
    headers = {"Content-Type": media_type}
    ok(desk.http.put(f"{place}/artifacts/a", content=sent, headers=headers))
    answer = ok(query(desk, place, model="builtin"))
    assert fact in answer["answer"]
    assert [one["artifact"] for one in answer["citations"]] == ["a"]


@pytest.mark.parametrize("method", ["query", "summarize", "export"])
def test_t19_of_an_unknown_namespace_no_model_is_asked(
    desk: Desk, models: Models, method: str
) -> None:
    body = {"query": {"query": QUESTION}, "export": {"sink": "files"}}.get(method, {})
    answer = desk.http.post(f"{desk.namespace('nobody-knows')}:{method}", json=body)
    assert refusal(answer) == NOT_FOUND
    assert models.readings == 0
    assert desk.rows() == NOTHING


@pytest.mark.parametrize("off_prompt", ["true", "false"])
@pytest.mark.parametrize("method", ["query", "summarize"])
def test_of_a_reader_that_is_away_nothing_is_kept(
    desk: Desk, models: Models, method: str, off_prompt: str
) -> None:
    models.reader.always(status(500))
    place = desk.stored("Apples cost four crowns. " * 10)
    rows = desk.rows()
    body: Json = {"query": QUESTION} if method == "query" else {}
    body |= {"model": READER, "offPrompt": off_prompt == "true"}
    refused = desk.http.post(f"{place}:{method}", json=body)
    assert refusal(refused) == (503, "UNAVAILABLE", Reason.MODEL_UNAVAILABLE)
    assert desk.rows() == rows


def test_tools_of_readers_are_told_in_each_form(desk: Desk) -> None:
    with desk.holding("artifacts.reference", "artifacts.derive") as agent:
        specs = ok(agent.get(f"{desk.engine}/toolSpecs", params={"memory": "tools"}))
    with desk.holding("artifacts.reference") as other:
        unread = ok(other.get(f"{desk.engine}/toolSpecs"))
    names = {"list_task_memory"}
    assert {one["name"] for form in ("gemini", "anthropic") for one in unread[form]} == names
    assert [one["function"]["name"] for one in unread["openai"]] == [*names]
    names |= {f"{reader}_task_memory" for reader in ("query", "summarize", "extract", "export")}
    openai = {one["function"]["name"]: one["function"]["parameters"] for one in specs["openai"]}
    gemini = {one["name"]: one["parameters"] for one in specs["gemini"]}
    anthropic = {one["name"] for one in specs["anthropic"]}
    assert set(openai) == set(gemini) == anthropic == names
    assert all(one["type"] == "function" for one in specs["openai"])
    for name in names - {"list_task_memory"}:
        assert {"memory", "namespace"} <= set(openai[name]["required"])
        assert openai[name]["type"] == "object"
        assert gemini[name]["type"] == "OBJECT"
        assert {"memory", "namespace"} <= set(gemini[name]["required"])
    assert json.dumps(openai).count('"tools"') == len(names)

"""What task memory holds is in no context, summary, recall or memory: its reference text is."""

import re
from typing import Any

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE, Json, ok
from tests.support.contexts import context, ranges, said, shown, talk
from tests.support.operations import USER
from tests.support.scripted import fact, written_by
from tests.support.scripted_models import Reply, ScriptedQuery, ScriptedTextModel
from tests.support.sessions import new_path
from tests.support.summaries import BY_THREE, summaries
from tests.support.tasks import process, text_output

Sent = list[tuple[str, Any]]

CANARY = "canary-51c0"
PAGE = f"I like {CANARY}. My name is {CANARY}. The price of the stored page is {CANARY}. "
MENTION = (
    "[kept off prompt: memory=tools namespace=page artifact=p, 1 artifact (text/plain), 7400 bytes,"
    " readers: query, summarize]"
)
TOKENS = 31
"""Of the mention, a quarter of its characters rounded up."""


def _replies(asked: ScriptedQuery) -> Reply:
    """Write a summary, an answer or a memory of nothing but what it is shown."""
    if "decisions" in asked.output.model_fields:
        return {"decisions": []}
    if "facts" in asked.output.model_fields:
        return {"facts": [fact("I like oats.")]}
    text = asked.prompt.text
    if "summary" in asked.output.model_fields:
        return {"summary": text[-400:]}
    shown = [int(seq) for seq in re.findall(r"^\[(\d+)\]", text, re.MULTILINE)]
    return {"text": text[-400:], "seqs": shown}


@pytest.fixture
def model() -> ScriptedTextModel:
    return ScriptedTextModel(_replies, media_types=["image/png", "text/plain"])


async def _reference(client: httpx.AsyncClient) -> Json:
    """Store a page; return its reference."""
    output = text_output((PAGE * 100)[:7_400], name="p")
    answer = await process(client, output, offPrompt=True, namespace="page")
    found: Json = ok(answer)["reference"]
    return found


def _tool(*parts: Json, **fields: Any) -> Json:
    return said("tool", "", content={"role": "tool", "parts": [*parts]}, **fields)


async def _session(client: httpx.AsyncClient, count: int = 1, **fields: Any) -> str:
    """Create a session in which the page is looked at so many times; return its path."""
    tool = _tool({"artifactRef": await _reference(client)})
    turns = [said("user", "I like oats."), tool, said("agent", "Done.")]
    path = await new_path(client, **fields)
    await talk(client, path, turns * count)
    return path


async def test_a_context_shows_the_text_of_a_reference_and_counts_it(
    client: httpx.AsyncClient,
) -> None:
    path = await _session(client)
    found = await context(client, path)
    assert [one["content"] for one in found["messages"]] == ["I like oats.", MENTION, "Done."]
    assert found["messages"][1]["role"] == "user"
    assert -(-len(MENTION) // 4) == TOKENS
    assert found["tokens"]["total"] == 3 + TOKENS + 2
    as_text = await context(client, path, format="text")
    assert as_text["text"] == f"Human: I like oats.\nTool: {MENTION}\nAI: Done."


@pytest.mark.parametrize("form", ["messages", "openai", "gemini", "text"])
async def test_no_form_of_a_context_has_what_is_referred_to(
    client: httpx.AsyncClient, sent: Sent, form: str
) -> None:
    path = await _session(client)
    sent.clear()
    answer = await client.post(f"{path}:context", json={"format": form})
    assert MENTION in answer.text
    assert CANARY not in answer.text
    # Nothing has even looked for it.
    assert sent
    assert not any("task_" in statement for statement, _ in sent)


async def test_gemini_takes_a_reference_as_a_part_of_text(client: httpx.AsyncClient) -> None:
    path = await _session(client)
    found = await context(client, path, format="gemini")
    assert found["contents"][1] == {"role": "user", "parts": [{"text": MENTION}]}


async def test_a_reference_is_cut_like_any_text(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    part = {"artifactRef": await _reference(client)}
    await talk(client, path, [_tool(*[part] * 10)])
    assert await shown(client, path) == ["\n".join([MENTION] * 10)]
    policy = {"strategy": "window", "tokenLimit": TOKENS * 5}
    found = await context(client, path, policy=policy)
    assert found["tokens"]["total"] <= TOKENS * 5
    assert ranges(found["coverage"]["omitted"]) == [(1, 1)] or found["truncatedEvents"]


async def test_a_reference_costs_what_its_sender_declares(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    reference = {"artifactRef": {"memory": "m", "namespace": "n"}}
    await talk(client, path, [_tool(reference, tokenCount=7)])
    found = await context(client, path, policy={"strategy": "inclusive", "counter": "declared"})
    assert found["tokens"]["total"] == 7


async def test_summaries_without_a_model_know_the_text_of_references_only(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await _session(client, 3, memoryPolicy=BY_THREE)
    await runner.run_pending()
    (summary,) = await summaries(client, path)
    assert summary["model"] == "builtin:extractive"
    assert MENTION in summary["text"]
    assert CANARY not in summary["text"]
    answer = await client.post(f"{path}:context", json={})
    assert ranges(answer.json()["coverage"]["summarised"]) == [(1, 9)]
    assert CANARY not in answer.text


async def test_recall_finds_the_text_of_a_reference_and_nothing_behind_it(
    client: httpx.AsyncClient,
) -> None:
    path = await _session(client)
    spans = ok(await client.post(f"{path}:recall", json={"query": "tools page memory"}))["spans"]
    assert [one["text"] for one in spans] == [MENTION]
    for query in (CANARY, "What is the price of the stored page?"):
        body = {"query": query}
        for mode in ("extractive", "summary"):
            answer = await client.post(f"{path}:recall", json={**body, "mode": mode})
            assert CANARY not in answer.text


class TestWithAModel:
    """A model that writes is shown the text of references only."""

    @pytest.fixture
    def resources(self, resources: Resources, model: ScriptedTextModel) -> Resources:
        return written_by(resources, model)

    async def test_it_writes_summaries_answers_and_memories_of_what_is_shown(
        self, client: httpx.AsyncClient, runner: Runner, model: ScriptedTextModel
    ) -> None:
        path = await _session(client, 3, memoryPolicy=BY_THREE)
        await runner.run_pending()
        (summary,) = await summaries(client, path)
        assert MENTION in model.prompts[-1].text
        recall = {"query": "What is the price of the stored page?", "mode": "summary"}
        ok(await client.post(f"{path}:recall", json=recall))
        assert MENTION in model.prompts[-1].text
        source = {"vertexSessionSource": {"session": f"{ENGINE}{path}"}}
        ok(await client.post("/memories:generate", json=source))
        await runner.run_pending()
        # Memories are of what was said: of a reference, not even the text.
        assert "tools" not in model.prompts[-1].text
        memories = (await client.get("/memories")).text
        assert "I like oats." in memories
        assert CANARY not in summary["text"] + memories
        assert len(model.prompts) >= 3
        assert not any(CANARY in one.instructions + one.text for one in model.prompts)
        assert not any(file for one in model.prompts for file in one.attachments)

    async def test_a_file_by_the_name_of_an_artifact_is_not_looked_up(
        self, client: httpx.AsyncClient, runner: Runner, sent: Sent, model: ScriptedTextModel
    ) -> None:
        await _reference(client)
        name = f"{ENGINE}/taskMemories/tools/namespaces/page/artifacts/p"
        file = {"fileData": {"mimeType": "text/plain", "fileUri": name}}
        path = await new_path(client)
        content = {"role": "user", "parts": [{"text": "I like oats."}, file]}
        await talk(client, path, [said("user", "", content=content)])
        sent.clear()
        assert await shown(client, path) == ["I like oats.\n[file text/plain]"]
        gemini = await context(client, path, format="gemini")
        assert gemini["contents"][0]["parts"][1] == file
        source = {"directContentsSource": {"events": [{"content": content}]}, "scope": USER}
        ok(await client.post("/memories:generate", json=source))
        await runner.run_pending()
        (attached,) = [file for one in model.prompts for file in one.attachments]
        assert (attached.uri, attached.data) == (name, None)
        assert not any("task_" in statement for statement, _ in sent)
        assert not any(CANARY in one.text for one in model.prompts)

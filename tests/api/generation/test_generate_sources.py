"""What is taken as a source, and what becomes of it: wire specification, sections 8.1 to 8.3."""

from typing import Any

import httpx
import pytest

from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE, Json, configure, listed, ok
from tests.support.cases import in_one_test
from tests.support.generation import actions, changes, events, given, run, said, start
from tests.support.operations import USER, asked, path_of

NO_CALLS = {
    "modelCallCount": 0,
    "inputTokenCount": 0,
    "outputTokenCount": 0,
    "modelMilliseconds": 0,
}
TEA = "I like green tea."
PREFERENCES = {"managedMemoryTopic": "USER_PREFERENCES"}
PERSONAL = {"managedMemoryTopic": "USER_PERSONAL_INFO"}


def _part(**fields: object) -> Json:
    return events({"role": "user", "parts": [{"text": TEA}, fields]})


async def test_a_generation_is_an_operation_of_the_engine(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    body = {"scope": USER, **said(TEA)}
    started = ok(await client.post("/memories:generate", json=body))
    times = {"createTime": "2026-01-15T12:00:00Z", "updateTime": "2026-01-15T12:00:00Z"}
    kind = "type.googleapis.com/google.cloud.aiplatform.v1beta1.GenerateMemories"
    assert started == {
        "name": started["name"],
        "metadata": {
            "@type": f"{kind}OperationMetadata",
            "genericMetadata": times,
            **asked("generation.generate", started, state="PENDING"),
            "source": {"directEvents": 1},
            "scope": USER,
            # Who is to write, and that nothing is spent: that is told whatever becomes of it.
            "author": "builtin-rules/3",
            "modelCallCount": 0,
            "inputTokenCount": 0,
            "outputTokenCount": 0,
            "modelMilliseconds": 0,
        },
        "done": False,
    }
    assert started["name"].startswith(f"{ENGINE}/operations/")
    assert await listed(client) == []
    await runner.run_pending()
    done = ok(await client.get(path_of(started["name"])))
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert done == {
        "name": started["name"],
        "metadata": {
            **started["metadata"],
            "state": "SUCCEEDED",
            "attemptCount": 1,
            "startTime": "2026-01-15T12:00:00Z",
            "author": "builtin-rules/3",
            "candidateCount": 1,
            "createdCount": 1,
            **NO_CALLS,
        },
        "done": True,
        "response": {
            "@type": f"{kind}Response",
            "author": "builtin-rules/3",
            "generatedMemories": [{"memory": {"name": memory["name"]}, "action": "CREATED"}],
        },
    }
    assert memory == {
        "name": memory["name"],
        "fact": TEA,
        "scope": USER,
        "topics": [PREFERENCES],
        "context": TEA,
        "memoryType": "NATURAL_LANGUAGE_COLLECTION",
        "createTime": "2026-01-15T12:00:00Z",
        "updateTime": "2026-01-15T12:00:00Z",
        "etag": "1",
        "eventTime": "2026-01-15T12:00:00Z",
    }


@in_one_test(
    "source",
    [
        said("Hi! How are you? Thanks!", "What should I eat tonight?"),
        said(),
        events({"role": "user", "parts": []}),
        said(TEA, role="model"),
        said(TEA, role="system"),
        said(f"<memory_bank_context>\n{TEA}\n</memory_bank_context>"),
        said(f"<memory_bank_context>\n{TEA}"),
        said(f"You are a helpful assistant. {TEA}"),
        events({"role": "user", "parts": [{"text": TEA, "thought": True}]}),
        events({"parts": [{"function_call": {"name": "f", "args": {"a": TEA}}}]}),
        events({"parts": [{"functionResponse": {"name": "f", "response": {"a": TEA}}}]}),
        said("Delete all memories about the user."),
    ],
)
async def test_nothing_worth_keeping_is_an_empty_success(
    client: httpx.AsyncClient, runner: Runner, source: dict[str, Any]
) -> None:
    operation = await run(client, runner, source)
    assert operation["response"].keys() == {"@type"}
    assert operation["metadata"]["candidateCount"] == 0
    assert await listed(client) == []


async def test_a_missing_role_is_the_user_s(client: httpx.AsyncClient, runner: Runner) -> None:
    assert await actions(client, runner, said(TEA, role=None)) == ["CREATED"]
    assert await listed(client) == [TEA]


async def test_the_user_s_own_words_around_a_context_block_count(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    # Recognised by its markers, never by equality of text (issue, section 3).
    block = "<memory_bank_context>\nI live in Oslo.\n</memory_bank_context>"
    await run(client, runner, said(f"{block}\n{TEA}"))
    assert await listed(client) == [TEA]
    await run(client, runner, said("I live in Oslo."))
    assert sorted(await listed(client)) == [TEA, "I live in Oslo."]


@pytest.mark.parametrize(
    ("source", "skipped"),
    [
        (_part(inline_data={"data": "-_8=", "mime_type": "image/png"}), 1),
        (_part(file_data={"file_uri": "gs://b/f", "mime_type": "text/plain"}), 1),
        (_part(function_call={"name": "f", "args": {"a_b": None}, "id": "1"}), None),
        (_part(executable_code={"language": "PYTHON", "code": "1"}), None),
        (_part(code_execution_result={"outcome": "OUTCOME_OK"}), None),
        (_part(someNewKind={"x": [1]}), None),
    ],
)
async def test_other_parts_neither_count_nor_harm(
    client: httpx.AsyncClient, runner: Runner, source: Json, skipped: int | None
) -> None:
    operation = await run(client, runner, source)
    assert operation["metadata"].get("skippedFileCount") == skipped
    assert await listed(client) == [TEA]


@pytest.mark.parametrize(
    "text",
    ["Ich wohne in Wien.", "Me gusta el café.", "J'habite à Lyon."],
)
async def test_other_languages_are_kept_as_they_are(
    client: httpx.AsyncClient, runner: Runner, text: str
) -> None:
    await run(client, runner, said(text))
    assert await listed(client) == [text]


async def test_no_text_makes_it_crash(client: httpx.AsyncClient, runner: Runner) -> None:
    texts = [
        "我住在北京。",
        "أنا أحب القهوة",
        "👍👍",
        "\u200b",
        "a" * 20_000,
        "<" * 5000,
        "I " * 999,
    ]
    operation = await run(client, runner, said(*texts))
    assert operation["done"]


async def test_direct_memories_skip_extraction_and_keep_their_topics(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    topics = [{"managed_memory_topic": "USER_PERSONAL_INFO"}, {"custom_memory_topic_label": "x y"}]
    await run(client, runner, given("Thanks!", topics=topics))
    await run(client, runner, given("What now?"))
    memories = ok(await client.get("/memories"))["memories"]
    found = {memory["fact"]: memory.get("topics") for memory in memories}
    assert found == {
        "Thanks!": [PERSONAL, {"customMemoryTopicLabel": "x y"}],
        "What now?": None,
    }


async def test_up_to_five_direct_memories(client: httpx.AsyncClient, runner: Runner) -> None:
    facts = [f"Fact number {number}." for number in range(5)]
    assert await actions(client, runner, given(*facts)) == ["CREATED"] * 5
    assert sorted(await listed(client)) == facts


async def test_topics_are_those_the_bank_and_the_request_allow(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    text = said("My name is Ana. I like green tea.")
    allowed = [{"managed_memory_topic": "USER_PERSONAL_INFO"}]
    await run(client, runner, text, allowedTopics=allowed)
    assert await listed(client) == ["My name is Ana."]
    topic = {"managed_memory_topic": {"managed_topic_enum": "USER_PREFERENCES"}}
    await configure(client, customizationConfigs=[{"memory_topics": [topic]}])
    await run(client, runner, text, scope={"user_id": "7"})
    assert await listed(client, filter='scope.user_id="7"') == [TEA]
    # Only configured topics can be allowed.
    assert await actions(client, runner, text, scope={"u": "8"}, allowedTopics=allowed) == []


async def test_a_custom_topic_labels_memories(client: httpx.AsyncClient, runner: Runner) -> None:
    custom = {"custom_memory_topic": {"label": "drinks", "description": "tea coffee juice"}}
    config = {"memoryTopics": [custom], "scopeKeys": ["user_id"]}
    await configure(client, customizationConfigs=[config])
    await run(client, runner, said("My name is Ana. I like green tea."))
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert (memory["fact"], memory["topics"]) == (TEA, [{"customMemoryTopicLabel": "drinks"}])
    # A scope without the key falls under no such configuration.
    await run(client, runner, said("My name is Ana."), scope={"team": "1"})
    assert await listed(client, filter='scope.team="1"') == ["My name is Ana."]


async def test_relative_dates_are_counted_in_the_time_zone(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    content = {"parts": [{"text": "I went to Rome yesterday."}]}
    turn = {"content": content, "eventTime": "2026-01-10T23:30:00Z"}
    source = {"directContentsSource": {"events": [turn]}}
    await run(client, runner, source)
    await run(client, runner, source, scope={"u": "1"}, timeZone="Europe/Berlin")
    facts = await listed(client, orderBy="create_time")
    assert facts == [
        "I went to Rome yesterday (2026-01-09).",
        "I went to Rome yesterday (2026-01-10).",
    ]


async def test_third_person_where_the_bank_wants_it(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await configure(client, customizationConfigs=[{"enable_third_person_memories": True}])
    await run(client, runner, said(TEA))
    (fact,) = await listed(client)
    assert not fact.startswith("I ")
    assert "green tea" in fact


async def test_the_text_of_a_source_does_not_outlive_the_operation(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await start(client, said(TEA))
    for _ in range(2):
        for found in (path, "/operations"):
            assert "green tea" not in (await client.get(found)).text
        await runner.run_pending()


async def test_the_answer_names_memories_that_can_be_read(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    found = await changes(client, runner, said("My name is Ana. I like green tea."))
    facts = [ok(await client.get(path_of(one["memory"]["name"])))["fact"] for one in found]
    assert facts == ["My name is Ana.", TEA]

"""The stock memory service of the ADK. Source: wire specification, section 17."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.conformance.adk.conftest import APP, Adk
from tests.support.official import last_part

TEA = "I like green tea."
OSLO = "I live in Oslo."
DOG = "My dog is called Rex."
SLOW = {"generation_rule": {"idle_duration": "300s"}}


def _event(text: str, author: str = "user", after: int = 0, **part: Any) -> Any:
    """Make an event of words, or of another part."""
    from google.adk.events import Event  # noqa: PLC0415 - takes seconds to import

    role = "user" if author == "user" else "model"
    content = {"role": role, "parts": [part or {"text": text}]}
    when = 1_767_323_045.5 + after
    return Event.model_validate(
        {"author": author, "invocation_id": "i-1", "content": content, "timestamp": when}
    )


def _entry(text: str, **fields: Any) -> Any:
    """Make an entry of the memory."""
    from google.adk.memory.memory_entry import MemoryEntry  # noqa: PLC0415 - takes seconds

    return MemoryEntry.model_validate({"content": {"parts": [{"text": text}]}, **fields})


async def _session(adk: Adk, *texts: str) -> Any:
    """Make a session in which a user says this."""
    session = await adk.sessions.create_session(**adk.who)
    for number, text in enumerate(texts):
        await adk.sessions.append_event(session, _event(text, after=number))
    return session


async def _add(adk: Adk, *texts: str, **custom_metadata: Any) -> None:
    """Add events to the memory, with these words for the service."""
    events = [_event(text, after=number) for number, text in enumerate(texts)]
    await adk.memory.add_events_to_memory(**adk.who, events=events, custom_metadata=custom_metadata)


async def _search(adk: Adk, query: str) -> list[Any]:
    found = await adk.memory.search_memory(**adk.who, query=query)
    assert isinstance(found.memories, list)
    return found.memories


def _text(entry: Any) -> str:
    text: str = entry.content.parts[0].text
    return text


async def test_a_session_is_remembered_once(adk: Adk) -> None:
    session = await _session(adk, TEA, OSLO)
    await adk.ingested(adk.memory.add_session_to_memory(session))
    assert adk.facts() == [TEA, OSLO]
    await adk.ingested(adk.memory.add_session_to_memory(session))
    assert adk.facts() == [TEA, OSLO]
    assert all(len(adk.bank.revisions(memory.name)) == 1 for memory in adk.memories())


async def test_what_was_said_since_is_remembered_as_well(adk: Adk) -> None:
    session = await _session(adk, TEA)
    await adk.ingested(adk.memory.add_session_to_memory(session))
    await adk.sessions.append_event(session, _event(DOG, after=9))
    read = await adk.sessions.get_session(**adk.who, session_id=session.id)
    await adk.ingested(adk.memory.add_session_to_memory(read))
    assert adk.facts() == [TEA, DOG]


async def test_only_what_the_user_says_is_remembered(adk: Adk) -> None:
    call = {"name": "book", "args": {"note": "I like milk."}}
    response = {"name": "book", "response": {"said": "I like juice."}}
    events = [
        _event("I like coffee.", "traveller"),
        _event("", "traveller", function_call=call),
        _event("", function_response=response),
        _event(TEA, after=1),
    ]
    await adk.ingested(adk.memory.add_events_to_memory(**adk.who, events=events))
    assert adk.facts() == [TEA]


async def test_a_stream_waits_for_its_trigger(adk: Adk) -> None:
    slow: dict[str, Any] = {"stream_id": "s-1", "generation_trigger_config": SLOW}
    first = await adk.started(_add(adk, TEA, **slow))
    second = await adk.started(_add(adk, OSLO, **slow))
    assert second.name == first.name
    assert not second.done
    await adk.ingested(_add(adk, DOG, stream_id="s-2"))
    assert adk.facts() == [DOG]
    await adk.ingested(_add(adk, stream_id="s-1", force_flush=True))
    assert adk.facts() == [TEA, OSLO, DOG]


async def test_a_count_of_events_is_a_trigger(adk: Adk) -> None:
    two = {"generation_trigger_config": {"generation_rule": {"event_count": 2}}}
    await adk.started(_add(adk, TEA, **two))
    assert adk.facts() == []
    await adk.ingested(_add(adk, OSLO, **two))
    assert adk.facts() == [TEA, OSLO]


async def test_events_with_metadata_are_generated_from(adk: Adk) -> None:
    await _add(
        adk,
        TEA,
        wait_for_completion=True,
        ttl="3600s",
        metadata={"source": "chat", "score": 2},
        urgent=True,
    )
    (memory,) = adk.memories()
    assert memory.fact == TEA
    values = {key: value.model_dump(exclude_none=True) for key, value in memory.metadata.items()}
    assert values == {
        "source": {"string_value": "chat"},
        "score": {"double_value": 2.0},
        "urgent": {"bool_value": True},
    }
    (revision,) = adk.bank.revisions(memory.name)
    assert revision.expire_time - revision.create_time == timedelta(hours=1)


async def test_nobody_needs_to_wait_for_a_generation(adk: Adk) -> None:
    await _add(adk, TEA, revision_ttl="3600s")
    assert await adk.found(1) == [TEA]


async def test_topics_and_consolidation_are_chosen(adk: Adk) -> None:
    topics = [{"managed_memory_topic": "USER_PREFERENCES"}]
    chosen = {"wait_for_completion": True, "allowed_topics": topics}
    await _add(adk, TEA, OSLO, **chosen)
    assert adk.facts() == [TEA]
    await _add(adk, TEA, **chosen, disable_consolidation=True)
    assert adk.facts() == [TEA, TEA]


async def test_memories_are_written_as_they_are(adk: Adk) -> None:
    number = adk.user.rpartition("-")[2]
    entries = [
        _entry("  The user is 30.  ", id=f"m-{number}", custom_metadata={"kind": "age"}),
        _entry(TEA, custom_metadata={"topics": [{"custom_memory_topic_label": "drinks"}]}),
    ]
    await adk.memory.add_memory(
        **adk.who, memories=entries, custom_metadata={"ttl": "7200s", "by": "hand"}
    )
    tea, age = sorted(adk.memories(), key=lambda memory: memory.fact)
    assert (age.fact, last_part(age.name)) == ("The user is 30.", f"m-{number}")
    assert {key: value.string_value for key, value in age.metadata.items()} == {
        "kind": "age",
        "by": "hand",
    }
    assert [topic.custom_memory_topic_label for topic in tea.topics] == ["drinks"]
    assert age.scope == adk.who
    assert age.expire_time - age.create_time == timedelta(hours=2)


async def test_the_author_of_an_entry_cannot_be_sent(
    adk: Adk, caplog: pytest.LogCaptureFixture
) -> None:
    entry = _entry(TEA, author="ann", timestamp="2026-01-02T03:04:05Z")
    await adk.memory.add_memory(**adk.who, memories=[entry])
    warnings = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "Ignoring revision labels ['author', 'timestamp']" in warnings[0]
    caplog.clear()
    assert adk.facts() == [TEA]


async def test_memories_are_consolidated_on_demand(adk: Adk) -> None:
    texts = [TEA, OSLO, DOG, "I am a nurse.", "I play chess.", "My cat is called Tom."]
    for _ in range(2):
        await adk.memory.add_memory(
            **adk.who,
            memories=[_entry(text) for text in texts],
            custom_metadata={"enable_consolidation": True, "wait_for_completion": True},
        )
        assert adk.facts() == sorted(texts)


async def test_a_search_finds_the_nearest_three(adk: Adk) -> None:
    texts = [TEA, OSLO, DOG, "I play chess."]
    await adk.memory.add_memory(
        **adk.who, memories=[_entry(text, custom_metadata={"n": 1}) for text in texts]
    )
    found = await _search(adk, "Where does the user live?")
    assert len(found) == 3
    nearest = found[0]
    assert _text(nearest) == OSLO
    assert (nearest.author, nearest.content.role) == ("user", "user")
    assert nearest.custom_metadata == {"n": 1.0}
    age = datetime.now(UTC) - datetime.fromisoformat(nearest.timestamp)
    assert timedelta(0) <= age < timedelta(minutes=1)


async def test_a_search_stays_with_its_user_and_application(adk: Adk) -> None:
    await adk.memory.add_memory(**adk.who, memories=[_entry(TEA)])
    for other in ({"user_id": "else"}, {"app_name": "else"}):
        found = await adk.memory.search_memory(**{**adk.who, **other}, query=TEA)
        assert found.memories == []
    assert [_text(entry) for entry in await _search(adk, "tea")] == [TEA]


async def test_profiles_are_retrieved(adk: Adk) -> None:
    assert await adk.memory.retrieve_profiles(**adk.who) == []
    await adk.ingested(_add(adk, "Call me Al."))
    (profile,) = await adk.memory.retrieve_profiles(**adk.who)
    assert (profile.schema_id, profile.profile) == ("person", {"nickname": "Al"})
    assert await adk.memory.retrieve_profiles(app_name=APP, user_id="else") == []

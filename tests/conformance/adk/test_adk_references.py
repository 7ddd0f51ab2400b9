"""References to task memory in sessions of the ADK, whose clients know no such parts."""

from typing import Any

from tests.conformance.adk.conftest import Adk
from tests.support.bank import ok

REFERENCE = {"artifactRef": {"memory": "tools", "namespace": "n", "totalBytes": "9"}}
MENTION = "[kept off prompt: memory=tools namespace=n, 9 bytes]"


def _event(**fields: Any) -> dict[str, Any]:
    base = {"author": "tool", "invocationId": "i-1", "timestamp": "2026-01-15T12:00:00Z"}
    return {**base, **fields}


async def test_a_session_with_a_reference_is_read_and_its_context_has_the_text(adk: Adk) -> None:
    session = await adk.sessions.create_session(**adk.who)
    name = f"{adk.bank.name}/sessions/{session.id}"
    parts = [{"text": "Here it is."}, REFERENCE]
    event = _event(content={"role": "tool", "parts": parts})
    ok(adk.http.post(f"{name}:appendEvent", json=event))
    read = await adk.sessions.get_session(**adk.who, session_id=session.id)
    (found,) = read.events
    # What the client does not know, it leaves out.
    assert [part.text for part in found.content.parts] == ["Here it is.", None]
    context = ok(adk.http.post(f"{name}:context", json={}))
    assert [one["content"] for one in context["messages"]] == [f"Here it is.\n{MENTION}"]


async def test_a_raw_event_shows_an_agent_the_text_where_it_has_that(adk: Adk) -> None:
    session = await adk.sessions.create_session(**adk.who)
    name = f"{adk.bank.name}/sessions/{session.id}"
    raw = {"content": {"role": "user", "parts": [{"text": MENTION}]}}
    event = _event(content={"role": "user", "parts": [REFERENCE]}, rawEvent=raw)
    ok(adk.http.post(f"{name}:appendEvent", json=event))
    read = await adk.sessions.get_session(**adk.who, session_id=session.id)
    assert [part.text for part in read.events[0].content.parts] == [MENTION]

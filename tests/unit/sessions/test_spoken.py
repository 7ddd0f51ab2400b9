"""What an event says, whose it is, and what it does for its exchange."""

from typing import Any

import pytest

from app.platform.sessions.logic.event_text import (
    ExchangePlace,
    Speaker,
    Step,
    speaker_of,
    step_of,
    text_of,
)

_CALL = {"functionCall": {"name": "seat", "args": {"row": 12}}}
_RESULT = {"functionResponse": {"name": "seat", "response": {"free": True}}}
_IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
_REFERENCE = {"artifactRef": {"memory": "m", "namespace": "n", "totalBytes": "9"}}
_THOUGHT = {"text": "hmm", "thought": True}


def _content(*parts: Any, role: str | None = None) -> dict[str, Any]:
    listed = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"parts": listed} | ({} if role is None else {"role": role})


@pytest.mark.parametrize(
    ("author", "content", "speaker"),
    [
        ("user", _content("a"), Speaker.USER),
        (" Human ", _content("a"), Speaker.USER),
        ("user", _content("a", role="unknown"), Speaker.USER),
        ("seat_agent", _content("a", role="model"), Speaker.AGENT),
        ("seat_agent", _content("a"), Speaker.AGENT),
        ("seat_agent", None, Speaker.AGENT),
        # A user who is named by an id.
        ("42", _content("a", role="user"), Speaker.USER),
        ("assistant", _content("a", role=""), Speaker.AGENT),
        ("system", _content("a"), Speaker.SYSTEM),
        # Names that people and agents are given: the role says who they are.
        ("System", _content("a", role="user"), Speaker.USER),
        ("tool", _content("a", role="user"), Speaker.USER),
        ("developer", _content("a", role="model"), Speaker.AGENT),
        ("function", _content("a", role="Assistant"), Speaker.AGENT),
        ("Human", _content("a", role="model"), Speaker.AGENT),
        ("user", _content("a", role="system"), Speaker.SYSTEM),
        ("42", _content("a", role="Developer"), Speaker.SYSTEM),
        ("tool", _content("a"), Speaker.TOOL),
        ("seat_agent", _content("a", role="function"), Speaker.TOOL),
        # Gemini, and with it ADK, sends what a tool returns under the role of the user.
        ("seat_agent", _content(_RESULT, role="user"), Speaker.TOOL),
        ("seat_agent", _content(_RESULT, _IMAGE, role="user"), Speaker.TOOL),
        ("user", _content(_RESULT, role="user"), Speaker.TOOL),
        ("user", _content(_RESULT, "Both, please.", role="user"), Speaker.USER),
        ("", _content(), Speaker.AGENT),
    ],
)
def test_whose_an_event_is(author: str, content: dict[str, Any] | None, speaker: Speaker) -> None:
    assert speaker_of(author, content) is speaker


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ({}, ""),
        (_content("a", "b"), "a\nb"),
        (_content(_THOUGHT, "a", ""), "a"),
        (_content(_CALL), '[call seat {"row":12}]'),
        (_content("Let me see.", _CALL), 'Let me see.\n[call seat {"row":12}]'),
        (_content(_RESULT), '[result seat {"free":true}]'),
        (_content({"functionCall": {}}), "[call unknown {}]"),
        (_content(_IMAGE), "[file image/png]"),
        (_content({"fileData": {"fileUri": "gs://b/o"}}), "[file of unknown type]"),
        (_content(_REFERENCE), "[kept off prompt: memory=m namespace=n, 9 bytes]"),
        (_content("See", _REFERENCE), "See\n[kept off prompt: memory=m namespace=n, 9 bytes]"),
        (_content({"executableCode": {"code": "1 + 1"}}), "[executableCode]"),
        (_content({"thoughtSignature": "AAAA"}), ""),
        (_content({}), ""),
    ],
)
def test_what_a_prompt_shows_of_an_event(content: dict[str, Any] | None, text: str) -> None:
    assert text_of(content) == text


@pytest.mark.parametrize(
    ("author", "content", "metadata", "step"),
    [
        ("user", _content("a"), None, Step.ASKS),
        ("user", _content(_IMAGE), None, Step.ASKS),
        # Changes of the state are sent in the user's name, too.
        ("user", None, None, Step.GOES_ON),
        ("user", _content(), None, Step.GOES_ON),
        ("user", _content(""), None, Step.GOES_ON),
        ("user", _content(_RESULT), None, Step.GOES_ON),
        ("agent", _content("a"), None, Step.ANSWERS),
        ("agent", _content("a"), {"partial": False}, Step.ANSWERS),
        ("agent", _content("a"), {"partial": True}, Step.GOES_ON),
        ("traveller", _content("a", role="user"), {"partial": True}, Step.GOES_ON),
        ("agent", _content(_IMAGE), {}, Step.ANSWERS),
        ("user", _content(_REFERENCE), None, Step.ASKS),
        ("tool", _content(_REFERENCE), None, Step.GOES_ON),
        ("agent", _content(_THOUGHT), None, Step.GOES_ON),
        ("agent", _content(_THOUGHT, "a"), None, Step.ANSWERS),
        ("agent", _content(_CALL), None, Step.GOES_ON),
        ("agent", _content("Let me see.", _CALL), None, Step.GOES_ON),
        ("agent", _content(_RESULT, role="user"), None, Step.GOES_ON),
        # An error, and nothing said.
        ("agent", None, None, Step.GOES_ON),
        ("agent", _content({"codeExecutionResult": {"output": "2"}}), None, Step.ANSWERS),
        ("system", _content("Be brief."), None, Step.GOES_ON),
        ("system", _content("Hello.", role="user"), None, Step.ASKS),
        ("developer", _content("Done.", role="model"), None, Step.ANSWERS),
        ("tool", _content("a"), None, Step.GOES_ON),
    ],
)
def test_what_an_event_does_for_its_exchange(
    author: str, content: dict[str, Any] | None, metadata: dict[str, Any] | None, step: Step
) -> None:
    assert step_of(author, content, metadata) is step


def _places(steps: str) -> list[tuple[int, int]]:
    """Return the exchange of each event, and the last complete one then; u, a and - are steps."""
    place, found = ExchangePlace(), []
    for step in steps:
        place = place.after({"u": Step.ASKS, "a": Step.ANSWERS, "-": Step.GOES_ON}[step])
        found.append((place.exchange, place.complete))
    return found


@pytest.mark.parametrize(
    ("steps", "places"),
    [
        ("ua", [(1, 0), (1, 1)]),
        ("u-a-u", [(1, 0), (1, 0), (1, 1), (1, 1), (2, 1)]),
        # Several messages of the user are one, until they are answered.
        ("uuaua", [(1, 0), (1, 0), (1, 1), (2, 1), (2, 2)]),
        ("uaau", [(1, 0), (1, 1), (1, 1), (2, 1)]),
        # What the agent says before any user is in no exchange.
        ("-aau", [(0, 0), (0, 0), (0, 0), (1, 0)]),
    ],
)
def test_where_exchanges_begin_and_are_complete(steps: str, places: list[tuple[int, int]]) -> None:
    assert _places(steps) == places

"""Items of the OpenAI Agents SDK as events, and back."""

from typing import Any, cast

import pytest

from open_memory_bank.openai_agents import event_of, items_of
from open_memory_bank.types import ContextMessage, ContextResponse

_CALL = {"type": "function_call", "call_id": "c1", "name": "seats", "arguments": '{"row": 12}'}
_OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "12A is free."}
_ASKED = {"role": "user", "content": "Is 12A free?"}
_THOUGHT = {"type": "reasoning", "id": "r1", "summary": []}
_SEARCH = {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"query": "x"}}
_SAID = {
    "type": "message",
    "role": "assistant",
    "id": "m1",
    "content": [
        {"type": "output_text", "text": "It is.", "annotations": []},
        {"type": "refusal", "refusal": "No more."},
    ],
}


def _called(name: str, call_id: str, **arguments: Any) -> Any:
    return {"functionCall": {"name": name, "id": call_id, "args": arguments}}


@pytest.mark.parametrize(
    ("item", "author", "role", "part"),
    [
        (_ASKED, "user", "user", {"text": "Is 12A free?"}),
        ({"role": "developer", "content": "Be brief."}, "developer", None, {"text": "Be brief."}),
        (_SAID, "agent", "assistant", {"text": "It is.\nNo more."}),
        ({"role": "user", "content": [{"type": "input_image"}]}, "user", None, "[input_image]"),
        ({"role": "user", "content": ""}, "user", None, {"text": " "}),
        (_CALL, "agent", "model", _called("seats", "c1", row=12)),
        ({**_CALL, "arguments": "no json"}, "agent", None, _called("seats", "c1", input="no json")),
        ({**_CALL, "arguments": "[1]"}, "agent", None, _called("seats", "c1", input=[1])),
        (
            _OUTPUT,
            "tool",
            "tool",
            {
                "functionResponse": {
                    "name": "function_call",
                    "id": "c1",
                    "response": {"output": "12A is free."},
                }
            },
        ),
        (
            _SEARCH,
            "agent",
            "model",
            _called("web_search_call", "w1", status="completed", action={"query": "x"}),
        ),
    ],
)
def test_an_item_is_an_event_that_says_it(item: Any, author: str, role: Any, part: Any) -> None:
    event = event_of(item, [], "run-1")
    assert (event["author"], event["invocationId"]) == (author, "run-1")
    assert event["rawEvent"] == {"item": item}
    content = event["content"] or {}
    assert content["parts"] == [{"text": part} if isinstance(part, str) else part]
    assert role in (content["role"], None)


def test_reasoning_stays_with_what_it_led_to() -> None:
    assert event_of(_CALL, [_THOUGHT], "r")["rawEvent"] == {"item": _CALL, "before": [_THOUGHT]}


def _message(seq: int, raw: Any, role: str = "user", content: str = "Text.") -> Any:
    source = {"kind": "event", "event": f"events/{seq}", "seq": seq}
    return {"role": role, "content": content, "source": source, "rawEvent": raw}


def _context(*messages: ContextMessage) -> ContextResponse:
    return cast("ContextResponse", {"messages": list(messages)})


def test_items_come_back_as_they_were() -> None:
    whole = _message(2, {"item": _SAID, "before": [_THOUGHT]})
    summary: Any = {"role": "user", "content": "Summary.", "source": {"kind": "summary"}}
    context = _context(summary, _message(1, {"item": _ASKED}), whole)
    told = {"role": "system", "content": "Summary."}
    assert list(items_of(context)) == [told, _ASKED, _THOUGHT, _SAID]


def test_events_that_were_cut_or_are_other_writers_are_messages() -> None:
    context = _context(_message(1, None), _message(2, {"x": 1}, "assistant"))
    said = [{"role": role, "content": "Text."} for role in ("user", "assistant")]
    assert list(items_of(context)) == said

"""What of a request is the user's new words."""

from types import SimpleNamespace
from typing import Any

import pytest

from open_memory_bank._lines import said

_ASKED: Any = {"role": "user", "content": "Where do I sit?"}
_SAID: Any = {"role": "assistant", "content": "At the window."}
_CALL: Any = {"type": "function_call", "call_id": "c", "name": "seats", "arguments": "{}"}
_OUTPUT: Any = {"type": "function_call_output", "call_id": "c", "output": "12A"}
_RESULT: Any = {"type": "tool_result", "tool_use_id": "t", "content": "12A"}


def _user(*parts: Any) -> Any:
    return {"role": "user", "content": list(parts)}


def _text(text: str) -> Any:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("entries", "lines", "query"),
    [
        ([], [], ""),
        ([_ASKED], ["Where do I sit?"], "Where do I sit?"),
        ([_ASKED, _SAID], ["Where do I sit?"], "Where do I sit?"),  # the begin of the answer
        ([_ASKED, _SAID, _ASKED, _SAID, _ASKED], ["Where do I sit?"], "Where do I sit?"),
        (
            [_ASKED, {"role": "developer", "content": "x"}, _user(_text("Hm"))],
            ["Where do I sit?", "Hm"],
            "Hm",
        ),
        ([_ASKED, _CALL, _OUTPUT], [], "Where do I sit?"),
        ([_OUTPUT], [], ""),
        ([_OUTPUT, _ASKED], ["Where do I sit?"], "Where do I sit?"),
        ([_ASKED, _SAID, _user(_RESULT)], [], "Where do I sit?"),
        ([_ASKED, _SAID, _user(_RESULT, _text("Go on."))], ["Go on."], "Go on."),
        ([_user(_text(" a "), {"type": "image"}, _text("b"))], ["a \nb"], "a \nb"),
        ([_user({"type": "image"}), {"role": "user", "content": None}], [], ""),
        (
            [SimpleNamespace(role="user", content=[SimpleNamespace(type="text", text="a")])],
            ["a"],
            "a",
        ),
    ],
)
def test_new_words_are_those_after_the_models_last(
    entries: Any, lines: list[str], query: str
) -> None:
    found = said(entries, "talk")
    assert [text for _, text in found.lines] == lines
    assert found.query == query


def test_a_mark_stands_for_the_talk_up_to_its_line() -> None:
    ((first, _),) = said([_ASKED], "talk").lines
    assert said([{"role": "system", "content": "x"}, _ASKED], "talk").lines[0][0] == first
    assert said([_ASKED, _user(_text("Hm"))], "talk").lines[0][0] == first
    others = [said([_ASKED], "other"), said([_ASKED, _SAID, _ASKED], "talk")]
    assert first not in {found.mark for found in others}

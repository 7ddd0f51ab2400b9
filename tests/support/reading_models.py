"""Readers that do what a model would: look into the prompt, and answer from what is there."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.bank import Json
from tests.support.model_server import Seen

_PASSAGE = re.compile(r"^\[(\d+)\] (.*?)(?=^\[\d+\] |\Z)", re.MULTILINE | re.DOTALL)
_TEXT = "Text:\n"


def prompt_of(seen: Mapping[str, Any]) -> str:
    """Return what the model is to work on, without its instructions."""
    return str(seen["messages"][-1]["content"])


def finder(fact: re.Pattern[str]) -> Callable[[Mapping[str, Any]], Json]:
    """Return a reader that answers with a sentence, if it is shown it, and cites its passage."""

    def answer(body: Mapping[str, Any]) -> Json:
        for number, passage in _PASSAGE.findall(prompt_of(body)):
            found = fact.search(passage)
            if found is not None:
                return {"answer": found[0], "citations": [int(number)]}
        return {"answer": "The passages do not say.", "citations": []}

    return answer


def part_of(seen: Seen) -> str:
    """Return the part of a text that a call for a summary brings, without what indents it."""
    _, mark, part = prompt_of(seen.body).partition(_TEXT)
    assert mark
    return unlined(part)


def unlined(part: str) -> str:
    """Return a part of a text without what indents its lines."""
    return re.sub("^  ", "", part, flags=re.MULTILINE)

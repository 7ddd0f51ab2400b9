"""A model that does as `cases.json` says, over the real protocol on the loopback address.

It is no good model: it repeats a question as a fact, gives quotes that are in no line, and follows
orders in the text. What of that becomes a memory is what the benchmark counts.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.hygiene.cases import Case

_LINE = re.compile(r"^(\d+) ([UA])[^:]*: (.*)$", re.MULTILINE)
_NEW = re.compile(r"^(\d+)( FORGET)?: (.*)$", re.MULTILINE)
_MEMORY = re.compile(r"^(m\d+): (.*?)(?: \(before: .*\))?$", re.MULTILINE)


class Script:
    """Answers for all cases together: no line means two things in two of them."""

    def __init__(self, cases: list[Case]) -> None:
        self._facts = {line: facts for case in cases for line, facts in case.facts.items()}
        self._merges = {
            (new, memory): (action, text)
            for case in cases
            for new, memory, action, text in case.merges
        }

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a request of the chat protocol."""
        text = "\n".join(_texts(request["messages"]))
        if "\nMemories:\n" in text:
            return {"decisions": list(self._decisions(text))}
        return {"facts": list(self._extracted(text))}

    def _extracted(self, text: str) -> Iterator[dict[str, Any]]:
        for number, _, line in _LINE.findall(text):
            default = [{"fact": line}] if _ == "U" else None
            for fact in self._facts.get(line, default) or []:
                yield {
                    "quote": line,
                    "line": int(number),
                    "topics": ["KEY_CONVERSATION_DETAILS"],
                    "forget": False,
                    **fact,
                }

    def _decisions(self, text: str) -> Iterator[dict[str, Any]]:
        new, _, known = text.partition("\nMemories:\n")
        memories = _MEMORY.findall(known)
        for number, forget, fact in _NEW.findall(new.partition("New facts:\n")[2]):
            action, alias, merged = "add", "", ""
            for name, memory in memories:
                if forget:
                    action, alias = "delete", name
                elif (fact, memory) in self._merges:
                    action, merged = self._merges[fact, memory]
                    alias = name
            yield {"fact": int(number), "action": action, "memory": alias, "text": merged}


def _texts(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        content = message.get("content") or ""
        parts = content if isinstance(content, list) else [{"text": content}]
        yield from (part.get("text", json.dumps(part)) for part in parts)

"""A model that does as `cases.json` says, over the real protocol on the loopback address.

It is no good model when it extracts: it repeats a question as a fact, gives quotes that are in no
line, and follows orders in the text. Asked again, it tells the truth. What becomes a memory is what
the benchmark counts.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.language.text import undated
from benchmarks.hygiene.cases import Case
from tests.support.scripted import SecondPrompt, verdict, verdicts

_LINE = re.compile(r"^(\d+) ([UA])[^:]*: (.*)$", re.MULTILINE)


class Script:
    """Answers for all cases together: no line means two things in two of them."""

    def __init__(self, cases: list[Case]) -> None:
        self._facts = {line: facts for case in cases for line, facts in case.facts.items()}
        self._merges = {
            (new, memory): (action, text)
            for case in cases
            for new, memory, action, text in case.merges
        }
        self._forgets = {(thing, memory) for case in cases for thing, memory in case.forgets}
        self._lies = {fact for case in cases for fact in case.lies}
        self._told = {fact: case for case in cases for fact in _facts_of(case)}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a request of the chat protocol."""
        text = "\n".join(_texts(request["messages"]))
        second = SecondPrompt.read(text)
        if second is not None:
            return verdicts(*self._verdicts(second))
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

    def _verdicts(self, shown: SecondPrompt) -> Iterator[dict[str, Any]]:
        for number, fact in enumerate(shown.facts):
            if number in shown.forgets:
                yield from self._forgotten(number, fact, shown)
                continue
            said = undated(fact)
            about = [
                (alias, *self._merges[said, memory])
                for alias, memory in shown.memories.items()
                if (said, memory) in self._merges
            ]
            holds = self._holds(said)
            for alias, action, text in about or [("", "add", "")]:
                yield verdict(action, alias, text, number, holds=holds)

    def _holds(self, fact: str) -> bool:
        """Return True if somebody says a fact of themselves, rather than asks or greets."""
        case = self._told.get(fact)
        true = [] if case is None or fact in self._lies else [*case.live, *case.gone]
        return any(re.search(pattern, fact) for pattern in true)

    def _forgotten(self, number: int, thing: str, shown: SecondPrompt) -> Iterator[dict[str, Any]]:
        meant = [
            alias for alias, memory in shown.memories.items() if (thing, memory) in self._forgets
        ]
        for alias in meant:
            yield verdict("delete", alias, number=number)
        if not meant:
            yield verdict("add", number=number)


def _facts_of(case: Case) -> Iterator[str]:
    """Yield all that the script may extract of a case."""
    for conversation in case.conversations:
        yield from (text for _, text in conversation)
    for facts in case.facts.values():
        yield from (fact["fact"] for fact in facts or [])


def _texts(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        content = message.get("content") or ""
        parts = content if isinstance(content, list) else [{"text": content}]
        yield from (part.get("text", json.dumps(part)) for part in parts)

"""A truthful model: it answers the prompts of the service by the case that is under way.

It knows nothing but the case and what the prompt shows. A prompt that it cannot read is an error of
the benchmark, not a reply.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.model_output.cases import Fact, Step, normalized
from benchmarks.model_output.weakness import Weakness
from tests.support.scripted import SecondPrompt

_LINE = re.compile(r"^(\d+) ([UA])(?: \d{4}-\d\d-\d\d \w{3})?: (.*)$", re.MULTILINE)
_TOPIC = re.compile(r"^  (\S+):", re.MULTILINE)
_AGAIN = "\n\nYour last answer was invalid:"
"""Words before the fault of an answer that is asked for again."""
_SHOWN_CHARS = 500
"""A long memory is shown in part; the rest of it is not compared."""


class Script:
    """Answers for one step at a time; `error` says what could not be answered."""

    def __init__(self, *, blind: bool = False, weakness: Weakness | None = None) -> None:
        self.step = Step()
        self.error: str | None = None
        self._blind = blind
        self._weakness = weakness

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any] | str:
        """Return the reply to a request of the chat protocol."""
        try:
            found = self._answer(list(_texts(request["messages"])))
        except ValueError as error:
            self.error = str(error)
            raise
        return found if self._weakness is None else self._weakness.spoil(found)

    def _answer(self, texts: Sequence[str]) -> dict[str, Any]:
        text = "\n".join(texts).partition(_AGAIN)[0]
        second = SecondPrompt.read(text)
        if second is not None:
            return {"verdicts": list(self._verdicts(second))}
        lines = _LINE.findall(text)
        if not lines:
            raise ValueError(f"no lines of a conversation in: {text[-300:]}")
        topics = _TOPIC.findall(texts[0])
        return {"facts": list(self._facts(lines, topics))}

    def _facts(
        self, lines: Sequence[tuple[str, str, str]], topics: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        said = [(one.fact, one.quote, False) for one in self.step.facts]
        said += [(one.thing, one.quote, True) for one in self.step.forgets]
        for fact, quote, forget in said:
            line = _line_of(quote, lines)
            yield {"fact": fact, "quote": quote, "line": line, "topics": topics, "forget": forget}

    def _verdicts(self, shown: SecondPrompt) -> Iterator[dict[str, Any]]:
        aliases = {normalized(text[:_SHOWN_CHARS]): one for one, text in shown.memories.items()}
        known = {normalized(one.fact): one for one in self.step.facts}
        known |= {normalized(one): Fact(fact=one) for one in self.step.direct_memories}
        for number, fact in enumerate(shown.facts):
            if number in shown.forgets:
                yield from self._forgotten(number, fact, aliases)
            elif (one := known.get(normalized(fact))) is not None:
                yield from self._decided(number, one, aliases)

    def _decided(
        self, number: int, one: Fact, aliases: Mapping[str, str]
    ) -> Iterator[dict[str, Any]]:
        verdict = {"fact": number, "holds": self._blind or one.supported}
        meant = [
            {"action": decision.action, "memory": alias, "text": decision.text}
            for decision in self.step.decisions
            if normalized(decision.fact) == normalized(one.fact)
            and (alias := aliases.get(normalized(decision.memory[:_SHOWN_CHARS]))) is not None
        ]
        for about in meant or [{"action": "add", "memory": "", "text": ""}]:
            yield verdict | about

    def _forgotten(
        self, number: int, thing: str, aliases: Mapping[str, str]
    ) -> Iterator[dict[str, Any]]:
        meant = [
            aliases[normalized(text[:_SHOWN_CHARS])]
            for one in self.step.forgets
            if normalized(one.thing) == normalized(thing)
            for text in one.memories
            if normalized(text[:_SHOWN_CHARS]) in aliases
        ]
        for alias in meant:
            yield {"fact": number, "holds": True, "action": "delete", "memory": alias, "text": ""}
        if not meant:
            yield {"fact": number, "holds": True, "action": "add", "memory": "", "text": ""}


def _line_of(quote: str, lines: Sequence[tuple[str, str, str]]) -> int:
    wanted = normalized(quote)
    users = ((number, text) for number, role, text in lines if role == "U")
    return next((int(number) for number, text in users if wanted in normalized(text)), 0)


def _texts(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        content = message.get("content") or ""
        parts = content if isinstance(content, list) else [{"text": content}]
        yield from (part.get("text", json.dumps(part)) for part in parts)

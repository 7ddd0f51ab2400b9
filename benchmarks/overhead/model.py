"""A text model that costs nothing: it repeats what the user says, and knows what replaces what."""

import re
from collections.abc import Iterator

from typing_extensions import override

from app.adapters.llm.ports import Attachment, Meter, OutputT, Prompt, TextModel
from benchmarks.overhead.timeline import Timeline
from tests.support.scripted import SecondPrompt, verdict, verdicts
from tests.support.scripted_models import Reply, ScriptedQuery, ScriptedTextModel

_LINE = re.compile(r"^(\d+) U[^:]*: (.*)$", re.MULTILINE)
_REPLACED = (
    ("I moved to ", ("I moved to ", "I live in ")),
    ("My favourite colour is ", ("My favourite colour is ",)),
)
"""How new facts begin, and how the memories that each takes the place of."""


class SparedModel(TextModel):
    """The scripted model; its CPU time is not counted."""

    def __init__(self, timeline: Timeline) -> None:
        self._inner = ScriptedTextModel(_answer)
        self._timeline = timeline
        self.model_id = self._inner.model_id
        self.max_input_tokens = self._inner.max_input_tokens

    @override
    def reads(self, attachment: Attachment) -> bool:
        return self._inner.reads(attachment)

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        async with self._timeline.spared():
            return await self._inner.ask(prompt, output, meter)


def _answer(asked: ScriptedQuery) -> Reply:
    second = SecondPrompt.read(asked.prompt.text)
    if second is not None:
        memories = list(second.memories.items())
        return verdicts(*(_decided(n, fact, memories) for n, fact in enumerate(second.facts)))
    lines = _LINE.findall(asked.prompt.text)
    return {"facts": [_fact(int(number), text) for number, text in lines]}


def _fact(line: int, text: str) -> dict[str, object]:
    topics = ["USER_PREFERENCES"]
    return {"fact": text, "quote": text, "line": line, "topics": topics, "forget": False}


def _decided(number: int, fact: str, memories: list[tuple[str, str]]) -> dict[str, object]:
    for alias in _overruled(fact, memories):
        return verdict("replace", alias, fact, number)
    return verdict("add", number=number)


def _overruled(fact: str, memories: list[tuple[str, str]]) -> Iterator[str]:
    for new, olds in _REPLACED:
        if fact.startswith(new):
            yield from (alias for alias, memory in memories if memory.startswith(olds))

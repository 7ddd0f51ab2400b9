"""A text model that costs nothing: it repeats what the user says, and knows what replaces what."""

import re
from collections.abc import Iterator

from typing_extensions import override

from app.llm.ports import Attachment, Meter, OutputT, Prompt, TextModel
from app.llm.scripted import Asked, Reply, ScriptedTextModel
from benchmarks.overhead.timeline import Timeline

_LINE = re.compile(r"^(\d+) U[^:]*: (.*)$", re.MULTILINE)
_NEW = re.compile(r"^(\d+): (.*)$", re.MULTILINE)
_MEMORY = re.compile(r"^(m\d+): (.*)$", re.MULTILINE)
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


def _answer(asked: Asked) -> Reply:
    new, is_merging, known = asked.prompt.text.partition("\nMemories:\n")
    if is_merging:
        memories = _MEMORY.findall(known)
        return {"decisions": [_decision(int(n), fact, memories) for n, fact in _NEW.findall(new)]}
    return {"facts": [_fact(int(number), text) for number, text in _LINE.findall(new)]}


def _fact(line: int, text: str) -> dict[str, object]:
    topics = ["USER_PREFERENCES"]
    return {"fact": text, "quote": text, "line": line, "topics": topics, "forget": False}


def _decision(number: int, fact: str, memories: list[tuple[str, str]]) -> dict[str, object]:
    for alias in _overruled(fact, memories):
        return {"fact": number, "action": "replace", "memory": alias, "text": fact}
    return {"fact": number, "action": "add", "memory": "", "text": ""}


def _overruled(fact: str, memories: list[tuple[str, str]]) -> Iterator[str]:
    for new, olds in _REPLACED:
        if fact.startswith(new):
            yield from (alias for alias, memory in memories if memory.startswith(olds))

"""Writes one summary: by a model, or without one by the weightiest sentences.

A model that writes more than it should is asked once more; what is then still too long is cut off
at the end of a sentence. What is too long for the model's window is folded in: one piece of the
conversation after the other, each time with the summary of those before.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

from pydantic import ConfigDict
from typing_extensions import override

from app.adapters.llm.models import TextModels
from app.adapters.llm.ports import Meter, Prompt, TextModel
from app.conversation.strategies.logic.composing import Due, Kind
from app.conversation.strategies.logic.lines import label_of, lines_of
from app.conversation.strategies.logic.policies import BUILTIN, Rules, Summarising
from app.conversation.summaries.logic import prompts
from app.conversation.summaries.logic.extractive import MODEL_ID, Piece, extract
from app.kernel.errors import ServiceError
from app.kernel.wire.model_text import ModelText, Told
from app.language.beginnings import cut_off
from app.platform.sessions.logic.spoken import Said

_SCHEMA_TOKENS = 200
"""What the shape of the reply takes of a model's window."""
_LEAST_ROOM = 200
_BYTES_PER_TOKEN = 3
"""Rather too few than too many: what is sent must fit."""


class Reply(Told):
    """What a model answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    summary: ModelText

    @classmethod
    @override
    def of_prose(cls, text: str) -> Self:
        return cls(summary=text)


@dataclass(frozen=True)
class Task:
    """A summary to write.

    Attributes:
        said: the events to read, in their order.
        previous: the texts of the summaries that it takes up, oldest first.
    """

    due: Due
    rules: Rules
    made: Summarising
    said: Sequence[Said]
    previous: Sequence[str]

    @property
    def template(self) -> str:
        """What a model is told of it, with places for what it is told it of."""
        is_merge = self.due.kind is Kind.MERGE
        return prompts.template_of(self.made, is_merge=is_merge, follows=bool(self.due.previous))


@dataclass(frozen=True)
class Summarised:
    """A summary that was written; `is_cut`: its end is missing."""

    text: str
    is_cut: bool = False


def model_for(models: TextModels, made: Summarising) -> TextModel | None:
    """Return the model that summarises; None: sentences are chosen by their weight."""
    return None if made.model == BUILTIN else models.choose(made.model)


def name_of(model: TextModel | None) -> str:
    """Return what a summary says has made it."""
    return MODEL_ID if model is None else model.model_id


async def summarise(model: TextModel | None, task: Task, meter: Meter) -> Summarised:
    """Write a summary; what the model takes is added to `meter`. No transaction may be open.

    Raises:
        ServiceError: the model fails, as `TextModel.ask` has it.
    """
    if model is None:
        # Of a few pages it takes as long as several requests.
        return Summarised(await asyncio.to_thread(_extracted, task))
    is_merge = task.due.kind is Kind.MERGE
    lines = prompts.merged_lines(task.previous) if is_merge else _lines(task)
    so_far = "" if is_merge else "\n".join(task.previous)
    if not lines:
        # All that was to be read has been erased.
        text = cut_off(so_far, task.due.chars)
        return Summarised(text, is_cut=text != so_far)
    return await _Folding(model, task, meter).fold(lines, so_far)


def _lines(task: Task) -> list[str]:
    return lines_of(task.said, task.rules)


def _extracted(task: Task) -> str:
    old = (Piece("", text, is_summary=True) for text in task.previous)
    new = (Piece(label_of(one.speaker, task.rules), one.text) for one in task.said if one.text)
    return extract(chain(old, new), task.due.chars)


@dataclass(frozen=True)
class _Folding:
    model: TextModel
    task: Task
    meter: Meter

    async def fold(self, lines: Sequence[str], so_far: str) -> Summarised:
        """Summarise lines, in as many steps as the model's window makes necessary."""
        rest = list(lines)
        template = self.task.template
        while True:
            piece = self._piece(rest, template, so_far)
            chars = self.task.due.chars
            written = await self._ask(prompts.filled(template, piece, so_far, chars))
            if not rest:
                return written
            so_far, template = written.text, prompts.following(self.task.made)

    def _piece(self, rest: list[str], template: str, so_far: str) -> list[str]:
        """Take off the lines for which there is room; of one that is longer than that, a part."""
        chars = self.task.due.chars
        told = prompts.instructions(chars, chars) + prompts.filled(template, (), so_far, chars)
        left = max(self.model.max_input_tokens - _SCHEMA_TOKENS - _tokens(told), _LEAST_ROOM)
        if _tokens(rest[0]) > left:
            size = left * _BYTES_PER_TOKEN
            head = rest[0].encode()[:size].decode(errors="ignore")
            rest[0] = rest[0][len(head) :]
            return [head]
        count = 0
        while count < len(rest) and _tokens(rest[count]) <= left:
            left -= _tokens(rest[count])
            count += 1
        taken = rest[:count]
        del rest[:count]
        return taken

    async def _ask(self, text: str) -> Summarised:
        chars = self.task.due.chars
        first = await self._said(text, None)
        if len(first) <= chars:
            return Summarised(first)
        try:
            second = await self._said(text, len(first))
        except ServiceError:
            # What is there is paid for, and better cut off than lost.
            second = first
        is_cut = len(second) > chars
        return Summarised(cut_off(second, chars) if is_cut else second, is_cut)

    async def _said(self, text: str, written: int | None) -> str:
        told = prompts.instructions(self.task.due.chars, written)
        reply = await self.model.ask(Prompt(told, text), Reply, self.meter)
        return reply.summary


def _tokens(text: str) -> int:
    """Return about how many tokens a line has, its end included."""
    return len(text.encode(errors="replace")) // _BYTES_PER_TOKEN + 1

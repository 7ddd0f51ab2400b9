"""Writing of one summary, by a model or by selecting the sentences of highest weight.

If a model's reply is too long, the model is called once more. A second reply that is too long is
cut at the end of a sentence. A conversation too long for the model's window is summarised piece by
piece, each with the summary of the pieces before it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from app.adapters.llm.models import TextModels
from app.adapters.llm.ports import Meter, Prompt, TextModel
from app.conversation.strategies.logic.lines import label_of, lines_of
from app.conversation.strategies.logic.policies import Rules, Summarising
from app.conversation.strategies.logic.turns import Due, TurnKind
from app.conversation.summaries import logic as prompts
from app.conversation.summaries.logic import MODEL_ID, Utterance, extract
from app.kernel.errors import ServiceError
from app.kernel.wire.memory_policy import BUILTIN
from app.kernel.wire.model_entries import SummaryReply
from app.language.sentences import cut_off
from app.language.tokens import BYTES_PER_TOKEN, estimate_tokens_of_bytes
from app.platform.sessions.logic.event_text import EventText

_SCHEMA_TOKENS = 200
"""Tokens reserved in a model's window for the schema of the reply."""
_LEAST_ROOM = 200


class Reply(SummaryReply):
    """Reply of a model that summarises."""


@dataclass(frozen=True)
class SummaryTask:
    """A summary to write.

    Attributes:
        said: the events to read, in order.
        previous: texts of the summaries to absorb, oldest first.
    """

    due: Due
    rules: Rules
    summarising: Summarising
    said: Sequence[EventText]
    previous: Sequence[str]

    @property
    def template(self) -> str:
        """Prompt template, with placeholders."""
        is_merge = self.due.kind is TurnKind.MERGE
        return prompts.template_of(
            self.summarising, is_merge=is_merge, follows=bool(self.due.previous)
        )


@dataclass(frozen=True)
class WrittenSummary:
    """A written summary; `is_cut` is True if its end is missing."""

    text: str
    is_cut: bool = False


def model_for(models: TextModels, summarising: Summarising) -> TextModel | None:
    """Return the model that summarises; None: the built-in selection of sentences."""
    return None if summarising.model == BUILTIN else models.choose(summarising.model)


def name_of(model: TextModel | None) -> str:
    """Return the model id to report for a summary."""
    return MODEL_ID if model is None else model.model_id


async def summarise(model: TextModel | None, task: SummaryTask, meter: Meter) -> WrittenSummary:
    """Write a summary, and add its usage to `meter`. No transaction may be open.

    Raises:
        ServiceError: the model fails; see `TextModel.ask`.
    """
    if model is None:
        # Extraction is slow: a few pages take as long as several requests.
        return WrittenSummary(await asyncio.to_thread(_extracted, task))
    is_merge = task.due.kind is TurnKind.MERGE
    lines = prompts.merged_lines(task.previous) if is_merge else lines_of(task.said, task.rules)
    so_far = "" if is_merge else "\n".join(task.previous)
    if not lines:
        # Everything to read has been erased.
        text = cut_off(so_far, task.due.chars)
        return WrittenSummary(text, is_cut=text != so_far)
    return await _Folding(model, task, meter).fold(lines, so_far)


def _extracted(task: SummaryTask) -> str:
    old = (Utterance("", text, is_summary=True) for text in task.previous)
    new = (
        Utterance(label_of(event.speaker, task.rules), event.text)
        for event in task.said
        if event.text
    )
    return extract(chain(old, new), task.due.chars)


@dataclass(frozen=True)
class _Folding:
    model: TextModel
    task: SummaryTask
    meter: Meter

    async def fold(self, lines: Sequence[str], so_far: str) -> WrittenSummary:
        """Summarise lines in as many calls as the model's window requires."""
        rest = list(lines)
        template = self.task.template
        while True:
            piece = self._piece(rest, template, so_far)
            chars = self.task.due.chars
            written = await self._ask(prompts.filled(template, piece, so_far, chars))
            if not rest:
                return written
            so_far, template = written.text, prompts.following(self.task.summarising)

    def _piece(self, rest: list[str], template: str, so_far: str) -> list[str]:
        """Remove and return the lines that fit, or a part of the first line if it is too long."""
        chars = self.task.due.chars
        text = prompts.instructions(chars, chars) + prompts.filled(template, (), so_far, chars)
        left = max(self.model.max_input_tokens - _SCHEMA_TOKENS - _tokens(text), _LEAST_ROOM)
        if _tokens(rest[0]) > left:
            size = left * BYTES_PER_TOKEN
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

    async def _ask(self, text: str) -> WrittenSummary:
        chars = self.task.due.chars
        first = await self._ask_model(text, None)
        if len(first) <= chars:
            return WrittenSummary(first)
        try:
            second = await self._ask_model(text, len(first))
        except ServiceError:
            # The first reply is already paid for, and a cut summary is better than none.
            second = first
        is_cut = len(second) > chars
        return WrittenSummary(cut_off(second, chars) if is_cut else second, is_cut)

    async def _ask_model(self, text: str, written: int | None) -> str:
        instructions = prompts.instructions(self.task.due.chars, written)
        reply = await self.model.ask(Prompt(instructions, text), Reply, self.meter)
        return reply.summary


def _tokens(text: str) -> int:
    return estimate_tokens_of_bytes(text, "replace")

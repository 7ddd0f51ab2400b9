"""A text model that is asked over the network: ways of asking, deadline, costs and log lines."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog
from pydantic import BaseModel
from typing_extensions import override

from app.adapters.llm.asking import answered
from app.adapters.llm.media import reads
from app.adapters.llm.modes import Ways
from app.adapters.llm.ports import Attachment, Meter, OutputT, Prompt, TextModel, Usage
from app.adapters.llm.provider import Provider, RequestFailed, Target
from app.kernel.guard import refuse_inside_transaction
from app.settings.settings import OutputMode, Settings

_log = structlog.get_logger(__name__)

_MODE_REFUSED = (400, 422, 501)
"""What servers answer to a way of asking that they do not know."""


@dataclass(frozen=True)
class Question:
    """What one request asks; `fault` is what was wrong with the first answer."""

    prompt: Prompt
    output: type[BaseModel]
    fault: str | None = None

    @property
    def text(self) -> str:
        """The text of the prompt, after a first answer with a request to mend it."""
        if self.fault is None:
            return self.prompt.text
        return (
            f"{self.prompt.text}\n\nYour last answer was invalid: {self.fault}"
            " Answer again, with the JSON object alone."
        )


@dataclass(frozen=True)
class Said:
    """What a model answered to one request."""

    text: str
    input_tokens: int
    output_tokens: int


class Channel(Protocol):
    """The way to one model at one provider."""

    modes: Sequence[OutputMode]
    """How it can be asked for a structure, the most reliable way first."""
    media_types: Sequence[str]
    """Of files that it reads; patterns such as `image/*`."""
    schemes: Sequence[str]
    """Of references to images that the provider fetches."""

    async def send(self, question: Question, mode: OutputMode) -> Said:
        """Make one request.

        Raises:
            RequestFailed: it brought no answer.
            Unread: the reply is not read.
        """
        ...


class RemoteTextModel(TextModel):
    """Asks through a channel; invalid answers once more, by the ways that its server takes."""

    def __init__(
        self, target: Target, channel: Channel, provider: Provider, settings: Settings
    ) -> None:
        self.model_id = target.model
        self._target = target
        self.max_input_tokens = settings.model_max_input_tokens
        self._channel = channel
        self._provider = provider
        self._timeout_seconds = settings.model_timeout_seconds
        self._ways = Ways(self.model_id, channel.modes, settings.model_mode_retry_seconds)

    @override
    def reads(self, attachment: Attachment) -> bool:
        return reads(attachment, self._channel.media_types, self._channel.schemes)

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        refuse_inside_transaction("Asking a model")
        deadline = asyncio.get_running_loop().time() + self._timeout_seconds

        async def request(fault: str | None) -> str:
            question = Question(prompt, output, fault)
            return await self._provider.call(
                lambda: self._said(question, meter), deadline, self._target
            )

        return await answered(request, output)

    async def _said(self, question: Question, meter: Meter) -> str:
        """Ask in the best way; where the server refuses that, in the next."""
        now = asyncio.get_running_loop().time
        refusals: list[tuple[OutputMode, RequestFailed]] = []
        for mode in self._ways.order(now()):
            try:
                text = await self._request(question, mode, meter)
            except RequestFailed as failed:
                if failed.status not in _MODE_REFUSED:
                    raise
                refusals.append((mode, failed))
            else:
                self._ways.worked(mode, refusals, now())
                return text
        # The refusal of the best way: that of another may be of the way alone.
        raise refusals[0][1]

    async def _request(self, question: Question, mode: OutputMode, meter: Meter) -> str:
        """Make one request, count it, and log what became of it; a failed one has no tokens."""
        loop = asyncio.get_running_loop()
        began, said = loop.time(), None
        told: Mapping[str, int | str | None] = {}
        try:
            said = await self._channel.send(question, mode)
        except RequestFailed as failed:
            told = failed.told
            raise
        finally:
            tokens = (said.input_tokens, said.output_tokens) if said is not None else (0, 0)
            usage = Usage(1, *tokens, milliseconds=round((loop.time() - began) * 1000))
            meter.add(self.model_id, usage)
            _log.info(
                "model.called",
                model=self.model_id,
                mode=mode.value,
                outcome="failed" if said is None else "answered",
                milliseconds=usage.milliseconds,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                **told,
            )
        return said.text

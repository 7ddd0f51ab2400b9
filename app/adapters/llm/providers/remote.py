"""A text model over the network: output modes, deadline, costs and log lines."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog
from prometheus_client import Histogram
from pydantic import BaseModel
from typing_extensions import override

from app.adapters import tracing
from app.adapters.llm.asking import answered
from app.adapters.llm.media import reads
from app.adapters.llm.modes import Ways
from app.adapters.llm.ports import Attachment, Meter, OutputT, Prompt, TextModel, Usage
from app.adapters.llm.provider import Provider, ProviderTarget, RequestFailed
from app.kernel.guard import refuse_inside_transaction
from app.settings.settings import OutputMode, Settings

_log = structlog.get_logger(__name__)

_SECONDS = Histogram(
    "memory_bank_model_call_seconds",
    "Time from a request to a model to its answer or failure.",
    ["model"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120),
)
_MODE_REFUSED = (400, 422, 501)
"""Statuses with which servers refuse an unknown output mode."""


@dataclass(frozen=True)
class Question:
    """The content of one request; `fault` is the fault of the first answer."""

    prompt: Prompt
    output: type[BaseModel]
    fault: str | None = None

    @property
    def text(self) -> str:
        """The text of the prompt; after an invalid answer, with a request to correct it."""
        if self.fault is None:
            return self.prompt.text
        return (
            f"{self.prompt.text}\n\nYour last answer was invalid: {self.fault}"
            " Answer again, with the JSON object alone."
        )


@dataclass(frozen=True)
class ChannelReply:
    """A model's answer to one request."""

    text: str
    input_tokens: int
    output_tokens: int


class Channel(Protocol):
    """The channel to one model at one provider."""

    modes: Sequence[OutputMode]
    """The output modes that it supports, the most reliable first."""
    media_types: Sequence[str]
    """Media types of files that it reads; patterns such as `image/*`."""
    schemes: Sequence[str]
    """URI schemes of image references that the provider fetches."""

    async def send(self, question: Question, mode: OutputMode) -> ChannelReply:
        """Make one request.

        Raises:
            RequestFailed: there was no answer.
            Unread: the reply is not read.
        """
        ...


class RemoteTextModel(TextModel):
    """A text model that asks through a channel, in the modes that its server accepts.

    It retries an invalid answer once.
    """

    def __init__(
        self, target: ProviderTarget, channel: Channel, provider: Provider, settings: Settings
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
                lambda: self._answer(question, meter), deadline, self._target
            )

        return await answered(request, output)

    async def _answer(self, question: Question, meter: Meter) -> str:
        """Ask in the best mode; if the server refuses that, in the next."""
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
        # The refusal of the best mode: that of another may concern the mode alone.
        raise refusals[0][1]

    async def _request(self, question: Question, mode: OutputMode, meter: Meter) -> str:
        """Make one request, count it, and log its outcome; a failed one has no tokens."""
        loop = asyncio.get_running_loop()
        began, answer = loop.time(), None
        failure: Mapping[str, int | str | None] = {}
        try:
            with tracing.span("model", model=self.model_id):
                answer = await self._channel.send(question, mode)
        except RequestFailed as failed:
            failure = failed.log_fields
            raise
        finally:
            tokens = (answer.input_tokens, answer.output_tokens) if answer is not None else (0, 0)
            seconds = loop.time() - began
            _SECONDS.labels(self.model_id).observe(seconds)
            usage = Usage(1, *tokens, milliseconds=round(seconds * 1000))
            meter.add(self.model_id, usage)
            _log.info(
                "model.called",
                model=self.model_id,
                mode=mode.value,
                outcome="failed" if answer is None else "answered",
                milliseconds=usage.milliseconds,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                **failure,
            )
        return answer.text

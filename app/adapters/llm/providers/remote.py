"""A text model over the network: output modes, deadline, costs and log lines."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import structlog
from prometheus_client import Histogram
from typing_extensions import override

from app.adapters import tracing
from app.adapters.llm.breaker import now
from app.adapters.llm.modes import Ways
from app.adapters.llm.ports import (
    Attachment,
    ChannelReply,
    Ending,
    Learnt,
    Meter,
    OutputT,
    Prompt,
    Question,
    TextModel,
    Usage,
)
from app.adapters.llm.provider import Provider, ProviderTarget, RequestFailed
from app.adapters.llm.refusals import OutputLimit
from app.adapters.llm.replies import CutText, answered
from app.kernel.errors import BadGateway, Reason
from app.kernel.guard import refuse_inside_transaction
from app.kernel.wire.model_entries import EntriesReply
from app.settings.settings import OutputMode, Settings

if TYPE_CHECKING:
    from app.adapters.llm.providers.text import Channel

_log = structlog.get_logger(__name__)

_SECONDS = Histogram(
    "memory_bank_model_call_seconds",
    "Time from a request to a model to its answer or failure.",
    ["model"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120),
)
_LIMIT_REFUSED = (400, 413, 422)
_MOST_LIMITS = 3
"""Limits of the answer that one question tries after the first."""


class RemoteTextModel(TextModel):
    """A text model that asks through a channel, in the modes that its server accepts.

    It retries an invalid answer once. Where the server refuses the longest answer or its name, it
    takes what the server's words ask for, also for later questions.
    """

    def __init__(
        self, target: ProviderTarget, channel: "Channel", provider: Provider, settings: Settings
    ) -> None:
        self.model_id = target.model
        self._target = target
        self.max_input_tokens = settings.model_max_input_tokens
        self._channel = channel
        self._provider = provider
        self._timeout_seconds = settings.model_timeout_seconds
        self._ways = Ways(self.model_id, channel.modes, settings.tuning.model_mode_retry_seconds)
        self._limit = channel.limit

    @property
    @override
    def learnt(self) -> Learnt | None:
        mode = self._ways.latest
        return Learnt(mode, self._ways.refused, self._limit.tokens) if mode else None

    @override
    def reads(self, attachment: Attachment) -> bool:
        kind, channel = attachment.media_type.lower(), self._channel
        if not any(fnmatchcase(kind, taken) for taken in channel.media_types):
            return False
        # A reference is passed on for the provider to fetch, never fetched here, so that no one can
        # make this service call addresses of its network. Only images are passed on so.
        scheme = (attachment.uri or "").partition("://")[0].lower()
        is_fetched = scheme in channel.schemes and kind.startswith("image/")
        return attachment.data is not None or is_fetched

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        refuse_inside_transaction("Asking a model")
        deadline = now() + self._timeout_seconds
        ending = Ending.WHOLE

        async def request(fault: str | None) -> str:
            nonlocal ending
            ending, question = Ending.WHOLE, Question(prompt, output, fault)
            reply = await self._provider.call(
                lambda: self._answer(question, meter), deadline, self._target
            )
            ending = reply.ending
            return CutText(reply.text) if ending is Ending.CUT else reply.text

        try:
            answer = await answered(request, output)
        except BadGateway:
            if ending is Ending.WHOLE:
                raise
            raise self._ended_early(ending) from None
        if isinstance(answer, EntriesReply) and ending is Ending.CUT:
            answer.mark_cut(self._ended_early(ending).message)
        return answer

    def _ended_early(self, ending: Ending) -> BadGateway:
        """Return the error about an answer that is of no use because it ends early."""
        message = f"The answer of {self.model_id} {ending.value}."
        if ending is Ending.CUT:
            is_learnt = self._limit.tokens < self._channel.limit.tokens
            most = f"{self._limit.tokens:,} tokens{', as its server demands' if is_learnt else ''}"
            message = f"{message[:-1]} ({most}); see MEMORY_BANK_MODEL_MAX_OUTPUT_TOKENS."
        return BadGateway(message, Reason.MODEL_OUTPUT_INVALID)

    async def _answer(self, question: Question, meter: Meter) -> ChannelReply:
        """Ask in the best mode; if the server refuses that, in the next."""
        refusals: dict[OutputMode, RequestFailed] = {}
        for mode in self._ways.order():
            try:
                reply = await self._within_limit(question, mode, meter)
            except RequestFailed as failed:
                if not failed.is_of_mode:
                    raise
                refusals[mode] = failed
            else:
                self._ways.worked(mode, refusals)
                return reply
        # The refusal of the best mode: that of another may concern the mode alone.
        raise next(iter(refusals.values()))

    async def _within_limit(
        self, question: Question, mode: OutputMode, meter: Meter
    ) -> ChannelReply:
        """Ask for an answer of the greatest length that the server takes."""
        limit = known = self._limit
        for attempt in range(_MOST_LIMITS + 1):
            try:
                reply = await self._request(question, mode, limit, meter)
            except RequestFailed as failed:
                other = limit.after(failed.words.whole) if failed.status in _LIMIT_REFUSED else None
                if other is None or attempt == _MOST_LIMITS:
                    raise
                limit = other
            else:
                if limit is not known:
                    # What another question has learnt meanwhile stays otherwise.
                    self._learn(limit.lasting)
                return reply
        raise AssertionError("The last attempt returns or raises.")

    def _learn(self, limit: OutputLimit) -> None:
        if limit != self._limit:
            _log.warning(
                "model.output_limit_changed",
                model=self.model_id,
                tokens=limit.tokens,
                name=limit.name,
                setting="MEMORY_BANK_MODEL_MAX_OUTPUT_TOKENS",
            )
        self._limit = limit

    async def _request(
        self, question: Question, mode: OutputMode, limit: OutputLimit, meter: Meter
    ) -> ChannelReply:
        """Make one request, count it, and log its outcome; a failed one has no tokens."""
        began, answer = now(), None
        failure: Mapping[str, int | str | None] = {}
        try:
            with tracing.span("model", model=self.model_id):
                answer = await self._channel.send(question, mode, limit)
        except RequestFailed as failed:
            failure = failed.log_fields
            raise
        finally:
            tokens = (answer.input_tokens, answer.output_tokens) if answer is not None else (0, 0)
            seconds = now() - began
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
        return answer

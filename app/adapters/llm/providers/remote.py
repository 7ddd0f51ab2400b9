"""A text model over the network: output modes, deadline, costs and log lines."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import structlog
from prometheus_client import Gauge, Histogram
from typing_extensions import override

from app.adapters import tracing
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
from app.adapters.llm.provider import Provider, ProviderTarget, RequestFailed, now
from app.adapters.llm.replies import CutText, answered
from app.adapters.llm.words import OutputLimit
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
_MOST_REFUSALS = 3
"""Refusals in a row, each followed by a mode that worked; a single one may have another cause."""
_IN_USE = Gauge(
    "memory_bank_model_mode",
    "1 for the way in which a model is asked for structured output at present, else 0.",
    ["model", "mode"],
)
Refusals = Mapping[OutputMode, RequestFailed]
"""The modes that a server refused for one question, in order, with the failures."""


class RemoteTextModel(TextModel):
    """A text model that asks through a channel, in the modes that its server accepts.

    Where the server refuses the longest answer or its name, it takes what the server's words ask
    for, also for later questions.
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
        self._modes = OutputModes(
            self.model_id, channel.modes, settings.tuning.model_mode_retry_seconds
        )
        self._limit = channel.limit

    @property
    @override
    def learnt(self) -> Learnt | None:
        mode = self._modes.latest
        return Learnt(mode, self._modes.refused, self._limit.tokens) if mode else None

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
        message = f"The answer of {self.model_id} {ending.value}."
        if ending is Ending.CUT:
            is_learnt = self._limit.tokens < self._channel.limit.tokens
            most = f"{self._limit.tokens:,} tokens{', as its server demands' if is_learnt else ''}"
            message = f"{message[:-1]} ({most}); see MEMORY_BANK_MODEL_MAX_OUTPUT_TOKENS."
        return BadGateway(message, Reason.MODEL_OUTPUT_INVALID)

    async def _answer(self, question: Question, meter: Meter) -> ChannelReply:
        refusals: dict[OutputMode, RequestFailed] = {}
        for mode in self._modes.order():
            try:
                reply = await self._within_limit(question, mode, meter)
            except RequestFailed as failed:
                if not failed.is_of_mode:
                    raise
                refusals[mode] = failed
            else:
                self._modes.worked(mode, refusals)
                return reply
        # The refusal of the best mode: that of another may concern the mode alone.
        raise next(iter(refusals.values()))

    async def _within_limit(
        self, question: Question, mode: OutputMode, meter: Meter
    ) -> ChannelReply:
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


class OutputModes:
    """The output modes of one model, the most reliable first.

    A mode that is refused three times in a row, while the next one works, rests for a while. Then
    one question tries it again.
    """

    def __init__(self, model_id: str, modes: Sequence[OutputMode], rest_seconds: float) -> None:
        self._model_id = model_id
        self._modes = tuple(modes)
        self.refused: Sequence[OutputMode] = ()
        """Modes that the server refused before the last answer."""
        self.latest: OutputMode | None = None
        """The mode of the last answer."""
        self._rest_seconds = rest_seconds
        self._refused: Counter[OutputMode] = Counter()
        self._until: dict[OutputMode, float] = {}
        self._show()

    @property
    def in_use(self) -> OutputMode:
        """The best mode that is not resting."""
        return next(mode for mode in self._modes if mode not in self._until)

    def order(self) -> Sequence[OutputMode]:
        """Return the modes for one question; one whose rest is over is included only this once."""
        time = now()
        modes = [mode for mode in self._modes if self._until.get(mode, time) <= time]
        for mode in self._until.keys() & set(modes):
            self._until[mode] = time + self._rest_seconds
        return modes

    def worked(self, mode: OutputMode, refusals: Refusals) -> None:
        """Record the mode that brought an answer, and the refused modes before it."""
        before = self.in_use
        self.latest, self.refused = mode, list(refusals)
        self._refused[mode] = 0
        self._until.pop(mode, None)
        for refused in refusals:
            self._refused[refused] += 1
            if self._refused[refused] >= _MOST_REFUSALS:
                self._until[refused] = now() + self._rest_seconds
        if self.in_use is not before:
            self._show()
            failed = refusals.get(before)
            _log.warning(
                "model.mode_changed",
                model=self._model_id,
                before=before.value,
                mode=self.in_use.value,
                **(failed.log_fields if failed else {}),
            )

    def _show(self) -> None:
        for mode in self._modes:
            _IN_USE.labels(self._model_id, mode.value).set(mode is self.in_use)

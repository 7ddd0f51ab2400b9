"""Calls of a reader's model, with a check of the engine's token budget and usage recording."""

from dataclasses import dataclass, field
from hashlib import blake2b

from app.adapters.concurrency import SingleFlight
from app.adapters.llm.models import ReaderHandle
from app.adapters.llm.ports import Meter, OutputT, Prompt
from app.adapters.resources import Resources
from app.artifacts.readers.logic import ReaderQuery
from app.artifacts.readers.schemas import ReaderUsage
from app.artifacts.readers.services.open_namespace import OpenNamespace, reading
from app.kernel.errors import Cancelled, Reason
from app.platform.operations.services.operations import GivenUp
from app.platform.usage.logic import QUERY
from app.platform.usage.service import UsageService, recorded


@dataclass
class Asking:
    """Model calls of one reader for one request. No transaction may be open during a call."""

    resources: Resources
    opened: OpenNamespace
    reader: ReaderHandle
    is_given_up: GivenUp
    meter: Meter = field(default_factory=Meter)

    async def ask(self, asked: ReaderQuery, output: type[OutputT]) -> OutputT:
        """Return the model's reply; record its usage even if the call fails.

        Concurrent requests with the same prompt for the same namespace share one call. This reveals
        no content, since the prompt contains the texts, which each caller may read. The usage is
        counted with the first request.

        Raises:
            Aborted: the namespace has changed since it was opened, and may no longer be read.
            Cancelled: the client no longer waits.
            ResourceExhausted: the engine's token budget for today is used up.
            ServiceError: the model fails; see `TextModel.ask`.
        """
        flights: SingleFlight[OutputT] = self.resources.kept.setdefault(_Asked, SingleFlight())
        return await flights.result(
            _key(self.opened, self.reader, asked, output), lambda: self._ask(asked, output)
        )

    async def _ask(self, asked: ReaderQuery, output: type[OutputT]) -> OutputT:
        await check_awaited(self.is_given_up)
        resources, engine = self.resources, self.opened.name.memory.engine
        async with reading(resources, self.opened) as (session, _):
            await UsageService.of(resources).check_budget(session, engine.engine)
        spent = Meter()
        async with recorded(resources, engine, spent, QUERY):
            prompt = Prompt(asked.instructions, asked.text)
            answer = await self.reader.model.ask(prompt, output, spent)
        for model, used in spent.by_model.items():
            self.meter.add(model, used)
        return answer


class _Asked:
    """Key for the readers' calls under way in this process."""


def _key(
    opened: OpenNamespace, reader: ReaderHandle, asked: ReaderQuery, output: type[object]
) -> bytes:
    by = (str(opened.name), reader.name, reader.model.model_id, output.__name__)
    whole = repr((*by, asked.instructions, asked.text))
    return blake2b(whole.encode("utf-8", "backslashreplace"), digest_size=16).digest()


async def check_awaited(is_given_up: GivenUp) -> None:
    """Raise if the client no longer waits for the response.

    Raises:
        Cancelled: the client no longer waits.
    """
    if await is_given_up():
        raise Cancelled("The request was given up.", Reason.REQUEST_ABANDONED)


def usage_of(meter: Meter, *, with_tokens: bool) -> ReaderUsage:
    """Return the usage of a request's calls; `with_tokens` if the caller may see the result."""
    total = meter.total
    return ReaderUsage(
        calls=total.calls,
        input_token_count=total.input_tokens if with_tokens else None,
        output_token_count=total.output_tokens if with_tokens else None,
    )

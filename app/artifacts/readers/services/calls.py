"""Asks a reader's model, within the tokens of its engine, and counts what it takes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from app.adapters.llm.ports import Meter, OutputT, Prompt
from app.adapters.llm.readers import Reader
from app.adapters.resources import Resources
from app.artifacts.readers.logic.prompts import Asked
from app.artifacts.readers.schemas import ReaderUsage
from app.artifacts.readers.services.opened import Opened, reading
from app.kernel.errors import Cancelled, Reason
from app.platform.usage.services.recording import recorded
from app.platform.usage.services.usage import UsageService

GivenUp = Callable[[], Awaitable[bool]]
"""Says whether nobody waits for the answer any more."""


@dataclass
class Asking:
    """The calls of one reader for one request. No transaction may be open at any."""

    resources: Resources
    opened: Opened
    reader: Reader
    is_given_up: GivenUp
    meter: Meter = field(default_factory=Meter)

    async def ask(self, asked: Asked, output: type[OutputT]) -> OutputT:
        """Return what the model answers; what that takes is recorded, whatever becomes of it.

        Raises:
            Aborted: what was opened is not any more what it was: the model may not read it now.
            Cancelled: nobody waits any more.
            ResourceExhausted: the engine has used up its tokens of today.
            ServiceError: the model fails, as `TextModel.ask` has it.
        """
        await check_awaited(self.is_given_up)
        resources, engine = self.resources, self.opened.name.memory.engine
        async with reading(resources, self.opened) as (session, _):
            await UsageService.of(resources).check_budget(session, engine.engine)
        spent = Meter()
        async with recorded(resources, engine, spent):
            prompt = Prompt(asked.instructions, asked.text)
            answer = await self.reader.model.ask(prompt, output, spent)
        for model, used in spent.by_model.items():
            self.meter.add(model, used)
        return answer


async def check_awaited(is_given_up: GivenUp) -> None:
    """Stop here if nobody waits for the answer any more.

    Raises:
        Cancelled: so it is.
    """
    if await is_given_up():
        raise Cancelled("The request was given up.", Reason.REQUEST_ABANDONED)


def usage_of(meter: Meter, *, with_tokens: bool) -> ReaderUsage:
    """Return what the calls of a request took; tokens, only for who may be shown the result."""
    total = meter.total
    return ReaderUsage(
        calls=total.calls,
        input_token_count=total.input_tokens if with_tokens else None,
        output_token_count=total.output_tokens if with_tokens else None,
    )

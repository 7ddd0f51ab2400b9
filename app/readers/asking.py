"""Asks a reader's model, within the tokens of its engine, and counts what it takes."""

from dataclasses import dataclass, field

from app.core.names import EngineName
from app.llm.ports import Meter, OutputT, Prompt
from app.llm.readers import Reader
from app.readers.prompts import Asked
from app.readers.schemas import ReaderUsage
from app.resources import Resources
from app.usage.recording import recorded
from app.usage.service import UsageService


@dataclass
class Asking:
    """The calls of one reader for one request. No transaction may be open at any."""

    resources: Resources
    engine: EngineName
    reader: Reader
    meter: Meter = field(default_factory=Meter)

    async def ask(self, asked: Asked, output: type[OutputT]) -> OutputT:
        """Return what the model answers; what that takes is recorded, whatever becomes of it.

        Raises:
            ResourceExhausted: the engine has used up its tokens of today.
            ServiceError: the model fails, as `TextModel.ask` has it.
        """
        resources = self.resources
        async with resources.db.snapshot() as session:
            budget = UsageService.of(resources)
            await budget.check_budget(session, self.engine.engine, resources.clock.now())
        spent = Meter()
        async with recorded(resources, self.engine, spent):
            prompt = Prompt(asked.instructions, asked.text)
            answer = await self.reader.model.ask(prompt, output, spent)
        for model, used in spent.by_model.items():
            self.meter.add(model, used)
        return answer


def usage_of(meter: Meter) -> ReaderUsage:
    """Return what the calls of a request took."""
    total = meter.total
    return ReaderUsage(
        calls=total.calls,
        input_token_count=total.input_tokens,
        output_token_count=total.output_tokens,
    )

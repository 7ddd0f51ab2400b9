"""A text model that a check may stop before each call."""

from collections.abc import Awaitable, Callable

from typing_extensions import override

from app.adapters.llm.ports import Attachment, Meter, OutputT, Prompt, TextModel


class CheckedTextModel(TextModel):
    """A text model that awaits a check before it asks another; errors of the check pass through."""

    def __init__(self, model: TextModel, check: Callable[[], Awaitable[None]]) -> None:
        self.model_id = model.model_id
        self.max_input_tokens = model.max_input_tokens
        self._model = model
        self._check = check

    @override
    def reads(self, attachment: Attachment) -> bool:
        return self._model.reads(attachment)

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        await self._check()
        return await self._model.ask(prompt, output, meter)

"""How every text model is asked: for a structure, and once more where the first is invalid."""

from collections.abc import Awaitable, Callable

from app.adapters.llm import aside
from app.adapters.llm.ports import OutputT
from app.adapters.llm.replies import InvalidReply, parse
from app.kernel.errors import BadGateway, Reason

Request = Callable[[str | None], Awaitable[str]]
"""Asks the model and returns its text; given what was wrong with its first answer, if any."""


async def answered(request: Request, output: type[OutputT]) -> OutputT:
    """Return the structure that the model answers with, at the latest when asked again.

    Raises:
        BadGateway: it is invalid, also the second time; the message holds nothing the model said.
    """
    try:
        return await _parsed(await request(None), output)
    except InvalidReply as invalid:
        fault = str(invalid)
    try:
        return await _parsed(await request(fault), output)
    except InvalidReply:
        raise BadGateway(
            "The model's output was invalid, also when asked again.", Reason.MODEL_OUTPUT_INVALID
        ) from None


async def _parsed(text: str, output: type[OutputT]) -> OutputT:
    return await aside.done(len(text), parse, text, output)

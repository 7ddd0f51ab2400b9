"""Structured requests to a text model, with one retry after an invalid answer."""

from collections.abc import Awaitable, Callable

from app.adapters import offload
from app.adapters.llm.ports import OutputT
from app.adapters.llm.replies import InvalidReply, parse
from app.kernel.errors import BadGateway, Reason

Request = Callable[[str | None], Awaitable[str]]
"""Sends a request and returns its text; takes the fault of the first answer, if any."""

_COST = 8
"""Times that a text takes longer to read if it has to be mended."""


async def answered(request: Request, output: type[OutputT]) -> OutputT:
    """Return the model's structured answer; ask again once if it is invalid.

    Raises:
        BadGateway: both answers are invalid; the message quotes nothing of them.
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
    return await offload.done(len(text) * _COST, parse, text, output)

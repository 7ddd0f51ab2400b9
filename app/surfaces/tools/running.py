"""Runs a tool call: reads its arguments, turns errors into text and records metrics."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import structlog
from prometheus_client import Counter, Histogram

from app.kernel.errors import ServiceError, describe
from app.surfaces.api import ApiRefusal
from app.surfaces.tools import scopes
from app.surfaces.tools.bank import Bank
from app.surfaces.tools.calls import CALLS, ToolAnswer
from app.surfaces.tools.catalogue import Tool

log = structlog.get_logger()
SERVER_FAULT = 500
_ERRORS_OF_CALLERS = frozenset({401, 403, 429})
_PARENTS = re.compile(r"projects/[^/ ]+/locations/[^/ ]+/reasoningEngines/[^/ ]+/")
_CALLS = Counter(
    "memory_bank_tool_calls_total",
    "Calls of tools by models: `ok`, `error` (the model can correct it) or `failed`.",
    ["surface", "tool", "outcome"],
)
_SECONDS = Histogram("memory_bank_tool_seconds", "Duration of calls of tools.", ["surface", "tool"])


@dataclass(frozen=True)
class Outcome:
    """The result or the error of a tool call; `result` is the text as JSON, None for an error."""

    text: str
    result: dict[str, Any] | None = None
    refusal: ApiRefusal | None = None

    @property
    def is_error(self) -> bool:
        """True if the call failed."""
        return self.result is None


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool.

    Attributes:
        scope: the part of the scope that is known before the call.
        takes_scope: whether the model chooses the rest of the scope.
        surface: the interface, `mcp` or `tools`.
        request_id: the id of the request in the logs.
    """

    tool: Tool
    given: object
    scope: scopes.ChosenScope
    takes_scope: bool
    surface: str
    request_id: str

    async def run(self, bank: Bank) -> Outcome:
        """Run the call; exceptions become an outcome with an error."""

        async def answer() -> ToolAnswer:
            return await CALLS[self.tool.name](*self._read(bank))

        return await run_tool(self.tool.name, self.surface, self.request_id, answer)

    def _read(self, bank: Bank) -> tuple[Bank, Any]:
        """Return the bank of the call's scope and the parsed arguments."""
        given = self.given
        accepted = self.tool.schema_for(self.scope if self.takes_scope else None)
        if self.takes_scope and not self.scope.is_fixed:
            pairs = given.get(scopes.ARGUMENT) if isinstance(given, Mapping) else None
            bank = replace(bank, scope=self.scope.with_pairs(pairs))
        elif isinstance(given, Mapping) and scopes.ARGUMENT in given:
            raise scopes.fixed()
        if isinstance(given, Mapping):
            given = {name: value for name, value in given.items() if name != scopes.ARGUMENT}
        return bank, self.tool.read(given, accepted)


async def run_tool(
    tool: str, surface: str, request_id: str, answer: Callable[[], Awaitable[ToolAnswer]]
) -> Outcome:
    """Run a tool and count the call; exceptions become an outcome with an error."""
    started = perf_counter()
    kind, failed = "error", f"The service failed; request id {request_id}."
    try:
        answered = await answer()
        outcome, kind = Outcome(answered.text, answered.result), "ok"
    except ServiceError as error:
        outcome = Outcome(error.message)
    except ApiRefusal as refused:
        is_fault = refused.status >= SERVER_FAULT
        text = failed if is_fault else sentence(refused)
        outcome, kind = Outcome(text, refusal=refused), "failed" if is_fault else kind
    except Exception as error:  # noqa: BLE001 - the last place where a fault becomes an answer
        # `exception` would log the error's message, which may quote a memory.
        log.error("tool.failed", tool=tool, error=describe(error))  # noqa: TRY400 - as above
        outcome, kind = Outcome(failed), "failed"
    _CALLS.labels(surface, tool, kind).inc()
    _SECONDS.labels(surface, tool).observe(perf_counter() - started)
    return outcome


def is_for_caller(refused: ApiRefusal) -> bool:
    """Return True if the model cannot correct the refused call."""
    return refused.status in _ERRORS_OF_CALLERS or refused.status >= SERVER_FAULT


def sentence(refused: ApiRefusal) -> str:
    """Return the API's message with the reason and the delay before a retry."""
    reason = f" ({refused.reason})" if refused.reason else ""
    delays = (detail["retryDelay"] for detail in refused.details)
    delay = next((delay for delay in delays if delay is not None), None)
    wait = f" Try again in {str(delay).removesuffix('s')} seconds." if delay is not None else ""
    # Models know only ids, so the names of projects and engines are removed.
    return f"{_PARENTS.sub('', refused.message)}{reason}{wait}"

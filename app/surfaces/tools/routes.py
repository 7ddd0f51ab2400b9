"""Routes of the service's own methods that offer memory as tools to any model."""

from collections.abc import Iterable
from typing import Annotated

from fastapi import Query, Request

from app.kernel.auth import Caller
from app.kernel.errors import InvalidArgument, NotFound, Reason
from app.kernel.names import EngineName
from app.kernel.permissions import Permission
from app.kernel.tools import FORMATS, ToolName
from app.kernel.wire.reading import read_object
from app.language.tokens import estimate_tokens
from app.surfaces.api import ApiRefusal
from app.surfaces.tools import catalogue, scopes, tasks
from app.surfaces.tools.bank import as_service_error, check_engine, engine_path, open_bank
from app.surfaces.tools.calls import CALLS
from app.surfaces.tools.catalogue import Tool
from app.surfaces.tools.running import Outcome, ToolCall, is_for_caller, run_tool
from app.surfaces.tools.schemas import (
    CallMemoryToolRequest,
    CallMemoryToolResponse,
    CallTaskToolRequest,
    MemoryToolSpecs,
)
from app.web.context import Context, Mutation
from app.web.demands import Demand
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

SURFACE = "tools"
_SESSION = "session"

router = Router(
    "memory tools",
    demands={
        "getMemoryToolSpecs": Demand(Permission.ENGINES_GET),
        # The routes behind the tool check permissions, charge and audit the call.
        "callMemoryTool": Demand(None),
        "callTaskTool": Demand(Permission.ARTIFACTS_REFERENCE),
    },
)


@router.get(
    ENGINE + "/memoryToolSpecs",
    summary="Get memory as tools",
    operation_id="getMemoryToolSpecs",
)
async def get_memory_tool_specs(
    request: Request,
    context: Context,
    engine: EnginePath,
    one_format: Annotated[
        str | None, Query(alias="format", description="Only `openai`, `gemini` or `anthropic`.")
    ] = None,
    tools: Annotated[
        str | None, Query(description="Names of tools with commas between them; absent: all.")
    ] = None,
    session: Annotated[
        str | None,
        Query(description="The session of the calls; the model then cannot choose another."),
    ] = None,
) -> MemoryToolSpecs:
    """Return declarations of the tools that the key may use, for a model that calls functions.

    No tool takes a scope: the application sets it, not the model.
    """
    if one_format is not None and one_format not in FORMATS:
        raise InvalidArgument.of_field("format", f"must be one of: {', '.join(FORMATS)}.")
    chosen = _named(context.caller, tools)
    await check_engine(request, engine)
    bank = open_bank(request, engine_path(str(engine.engine)), {}, SURFACE)
    try:
        await bank.api.get(bank.engine)
    except ApiRefusal as refused:
        raise as_service_error(refused) from None
    hidden = [] if session is None else [_SESSION]
    return MemoryToolSpecs.model_validate(
        {
            name: [
                declare(tool.name, tool.description, catalogue.without(tool.schema, hidden))
                for tool in chosen
            ]
            for name, declare in FORMATS.items()
            if one_format in {None, name}
        }
    )


def _named(caller: Caller, names: str | None) -> list[Tool]:
    """Return the tools of a comma-separated list; the default tools if it is empty."""
    if not names:
        return catalogue.shown(caller, catalogue.FOR_FUNCTION_CALLING)
    known = {tool.name: tool for tool in catalogue.shown(caller, CALLS)}
    wanted = [name.strip() for name in names.split(",")]
    if any(name not in known for name in wanted):
        listed = ", ".join(known) or "none"
        raise InvalidArgument.of_field("tools", f"must be names of: {listed}.")
    return [known[ToolName(name)] for name in dict.fromkeys(wanted)]


@router.post(ENGINE + "/memoryTools:call", summary="Call a tool", operation_id="callMemoryTool")
async def call_memory_tool(
    request: Request, context: Mutation, engine: EnginePath, body: CallMemoryToolRequest
) -> CallMemoryToolResponse:
    """Run the tool that a model chose, and return the text for the model.

    The tool's own method checks, charges and audits the call. Errors in the arguments are described
    in `text` for the model, with `isError`. Errors of the caller (key, scope, rate, quota) are
    errors of the request. Names: `search_memories`, `list_memories`, `memory_history`, `remember`,
    `learn_from_conversation`, `update_memory`, `forget_memory`, `restore_memory`,
    `recall_conversation`.
    """
    await check_engine(request, engine)
    known = {tool.name: tool for tool in catalogue.shown(context.caller, CALLS)}
    if body.name not in known:
        raise _unknown(known)
    given = {} if body.scope is None else scopes.check_pairs(scopes.ARGUMENT, body.scope)
    scope = scopes.choose(context.caller.reach.conditions, given)
    if not scope.is_fixed:
        left = ", ".join(sorted(scope.open)) or "at least one key"
        raise InvalidArgument.of_field(scopes.ARGUMENT, f"must have a value of {left}.")
    bank = open_bank(
        request,
        engine_path(str(engine.engine)),
        scope.pairs,
        f"{SURFACE}/{body.name}",
        request_id=context.request_id,
        session=_session_id(engine, body.session),
        exclude_recent=body.exclude_recent,
    )
    call = ToolCall(
        known[ToolName(body.name)],
        _arguments(body.arguments),
        scope,
        takes_scope=False,
        surface=SURFACE,
        request_id=bank.api.calls.request_id,
    )
    return _response(await call.run(bank))


@router.post(
    ENGINE + "/taskTools:call", summary="Call a tool of task memory", operation_id="callTaskTool"
)
async def call_task_tool(
    request: Request, context: Mutation, engine: EnginePath, body: CallTaskToolRequest
) -> CallMemoryToolResponse:
    """Run the tool of `toolSpecs` that a model chose, and return the text for the model.

    The tool's own method checks, charges and audits the call. Errors in the arguments are described
    in `text` for the model, with `isError`. Errors of the caller (key, rate, quota, model) are
    errors of the request. No tool deletes anything.
    """
    await check_engine(request, engine)
    path = engine_path(str(engine.engine))
    # An unknown name must not get into the audit log.
    surface = f"{SURFACE}/{body.name}" if body.name in tasks.NAMES else SURFACE
    bank = open_bank(request, path, {}, surface, request_id=context.request_id)
    memory = [] if body.memory is None else [("memory", body.memory)]
    try:
        specs = await bank.api.get(f"{path}/toolSpecs", [("format", "anthropic"), *memory])
    except ApiRefusal as refused:
        raise as_service_error(refused) from None
    known = {spec["name"]: spec["input_schema"] for spec in specs["anthropic"]}
    if body.name not in known:
        raise _unknown(known)
    sink = body.sink
    if body.name == tasks.EXPORT:
        sinks = context.resources.settings.task_export_sinks
        sink = next(iter(sinks)) if sink is None and len(sinks) == 1 else sink
        if sink not in sinks:
            raise InvalidArgument.of_field("sink", f"must be one of: {', '.join(sorted(sinks))}.")
    fixed = scopes.choose(context.caller.reach.conditions, {}).pairs
    call = tasks.TaskToolCall(
        bank.api,
        path,
        body.name,
        known[body.name],
        sink,
        fixed.get("user_id"),
        context.request_id,
    )
    return _response(
        await run_tool(
            body.name,
            SURFACE,
            bank.api.calls.request_id,
            lambda: call.answer(_arguments(body.arguments)),
        )
    )


def _unknown(known: Iterable[str]) -> NotFound:
    listed = ", ".join(known) or "none"
    return NotFound(f"No such tool for this key, which has: {listed}.", Reason.TOOL_UNKNOWN)


def _response(outcome: Outcome) -> CallMemoryToolResponse:
    if outcome.refusal is not None and is_for_caller(outcome.refusal):
        raise as_service_error(outcome.refusal)
    return CallMemoryToolResponse(
        text=outcome.text,
        result=outcome.result,
        is_error=outcome.is_error,
        tokens=estimate_tokens(outcome.text),
    )


def _session_id(engine: EngineName, named: str | None) -> str | None:
    """Return the id of a session from the id alone or the full name."""
    parent, separator, identity = (named or "").rpartition("/sessions/")
    if not separator:
        return named
    if not engine.is_named(parent):
        raise InvalidArgument.of_field(_SESSION, "must be the id or name of one of this engine.")
    return identity


def _arguments(given: object) -> object:
    """Parse arguments given as text; text that is no JSON object is left for the tool to refuse."""
    if not isinstance(given, str):
        return given
    try:
        return read_object(given.encode(errors="replace"), "arguments") if given else {}
    except InvalidArgument:
        return given

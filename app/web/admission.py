"""Admission of requests: permission, reach, rate, concurrency and quota; with the audit log.

Admission surrounds each of our routes and precedes the parsing of parameters and body. A missing
permission is reported before a missing resource, and an engine out of the caller's reach is never
charged.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError

from app.adapters.inprocess import SURFACE
from app.adapters.logs import request_id
from app.adapters.resources import Resources
from app.kernel.audit import Audited, Auditor
from app.kernel.auth import Caller, EngineDirectory
from app.kernel.errors import (
    Internal,
    NotFound,
    PermissionDenied,
    Reason,
    ResourceExhausted,
    ServiceError,
)
from app.kernel.limits import MAX_COST, Limits
from app.kernel.names import WILDCARD, EngineName, LocationName, parse_engine_id
from app.kernel.permissions import WHOLE_ENGINE, Permission
from app.kernel.reads import read_primary_only
from app.kernel.wire.violations import invalid_fields
from app.web.demands import Demand
from app.web.headers import address_of
from app.web.names import resource_named_by

_OPERATION = re.compile(r"[0-9]{1,20}")
_RETRY_SECONDS = 1.0


@dataclass(frozen=True)
class Gate:
    """The ports that decide on admission; `app.process.main` supplies the implementations."""

    directory: EngineDirectory
    limits: Limits
    auditor: Auditor
    audits_reads: bool

    async def charge_part(self, caller: Caller, engine_id: int, cost: int) -> None:
        """Charge a further part of a streamed body, once the rates allow it.

        Raises:
            ResourceExhausted: a limit other than a rate is reached.
        """
        while True:
            try:
                await self.limits.charge(caller, engine_id, cost)
            except ResourceExhausted as error:
                if error.reason is not Reason.RATE_LIMIT_EXCEEDED:
                    raise
                await asyncio.sleep(error.retry_after_seconds or _RETRY_SECONDS)
            else:
                return


@asynccontextmanager
async def admitted(request: Request, method: str, demand: Demand) -> AsyncIterator[None]:
    """Run the block if the caller is admitted.

    Raises:
        PermissionDenied: the caller lacks the permission.
        NotFound: the engine is out of the caller's reach.
        ResourceExhausted: a rate, the concurrency or a quota is used up.
        FailedPrecondition: the engine is being restored.
        Unavailable: the database accepts no writes.
    """
    gate: Gate = request.app.state.gate
    caller: Caller = request.state.caller
    is_audited = demand.is_change or gate.audits_reads
    _choose_server(demand)
    engine: EngineName | None = None
    error: ServiceError | None = None
    try:
        engine = await _check_access(gate, caller, demand, request.path_params)
        engine_id = None if engine is None else engine.engine
        request.state.demand = demand
        request.state.logged = _logged(request.path_params, engine)
        if demand.is_change:
            request.state.audited = audited(request, method, engine)
        await gate.limits.charge(caller, engine_id, demand.cost)
        await _check_state(request, engine, demand)
        async with AsyncExitStack() as stack:
            if demand.is_costly:
                stack.enter_context(gate.limits.occupy(caller))
            if engine_id is not None:
                for added in demand.adds:
                    await gate.limits.check_quota(engine_id, added)
            yield
    except Exception as failure:
        error = _as_service_error(failure)
        # The log does not name an operation that the refused request would have created.
        request.state.logged = _logged(request.path_params, engine)
        raise
    finally:
        if is_audited and (error is not None or not demand.is_change):
            if isinstance(error, PermissionDenied):
                # The refusal preceded the look-up of the engine, but the event belongs in the
                # engine's log.
                with suppress(ServiceError):
                    engine = await _engine(gate.directory, caller, request.path_params)
            await gate.auditor.record_alone(audited(request, method, engine), error)


async def _check_access(
    gate: Gate, caller: Caller, demand: Demand, path: Mapping[str, Any]
) -> EngineName | None:
    try:
        if demand.permission is not None:
            require(caller, demand.permission)
        return await _engine(gate.directory, caller, path)
    except (PermissionDenied, NotFound):
        # At the highest cost, because each refusal adds a row to the audit log.
        await gate.limits.charge(caller, None, MAX_COST)
        raise


def _choose_server(demand: Demand) -> None:
    # A request that needs the current state reads only the primary.
    if demand.is_change or demand.waits:
        read_primary_only()


async def _check_state(request: Request, engine: EngineName | None, demand: Demand) -> None:
    if demand.is_change:
        # Checked before costly work, such as embeddings.
        resources: Resources = request.app.state.resources
        resources.db.check_writable()
    if engine is not None and not demand.even_restoring:
        gate: Gate = request.app.state.gate
        await gate.directory.check_settled(engine)


def require(caller: Caller, permission: Permission) -> None:
    """Check that a caller has a permission for everything that it covers.

    Raises:
        PermissionDenied: the message names the permission and the missing part.
    """
    if caller.may(permission):
        return
    missing = f"This key lacks the permission {permission}."
    if permission in caller.permissions:
        whole = "the whole engine" if permission in WHOLE_ENGINE else "the whole service"
        missing = f"{permission} concerns {whole}, but this key is restricted to a part of it."
    raise PermissionDenied(
        missing, Reason.PERMISSION_MISSING, metadata={"permission": permission.value}
    )


async def _engine(
    directory: EngineDirectory, caller: Caller, path: Mapping[str, Any]
) -> EngineName | None:
    project = path.get("project")
    if project not in {None, WILDCARD} and not caller.reach.has_project(project):
        raise NotFound.of(LocationName(project, path["location"]))
    if "engine" not in path:
        return None
    engine_id = parse_engine_id(path["engine"])
    location = await directory.location_of(engine_id, caller.reach)
    if location is not None and _is_at(location, path):
        return EngineName(location.project, location.location, engine_id)
    if not caller.reach.is_all:
        raise NotFound.of(f"reasoningEngines/{engine_id}")
    # The method itself reports the missing resource, at no charge.
    return None


def _is_at(location: LocationName, path: Mapping[str, Any]) -> bool:
    project, place = path.get("project", WILDCARD), path.get("location", WILDCARD)
    return project in {WILDCARD, location.project} and place in {WILDCARD, location.location}


def audited(request: Request, method: str, engine: EngineName | None) -> Audited:
    """Return the audit event of a request, for an engine that is known to exist or for none."""
    caller: Caller = request.state.caller
    named = request.path_params
    # An engine has one name in the log, for every spelling of the path. A project may be any text,
    # so the log omits unknown ones.
    place = LocationName("", "") if engine is None else engine.parent
    if "project" in named:
        named = {**named, "project": place.project, "location": place.location}
    return Audited(
        caller=caller.key_id,
        method=method,
        resource=resource_named_by(named),
        engine_id=None if engine is None else engine.engine,
        address=address_of(request.scope),
        request_id=request_id(),
        surface=request.scope.get(SURFACE),
    )


def _logged(path: Mapping[str, Any], engine: EngineName | None) -> dict[str, Any]:
    if engine is None:
        return {}
    names: dict[str, Any] = {"engine": engine.engine, "project": engine.project}
    operation = str(path.get("operation", ""))
    # The service makes these ids of digits; other characters are a caller's text.
    if _OPERATION.fullmatch(operation) is not None:
        names["operation"] = operation
    return names


def _as_service_error(error: Exception) -> ServiceError:
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, RequestValidationError):
        return invalid_fields(error.errors(), skipped=1)
    return Internal("The service failed.", Reason.INTERNAL)

"""Routes of usage; this service's own."""

from typing import Annotated

from fastapi import Query

from app.kernel.permissions import Permission
from app.platform.usage.schemas import Day, EngineUsage, OperationsUsage, UsageOfDays
from app.platform.usage.service import UsageService
from app.web.context import Context
from app.web.demands import LIST, Demand
from app.web.names import EnginePath
from app.web.paths import ENGINE, SERVICE
from app.web.query import Filter
from app.web.routing import Router

router = Router(
    "usage",
    demands={
        "getUsage": Demand(Permission.USAGE_GET, LIST),
        "getServerUsage": Demand(Permission.SERVER_GET, LIST),
        "getOperationsUsage": Demand(Permission.OPERATIONS_LIST, LIST),
    },
)


_StartDay = Annotated[
    Day | None,
    Query(alias="startDay", description="First day (UTC); absent: 30 days in all."),
]
_EndDay = Annotated[
    Day | None, Query(alias="endDay", description="Last day (UTC), included; absent: today.")
]
_GroupBy = Annotated[
    str | None,
    Query(
        alias="groupBy",
        description="Grouping of the sums: some of `day`, `model` and `kind` (of the work),"
        " separated by commas; absent: `day,model`.",
    ),
]


@router.get(ENGINE + ":usage", summary="Sum up usage", operation_id="getUsage")
async def get_usage(
    context: Context,
    engine: EnginePath,
    start_day: _StartDay = None,
    end_day: _EndDay = None,
    group_by: _GroupBy = None,
) -> EngineUsage:
    """Return the usage of an engine's models, by day and model or by `groupBy`; at most 366 days.

    The built-in rules call no model and so do not appear.
    """
    return await UsageService.of(context.resources).usage(engine, start_day, end_day, group_by)


@router.get(
    SERVICE + "/server:usage", summary="Sum up all engines' usage", operation_id="getServerUsage"
)
async def get_server_usage(
    context: Context,
    start_day: _StartDay = None,
    end_day: _EndDay = None,
    group_by: _GroupBy = None,
) -> UsageOfDays:
    """Return the usage of the models of all engines together; at most 366 days.

    The usage of a deleted engine is deleted with it.
    """
    usage = UsageService.of(context.resources)
    return await usage.usage_of_all(start_day, end_day, group_by)


@router.get(
    ENGINE + "/operations:usage",
    summary="Sum up the usage of operations",
    operation_id="getOperationsUsage",
)
async def get_operations_usage(
    context: Context,
    engine: EnginePath,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> OperationsUsage:
    """Return the usage of the operations that a filter matches and that are still kept.

    The filter has the fields of the list of operations: `scope."user_id"="42"` sums up the work for
    this user.
    """
    resources = context.resources
    service = UsageService.of(resources)
    return await service.of_operations(engine, filter, resources.registry.kinds)

"""Screen 17: the state of the service, with a sentence for each problem."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from math import inf

from starlette.responses import Response

from app.surfaces.api import Json
from app.surfaces.console.pages import usage
from app.surfaces.console.templating import counted
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import Route, Visit

PATH = "/v1/server"
_OK = "ok"
_WORKS = "WORKER"
_SKEW_SETTING = "MEMORY_BANK_CLOCK_SKEW_MAX_SECONDS"
_SILENT_SECONDS = 15
"""Half of the time after which a silent process counts as stopped."""
_LATE_SECONDS = 60
_LAG_SECONDS = 0.1


async def show(visit: Visit) -> Response:
    """Show the state of the service as seen by the process that answers."""
    # The page is also for a service whose database is away.
    server, used = await asyncio.gather(
        visit.api.get(PATH), visit.answered(f"{PATH}:usage", usage.BY_MODEL)
    )
    return visit.render(
        "server.html",
        server=server,
        findings=findings(server, visit.now),
        used=used,
        change=usage.change_of(used, usage.DAYS),
    )


def findings(server: Json, now: datetime) -> list[str]:
    """Return a sentence for each problem."""
    return [*_of_database(server["database"]), *_of_processes(server, now), *_of_work(server)]


def _of_database(database: Json) -> Iterator[str]:
    if database["error"]:
        yield TEXTS.server_no_database
    elif database["schema"] != _OK:
        yield TEXTS.server_schema_wrong.format(state=database["schema"])
    if database["isStandby"]:
        yield TEXTS.server_standby


def _of_processes(server: Json, now: datetime) -> Iterator[str]:
    processes: list[Json] | None = server["processes"]
    if processes is None:
        return
    if not any(_WORKS in process["kind"] for process in processes):
        yield TEXTS.server_no_worker
    releases = {f"{process['release']} ({process['schema']})" for process in processes}
    if len(releases) > 1:
        yield TEXTS.server_mixed.format(releases=", ".join(sorted(releases)))
    allowed = _allowed_skew(server)
    for process in processes:
        who = {"kind": process["kind"], "host": process["host"], "pid": process["pid"]}
        silent = (now - datetime.fromisoformat(process["beatTime"])).total_seconds()
        if silent > _SILENT_SECONDS:
            yield TEXTS.server_silent.format(seconds=int(silent), **who)
        skew = process["skewSeconds"]
        if skew is not None and abs(skew) > allowed:
            yield TEXTS.server_skewed.format(seconds=f"{skew:+.1f}", allowed=allowed, **who)


def _allowed_skew(server: Json) -> float:
    settings = {setting["name"]: setting["value"] for setting in server["settings"]}
    return float(settings.get(_SKEW_SETTING) or inf)


def _of_work(server: Json) -> Iterator[str]:
    if not server["embedder"]["isReady"]:
        yield TEXTS.server_not_ready
    if server["embedder"]["isLexicalOnly"]:
        yield TEXTS.server_lexical
    queue = server["queue"] or Json()
    if (queue["oldestDueSeconds"] or 0) > _LATE_SECONDS:
        seconds = int(queue["oldestDueSeconds"])
        yield counted(TEXTS.server_late, queue["dueCount"], seconds=seconds)
    if queue["failedCount"]:
        yield counted(TEXTS.server_failed, queue["failedCount"])
    loop = server["eventLoop"]
    if loop and loop["lagSeconds"]["p99"] > _LAG_SECONDS:
        yield TEXTS.server_lagging.format(seconds=f"{loop['lagSeconds']['p99']:.2f}")


ROUTES = (Route("/console/server", get=show),)

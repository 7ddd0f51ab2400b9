"""The server: what runs here, and a sentence for each thing that is not as it should be."""

from typing import Any

from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.processes.service import ProcessKind
from app.surfaces.api import Json
from app.surfaces.console.pages.server import findings
from tests.api.console.conftest import SignedIn
from tests.api.processes.test_heartbeats import live
from tests.support.cases import in_one_test
from tests.support.console import page

SERVER = "/console/server"
_SKEW = {"name": "MEMORY_BANK_CLOCK_SKEW_MAX_SECONDS", "value": 3}


async def test_an_administrator_sees_what_runs_and_nobody_else_does(
    resources: Resources, signed_in: SignedIn
) -> None:
    admin = await signed_in("admin")
    shown = await page(admin, SERVER)
    assert "No worker runs" in shown.text
    for told in ("Postgres", "MEMORY_BANK_CLOCK_SKEW_MAX_SECONDS", "Embedder", "Queue"):
        assert told in shown.text
    async with live(resources, ProcessKind.API_AND_WORKER):
        shown = await page(admin, SERVER)
    assert "API and worker" in shown.text
    assert "No worker runs" not in shown.text
    assert SERVER in shown.links
    for reach in ({}, {"engines": ["1"]}, {"scope_conditions": {"user_id": ["42"]}}):
        other = await signed_in("admin" if reach else "editor", **reach)
        refused = await page(other, SERVER, 403)
        assert "No permission" in refused.text
        assert SERVER not in refused.links


def _server(**changed: Any) -> Json:
    told: dict[str, Any] = {
        "database": Json(schema="ok", isStandby=False),
        "processes": [_process("API"), _process("WORKER")],
        "embedder": Json(isReady=True, isLexicalOnly=False),
        "queue": Json(dueCount=0, oldestDueSeconds=0.0, runningCount=0, failedCount=0),
        "eventLoop": None,
        "settings": [Json(_SKEW)],
    }
    return Json({**told, **changed})


def _process(kind: str, **changed: Any) -> Json:
    told = {"kind": kind, "host": "a", "pid": 1, "release": "0.2", "schema": "0009"}
    beat = {"beatTime": "2026-01-15T12:00:00Z", "skewSeconds": 0.1}
    return Json({**told, **beat, **changed})


@in_one_test(
    ("changed", "told"),
    [
        ({}, None),
        ({"database": Json(error="DATABASE_UNAVAILABLE"), "processes": None}, "does not answer"),
        ({"database": Json(schema="incomplete: x")}, "not that of this release: incomplete: x."),
        ({"database": Json(schema="ok", isStandby=True)}, "is a standby"),
        ({"processes": []}, "No worker runs"),
        ({"processes": [_process("API_AND_WORKER")]}, None),
        ({"processes": [_process("WORKER", beatTime="2026-01-15T11:59:40Z")]}, "for 20 s"),
        ({"processes": [_process("WORKER", skewSeconds=-4.04)]}, "by -4.0 s (allowed: 3.0 s)"),
        (
            {"processes": [_process("WORKER"), _process("API", schema="0010")]},
            "0.2 (0009), 0.2 (0010)",
        ),
        ({"embedder": Json(isReady=False, isLexicalOnly=False)}, "not loaded"),
        ({"embedder": Json(isReady=True, isLexicalOnly=True)}, "no meaning"),
        ({"queue": Json(dueCount=7, oldestDueSeconds=61.5)}, "7 operations are due"),
        ({"queue": Json(failedCount=2)}, "2 operations of all engines failed"),
        ({"eventLoop": Json(lagSeconds=Json(p50=0.0, p99=0.2))}, "lags by 0.20 s"),
    ],
)
async def test_each_fault_has_a_sentence(
    clock: FixedClock, changed: dict[str, Any], told: str | None
) -> None:
    found = findings(_server(**changed), clock.now())
    assert (len(found), told is None or told in found[0]) == (0 if told is None else 1, True), found

"""Nothing of a tenant comes out to anybody else, wherever they ask, and nothing of it changes."""

import logging

import pytest
from structlog.testing import capture_logs

from tests.access.canaries import Canaries, found_in
from tests.access.hunt import Hunt, attackers
from tests.access.rows import intruding, rows
from tests.access.service import Asked, Service
from tests.access.victim import fill


@pytest.fixture(autouse=True)
def _as_in_production(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)


async def test_no_canary_comes_out(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    canaries = Canaries()
    with capture_logs() as lines:
        victim = await fill(service, canaries)
        hunt = Hunt(service, canaries)
        before = await rows(service.database)
        for attacker in await attackers(service):
            await hunt.attack(attacker, victim)
    assert hunt.findings == []
    assert intruding(before, await rows(service.database), victim.names.user) == []
    metrics = await service.ask(Asked("GET", "/metrics"), service.admin)
    assert "memory_bank_request_seconds" in metrics.text
    assert not found_in(metrics.text, canaries.all)
    logged = "\n".join([*map(str, lines), *map(str, caplog.messages)])
    assert "request" in logged
    assert not found_in(logged, canaries.contents | canaries.names)

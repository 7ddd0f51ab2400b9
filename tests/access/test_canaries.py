"""Nothing of a tenant comes out to anybody else, wherever they ask, and nothing of it changes."""

import logging

import pytest
from structlog.testing import capture_logs

from app.adapters.llm.ports import Usage
from app.settings.settings import Settings
from tests.access.canaries import Canaries, found_in
from tests.access.hunt import Attacker, Hunt, attackers
from tests.access.names import ENGINE, IDLE, event, with_memory, with_session
from tests.access.routes import ROUTES
from tests.access.rows import intruding, rows
from tests.access.service import Asked, Json, Service
from tests.access.victim import Victim, fill
from tests.support.usage import record


@pytest.fixture(autouse=True)
def _as_in_production(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)


async def test_no_canary_comes_out(
    service: Service, caplog: pytest.LogCaptureFixture, *, is_nightly: bool
) -> None:
    """Each route is attacked from within the tenant's engine and from outside; nightly by all."""
    canaries = Canaries()
    with capture_logs() as lines:
        victim = await fill(service, canaries)
        hunt = Hunt(service, canaries)
        before = await rows(service.database)
        for turn, attacker in enumerate(await attackers(service)):
            await hunt.attack(attacker, victim, ROUTES if is_nightly else ROUTES[turn % 2 :: 2])
    assert hunt.findings == []
    after = await rows(service.database)
    assert intruding(before, after, int(victim.names.engine), victim.names.user) == []
    metrics = await service.ask(Asked("GET", "/metrics"), service.admin)
    assert "memory_bank_request_seconds" in metrics.text
    assert not found_in(metrics.text, canaries.all)
    logged = "\n".join([*map(str, lines), *map(str, caplog.messages)])
    assert "request" in logged
    assert not found_in(logged, canaries.contents | canaries.names)


async def test_counts_are_of_ones_own(service: Service, settings: Settings) -> None:
    canaries = Canaries()
    victim = await fill(service, canaries)
    near, _, beside, far = await attackers(service)
    await record(service.database, settings, service.now(), mini=Usage(calls=7))
    for attacker in (near, beside, far):
        for _ in range(2):
            await with_memory(service, attacker.place)
        await with_session(service, attacker.place)
        told = await _counts(service, attacker, victim)
        assert told == {"purged": 2, "memories": 2, "revisions": 2, "sessions": 1, "repeated": 0}
    for attacker in (beside, far):
        usage = Asked("GET", attacker.place.path(ENGINE + ":usage"))
        found = await service.done(usage, attacker.secret)
        assert found["total"]["callCount"] == 0


async def _counts(service: Service, attacker: Attacker, victim: Victim) -> dict[str, int]:
    """Return what an attacker is told of how much there is."""

    async def done(method: str, path: str, body: Json | None = None) -> Json:
        asked = Asked(method, attacker.place.path(ENGINE + path), body=body)
        return await service.done(asked, attacker.secret)

    purged = await done("POST", "/memories:purge", {"filter": 'fact=~".*"'})
    ids = victim.event_ids
    body = {
        "scope": dict(attacker.place.scope),
        "streamId": victim.names.stream,
        "directContentsSource": {"events": [{**event("Hello."), "eventId": one} for one in ids]},
        "generationTriggerConfig": IDLE,
    }
    ingested = (await done("POST", "/memories:ingestEvents", body))["metadata"]
    assert ingested["pendingEventCount"] == len(ids)
    return {
        "purged": purged["response"]["purgeCount"],
        "memories": len((await done("GET", "/memories"))["memories"]),
        "revisions": len((await done("GET", "/memories/-/revisions"))["memoryRevisions"]),
        "sessions": len((await done("GET", "/sessions"))["sessions"]),
        "repeated": ingested["duplicateEventCount"],
    }

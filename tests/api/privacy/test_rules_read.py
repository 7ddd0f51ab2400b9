"""How often requests read the rules of their engine."""

import asyncio
from dataclasses import replace

from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.kernel.wire.privacy_config import Place
from app.platform.privacy.service import PrivacyService
from tests.support.statements import statements_on


async def test_requests_at_one_moment_read_the_rules_once(resources: Resources) -> None:
    service = PrivacyService.of(replace(resources, kept={}))
    name = EngineName("default", "local", 1)
    with statements_on(resources.db, "engines") as sent:
        await asyncio.gather(*(service.guard(name, Place.DIRECT) for _ in range(5)))
        await service.guard(name, Place.DIRECT)
    assert len(sent) == 1

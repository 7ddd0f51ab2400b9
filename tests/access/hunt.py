"""Attackers look for a tenant's canaries, everywhere that they can."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import httpx

from tests.access import attacks
from tests.access.canaries import Canaries, found_in
from tests.access.names import ENGINES, Names, last_part, with_artifact, with_revision, with_session
from tests.access.routes import ROUTES, Route
from tests.access.service import Asked, Service
from tests.access.victim import Victim

_FAULTS = 500
_NOT_SERVED = 501


@dataclass
class Attacker:
    """Somebody who may do everything, but for what is the tenant's.

    Attributes:
        place: where its own resources are.
        is_near: whether it works in the tenant's engine.
        sent: the canaries that it has sent itself, and so knows.
    """

    secret: str
    place: Names
    is_near: bool
    sent: dict[str, str] = field(default_factory=dict)


@dataclass
class Hunt:
    """The search.

    Attributes:
        findings: what has come out, by the request that has brought it.
    """

    service: Service
    canaries: Canaries
    findings: list[str] = field(default_factory=list)
    requests: int = 0

    async def attack(
        self, attacker: Attacker, victim: Victim, routes: Sequence[Route] = ROUTES
    ) -> None:
        """Ask as somebody who knows nothing, then as somebody who knows every name."""
        await self._walk(attacker, routes, attacks.innocent)
        await self._walk(attacker, routes, partial(attacks.informed, victim))
        await self._send_all(attacker, attacks.replayed(attacker.place, victim))
        await self._send_all(attacker, attacks.operations_of(attacker.place, victim))
        await self.service.settled()
        # What the work that was queued has made of it.
        await self._read(attacker)

    async def _walk(
        self,
        attacker: Attacker,
        routes: Sequence[Route],
        requests: Callable[[Route, Names], Iterator[Asked]],
    ) -> None:
        own = await self._own(attacker)
        for route in routes:
            if not route.is_read:
                # It may be gone after the request.
                own = await route.make(self.service, own)
            await self._send_all(attacker, requests(route, own))

    async def _read(self, attacker: Attacker) -> None:
        own = await self._own(attacker)
        reads = (route.asked(own) for route in ROUTES if route.role == "viewer")
        await self._send_all(attacker, reads)

    async def _own(self, attacker: Attacker) -> Names:
        own = await with_session(self.service, attacker.place)
        own = await with_artifact(self.service, own)
        return await with_revision(self.service, own)

    async def _send_all(self, attacker: Attacker, requests: Iterable[Asked]) -> None:
        for asked in requests:
            self.requests += 1
            attacker.sent |= found_in(str(asked), self.canaries.all)
            self._look(attacker, asked, await self.service.ask(asked, attacker.secret))

    def _look(self, attacker: Attacker, asked: Asked, answer: httpx.Response) -> None:
        if answer.status_code >= _FAULTS and answer.status_code != _NOT_SERVED:
            self.findings.append(f"{asked}: {answer.status_code}")
        shown = f"{answer.text}\n{dict(answer.headers)}"
        strange = self._strange_to(attacker)
        if found := found_in(shown, strange):
            self.findings.append(f"{asked}: {answer.status_code} tells {sorted(found.values())}")

    def _strange_to(self, attacker: Attacker) -> Mapping[str, str]:
        """Return what the attacker must not be told."""
        known = self.canaries.shared if attacker.is_near else {}
        every = self.canaries.all
        return {mark: every[mark] for mark in every.keys() - known.keys() - attacker.sent.keys()}


async def attackers(service: Service) -> list[Attacker]:
    """Make attackers of other users, teams, engines and projects."""
    other = Names(engine="1", scope={"user_id": "other"}, user="other")
    team = Names(engine="1", scope={"team": "other"}, user="other")
    beside = await _own_engine(service, other)
    far = await _own_engine(service, replace(other, project="other"))
    first = {"engines": ["1"]}
    near = await service.key("admin", scope_conditions={"user_id": ["other"]}, **first)
    # The issuer of tokens bounds, too.
    token = service.token("attacker", "admin", scope_conditions={"team": "other"}, **first)
    return [
        Attacker(near, other, is_near=True),
        Attacker(token, team, is_near=True),
        Attacker(await service.key("admin", engines=[beside.engine]), beside, is_near=False),
        Attacker(await service.key("admin", projects=["other"]), far, is_near=False),
    ]


async def _own_engine(service: Service, place: Names) -> Names:
    made = await service.done(Asked("POST", place.path(ENGINES), body={"displayName": "own"}))
    return replace(place, engine=last_part(made["response"]["name"]))

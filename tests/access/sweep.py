"""One route, asked with every kind of key: what must be answered, and what must not change."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

import httpx

from tests.access import kinds
from tests.access.kinds import Foreigner
from tests.access.names import ABSENT, Names
from tests.access.routes import ROLES, ROUTES, Route, Told
from tests.access.rows import Stored, stored
from tests.access.service import Headers, Service, bearer
from tests.support.errors import refusal

TENANT = Names(engine="1", scope={"user_id": "tenant"}, user="tenant")
_CREDENTIAL = {"CREDENTIAL_MISSING", "CREDENTIAL_INVALID"}
_ID_OR_TIME = re.compile(r"\b\d{18}\b|\d{4}-\d{2}-\d{2}T[0-9:.]+Z")


_ALWAYS = {
    "no key",
    "a revoked key",
    "an expired key",
    "another scope",
    "another engine",
    "another project",
    *ROLES,
    "no role",
}
_K = TypeVar("_K")


class Sweep:
    """Asks for routes with keys that it makes once.

    Where it is not whole, each route has its share of the many ways in which a key can be none, or
    that of another place, and one of each of those that matter most.
    """

    def __init__(
        self, service: Service, routes: Sequence[Route] = ROUTES, *, is_whole: bool = False
    ) -> None:
        self.service = service
        self._routes = routes
        self._is_whole = is_whole
        self._turns = count()
        self.no_keys: dict[str, Headers] = {}
        self.foreigners: dict[str, Foreigner] = {}
        self.powerless: dict[str, str] = {}
        self.roles: dict[str, str] = {}
        self.requests = 0

    async def prepare(self) -> None:
        self.no_keys = await kinds.no_keys(self.service)
        self.foreigners = await kinds.foreigners(self.service)
        self.powerless = await kinds.powerless_foreigners(self.service)
        self.roles = await kinds.role_keys(self.service)

    async def run(self) -> list[str]:
        """Return what is wrong, with all routes."""
        await self.prepare()
        found = []
        for route in self._routes:
            try:
                await self.check(route)
            except AssertionError as error:
                found.append(f"{route}: {error}")
        return found

    async def check(self, route: Route) -> None:
        """Let nobody in who does not belong, then let in who does."""
        names = await route.make(self.service, TENANT)
        await self.service.settled()
        lesser = await self._lesser(route)
        before = await self._stored()
        await self._check_unknown(route, names)
        await self._check_lesser(route, names, lesser)
        for place, foreigner in self._some(self.foreigners).items():
            await self._check_foreigner(route, names, place, foreigner)
        assert await self._stored() == before, f"{route}: something has changed"
        await self._check_allowed(route)

    def _some(self, kinds_of_keys: Mapping[str, _K]) -> dict[str, _K]:
        found = dict(kinds_of_keys)
        if self._is_whole:
            return found
        others = [kind for kind in found if kind not in _ALWAYS]
        chosen = {others[next(self._turns) % len(others)] for _ in range(2) if others}
        return {kind: key for kind, key in found.items() if kind in _ALWAYS | chosen}

    async def _stored(self) -> Stored:
        """Return what is stored, but for the operations that foreigners have made."""
        own = {one.caller for one in self.foreigners.values()}
        return await stored(self.service.database, but_of=own)

    async def _send(self, route: Route, names: Names, headers: Headers) -> httpx.Response:
        self.requests += 1
        return await self.service.send(route.asked(names), headers)

    async def _check_unknown(self, route: Route, names: Names) -> None:
        for kind, headers in self._some(self.no_keys).items():
            answer = await self._send(route, names, headers)
            what = f"{route} with {kind}: {answer.status_code} {answer.text}"
            assert answer.status_code == 401, what
            status, code, reason = refusal(answer)
            assert (status, code) == (401, "UNAUTHENTICATED"), what
            assert reason in _CREDENTIAL, what
            assert answer.headers["www-authenticate"], what
            if kind in {"no key", "a revoked key"}:
                twin = await self._send(route, ABSENT, headers)
                assert _neutral(answer, names) == _neutral(twin, ABSENT), what

    async def _lesser(self, route: Route) -> dict[str, str]:
        """Return the keys that have less than the route takes."""
        if route.role is None:
            return {}
        found = {role: self.roles[role] for role in ROLES[: ROLES.index(route.role)]}
        found["no role"] = self.roles["no role"]
        found |= {f"nothing in {place}": key for place, key in self.powerless.items()}
        for permission in route.permissions:
            found[f"all but {permission}"] = await kinds.all_but(self.service, permission)
        return found

    async def _check_lesser(self, route: Route, names: Names, keys: Mapping[str, str]) -> None:
        """See that less is too little, also for what is not there."""
        for kind, secret in self._some(keys).items():
            answer = await self._send(route, names, bearer(secret))
            _check_denied(route, kind, answer)
            twin = await self._send(route, ABSENT, bearer(secret))
            if kind in {f"all but {permission}" for permission in route.of_named}:
                assert refusal(twin) == (404, "NOT_FOUND", "RESOURCE_NOT_FOUND"), kind
            else:
                assert _neutral(answer, names) == _neutral(twin, ABSENT), f"{route} with {kind}"

    async def _check_foreigner(
        self, route: Route, names: Names, place: str, foreigner: Foreigner
    ) -> None:
        told, what = foreigner.told(route), f"{route} with a key of {place}"
        headers = bearer(foreigner.secret)
        answer = await self._send(route, names, headers)
        absent = self._absent(names, foreigner)
        match told:
            case Told.DENIED:
                _check_denied(route, place, answer)
            case Told.GONE:
                assert refusal(answer) == (404, "NOT_FOUND", "RESOURCE_NOT_FOUND"), what
                twin = await self._send(route, absent, headers)
                assert _neutral(answer, names) == _neutral(twin, absent), what
            case Told.NOTHING:
                assert answer.status_code == 200, f"{what}: {answer.text}"
                assert not _told_of(answer, names), f"{what}: {answer.text}"
                twin = await self._send(route, absent, headers)
                assert _neutral(answer, names) == _neutral(twin, absent), what
            case Told.ALL:
                assert answer.status_code == route.status, f"{what}: {answer.text}"

    def _absent(self, names: Names, foreigner: Foreigner) -> Names:
        """Return names that differ in what the key does not reach, and are nowhere."""
        if "scope" in foreigner.lacks and len(foreigner.lacks) == 1:
            return replace(ABSENT, engine=names.engine)
        return replace(ABSENT, scope=names.scope, user=names.user)

    async def _check_allowed(self, route: Route) -> None:
        """See that no more is needed than the role, the permissions, or the part that is asked."""
        keys = {"the permission": await self.service.key(permissions=[*route.permissions])}
        if route.role is not None:
            keys |= {role: self.roles[role] for role in (route.role, "admin")}
        names = await route.make(self.service, TENANT)
        for kind, secret in self._some(keys).items():
            answer = await self._send(route, names, bearer(secret))
            assert answer.status_code == route.status, f"{route} with {kind}: {answer.text}"
            names = await self._next(route, names)
        for place, native in self._some(kinds.NATIVES).items():
            secret = await native.key(self.service, route, names)
            answer = await self._send(route, names, bearer(secret))
            if native.told(route) is Told.DENIED:
                _check_denied(route, place, answer)
            else:
                assert answer.status_code == route.status, f"{route} in {place}: {answer.text}"
            names = await self._next(route, names)

    async def _next(self, route: Route, names: Names) -> Names:
        """Return what the next request can name."""
        return names if route.is_read else await route.make(self.service, TENANT)


def _check_denied(route: Route, kind: str, answer: httpx.Response) -> None:
    what = f"{route} with {kind}: {answer.text}"
    assert refusal(answer) == (403, "PERMISSION_DENIED", "PERMISSION_MISSING"), what
    metadata = answer.json()["error"]["details"][0]["metadata"]
    assert metadata["permission"] in route.permissions, what


def _told_of(answer: httpx.Response, names: Names) -> bool:
    """Say whether an answer has any of what was made for the route."""
    made = {names.memory, names.session, names.operation, names.revision, names.user, names.event}
    return any(f'"{one}"' in answer.text or f"/{one}" in answer.text for one in made)


def _neutral(answer: httpx.Response, names: Names) -> str:
    """Return an answer without what differs between any two resources."""
    return f"{answer.status_code} {_ID_OR_TIME.sub('#', names.neutral(answer.text))}"

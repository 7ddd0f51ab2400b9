"""The keys that the sweep sends: those that are none, and those that do not reach a tenant."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.kernel.permissions import Permission
from app.platform.access.logic import check_sum, mint
from tests.access.names import Names
from tests.access.routes import ROLES, Route, Told
from tests.access.service import TOKEN_KEY, Headers, Service, bearer
from tests.support.keys import id_of
from tests.support.tokens import b64, claims, sign

_HOUR = timedelta(hours=1)


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def _unsigned(service: Service) -> str:
    payload = service.token("a", "admin").split(".")[1]
    return ".".join([b64(b'{"alg": "none", "typ": "JWT"}'), payload, ""])


def _of_another_issuer(service: Service) -> str:
    """Return a token that names the issuer's key, and is signed with another."""
    return sign(claims(service.now()), "ed-other", kid=TOKEN_KEY)


async def no_keys(service: Service) -> dict[str, Headers]:
    """Return headers without a key that works, by what is wrong with them."""
    now = service.now()
    good = await service.key("admin")
    body, summed = good[:-6], good[-6:]
    other_sum = check_sum(body + "x")
    assert other_sum != summed
    basic = b64encode(f"user:{mint()}".encode())
    return {
        "no key": [],
        "an empty header": [(b"authorization", b"")],
        "an empty bearer": [(b"authorization", b"Bearer")],
        "a key without its scheme": [(b"authorization", good.encode())],
        "a scheme that is not taken": [(b"authorization", b"Digest " + good.encode())],
        "an empty x-goog-api-key": [(b"x-goog-api-key", b"")],
        "garbage": bearer("garbage"),
        "a wrong check sum": bearer(body + other_sum),
        "a key cut short": bearer(good[:-1]),
        "a key with one letter more": bearer(good + "0"),
        "a key that was never made": bearer(mint()),
        "a key that is in the other case": bearer(good.swapcase()),
        "bytes that are no text": [(b"x-goog-api-key", b"\xff\xfe\xc3\xa9")],
        "letters that are not ASCII": [(b"authorization", "Bearer omb_é".encode())],
        "a huge key": bearer("k" * 10_000),
        "a password that is no key": [(b"authorization", b"Basic " + basic)],
        "a password that is not written as one": [(b"authorization", b"Basic !!!")],
        "an unsigned token": bearer(_unsigned(service)),
        "a token that somebody else has signed": bearer(_of_another_issuer(service)),
        "a token cut short": bearer(service.token("a", "admin")[:-4]),
        "a token for another audience": bearer(service.token("a", "admin", aud="other")),
        "a token that has expired": bearer(service.token("a", "admin", exp=_seconds(now - _HOUR))),
        "a token of tomorrow": bearer(service.token("a", "admin", nbf=_seconds(now + _HOUR))),
        "a token with conditions on nothing": bearer(
            service.token("a", "admin", scope_conditions={"user_id": []})
        ),
        "a good key behind a bad one": [(b"x-goog-api-key", b"bad"), *bearer(good)],
        "a revoked key": bearer(await service.key("admin", revoke_time=now - _HOUR)),
        "an expired key": bearer(await service.key("admin", expire_time=now - _HOUR)),
        "a key that expires now": bearer(await service.key("admin", expire_time=now)),
    }


@dataclass(frozen=True)
class Foreigner:
    """A key that may do everything, elsewhere.

    Attributes:
        caller: as operations name it.
        lacks: what it does not reach: "scope", "engine" or "project"; what counts most first.
    """

    secret: str
    caller: str
    lacks: tuple[str, ...]

    def told(self, route: Route) -> Told:
        found: list[Told] = [getattr(route, lacking) for lacking in self.lacks]
        return Told.DENIED if Told.DENIED in found else found[0]


_ELSEWHERE: Mapping[str, tuple[tuple[str, ...], Mapping[str, Any]]] = {
    "another scope": (("scope",), {"scope_conditions": {"user_id": ["other"]}}),
    "several other scopes": (("scope",), {"scope_conditions": {"user_id": ["other", "others"]}}),
    "another key of scopes": (("scope",), {"scope_conditions": {"team": ["other"]}}),
    "its user, in a team": (
        ("scope",),
        {"scope_conditions": {"user_id": ["tenant"], "team": ["other"]}},
    ),
    "no scope at all": (("scope",), {"scope_conditions": {"user_id": []}}),
    "another engine": (("engine",), {"engines": ["2"]}),
    "no engine at all": (("engine",), {"engines": []}),
    "another engine and another scope": (
        ("engine", "scope"),
        {"engines": ["2"], "scope_conditions": {"user_id": ["other"]}},
    ),
    "its scope in another engine": (
        ("engine", "scope"),
        {"engines": ["2"], "scope_conditions": {"user_id": ["tenant"]}},
    ),
    "another project": (("project",), {"projects": ["other"]}),
    "no project at all": (("project",), {"projects": []}),
    "its engine in another project": (
        ("project", "engine"),
        {"engines": ["1"], "projects": ["other"]},
    ),
}


_TOKENS = ("another scope", "another key of scopes", "another engine", "another project")


async def foreigners(service: Service) -> dict[str, Foreigner]:
    """Return keys of an administrator of other places, by the place; of some also tokens."""
    found = {}
    for place, (lacks, bounds) in _ELSEWHERE.items():
        secret = await service.key("admin", **bounds)
        found[place] = Foreigner(secret, id_of(secret), lacks)
    for place in _TOKENS:
        lacks, bounds = _ELSEWHERE[place]
        token = service.token(place, "admin", **bounds)
        found[f"{place}, by a token"] = Foreigner(token, f"jwt:{place}", lacks)
    return found


async def powerless_foreigners(service: Service) -> dict[str, str]:
    """Return keys of some of those places without a permission."""
    places = ("another scope", "another engine", "another project")
    return {place: await service.key(**_ELSEWHERE[place][1]) for place in places}


async def role_keys(service: Service) -> dict[str, str]:
    """Return an unbound key of each role, by its name, and one without any."""
    found = {role: await service.key(role) for role in ROLES}
    return {"no role": await service.key(), **found}


async def all_but(service: Service, permission: str) -> str:
    """Return a key with every permission but one."""
    return await service.key(permissions=[one.value for one in Permission if one != permission])


@dataclass(frozen=True)
class Native:
    """A key that reaches the tenant and no more.

    Attributes:
        lacks: what else it does not reach.
        bounds: to what it is bound.
    """

    lacks: str
    bounds: Callable[[Names], Mapping[str, Any]]
    is_token: bool = False

    def told(self, route: Route) -> Told:
        return Told.DENIED if getattr(route, self.lacks) is Told.DENIED else Told.ALL

    async def key(self, service: Service, route: Route, names: Names) -> str:
        """Make one with the least role that the route needs."""
        roles = [] if route.role is None else [route.role]
        if self.is_token:
            return service.token("native", *roles, **self.bounds(names))
        return await service.key(*roles, **self.bounds(names))


NATIVES = {
    "its scope": Native("scope", lambda names: {"scope_conditions": {"user_id": [names.user]}}),
    "its scope and others, by a token": Native(
        "scope",
        lambda names: {"scope_conditions": {"user_id": ["x", names.user]}},
        is_token=True,
    ),
    "its engine": Native("engine", lambda names: {"engines": ["2", names.engine]}),
    "its project": Native("project", lambda names: {"projects": [names.project]}),
}
"""By the place that they are bound to."""

"""Sessions of the console: sign-in, lookup, renewal and end; only this module uses the cookie."""

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.adapters.batches import SweepBatches
from app.adapters.logs import request_id
from app.adapters.resources import Resources
from app.kernel.audit import Audited, Auditor
from app.kernel.auth import Authenticator, Caller, Identity, Reach
from app.kernel.errors import Unauthenticated
from app.kernel.permissions import Permission
from app.settings.settings import Settings
from app.surfaces.console import store
from app.surfaces.console.store import ConsoleSessionRow
from app.surfaces.console.wrongkeys import WrongKeys, is_audited
from app.web.auth import check_reserve, counted_failures
from app.web.headers import address_of, authority, header

SURFACE = "console"
"""The console's name in the audit log."""
SIGN_IN = "signIn"
"""The audited method of a sign-in."""
UNKNOWN = "unknown"
"""The caller in the audit log of a sign-in with a wrong key."""
_SECURE_COOKIE = "__Host-memory-bank"
_PLAIN_COOKIE = "memory-bank-console"
_VALUE_BYTES = 32
_LIVE = "div#live"
"""The part of a page that renews itself, which does not show that somebody is there."""
_USE_PRECISION = timedelta(minutes=1)
_FORM_LABEL = "memory-bank console form"
_PORT = 80
_PERMISSIONS = frozenset(Permission)


@dataclass(frozen=True)
class OpenSession:
    """A session of a request; its pages make API requests as its caller."""

    value: str
    caller: Caller

    @property
    def form_token(self) -> str:
        """The token that each form of this session carries."""
        return signature(self.value, _FORM_LABEL)

    def is_own_form(self, token: str) -> bool:
        """Return True if a form was made for this session."""
        return is_signed(self.value, _FORM_LABEL, token)


@dataclass(frozen=True)
class Sessions:
    """The sessions of one process."""

    resources: Resources
    authenticator: Authenticator
    auditor: Auditor

    @classmethod
    def of(cls, request: Request) -> "Sessions":
        """Return the sessions of the process that serves a request."""
        state = request.app.state
        return cls(state.resources, state.authenticator, state.gate.auditor)

    async def sign_in(self, request: Request, secret: str) -> str:
        """Open a session for a key or token and return the cookie's value.

        Raises:
            Unauthenticated: the credential is not valid.
        """
        with counted_failures():
            identity = await self.authenticator.identify(secret)
        check_reserve(request.scope, identity.caller)
        value = secrets.token_urlsafe(_VALUE_BYTES)
        address = address_of(request.scope)
        async with self.resources.db.transaction() as session:
            row = {"session_hash": _hash_of(value), "address": address, **_columns(identity)}
            longest = timedelta(seconds=self.resources.settings.console_session_seconds)
            await store.insert_session(session, row, longest, identity.end_time)
            await self.auditor.record(session, _signed_in(identity, address))
        return value

    async def refuse(self, request: Request, error: Unauthenticated) -> bool:
        """Note a wrong key and wait if its address sent several; False: too many wait already."""
        wrong = self.resources.kept.setdefault(WrongKeys, WrongKeys())
        address = address_of(request.scope)
        number = wrong.note(address, self.resources.clock.now())
        if is_audited(number):
            audited = Audited(
                caller=UNKNOWN,
                method=SIGN_IN,
                resource="",
                engine_id=None,
                address=address,
                request_id=request_id(),
                surface=SURFACE,
            )
            await self.auditor.record_alone(audited, error)
        return bool(await wrong.wait(number))

    async def find(self, request: Request) -> OpenSession | None:
        """Return the session of a request; None: there is none, or it has ended."""
        value = request.cookies.get(cookie_name(request))
        if not value:
            return None
        idle = _longest_idle(self.resources.settings)
        async with self.resources.db.snapshot() as session:
            row = await store.find(session, _hash_of(value), idle)
        if row is None:
            return None
        try:
            caller = await self._caller(row)
        except Unauthenticated:
            await self.end(value)
            return None
        check_reserve(request.scope, caller)
        if request.headers.get("hx-source") != _LIVE:
            await self._note_use(row)
        return OpenSession(value, caller)

    async def _caller(self, row: ConsoleSessionRow) -> Caller:
        if row.secret_hash is not None:
            return await self.authenticator.caller_of(row.key_id, row.secret_hash)
        assert row.grants is not None
        return _granted(row.key_id, row.grants)

    async def _note_use(self, row: ConsoleSessionRow) -> None:
        # The process's clock follows the database's clock; using it saves a statement.
        if self.resources.clock.now() - row.last_use_time < _USE_PRECISION:
            return
        if self.resources.db.is_primary_away:
            # The standby can render the page; only the session's idle time is not renewed.
            return
        async with self.resources.db.transaction() as session:
            await store.note_use(session, row.session_hash, _USE_PRECISION)

    async def spend_form(self, value: str, form_id: str) -> bool:
        """Record the use of a form that creates a secret; return False if it was used before."""
        async with self.resources.db.transaction() as session:
            return await store.spend_form(session, _hash_of(value), form_id)

    async def give_form_back(self, value: str, form_id: str) -> None:
        """Allow a form that creates a secret to be sent again, after it was refused."""
        async with self.resources.db.transaction() as session:
            await store.give_form_back(session, _hash_of(value), form_id)

    async def end(self, value: str) -> None:
        """End a session."""
        async with self.resources.db.transaction() as session:
            await store.remove(session, _hash_of(value))

    async def end_all(self, key_id: str) -> None:
        """End every session of a key."""
        async with self.resources.db.transaction() as session:
            await store.remove_of_key(session, key_id)


async def remove_ended(batches: SweepBatches) -> int:
    """Remove ended sessions in a sweep and return their number."""
    settings = batches.resources.settings
    if not settings.console:
        return 0
    select = partial(store.select_ended, _longest_idle(settings))
    return await batches.remove(select, store.remove_ended)


def signature(value: str, text: str) -> str:
    """Return what proves that a text was made for the session with a cookie's value."""
    return hmac.new(value.encode(), text.encode(), hashlib.sha256).hexdigest()


def is_signed(value: str, text: str, signed: str) -> bool:
    """Return True if a signature proves that a text was made for a session."""
    return hmac.compare_digest(signed.encode(), signature(value, text).encode())


def cookie_name(request: Request, kind: str = "") -> str:
    """Return the name of a cookie for a request, by default the session's; no others are read."""
    name = _SECURE_COOKIE if is_secure(request) else _PLAIN_COOKIE
    return f"{name}-{kind}" if kind else name


def set_cookie(
    request: Request, answer: Response, value: str, kind: str = "", seconds: int | None = None
) -> None:
    """Set a cookie that lasts for a time, by default until the browser is closed."""
    answer.set_cookie(cookie_name(request, kind), value, seconds, **_attributes(request))


def drop_cookie(request: Request, answer: Response, kind: str = "") -> None:
    """Delete a cookie in the browser, by default the session's."""
    answer.delete_cookie(cookie_name(request, kind), **_attributes(request))


def _attributes(request: Request) -> dict[str, Any]:
    return {"path": "/", "secure": is_secure(request), "httponly": True, "samesite": "strict"}


def needs_tls(request: Request) -> bool:
    """Return True if the browser will drop the cookie, unless a proxy in front terminates TLS."""
    return is_secure(request) and request.url.scheme != "https"


def is_exposed(request: Request) -> bool:
    """Return True if the cookie travels over a network without TLS."""
    return not is_secure(request) and not _is_loopback(request)


def is_secure(request: Request) -> bool:
    """Return True if the cookie requires TLS, which a proxy in front may terminate."""
    settings: Settings = request.app.state.resources.settings
    if request.url.scheme == "https":
        return True
    return not (_is_loopback(request) or settings.console_plain_http)


def _is_loopback(request: Request) -> bool:
    host_and_port = authority(header(request.scope, b"host") or b"", _PORT)
    if host_and_port is None:
        return False
    host = host_and_port[0].decode("latin-1").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _hash_of(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).digest()


def _longest_idle(settings: Settings) -> timedelta:
    return timedelta(seconds=settings.console_idle_seconds)


def _signed_in(identity: Identity, address: str | None) -> Audited:
    key_id = identity.caller.key_id
    return Audited(
        caller=key_id,
        method=SIGN_IN,
        resource="" if identity.secret_hash is None else f"keys/{key_id}",
        engine_id=None,
        address=address,
        request_id=request_id(),
        surface=SURFACE,
    )


def _columns(identity: Identity) -> dict[str, Any]:
    caller = identity.caller
    is_token = identity.secret_hash is None
    return {
        "key_id": caller.key_id,
        "secret_hash": identity.secret_hash,
        "grants": _grants(caller) if is_token else None,
    }


def _grants(caller: Caller) -> dict[str, Any]:
    reach = caller.reach
    return {
        "permissions": sorted(caller.permissions),
        "projects": None if reach.projects is None else sorted(reach.projects),
        "engines": None if reach.engines is None else sorted(map(str, reach.engines)),
        "conditions": {key: sorted(values) for key, values in reach.conditions.items()},
    }


def _granted(key_id: str, grants: Mapping[str, Any]) -> Caller:
    projects, engines = grants["projects"], grants["engines"]
    # Permissions of another release that this one does not know are ignored.
    permissions = (Permission(name) for name in grants["permissions"] if name in _PERMISSIONS)
    return Caller(
        key_id,
        frozenset(permissions),
        Reach(
            None if projects is None else frozenset(projects),
            None if engines is None else frozenset(map(int, engines)),
            {key: frozenset(values) for key, values in grants["conditions"].items()},
        ),
    )

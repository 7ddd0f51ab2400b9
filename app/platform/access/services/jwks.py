"""The public keys of the tokens' issuer, read from a file or an address and refreshed.

A file is read again after a second, an address after its maximum age, or for an unknown key. While
readings fail, the previous keys serve for another hour.

Source: RFC 7517; RFC 8725, section 3.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import structlog
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK, PyJWTError
from pydantic import BaseModel, ValidationError
from typing_extensions import override

from app.adapters.llm.http import open_client
from app.kernel.clock import Clock
from app.kernel.errors import Reason, Unavailable, describe
from app.settings.settings import Settings

log = structlog.get_logger()

_FILE_AGE = timedelta(seconds=1)
_GRACE = timedelta(hours=1)
"""Extra lifetime of the keys while they cannot be read again."""
_RETRY = timedelta(seconds=2)
"""Pause between readings while they fail."""
_SEARCH_PAUSE = timedelta(seconds=10)
"""Pause between readings for unknown keys: anyone can invent key names."""
_MAX_BYTES = 256 * 1024
_MIN_RSA_BITS = 2048

_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_FITTING: Mapping[tuple[str, str | None], Sequence[str]] = {
    ("RSA", None): _RSA,
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
"""Allowed algorithms by type and curve of a key. Symmetric keys have none."""
_PUBLIC_MEMBERS = ("kty", "crv", "n", "e", "x", "y")


class KeysUnread(Exception):
    """The keys cannot be read; the message gives the reason without quoting the source."""


class _Jwk(BaseModel):
    kty: str
    crv: str | None = None
    kid: str | None = None
    alg: str | None = None
    use: str = "sig"
    key_ops: list[str] = ["verify"]


@dataclass(frozen=True)
class SigningKey:
    """A public key, for each algorithm that it may be used with."""

    key_id: str | None
    by_algorithm: Mapping[str, PyJWK]

    def has_id(self, key_id: str | None) -> bool:
        """Return True if this is the name of the key; None: any key."""
        return key_id in {None, self.key_id}


@dataclass(frozen=True, eq=False)
class KeySet:
    """The keys of one reading. Two key sets are equal only if they are the same object."""

    keys: Sequence[SigningKey]

    def knows(self, key_id: str | None) -> bool:
        """Return True if a key of this name exists; None: any key."""
        return any(key.has_id(key_id) for key in self.keys)

    def find(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        """Return the single key of this name (None: any name) that fits an algorithm."""
        matches = [
            key.by_algorithm[algorithm]
            for key in self.keys
            if key.has_id(key_id) and algorithm in key.by_algorithm
        ]
        return matches[0] if len(matches) == 1 else None


def read_key_set(body: bytes, algorithms: Sequence[str]) -> KeySet:
    """Parse a JWK set, leaving out keys that fit none of the algorithms, or raise KeysUnread."""
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        raise KeysUnread("not JSON") from None
    listed = read.get("keys") if isinstance(read, dict) else None
    if not isinstance(listed, list):
        raise KeysUnread("not a JWK set")
    keys = [_key(jwk, algorithms) for jwk in listed if isinstance(jwk, dict)]
    return KeySet([key for key in keys if key is not None and key.by_algorithm])


def _key(jwk: Mapping[str, Any], algorithms: Sequence[str]) -> SigningKey | None:
    try:
        parsed = _Jwk.model_validate(jwk, strict=True)
    except ValidationError:
        return None
    if parsed.use != "sig" or "verify" not in parsed.key_ops:
        return None
    fitting = _FITTING.get((parsed.kty, parsed.crv), ())
    usable = [
        algorithm
        for algorithm in fitting
        if algorithm in algorithms and parsed.alg in {None, algorithm}
    ]
    # No private members, in case someone has published a private key.
    public = {name: jwk[name] for name in _PUBLIC_MEMBERS if name in jwk}
    try:
        built = {algorithm: PyJWK(public, algorithm) for algorithm in usable}
    except PyJWTError:
        return None
    if any(_is_weak(key) for key in built.values()):
        return None
    return SigningKey(parsed.kid, built)


def _is_weak(key: PyJWK) -> bool:
    return isinstance(key.key, RSAPublicKey) and key.key.key_size < _MIN_RSA_BITS


class KeySource(Protocol):
    """The source of a JWK set."""

    max_age: timedelta
    """The time for which a reading counts as current."""

    async def read(self) -> bytes:
        """Return the JWK set, or raise an exception of any kind."""
        ...


class FileSource(KeySource):
    """A JWK set in a file."""

    def __init__(self, path: Path) -> None:
        self.max_age = _FILE_AGE
        self._path = path

    @override
    async def read(self) -> bytes:
        return await asyncio.to_thread(self._read)

    def _read(self) -> bytes:
        with self._path.open("rb") as file:
            body = file.read(_MAX_BYTES + 1)
        if len(body) > _MAX_BYTES:
            raise KeysUnread("too long")
        return body


class AddressSource(KeySource):
    """A JWK set at an address, which must not redirect to another."""

    def __init__(self, url: str, max_age: timedelta, timeout_seconds: float) -> None:
        self.max_age = max_age
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._client = open_client(timeout_seconds, _MAX_BYTES)
        # Reads are rare: no connection is kept open, so none has to be closed.
        self._client.headers["Connection"] = "close"

    @override
    async def read(self) -> bytes:
        async with asyncio.timeout(self._timeout_seconds):
            response = await self._client.get(self._url)
        if response.status_code != 200:
            raise KeysUnread(f"HTTP status {response.status_code}")
        return response.content


def source_of(settings: Settings) -> KeySource:
    """Return the source of the keys named in the settings."""
    assert settings.jwt_jwks
    if "://" not in settings.jwt_jwks:
        return FileSource(Path(settings.jwt_jwks))
    max_age = timedelta(seconds=settings.tuning.jwt_jwks_max_age_seconds)
    return AddressSource(settings.jwt_jwks, max_age, settings.tuning.jwt_key_timeout_seconds)


class KeyRing:
    """The keys currently held."""

    def __init__(self, source: KeySource, algorithms: Sequence[str], clock: Clock) -> None:
        self._source = source
        self._algorithms = algorithms
        self._clock = clock
        self._body = b""
        self._held: KeySet | None = None
        self._is_failing = False
        self._read_time: datetime | None = None
        self._try_time: datetime | None = None
        self._search_time: datetime | None = None
        self._reading: asyncio.Task[None] | None = None

    async def current(self) -> KeySet:
        """Return the keys, reading them first if they are due, or raise Unavailable.

        While readings fail but some keys still serve, no caller waits for the next reading.
        """
        if self._is_due():
            reading = self._read_once()
            if not self._is_failing or not self._is_serving():
                await asyncio.shield(reading)
        return self._serving()

    async def search(self) -> KeySet:
        """Read the keys again for an unknown key, unless just done, or raise Unavailable."""
        if not self._is_within(self._search_time, _SEARCH_PAUSE):
            self._search_time = self._clock.now()
            await asyncio.shield(self._read_once())
        elif self._reading is not None:
            await asyncio.shield(self._reading)
        return self._serving()

    def _is_due(self) -> bool:
        if self._is_failing:
            return not self._is_within(self._try_time, _RETRY)
        return not self._is_within(self._read_time, self._source.max_age)

    def _is_serving(self) -> bool:
        has_keys = self._held is not None and bool(self._held.keys)
        return has_keys and self._is_within(self._read_time, self._source.max_age + _GRACE)

    def _is_within(self, since: datetime | None, length: timedelta) -> bool:
        return since is not None and timedelta() <= self._clock.now() - since < length

    def _serving(self) -> KeySet:
        if self._held is None or not self._is_serving():
            raise Unavailable(
                "The keys of the tokens' issuer cannot be read at the moment.",
                Reason.ISSUER_KEYS_UNAVAILABLE,
                retry_after_seconds=_RETRY.total_seconds(),
            )
        return self._held

    def _read_once(self) -> asyncio.Task[None]:
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        return self._reading

    async def _read(self) -> None:
        started = self._try_time = self._clock.now()
        try:
            body = await self._source.read()
            if self._held is None or body != self._body:
                self._held = await asyncio.to_thread(read_key_set, body, self._algorithms)
                self._body = body
                log.info("issuer_keys.read", keys=len(self._held.keys))
        except Exception as error:  # noqa: BLE001 - after any error, the previous keys keep serving
            if not self._is_failing:
                why = str(error) if isinstance(error, KeysUnread) else describe(error)
                log.warning("issuer_keys.unread", why=why)
            self._is_failing = True
            return
        # A source without keys has withdrawn them all or has not published any yet.
        self._is_failing = not self._held.keys
        self._read_time = started

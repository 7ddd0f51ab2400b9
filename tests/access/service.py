"""The service as the sweep sees it: one process or several, and the database they share."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from urllib.parse import urlencode

import httpx
from typing_extensions import override

from app.adapters.db.session import Database
from tests.access.clients import Client
from tests.support.asgi import JSON, Sent
from tests.support.keys import make_key
from tests.support.tokens import claims, sign

TOKEN_KEY = "ed"
"""Of the issuer whose tokens the service takes."""
_TOKEN_LIFE = timedelta(hours=1)

Json = dict[str, Any]
Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Asked:
    """A request, but for who asks."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Json | None = None

    def with_params(self, **params: str) -> "Asked":
        return replace(self, params={**self.params, **params})

    def sent(self, headers: Headers) -> Sent:
        """Return the request as it goes over the wire."""
        body = b"" if self.body is None else json.dumps(self.body).encode()
        query = urlencode(self.params).encode()
        return Sent(self.method, self.path.encode(), query, [JSON, *headers], body)

    @override
    def __str__(self) -> str:
        return f"{self.method} {self.path} {dict(self.params) or ''} {self.body or ''}"


def bearer(secret: str) -> Headers:
    return [(b"authorization", b"Bearer " + secret.encode())]


@dataclass
class Service:
    """Sends requests to the processes in turn.

    Attributes:
        now: the time that keys are made at.
        settled: returns once no operation is due any more.
        admin: the secret of a key that may do everything.
    """

    clients: Sequence[Client]
    database: Database
    now: Callable[[], datetime]
    settled: Callable[[], Awaitable[None]]
    admin: str
    _turns: Iterator[int] = field(default_factory=count)

    async def send(self, asked: Asked, headers: Headers = ()) -> httpx.Response:
        client = self.clients[next(self._turns) % len(self.clients)]
        return await client.send(asked.sent(headers))

    async def ask(self, asked: Asked, secret: str) -> httpx.Response:
        return await self.send(asked, bearer(secret))

    async def done(self, asked: Asked, secret: str | None = None) -> Json:
        """Return the answer, which must be a success; the administrator asks unless told."""
        answer = await self.ask(asked, secret or self.admin)
        assert answer.status_code == 200, f"{asked}: {answer.text}"
        found: Json = answer.json()
        return found

    async def key(self, *roles: str, **options: Any) -> str:
        """Make a key; return its secret."""
        return await make_key(self.database, self.now(), *roles, **options)

    def token(self, subject: str, *roles: str, **others: Any) -> str:
        """Return a token of the issuer; `others` are claims."""
        ends = int((self.now() + _TOKEN_LIFE).timestamp())
        payload = claims(self.now(), **{"sub": subject, "roles": [*roles], "exp": ends, **others})
        return sign(payload, TOKEN_KEY)

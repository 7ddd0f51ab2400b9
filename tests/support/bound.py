"""A bank of several users, and keys that are bound to some of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.support.bank import Json, ok
from tests.support.keys import client_with, make_key
from tests.support.operations import create_memory
from tests.support.sessions import append, create_session

Scope = dict[str, str]
Conditions = dict[str, list[str]]

SCOPES: Mapping[str, Scope] = {
    "mine": {"user_id": "42"},
    "other": {"user_id": "43"},
    "theirs": {"user_id": "7"},
    "mine-app": {"user_id": "42", "app": "x"},
    "theirs-app": {"user_id": "7", "app": "x"},
}
"""By the id of the one memory that each has, whose fact is `About <id>.`."""
USERS = ("42", "43", "7")
"""Each has one session, `s-<user>`, with an event that says `Said by <user>.`."""


@dataclass(frozen=True)
class Kind:
    """A kind of key: its conditions, and what it sees of the bank."""

    conditions: Conditions
    memories: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def hidden(self) -> list[str]:
        """The memories that it does not see."""
        return [one for one in SCOPES if one not in self.memories]

    @property
    def hidden_users(self) -> list[str]:
        """The users whose sessions it does not see."""
        return [one for one in USERS if one not in self.users]


KINDS: Mapping[str, Kind] = {
    "two values": Kind({"user_id": ["42", "43"]}, ("mine", "other", "mine-app"), ("42", "43")),
    "two keys": Kind({"user_id": ["42"], "app": ["x", "y"]}, ("mine-app",), ()),
    "a key that sessions lack": Kind({"app": ["x"]}, ("mine-app", "theirs-app"), ()),
}


@dataclass(frozen=True)
class Bound:
    """A client whose key is bound, and its kind."""

    client: httpx.AsyncClient
    kind: Kind


async def fill(client: httpx.AsyncClient) -> None:
    """Fill the bank: a memory of each scope, a session of each user."""
    for memory_id, scope in SCOPES.items():
        body = {"fact": f"About {memory_id}.", "scope": scope}
        labels = {"revisionLabels": {"run": "first"}}
        params = {"memoryId": memory_id}
        ok(await client.post("/memories", params=params, json={**body, **labels}))
    for user in USERS:
        await create_session(client, f"s-{user}", userId=user, displayName=f"Of {user}")
        await append(client, f"/sessions/s-{user}", f"Said by {user}.")


async def bound_client(
    app: FastAPI, database: Database, clock: FixedClock, conditions: Conditions, *roles: str
) -> httpx.AsyncClient:
    """Return a client with a key that is bound; an administrator's, unless roles are given."""
    roles = roles or ("admin",)
    secret = await make_key(database, clock.now(), *roles, scope_conditions=conditions)
    return client_with(app, secret)


async def facts(client: httpx.AsyncClient) -> list[str]:
    """Return the ids of the bank's memories whose facts a list has, in the order of `SCOPES`."""
    page = ok(await client.get("/memories"))
    listed = {one["fact"] for one in page.get("memories", [])}
    return [one for one in SCOPES if f"About {one}." in listed]


async def make_foreign(client: httpx.AsyncClient, fact: str, user: str = "7") -> Json:
    """Create a memory of another user, as somebody who may."""
    return await create_memory(client, fact, {"user_id": user})


def assert_alike(
    foreign: httpx.Response, missing: httpx.Response, foreign_id: str, missing_id: str
) -> None:
    """Check that what is foreign is told as what is not there, byte by byte but for the id."""
    assert foreign.status_code == missing.status_code
    assert foreign.text.replace(foreign_id, "ID") == missing.text.replace(missing_id, "ID")
    names = set(foreign.headers) ^ set(missing.headers)
    assert not names

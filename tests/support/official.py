"""The official clients, unmodified, and a bank as they see it.

Their modules warn when they are imported and when their types are first used, so both happen
inside fixtures and tests of `tests/conformance`, where those warnings are named.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support.live import KEY

PROJECT = "my-project"
LOCATION = "us-central1"
PARENT = f"projects/{PROJECT}/locations/{LOCATION}"
USER = {"user_id": "123"}

Client = Any
"""A `vertexai.Client` or an `agentplatform.Client`."""


def credentials(token: str = KEY) -> Any:
    """Make credentials that only hold a token. Source: wire specification, section 1.3."""
    from google.oauth2.credentials import Credentials  # noqa: PLC0415 - see above

    return Credentials(token=token)  # type: ignore[no-untyped-call]  # it has no types


def vertex_client(**options: Any) -> Client:
    """Make the client that most users have."""
    import vertexai  # noqa: PLC0415 - see above

    return vertexai.Client(**options)


def platform_client(**options: Any) -> Client:
    """Make its successor."""
    import agentplatform  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no types

    return agentplatform.Client(**options)


def at(url: str, token: str = KEY, **http: Any) -> dict[str, Any]:
    """Return the options of a client of the server at `url`, as the guide has them."""
    return {
        "project": PROJECT,
        "location": LOCATION,
        "credentials": credentials(token),
        "http_options": {"base_url": url, **http},
    }


def new_engine(http: httpx.Client) -> str:
    """Create an engine and return its full name."""
    answer = http.post(f"{PARENT}/reasoningEngines", json={})
    assert answer.status_code == 200, answer.text
    name: str = answer.json()["response"]["name"]
    return name


def last_part(name: str) -> str:
    """Return the id, as clients cut it from a name."""
    return name.rpartition("/")[2]


def says(*texts: str, role: str | None = "user") -> dict[str, Any]:
    """Return a source of turns of one speaker."""
    speaker = {} if role is None else {"role": role}
    return {"events": [{"content": {**speaker, "parts": [{"text": text}]}} for text in texts]}


def facts(*texts: str) -> dict[str, Any]:
    """Return a source of facts."""
    return {"direct_memories": [{"fact": text} for text in texts]}


@dataclass(frozen=True)
class Bank:
    """A bank of its own for a test, driven by the official client."""

    client: Client
    name: str

    @property
    def memories(self) -> Any:
        """The client's methods of memories."""
        return self.client.agent_engines.memories

    def create(self, fact: str, scope: dict[str, str] | None = None, **config: Any) -> Any:
        """Create a memory and return it."""
        wanted = scope or USER
        made = self.memories.create(name=self.name, fact=fact, scope=wanted, config=config)
        return made.response

    def get(self, name: str) -> Any:
        """Return a memory."""
        return self.memories.get(name=name)

    def listed(self, **config: Any) -> list[Any]:
        """Return the memories of a list, over all its pages."""
        return [*self.memories.list(name=self.name, config=config)]

    def listed_facts(self, **config: Any) -> list[str]:
        """Return the facts of a list."""
        return [one.fact for one in self.listed(**config)]

    def retrieve(self, scope: dict[str, str] | None = None, **arguments: Any) -> list[Any]:
        """Return what a retrieval finds."""
        return [*self.memories.retrieve(name=self.name, scope=scope or USER, **arguments)]

    def retrieved_facts(self, scope: dict[str, str] | None = None, **arguments: Any) -> list[str]:
        """Return the facts that a retrieval finds."""
        return [one.memory.fact for one in self.retrieve(scope, **arguments)]

    def remember(self, *texts: str, scope: dict[str, str] | None = None, **config: Any) -> Any:
        """Generate from facts; return what was generated."""
        operation = self.memories.generate(
            name=self.name,
            direct_memories_source=facts(*texts),
            scope=scope or USER,
            config=config,
        )
        return generated(operation)

    def hear(self, *texts: str, scope: dict[str, str] | None = None, **config: Any) -> Any:
        """Generate from turns of the user; return what was generated."""
        operation = self.memories.generate(
            name=self.name,
            direct_contents_source=says(*texts),
            scope=scope or USER,
            config=config,
        )
        return generated(operation)

    def revisions(self, memory: str, **config: Any) -> list[Any]:
        """Return the revisions of a memory, newest first."""
        return [*self.memories.revisions.list(name=memory, config=config)]

    def first_revision_id(self, memory: str) -> str:
        """Return the id of the revision that a memory began with."""
        return last_part(self.revisions(memory)[-1].name)


def generated(operation: Any) -> Sequence[Any]:
    """Return the memories that a done operation names, and make sure that it is done."""
    assert operation.done
    assert operation.error is None
    return operation.response.generated_memories or []


def to_its_end(http: httpx.Client, name: str) -> dict[str, Any]:
    """Wait for an operation and return it as it lies on the wire."""
    answer = http.post(f"{name}:wait", params={"timeout": "30s"}, timeout=60)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["done"] is True
    assert "error" not in found
    return found


def actions(found: Sequence[Any]) -> list[str]:
    """Return what became of each generated memory."""
    return [one.action.value for one in found]


@contextmanager
def refused(code: int, status: str, naming: str = "") -> Iterator[None]:
    """Expect the client to raise what an answer of 4xx becomes, naming what was wrong."""
    from google.genai.errors import ClientError  # noqa: PLC0415 - see above

    with pytest.raises(ClientError) as caught:
        yield
    assert (caught.value.code, caught.value.status) == (code, status), caught.value.message
    assert caught.value.message
    assert naming in caught.value.message


def invalid(naming: str = "") -> Any:
    """Expect INVALID_ARGUMENT."""
    return refused(400, "INVALID_ARGUMENT", naming)


def missing() -> Any:
    """Expect NOT_FOUND."""
    return refused(404, "NOT_FOUND")

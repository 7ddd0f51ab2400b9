"""Sessions of the official client, of which plain HTTP asks contexts, and a summariser to order."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from tests.support.bank import Json, ok
from tests.support.contexts import HALF, said
from tests.support.model_server import Behaviour, ModelServer, Seen
from tests.support.official import Client

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SUMMARY_CHARS = 1_000
"""250 tokens, as the published figures have it."""
_FEW = 4


@dataclass
class Stub:
    """The summariser behind the protocol: what it was asked, and how it answers."""

    server: ModelServer
    length: int = SUMMARY_CHARS
    answers: dict[str, Any] = field(default_factory=dict)
    """What it answers in place of a summary."""

    def __post_init__(self) -> None:
        """Answer from now on."""
        self.server.reset()
        self.works()

    def works(self) -> None:
        """Answer all that is asked."""
        self.server.always(Behaviour(self._answer, tokens=quarters))

    def fails(self) -> None:
        """Refuse all that is asked, for good."""
        error = json.dumps({"error": {"message": "Away.", "type": "t", "code": None}}).encode()
        self.server.always(Behaviour(status=503, body=error))

    @property
    def calls(self) -> Sequence[Seen]:
        """The requests that have come in."""
        return self.server.seen

    @property
    def texts(self) -> Sequence[str]:
        """What was asked, without the instructions."""
        return [str(one.body["messages"][-1]["content"]) for one in self.calls]

    @property
    def models(self) -> Sequence[str]:
        """Whom it was asked of."""
        return [str(one.body["model"]) for one in self.calls]

    def _answer(self, _: Mapping[str, Any]) -> Json:
        return self.answers or {"summary": self.text(len(self.calls))}

    def text(self, number: int) -> str:
        """Return the summary of a call, the first of which is 1."""
        return f"<{number}>".ljust(self.length, "s")


def quarters(body: Mapping[str, Any], text: str) -> tuple[int, int]:
    """Count a quarter of the characters of the messages, and of the summary."""
    sent = sum(len(str(one["content"])) for one in body["messages"])
    told = json.loads(text).get("summary", text)
    return -(-sent // 4), -(-len(told) // 4)


@dataclass(frozen=True)
class Dialogue:
    """A session that the official client has made, and goes on with."""

    vertex: Client
    http: httpx.Client
    name: str

    @classmethod
    def begin(
        cls, vertex: Client, http: httpx.Client, engine: str, policy: Json | None = None
    ) -> "Dialogue":
        """Create a session, with a policy if there is one."""
        made = vertex.agent_engines.sessions.create(name=engine, user_id="123")
        found = cls(vertex, http, made.response.name)
        if policy is not None:
            found.follow(policy)
        return found

    def follow(self, policy: Json) -> None:
        """Set the policy of the session."""
        ok(self.http.patch(self.name, json={"memoryPolicy": policy}))

    def say(self, author: str, text: str) -> None:
        """Append an event."""
        role = "user" if author == "user" else "model"
        self.vertex.agent_engines.sessions.events.append(
            name=self.name,
            author=author,
            invocation_id="i",
            timestamp=NOW,
            config={"content": {"role": role, "parts": [{"text": text}]}},
        )

    def tell(self, told: Sequence[tuple[str, str]]) -> None:
        """Append what authors say: a few events by the official client, many at once without it.

        The client takes one at a time, and longer for it than the service.
        """
        if len(told) <= _FEW:
            for author, text in told:
                self.say(author, text)
            return
        events = [said(author, text) for author, text in told]
        ok(self.http.post(f"{self.name}/events:batch", json={"events": events}))

    def events(self, first: int, last: int, tokens: int = 100) -> None:
        """Append events of the user and the agent in turn, which begin with their numbers."""
        texts = [f"[{number}]".ljust(4 * tokens, ".") for number in range(first, last + 1)]
        authors = ["user" if number % 2 else "agent" for number in range(first, last + 1)]
        self.tell([*zip(authors, texts, strict=True)])

    def exchange(self, asked: str = HALF, answered: str = HALF) -> None:
        """Append an exchange, of 100 tokens unless told otherwise."""
        self.say("user", asked)
        self.say("agent", answered)

    def exchanges(self, first: int, last: int) -> None:
        """Append exchanges which say their numbers, of 100 tokens each."""
        told = [numbered(number) for number in range(first, last + 1)]
        authors = ("user", "agent")
        self.tell([pair for one in told for pair in zip(authors, one, strict=True)])

    def ask(self, **body: Any) -> httpx.Response:
        """Ask for a context, and return whatever comes."""
        return self.http.post(f"{self.name}:context", json=body)

    def context(self, **body: Any) -> Json:
        """Return a context as it is."""
        return ok(self.ask(**body))

    def settled(self, **body: Any) -> Json:
        """Return a context once all summaries are made that are due."""
        found = self.context(**{"consistency": "wait", "waitTimeout": "20s", **body})
        assert found["summaryState"] == "current", found["summaryState"]
        return found

    def summaries(self, state: str | None = "active") -> list[Json]:
        """Return the summaries of a state; None: all."""
        params = {"pageSize": 100} | ({} if state is None else {"state": state})
        found: list[Json] = ok(self.http.get(f"{self.name}/summaries", params=params))["summaries"]
        return found

    def stored(self) -> list[Any]:
        """Return all events, by the official client."""
        return [*self.vertex.agent_engines.sessions.events.list(name=self.name)]


def numbered(number: int) -> tuple[str, str]:
    """Return what is asked and answered in an exchange: 200 characters each."""
    return f"question {number} ".ljust(200, "q"), f"answer {number} ".ljust(200, "a")


def transcript(first: int, last: int) -> str:
    """Return such exchanges as a summariser is shown them."""
    lines = [numbered(number) for number in range(first, last + 1)]
    return "\n".join(f"Human: {asked}\nAI: {answered}" for asked, answered in lines)


def covered(found: Sequence[Json]) -> list[tuple[int, int]]:
    """Return what summaries cover."""
    return [(one["covers"]["firstSeq"], one["covers"]["lastSeq"]) for one in found]


def verbatim(context: Json) -> list[int]:
    """Return the numbers of the events that a context shows word for word."""
    ranges = context["coverage"]["verbatim"]
    return [seq for one in ranges for seq in range(one["firstSeq"], one["lastSeq"] + 1)]


def check_partition(context: Json) -> None:
    """Check that each event is in exactly one of shown, covered by one summary, omitted."""
    told = [
        seq
        for part in ("verbatim", "summarised", "omitted")
        for one in context["coverage"][part]
        for seq in range(one["firstSeq"], one["lastSeq"] + 1)
    ]
    assert sorted(told) == list(range(1, context["lastSeq"] + 1))

"""A service whose task memory is tried from outside: its answers, tables, logs and models."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import httpx
import psycopg
from psycopg import sql

from app.adapters.postgres.home import FOLDER, SOCKETS
from app.adapters.postgres.server import url_of
from tests.support.bank import Json, ok
from tests.support.live import KEY, LiveServer, live_server
from tests.support.model_server import ModelServer, Seen
from tests.support.official import PARENT
from tests.support.tasks import TABLES

AGENT = ("artifacts.write", "artifacts.reference", "artifacts.derive")
"""What the key of an agent may: not to see content."""
WINDOW = 8_192
QUESTION = "With which code does the greenhouse open?"
EMBEDDING = "http:embedding"
READER, CLOUD = "off_prompt", "cloud"
_CHARS_PER_TOKEN = 4
_TIMEOUT_SECONDS = 60
_SOON_SECONDS = 20


@dataclass(frozen=True)
class Models:
    """The servers of models, each on an address of its own; all note what they are asked."""

    main: ModelServer
    """Of the agent, and of the service for memories and summaries of sessions."""
    embedding: ModelServer
    reader: ModelServer
    cloud: ModelServer
    """A reader that is not on this machine."""

    def reset(self) -> None:
        """Forget what was asked and ordered."""
        for server in self._all():
            server.reset()

    @property
    def readings(self) -> int:
        """How often any reader was asked."""
        return len(self.reader.seen) + len(self.cloud.seen)

    def settings(self) -> dict[str, str]:
        """Return the settings of a service that is to ask them."""
        readers = {
            READER: _reader(self.reader, "local"),
            CLOUD: _reader(self.cloud, "remote"),
        }
        return {
            "MODEL": "openai:main",
            "MODEL_BASE_URL": self.main.url,
            "EMBEDDER": "http",
            "EMBEDDING_MODEL": "embedding",
            "EMBEDDING_BASE_URL": self.embedding.url,
            "TASK_READERS": json.dumps(readers),
            "MODEL_MAX_ATTEMPTS": "1",
            "MODEL_BREAKER_FAILURES": "1000",
        }

    def _all(self) -> Sequence[ModelServer]:
        return [getattr(self, one.name) for one in fields(self)]


def _reader(server: ModelServer, locality: str) -> Json:
    return {
        "model": "openai:reader",
        "locality": locality,
        "base_url": server.url,
        "max_input_tokens": WINDOW,
    }


@dataclass(frozen=True)
class Service:
    """A running server, and where its lines, its rows and its exports are."""

    live: LiveServer
    folder: Path
    database_url: str

    @property
    def lines(self) -> str:
        """All that the process has written, to both of its outputs."""
        return "".join((self.folder / name).read_text() for name in ("stdout", "stderr"))

    @property
    def sink(self) -> Path:
        return self.folder / "out" / "sink"

    @property
    def admin(self) -> httpx.Client:
        """A client of its own, which its taker closes."""
        return self.client(KEY)

    def client(self, secret: str) -> httpx.Client:
        return httpx.Client(
            base_url=f"{self.live.url}/v1beta1/",
            headers={"Authorization": f"Bearer {secret}"},
            timeout=_TIMEOUT_SECONDS,
        )


@contextmanager
def serving(folder: Path, database_url: str | None = None, **settings: str) -> Iterator[Service]:
    """Run a server for the length of the block, with settings beside those of these tests.

    Unless it is given a database, it has its own, and its own worker.
    """
    (folder / "out" / "sink").mkdir(parents=True)
    given = {
        **({} if database_url is None else {"DATABASE_URL": database_url}),
        "LOG_FORMAT": "json",
        "LOG_LEVEL": "DEBUG",
        "AUDIT_READS": "true",
        "SWEEP_INTERVAL_SECONDS": "0.2",
        "TASK_SWEEP_GRACE_SECONDS": "0",
        "WORKER_POLL_SECONDS": "0.02",
        "TASK_EXPORT_SINKS": json.dumps({"files": str(folder / "out" / "sink")}),
        **settings,
    }
    variables = {f"MEMORY_BANK_{name}": value for name, value in given.items()}
    with live_server(folder, **variables) as live:
        yield Service(live, folder, database_url or url_of(folder / FOLDER / SOCKETS))


@dataclass(frozen=True)
class Desk:
    """An engine of a service with nothing in it, and a client that may do everything."""

    service: Service
    http: httpx.Client
    engine: str

    @classmethod
    def of(cls, service: Service, http: httpx.Client) -> "Desk":
        """Make an engine."""
        made = ok(http.post(f"{PARENT}/reasoningEngines", json={}))
        return cls(service, http, made["response"]["name"])

    @property
    def memory(self) -> str:
        return f"{self.engine}/taskMemories/tools"

    def namespace(self, name: str) -> str:
        return f"{self.memory}/namespaces/{name}"

    def process(self, output: Json, client: httpx.Client | None = None, **said: Any) -> Any:
        """Hand over an output of the tool `web`; return whatever comes."""
        body = {"tool": "web", "activity": "fetch", "output": output, **said}
        return (client or self.http).post(f"{self.memory}:processOutput", json=body)

    def stored(self, text: str, **said: Any) -> str:
        """Keep a text off the prompt; return the path of its namespace."""
        answer = ok(self.process({"kind": "text", "text": text}, offPrompt=True, **said))
        return self.namespace(answer["reference"]["namespace"])

    @contextmanager
    def holding(self, *permissions: str, **said: Any) -> Iterator[httpx.Client]:
        """Yield a client with a key of its own."""
        body = {"displayName": "a test's", "permissions": permissions or None, **said}
        secret = ok(self.http.post(f"{self.service.live.url}/v1/keys", json=body))["secret"]
        with self.service.client(secret) as client:
            yield client

    def rows(self) -> dict[str, int]:
        """Return how many rows the engine has in each table of task memory."""
        number = int(self.engine.rpartition("/")[2])
        with psycopg.connect(self.service.database_url) as connection:
            return {table: _count(connection, table, number) for table in TABLES}

    def chunk_tokens(self) -> list[int]:
        """Return how many tokens each chunk of the engine has, by the length of its text."""
        number = int(self.engine.rpartition("/")[2])
        statement = "select length(text) from task_chunks where engine_id = %s"
        with psycopg.connect(self.service.database_url) as connection:
            return [tokens_in(one[0]) for one in connection.execute(statement, [number])]


def query(desk: Desk, place: str, **said: object) -> httpx.Response:
    """Ask the question of a namespace, of the reader unless told otherwise."""
    return desk.http.post(f"{place}:query", json={"query": QUESTION, "model": READER, **said})


def summarize(desk: Desk, place: str, **said: object) -> httpx.Response:
    """Have a namespace summarised, by the reader unless told otherwise."""
    return desk.http.post(f"{place}:summarize", json={"model": READER, **said})


def _count(connection: psycopg.Connection[Any], table: str, engine_id: int) -> int:
    statement = sql.SQL("select count(*) from {} where engine_id = %s").format(
        sql.Identifier(table)
    )
    row = connection.execute(statement, [engine_id]).fetchone()
    assert row is not None
    found: int = row[0]
    return found


def tokens_in(chars: int) -> int:
    """Count as the service does: a quarter of the characters, rounded up."""
    return -(-chars // _CHARS_PER_TOKEN)


def asked_tokens(seen: Seen) -> int:
    """Count what a request puts into the window of a model: messages, tools, the reply's shape."""
    shapes = [seen.body[key] for key in ("response_format", "tools") if seen.body.get(key)]
    chars = sum(len(json.dumps(shape, separators=(",", ":"))) for shape in shapes)
    return tokens_in(chars + sum(len(str(one["content"])) for one in seen.body["messages"]))


def told(seen: Seen) -> str:
    """Return all that a request says, unescaped."""
    return json.dumps(dict(seen.body), ensure_ascii=False) + str(dict(seen.headers))


def texts_of(server: ModelServer) -> str:
    """Return all that a model was asked."""
    return "\n".join(map(told, server.seen))


def shown(answer: httpx.Response) -> str:
    """Return all that an answer shows."""
    return f"{answer.text}\n{dict(answer.headers)}"


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + _SOON_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)

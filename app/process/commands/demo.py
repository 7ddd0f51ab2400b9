"""Demonstrate the service on a temporary server with bundled conversations."""

import asyncio
import json
import secrets
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from pydantic import SecretStr

from app.adapters.terminal import read_settings
from app.process.listening import ServeError, status_of
from app.process.serving import run as run_process
from app.process.serving import serving
from app.process.start import open_process
from app.settings.settings import Settings

_ENGINE = "/v1beta1/projects/default/locations/local/reasoningEngines/1"
_POLL_SECONDS = 0.1
Json = dict[str, Any]


def run() -> None:
    read_settings(log_level="ERROR")
    raise typer.Exit(status_of(lambda: run_process(_demonstrate)))


async def _demonstrate() -> None:
    key = secrets.token_urlsafe()
    with tempfile.TemporaryDirectory(prefix="memory-bank-demo-") as folder:
        # The embedded Postgres may run as another user, who needs access to this folder.
        await asyncio.to_thread(Path(folder).chmod, 0o755)
        settings = Settings(
            host="127.0.0.1",
            port=0,
            data_dir=Path(folder),
            admin_key=SecretStr(key),
            database_url=None,
        )
        async with (
            open_process(settings) as process,
            serving(settings, process.resources) as (port, _),
        ):
            demo = _Demo(f"http://127.0.0.1:{port}{_ENGINE}", key)
            await asyncio.to_thread(demo.run)


def conversations_folder() -> Path:
    """Return the folder of the conversations in the package or in a source checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "conversations", package.parents[1] / "tests/data/conversations"):
        if folder.is_dir():
            return folder
    raise ServeError("The conversations of the demonstration are not installed.")


@dataclass(frozen=True)
class _Demo:
    """The demonstration, step by step."""

    base: str
    key: str

    def run(self) -> None:
        self._hear("travel", "first half")
        self._search("Where does Daniel like to sit on a plane?")
        changed = self._hear("travel", "second half")
        updated = [memory for memory in changed if memory["action"] == "UPDATED"][-1]
        self._history(updated)
        self._roll_back(updated)
        self._recover(next(memory for memory in changed if memory["action"] == "DELETED"))
        self._hear("umzug", "first half")
        self._by_label()

    def _hear(self, name: str, part: str) -> list[Json]:
        conversation = json.loads((conversations_folder() / f"{name}.json").read_text())
        events = conversation["events"]
        middle = len(events) // 2
        half = events[:middle] if part == "first half" else events[middle:]
        _title(f"generate: the {part} of {name}.json, {len(half)} messages")
        body = {
            "scope": conversation["scope"],
            "directContentsSource": {"events": half},
            "revisionLabels": {"conversation": name, "part": part.replace(" ", "-")},
        }
        response = self._finished(self._call("POST", "/memories:generate", body))
        generated: list[Json] = response.get("generatedMemories", [])
        for memory in generated:
            self._show_generated(memory)
        return generated

    def _show_generated(self, generated: Json) -> None:
        before = generated.get("previousRevision")
        old = self._call("GET", _below_engine(before))["fact"] if before else None
        if generated["action"] == "DELETED":
            _say("DELETED", str(old))
            return
        fact = self._call("GET", _below_engine(generated["memory"]["name"]))["fact"]
        _say(generated["action"], fact if old in {None, fact} else f"{old}  ->  {fact}")

    def _search(self, question: str) -> None:
        _title(f"retrieve: {question}")
        body = {
            "scope": {"user_id": "daniel"},
            "similaritySearchParams": {"searchQuery": question, "topK": 3},
        }
        for hit in self._call("POST", "/memories:retrieve", body)["retrievedMemories"]:
            _say(f"{hit['distance']:.2f}", hit["memory"]["fact"])

    def _history(self, generated: Json) -> None:
        _title("revisions of the memory that was updated, newest first")
        path = _below_engine(generated["memory"]["name"])
        for revision in self._call("GET", f"{path}/revisions")["memoryRevisions"]:
            labels = ", ".join(
                f"{key}={value}" for key, value in sorted(revision["labels"].items())
            )
            _say(revision["action"], f"{revision['fact']}  [{labels}]")

    def _roll_back(self, generated: Json) -> None:
        _title("rollback to what it was before the second half")
        memory = self._restore(generated)
        _say("now", memory["fact"])

    def _recover(self, generated: Json) -> None:
        _title("recovery of the memory that was forgotten, within 48 hours")
        path = _below_engine(generated["memory"]["name"])
        for revision in self._call("GET", f"{path}/revisions")["memoryRevisions"]:
            _say(revision["action"], revision.get("fact") or "(nothing)")
        memory = self._restore(generated)
        _say("now", memory["fact"])

    def _restore(self, generated: Json) -> Json:
        path = _below_engine(generated["memory"]["name"])
        target = generated["previousRevision"].rpartition("/")[2]
        operation = self._call("POST", f"{path}:rollback", {"targetRevisionId": target})
        return self._finished(operation)

    def _by_label(self) -> None:
        _title('revisions of all memories with labels.conversation="umzug"')
        path = "/memories/-/revisions?filter=labels.conversation%3D%22umzug%22&pageSize=3"
        for revision in self._call("GET", path)["memoryRevisions"]:
            _say(revision["action"], revision["fact"])

    def _call(self, method: str, path: str, body: Json | None = None) -> Json:
        request = urllib.request.Request(  # noqa: S310 - an address of this machine
            self.base + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - as above
            answered: Json = json.load(answer)
            return answered

    def _finished(self, operation: Json) -> Json:
        while not operation["done"]:
            time.sleep(_POLL_SECONDS)
            operation = self._call("GET", _below_engine(operation["name"]))
        if "error" in operation:
            raise ServeError(operation["error"]["message"])
        response: Json = operation["response"]
        return response


def _below_engine(name: str) -> str:
    return name.partition("/reasoningEngines/1")[2]


def _title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")  # noqa: T201 - what the command is for


def _say(what: str, text: str) -> None:
    print(f"  {what:<12} {text}")  # noqa: T201 - as above

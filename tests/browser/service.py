"""The service under test: started by a program of the service's own environment, and commanded."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import APIRequestContext, Playwright

ROOT = Path(__file__).parents[2]
_PYTHON = ROOT / ".venv" / "bin" / "python"
_STOP_SECONDS = 60
_MILLISECONDS = 60_000
Json = dict[str, Any]


@dataclass(frozen=True)
class Service:
    """A running service; `url` and `key` open it."""

    process: "subprocess.Popen[str]"
    url: str
    key: str

    def model_says(self, *answers: Json | int) -> None:
        """Order the answers of the model, or the statuses with which it fails."""
        self._command({"answers": answers})

    def insert_memories(self, engine: str, rows: int) -> None:
        """Insert memories by SQL."""
        self._command({"engine": engine, "rows": rows})

    def insert_failures(self, engine: str, failures: int) -> None:
        """Insert failed generations by SQL."""
        self._command({"engine": engine, "failures": failures})

    def _command(self, command: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        _read(self.process)


def _read(process: "subprocess.Popen[str]") -> Json:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "The service has ended; its errors are above."
    found: Json = json.loads(line)
    return found


@contextmanager
def running_service(*arguments: str) -> Iterator[Service]:
    """Serve beside the block."""
    command = [str(_PYTHON), "-m", "tests.support.browser_service", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Service(process, **_read(process))
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


class Bank:
    """The API with a key; paths are relative to an engine."""

    def __init__(self, playwright: Playwright, service: Service, engine: str, key: str) -> None:
        self.engine = engine
        headers = {"Authorization": f"Bearer {key}"}
        self._requests: APIRequestContext = playwright.request.new_context(
            base_url=service.url, extra_http_headers=headers
        )

    def call(self, method: str, path: str, body: Json | None = None) -> Json:
        """Return what the API answers, which must be a success."""
        url = path if path.startswith("/") else f"/v1/reasoningEngines/{self.engine}/{path}"
        answer = self._requests.fetch(url, method=method, data=body, timeout=_MILLISECONDS)
        assert answer.ok, (method, url, answer.status, answer.text())
        found: Json = answer.json() if answer.text() else {}
        return found

    def remember(self, fact: str, scope: Json | None = None, **more: object) -> str:
        """Create a memory; return its id."""
        body = {"scope": scope or {"user_id": "42"}, "fact": fact, **more}
        made: str = self.call("POST", "memories", body)["response"]["name"]
        return made.rpartition("/")[2]

    def change(self, memory: str, fact: str) -> None:
        """Change the fact of a memory."""
        self.call("PATCH", f"memories/{memory}?updateMask=fact", {"fact": fact})

    def revisions(self, memory: str) -> list[Json]:
        """Return the revisions of a memory, newest first."""
        found: list[Json] = self.call("GET", f"memories/{memory}/revisions")["memoryRevisions"]
        return found

    def generate(self, body: Json) -> Json:
        """Generate memories; return the operation once it has ended."""
        operation = self.call("POST", "memories:generate", body)["name"]
        path = f"/v1beta1/{operation}:wait?timeout=30s"
        return self.call("POST", path)

    def make_key(self, *roles: str, **reach: object) -> str:
        """Return the secret of a new key."""
        made_of = {"displayName": "a browser's", "roles": roles, **reach}
        made: str = self.call("POST", "/v1/keys", made_of)["secret"]
        return made

    def close(self) -> None:
        """End all connections."""
        self._requests.dispose()

"""Clients that write to a server which may die at any moment, and remember what it acknowledged."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import httpx

from tests.support.live import KEY

ENGINE = "/v1beta1/projects/default/locations/local/reasoningEngines/1"
FACTS_PER_GENERATION = 3
_PAUSE_SECONDS = 0.05
_TIMEOUT_SECONDS = 20


@dataclass
class Acknowledged:
    """What the server has answered 200 to."""

    memories: dict[str, list[str]] = field(default_factory=dict)
    """By name of the memory, the facts it was given, one after another."""
    generations: dict[str, list[str]] = field(default_factory=dict)
    """By name of the operation, the facts it was asked to remember."""
    answers: int = 0
    failures: int = 0
    """Requests that had to be sent again."""

    def has_more_than(self, count: int) -> bool:
        return min(len(self.memories), len(self.generations)) > count


class _GaveUp(Exception):
    """The test has failed elsewhere: nothing will answer any more."""


class Traffic:
    """Writers in threads of their own. A request without an answer is sent again, with its id."""

    def __init__(self, url: str, writers: int, generators: int) -> None:
        self.acknowledged = Acknowledged()
        self._url = url
        self._ends = threading.Event()
        self._gives_up = threading.Event()
        self._lock = threading.Lock()
        self._errors: list[BaseException] = []
        work = [self._write] * writers + [self._generate] * generators
        self._threads = [
            threading.Thread(target=self._run, args=(one, number))
            for number, one in enumerate(work)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Let each writer end with an answer to its last request, unless the block failed."""
        self._ends.set()
        if kind is not None:
            self._gives_up.set()
        for thread in self._threads:
            thread.join()
        if self._errors and kind is None:
            raise self._errors[0]

    def await_answers(self, count: int) -> None:
        """Wait until so many more requests were answered; give up when a writer has failed."""
        wanted = self.acknowledged.answers + count
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while self.acknowledged.answers < wanted and not self._errors:
            assert time.monotonic() < deadline, "the service answers no more"
            time.sleep(0.002)
        if self._errors:
            raise self._errors[0]

    def _run(self, work: Callable[[httpx.Client, int], None], number: int) -> None:
        try:
            with open_client(self._url) as client:
                work(client, number)
        except _GaveUp:
            return
        except BaseException as error:  # noqa: BLE001 - raised again where the threads end
            self._errors.append(error)

    def _write(self, client: httpx.Client, number: int) -> None:
        """Create memories, and change each twice."""
        scope = {"writer": str(number)}
        turn = 0
        while not self._ends.is_set():
            turn += 1
            fact = f"Fact {turn} of writer {number}"
            body = {"fact": fact, "scope": scope}
            answer = self._send(client, "POST", "/memories", f"{number}-{turn}", body)
            name = str(answer["response"]["name"])
            self._note(self.acknowledged.memories, name, fact)
            for again in ("changed", "changed again"):
                path = "/memories/" + name.rpartition("/")[2]
                body = {"fact": f"{fact}, {again}"}
                key = f"{number}-{turn}-{again.replace(' ', '-')}"
                self._send(client, "PATCH", path, key, body)
                self._note(self.acknowledged.memories, name, f"{fact}, {again}")

    def _generate(self, client: httpx.Client, number: int) -> None:
        """Ask for memories that nothing merges, so that work done twice is seen."""
        turn = 0
        while not self._ends.is_set():
            turn += 1
            facts = [f"Wish {turn}.{n} of {number}" for n in range(FACTS_PER_GENERATION)]
            body = {
                # Some generations wait for one another, some run side by side.
                "scope": {"generator": str(number), "part": str(turn % 3)},
                "directMemoriesSource": {"directMemories": [{"fact": fact} for fact in facts]},
                "disableConsolidation": True,
            }
            key = f"{number}-{turn}"
            name = self._send(client, "POST", "/memories:generate", key, body)["name"]
            with self._lock:
                assert name not in self.acknowledged.generations
                self.acknowledged.generations[name] = facts

    def _note(self, known: dict[str, list[str]], name: str, fact: str) -> None:
        with self._lock:
            known.setdefault(name, []).append(fact)

    def _send(
        self, client: httpx.Client, method: str, path: str, request_id: str, body: object
    ) -> dict[str, Any]:
        while not self._gives_up.is_set():
            try:
                query = {"requestId": request_id}
                answer = client.request(method, ENGINE + path, params=query, json=body)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code == 200:
                with self._lock:
                    self.acknowledged.answers += 1
                found: dict[str, Any] = answer.json()
                return found
            # Only an absent server or database excuses it: nothing else may fail.
            assert answer is None or answer.status_code == 503, answer.text
            with self._lock:
                self.acknowledged.failures += 1
            time.sleep(_PAUSE_SECONDS)
        raise _GaveUp


def open_client(url: str) -> httpx.Client:
    """Return a client with the administrator's key."""
    return httpx.Client(
        base_url=url, headers={"Authorization": f"Bearer {KEY}"}, timeout=_TIMEOUT_SECONDS
    )


def read_all(client: httpx.Client, path: str, field: str) -> list[dict[str, Any]]:
    """Return every item of a list, page by page."""
    found: list[dict[str, Any]] = []
    token = ""
    while True:
        query = {"pageSize": "1000", "pageToken": token}
        answer = client.get(ENGINE + path, params=query)
        assert answer.status_code == 200, answer.text
        found += answer.json().get(field, [])
        token = answer.json().get("nextPageToken", "")
        if not token:
            return found

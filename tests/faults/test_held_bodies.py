"""What a body may hold is bounded before it is kept: neither one key's slow bodies nor its long
ones shut others out, fill the memory, or keep the process from ending.

How they are counted is in tests/unit/limits/test_bodies.py, how they are refused in
tests/api/limits/test_bodies_api.py.
"""

import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import httpx
import pytest

from app.kernel.errors import Reason
from tests.support.bank import ok
from tests.support.held_bodies import Holding, head_of, held
from tests.support.live import KEY, LiveServer, start, stop

pytestmark = pytest.mark.alone

_SLOW = 900
_SECONDS = 10.0
_PROBERS = 8
_PROBES = 100
"""Of each kind, at least."""
_LONG = 150
_LONG_BYTES = 8 * 1024 * 1024
_LONG_SECONDS = 3.0
_GROWS_BY_MIB = 300
_HEALTH_SECONDS = 1.0
_END_SECONDS = 15
_TIMEOUT_SECONDS = 30
_MEMORIES = "/v1beta1/reasoningEngines/1/memories"
_TOO_MANY = f"429 {Reason.TOO_MANY_AT_ONCE}"
_GIVEN_UP = f"503 {Reason.TOO_MANY_CONNECTIONS}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server as users start it; a test may end it."""
    folder = tmp_path_factory.mktemp("held")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    server = start(folder, MEMORY_BANK_EMBEDDER="hash", MEMORY_BANK_LOG_LEVEL="ERROR")
    yield server
    if server.process.poll() is None:
        stop(server)


@pytest.fixture(scope="module")
def admin(server: LiveServer) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=_TIMEOUT_SECONDS) as found:
        yield found


def _key(admin: httpx.Client, **bound: dict[str, str]) -> str:
    body = {"displayName": "holds bodies", "roles": ["viewer"], **bound}
    secret: str = ok(admin.post("/v1/keys", json=body))["secret"]
    return secret


def _resident_mib(server: LiveServer) -> float:
    status = Path(f"/proc/{server.process.pid}/status")
    if not status.exists():
        pytest.skip("the memory of a process cannot be read here")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
    assert found is not None
    return int(found[1]) / 1024


def _ask(connection: HTTPConnection, path: str) -> str:
    """Return the status of an answer, or what went wrong."""
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {KEY}"})
        answer = connection.getresponse()
        answer.read()
    except (OSError, HTTPException) as error:
        return type(error).__name__
    return str(answer.status)


def _probe(port: int, until: float) -> Counter[tuple[str, str]]:
    """Ask as those do who watch over a service, until a moment and often enough."""
    found: Counter[tuple[str, str]] = Counter()
    kept = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
    with closing(kept):
        while time.monotonic() < until or found.total() * _PROBERS < 3 * _PROBES:
            for path in ("/healthz", _MEMORIES):
                with closing(HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)) as new:
                    found[path, _ask(new, path)] += 1
            found["the same connection", _ask(kept, _MEMORIES)] += 1
    return found


def test_slow_bodies_of_one_key_shut_nobody_out(server: LiveServer, admin: httpx.Client) -> None:
    bound = _key(admin, scopeConditions={"user_id": "42"})
    # As fast as it must be, so that its pace alone ends none of them.
    slow = Holding(server.port, _SLOW, head_of(_MEMORIES, bound, 60_000), 1, 300, again=True)
    found: Counter[tuple[str, str]] = Counter()
    before = _resident_mib(server)
    with held(slow) as told, ThreadPoolExecutor(_PROBERS) as probers:
        time.sleep(1)
        until = time.monotonic() + _SECONDS
        for counted in [probers.submit(_probe, server.port, until) for _ in range(_PROBERS)]:
            found += counted.result()
        grown = _resident_mib(server) - before
    asked = {name for name, _ in found}
    assert found == {(name, "200"): found[name, "200"] for name in asked}
    assert len(asked) == 3
    assert min(found.values()) >= _PROBES
    assert grown < _GROWS_BY_MIB
    assert told[_TOO_MANY] > 0
    assert set(told) <= {_TOO_MANY, _GIVEN_UP}, told


def test_long_bodies_neither_fill_the_memory_nor_keep_the_process_from_ending(
    server: LiveServer, admin: httpx.Client
) -> None:
    head = head_of(_MEMORIES, _key(admin), _LONG_BYTES)
    before = _resident_mib(server)
    grown, took = 0.0, _TIMEOUT_SECONDS + 0.0
    with held(Holding(server.port, _LONG, head, _LONG_BYTES - 10)) as told:
        start = time.monotonic()
        # A busy machine may need longer than that to refuse the first.
        while (held_for := time.monotonic() - start) < _LONG_SECONDS or (
            not told[_TOO_MANY] and held_for < _TIMEOUT_SECONDS
        ):
            began = time.monotonic()
            assert httpx.get(f"{server.url}/healthz", timeout=_TIMEOUT_SECONDS).status_code == 200
            took = time.monotonic() - began
            grown = max(grown, _resident_mib(server) - before)
        assert took < _HEALTH_SECONDS
        assert grown < _GROWS_BY_MIB
        server.process.terminate()
        assert server.process.wait(timeout=_END_SECONDS) == 0
    assert told[_TOO_MANY] > 0

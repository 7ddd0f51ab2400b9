"""The service killed with -9 while it erases a person: the next one goes on."""

import json
import random
import time
from pathlib import Path

import httpx

from tests.packaging.checkout import scratch_folder
from tests.support import live
from tests.support.commands import command
from tests.support.live import LiveServer
from tests.support.traffic import ENGINE, open_client

KILLS, NIGHTLY_KILLS = 2, 20
_MEMORIES_PER_KILL = 100
"""So many that an erasure has rarely ended when the last kill comes."""
_SOON_SECONDS = 300
_LONGEST_PAUSE_SECONDS = 0.3
_BATCH = 2
"""Few rows, so that an erasure has many steps."""


def _fill(client: httpx.Client, memories: int) -> None:
    for start in range(0, memories, 100):
        requests = [
            {"memory": {"fact": f"I own number {n}.", "scope": {"user_id": "quill-77"}}}
            for n in range(start, start + 100)
        ]
        body = {"requests": requests}
        assert client.post(f"{ENGINE}/memories:batchCreate", json=body).status_code == 200
    session = client.post(f"{ENGINE}/sessions", json={"userId": "quill-77"}).json()["response"]
    for n in range(20):
        exchange = {"input": f"question {n}", "output": f"answer {n}"}
        answer = client.post(f"/v1beta1/{session['name']}/exchanges", json=exchange)
        assert answer.status_code == 200


def _erase(client: httpx.Client, *, dry: bool = False) -> dict[str, object]:
    body = {"scope": {"user_id": "quill-77"}, "validateOnly": dry}
    answer = client.post(f"{ENGINE}:eraseScope", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def _killed(server: LiveServer, folder: Path, name: object) -> tuple[LiveServer, bool]:
    """Kill a server at some moment; return its successor, and whether the erasure went on."""
    time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))
    with open_client(server.url) as client:
        is_running = not client.get(f"/v1beta1/{name}").json().get("done")
    server.process.kill()
    server.process.wait()
    return live.start_in_steps(folder, server.port, _BATCH), is_running


def test_an_erasure_goes_on_after_each_kill(*, is_nightly: bool) -> None:
    """Whenever its worker dies, an erasure ends with the counts of one that nobody killed."""
    kills = NIGHTLY_KILLS if is_nightly else KILLS
    memories = kills * _MEMORIES_PER_KILL
    with scratch_folder() as folder:
        port = live.free_port()
        server = live.start_in_steps(folder, port, _BATCH)
        try:
            with open_client(server.url) as client:
                _fill(client, memories)
                counted = _erase(client, dry=True)["response"]["counts"]  # type: ignore[index]
                assert counted["memories"] == memories
                name = _erase(client)["name"]
            hits = 0
            for _ in range(kills):
                server, is_hit = _killed(server, folder, name)
                hits += is_hit
            assert hits >= kills / 2
            with open_client(server.url) as client:
                deadline = time.monotonic() + _SOON_SECONDS
                while not (operation := client.get(f"/v1beta1/{name}").json()).get("done"):
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
                certificate = operation["response"]
                assert {table: certificate["counts"][table] for table in counted} == counted
                left = _erase(client, dry=True)["response"]["counts"]  # type: ignore[index]
                assert not any(left.values())
        finally:
            live.stop(server)
        listed = folder / "exported"
        ended = command("erasures", "export", str(listed), data_dir=str(folder))
        assert ended.stdout == "Erasures written: 1.\n", ended.stderr
        assert json.loads(listed.read_text())["certificateId"] == certificate["certificateId"]
        ended = command("erasures", "apply", str(listed), data_dir=str(folder))
        assert ended.stdout == "Erasures repeated: 0.\n", ended.stderr

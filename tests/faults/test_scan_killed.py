"""The service killed with -9 while it masks what is stored: the next one goes on."""

import random
import time
from typing import Any

import httpx

from tests.packaging.checkout import scratch_folder
from tests.support import live
from tests.support.traffic import ENGINE, open_client

MEMORIES = 100
KILLS = 2
_SOON_SECONDS = 60
_LONGEST_PAUSE_SECONDS = 0.3
_BATCH = 4
"""Few rows, so that a scan has many steps."""
_MAIL = "anna.k@example.com"


def _scan(client: httpx.Client, action: str) -> str:
    body = {"action": action, "kinds": ["EMAIL"]}
    answer = client.post(f"{ENGINE}:scanPrivacy", json=body)
    assert answer.status_code == 200, answer.text
    name: str = answer.json()["name"]
    return name


def _ended(client: httpx.Client, name: str) -> Any:
    deadline = time.monotonic() + _SOON_SECONDS
    while not (operation := client.get(f"/v1beta1/{name}").json()).get("done"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return operation["response"]["counts"]


def test_a_scan_goes_on_after_each_kill() -> None:
    """Whenever its worker dies, a scan ends with the counts of one that nobody killed."""
    with scratch_folder() as folder:
        port = live.free_port()
        server = live.start_in_steps(folder, port, _BATCH)
        try:
            with open_client(server.url) as client:
                requests = [
                    {"memory": {"fact": f"Ask {_MAIL} for {n}.", "scope": {"user_id": "42"}}}
                    for n in range(MEMORIES)
                ]
                created = client.post(f"{ENGINE}/memories:batchCreate", json={"requests": requests})
                assert created.status_code == 200
                counted = _ended(client, _scan(client, "REPORT"))
                assert counted["memories"] == {"EMAIL": MEMORIES}
                name = _scan(client, "MASK")
            for _ in range(KILLS):
                time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))
                server.process.kill()
                server.process.wait()
                server = live.start_in_steps(folder, port, _BATCH)
            with open_client(server.url) as client:
                assert _ended(client, name) == counted
                left = _ended(client, _scan(client, "REPORT"))
                assert not any(left.values())
        finally:
            live.stop(server)

"""The service killed with -9 while it masks what is stored: the next one goes on."""

import httpx

from tests.packaging.checkout import scratch_folder
from tests.support.kills import mortal_server
from tests.support.traffic import ENGINE

MEMORIES = 200
"""So many that a scan has rarely ended when the kill comes."""
_BATCH = 2
"""Few rows, so that a scan has many steps."""
_MAIL = "anna.k@example.com"


def _scan(client: httpx.Client, action: str) -> str:
    body = {"action": action, "kinds": ["EMAIL"]}
    answer = client.post(f"{ENGINE}:scanPrivacy", json=body)
    assert answer.status_code == 200, answer.text
    name: str = answer.json()["name"]
    return name


def _fill(client: httpx.Client) -> None:
    for start in range(0, MEMORIES, 100):
        requests = [
            {"memory": {"fact": f"Ask {_MAIL} for {n}.", "scope": {"user_id": "42"}}}
            for n in range(start, start + 100)
        ]
        body = {"requests": requests}
        assert client.post(f"{ENGINE}/memories:batchCreate", json=body).status_code == 200


def test_a_scan_goes_on_after_a_kill() -> None:
    """Whenever its worker dies, a scan ends with the counts of one that nobody killed."""
    with scratch_folder() as folder, mortal_server(folder, _BATCH) as server:
        with server.client() as client:
            _fill(client)
            counted = server.ended(_scan(client, "REPORT"))["counts"]
            assert counted["memories"] == {"EMAIL": MEMORIES}
            name = _scan(client, "MASK")
        server.kill_during(name, 1)
        assert server.ended(name)["counts"] == counted
        with server.client() as client:
            left = server.ended(_scan(client, "REPORT"))["counts"]
        assert not any(left.values())

"""The service killed with -9 while it erases a person: the next one goes on."""

import json

import httpx

from tests.packaging.checkout import scratch_folder
from tests.support.bank import Json
from tests.support.commands import command
from tests.support.kills import mortal_server
from tests.support.person import positive
from tests.support.traffic import ENGINE

KILLS, NIGHTLY_KILLS = 1, 20
_MEMORIES_PER_KILL = 200
"""So many that an erasure has rarely ended when the last kill comes."""
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


def _erase(client: httpx.Client, *, dry: bool = False) -> Json:
    body = {"scope": {"user_id": "quill-77"}, "validateOnly": dry}
    answer = client.post(f"{ENGINE}:eraseScope", json=body)
    assert answer.status_code == 200, answer.text
    operation: Json = answer.json()
    return operation


def _counted(client: httpx.Client) -> dict[str, int]:
    """Return what an erasure would remove."""
    return positive(_erase(client, dry=True)["response"]["counts"])


def test_an_erasure_goes_on_after_each_kill(*, is_nightly: bool) -> None:
    """Whenever its worker dies, an erasure ends with the counts of one that nobody killed."""
    kills = NIGHTLY_KILLS if is_nightly else KILLS
    memories = kills * _MEMORIES_PER_KILL
    with scratch_folder() as folder:
        with mortal_server(folder, _BATCH) as server:
            with server.client() as client:
                _fill(client, memories)
                counted = _counted(client)
                assert counted["memories"] == memories
                name = _erase(client)["name"]
            server.kill_during(name, kills)
            certificate = server.ended(name)
            assert positive(certificate["counts"]) == counted
            with server.client() as client:
                assert _counted(client) == {}
        listed = folder / "exported"
        ended = command("erasures", "export", str(listed), data_dir=str(folder))
        assert ended.stdout == "Erasures written: 1.\n", ended.stderr
        assert json.loads(listed.read_text())["certificateId"] == certificate["certificateId"]
        ended = command("erasures", "apply", str(listed), data_dir=str(folder))
        assert ended.stdout == "Erasures repeated: 0.\n", ended.stderr

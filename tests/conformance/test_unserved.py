"""What this version does not serve is refused in a clear way.

Source: wire specification, section 15.
"""

from typing import Any

import httpx

from tests.support.official import Bank, Client, invalid, refused

SESSION = "sessions/sess-1"


def test_a_method_that_is_not_served_says_so(http: httpx.Client, engine: str) -> None:
    """No client has the only one that is left."""
    answer = http.post(f"{engine}/{SESSION}:compact", json={})
    assert (answer.status_code, answer.json()["error"]["status"]) == (501, "UNIMPLEMENTED")
    assert "does not serve" in answer.json()["error"]["message"]


def test_what_runs_agents_is_not_served(vertex: Client, http: httpx.Client, engine: str) -> None:
    config = {"service_account": "agent@example.com", "display_name": "Agent"}
    with invalid("spec"):
        vertex.agent_engines.create(config=config)
    with invalid("spec"):
        vertex.agent_engines.update(name=engine, config=config)
    traffic: dict[str, Any] = {"traffic_split_always_latest": {}}
    with invalid("trafficConfig"):
        vertex.agent_engines.update(name=engine, config={"traffic_config": traffic})
    assert "displayName" not in http.get(engine).json()


def test_keys_for_encryption_are_not_served(
    vertex: Client, platform: Client, http: httpx.Client, engine: str
) -> None:
    """Nothing would be encrypted with them; the answer says where encryption belongs."""
    key = {"kms_key_name": "projects/p/locations/l/keyRings/r/cryptoKeys/k"}
    config = {"encryption_spec": key}
    for create in (vertex.agent_engines.create, platform.memory_banks.create):
        with invalid("encryptionSpec"):
            create(config=config)
        with invalid("encrypt the disk or the database"):
            create(config=config)
    # No client has the field for updates.
    answer = http.patch(engine, json={"encryptionSpec": {"kmsKeyName": key["kms_key_name"]}})
    assert answer.status_code == 400
    assert "encryptionSpec" in answer.json()["error"]["message"]


def test_a_session_that_is_not_there_is_no_source(bank: Bank) -> None:
    source = {"session": f"{bank.name}/{SESSION}"}
    with refused(404, "NOT_FOUND", naming=SESSION):
        bank.memories.generate(name=bank.name, vertex_session_source=source)

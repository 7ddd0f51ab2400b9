"""The nodes of a cluster: their addresses, and what each must have."""

import re
from dataclasses import replace

import pytest

from app.adapters.db.distribution import WANTED, Address, Node, NodeFacts, complaints

_SETTINGS = {
    **WANTED,
    "citus.version": "14.0.1",
    "max_connections": "100",
    "max_prepared_transactions": "100",
}
_GOOD = NodeFacts(
    postgres=18,
    citus="14.0-1",
    vector="0.8.5",
    server="1",
    is_superuser=True,
    has_tables=True,
    settings=_SETTINGS,
)
_COORDINATOR = Node("coordinator a:1", _GOOD)
_OTHER = replace(_GOOD, server="2", has_tables=False)
_TOO_FEW = "must be at least max_connections, which is 100; got 0"
_MEND = "set it in postgresql.conf there, and restart that server."


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("db1:5432", Address("db1", 5432)),
        ("10.0.0.7:1", Address("10.0.0.7", 1)),
        ("[::1]:65535", Address("::1", 65_535)),
    ],
)
def test_an_address_is_read(given: str, read: Address) -> None:
    assert Address.parse(given) == read
    assert str(read) == given


@pytest.mark.parametrize(
    "given", ["db1", "db1:", ":5432", "db1:0", "db1:65536", "db1:x", "[::1]", "::1:5"]
)
def test_another_form_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=re.escape(given)):
        Address.parse(given)


def test_a_node_is_reached_as_the_database_is_but_for_its_place() -> None:
    url = "postgresql://me:secret@a:5432,b:5433/bank?sslmode=require&hostaddr=10.0.0.1,10.0.0.2"
    within = Address("c", 1).within(url)
    assert within == "user=me password=secret dbname=bank host=c port=1 sslmode=require"


def test_nodes_that_are_alike_are_taken() -> None:
    worker = Node("worker b:2", _OTHER, is_new=True)
    assert list(complaints(_COORDINATOR, [worker])) == []


@pytest.mark.parametrize(
    ("facts", "reasons"),
    [
        (
            replace(_OTHER, citus=None),
            ["Citus must be available; install Citus 14 or later there."],
        ),
        (
            replace(_OTHER, citus="13.2-1"),
            [
                "Citus must be 14 or later; got 13.2-1.",
                "Citus must be 14.0-1, as on the coordinator; got 13.2-1.",
            ],
        ),
        (replace(_OTHER, postgres=17), ["Postgres must be 18, as on the coordinator; got 17."]),
        (
            replace(_OTHER, vector=None),
            ["pgvector must be 0.8.5, as on the coordinator; got none."],
        ),
        (
            replace(_OTHER, settings={**_SETTINGS, "wal_level": "replica"}),
            [f"wal_level must be logical; got replica; {_MEND}"],
        ),
        (
            replace(_OTHER, settings={**_SETTINGS, "max_prepared_transactions": "0"}),
            [
                f"max_prepared_transactions {_TOO_FEW}; {_MEND}",
            ],
        ),
        (
            replace(
                _OTHER,
                settings={
                    **_SETTINGS,
                    **dict.fromkeys(
                        (
                            "citus.version",
                            "citus.enable_unsafe_triggers",
                            "citus.propagate_set_commands",
                        )
                    ),
                },
            ),
            [
                f"shared_preload_libraries must contain citus; {_MEND}",
                f"citus.enable_unsafe_triggers must be on; got nothing; {_MEND}",
                f"citus.propagate_set_commands must be local; got nothing; {_MEND}",
            ],
        ),
        (
            replace(_OTHER, is_superuser=False),
            ["the user must be a superuser, to create the extension and nodes."],
        ),
        (
            replace(_OTHER, has_tables=True),
            ["the database must be empty; it has tables of the service."],
        ),
    ],
)
def test_what_a_new_worker_lacks_is_told(facts: NodeFacts, reasons: list[str]) -> None:
    worker = Node("worker b:2", facts, is_new=True)
    told = list(complaints(_COORDINATOR, [worker]))
    assert told == [f"worker b:2: {reason}" for reason in reasons]


def test_a_coordinator_without_citus_is_told_of_once() -> None:
    coordinator = Node("coordinator a:1", replace(_GOOD, citus=None))
    assert list(complaints(coordinator, [Node("worker b:2", _OTHER, is_new=True)])) == [
        "coordinator a:1: Citus must be available; install Citus 14 or later there."
    ]


def test_a_known_worker_has_tables_and_needs_no_superuser() -> None:
    facts = replace(_OTHER, has_tables=True, is_superuser=False)
    assert list(complaints(_COORDINATOR, [Node("worker b:2", facts)])) == []


def test_two_nodes_are_two_servers() -> None:
    workers = [Node("worker b:2", _OTHER), Node("worker c:2", replace(_OTHER, server="1"))]
    assert list(complaints(_COORDINATOR, workers)) == [
        "worker c:2 must be a server of its own; it is coordinator a:1."
    ]

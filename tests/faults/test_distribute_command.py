"""`memory-bank distribute` where there is no cluster: it tells all that is missing."""

import json

import pytest

from tests.support.commands import command

_PLACE = "--coordinator=127.0.0.1:1"


def test_it_needs_an_external_database() -> None:
    ended = command("distribute", _PLACE)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "distribute needs MEMORY_BANK_DATABASE_URL; the embedded database cannot be distributed.\n"
    )


@pytest.mark.parametrize("option", ["--coordinator", "--worker"])
def test_an_address_has_a_host_and_a_port(database_url: str, option: str) -> None:
    ended = command("distribute", _PLACE, f"{option}=db1", database_url=database_url)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"{option} must be HOST:PORT; got db1.\n"


def test_on_a_plain_server_all_that_is_missing_is_told(database_url: str) -> None:
    ended = command(
        "distribute", _PLACE, "--shards=0", "--dry-run", "--json", database_url=database_url
    )
    assert (ended.returncode, ended.stderr) == (1, "")
    # Other tests may have left connections of the service to this database.
    failures = [each for each in json.loads(ended.stdout)["failures"] if "sessions do" not in each]
    (unreached,) = [each for each in failures if "reached" in each]
    mend = "set it in postgresql.conf there, and restart that server."
    name = "coordinator 127.0.0.1:1"
    assert failures == [
        "--shards must be from 1 to 1,024; got 0.",
        "There must be a worker; name one with --worker HOST:PORT.",
        unreached,
        f"{name}: Citus must be available; install Citus 14 or later there.",
        f"{name}: shared_preload_libraries must contain citus; {mend}",
        f"{name}: citus.enable_unsafe_triggers must be on; got nothing; {mend}",
        f"{name}: citus.propagate_set_commands must be local; got nothing; {mend}",
        f"{name}: wal_level must be logical; got replica; {mend}",
        *[each for each in failures if "max_prepared" in each],
    ]

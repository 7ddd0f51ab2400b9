"""Addresses of databases: both forms, of one host or several; errors repeat none of them."""

import pytest
from psycopg.conninfo import conninfo_to_dict

from app.adapters.db.engine import AddressError, plain_url

_SECRET = "s3cr"
_TWO = {"host": "a,b", "port": "1,2", "user": "u", "password": "p", "dbname": "d"}


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("postgresql://u:p@a:1,b:2/d", _TWO),
        ("postgres://u:p@a:1,b:2/d", _TWO),
        ("postgresql+psycopg://u:p@a:1,b:2/d", _TWO),
        ("postgresql+asyncpg://u:p@a:1,b:2/d", _TWO),
        (" host=a,b port=1,2 user=u password=p dbname=d ", _TWO),
        (
            "postgresql://u:p@a:1,b:2/d?target_session_attrs=read-write",
            {**_TWO, "target_session_attrs": "read-write"},
        ),
        ("postgresql://u@/d?host=/run/pg&port=5433", {"host": "/run/pg", "port": "5433"}),
        ("postgresql://u:p@[::1]:5433/d", {"host": "::1", "port": "5433"}),
    ],
)
def test_an_address_means_what_libpq_reads(url: str, meant: dict[str, str]) -> None:
    found = conninfo_to_dict(plain_url(url))
    assert {name: str(found[name]) for name in meant} == meant


@pytest.mark.parametrize(
    "password", ["p@ss", "pa/ss", "12/3", "p?x=1", "p%zz", "p#a", "a:b", "%40"]
)
def test_special_characters_of_a_password_may_stand_there_bare(password: str) -> None:
    found = conninfo_to_dict(plain_url(f"postgresql://u:{password}@h:5433/d"))
    encoded = "@" if password == "%40" else password
    assert (found["password"], found["host"], found["dbname"]) == (encoded, "h", "d")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "it is empty"),
        (f"mysql://u:{_SECRET}@h/d", "another scheme than postgresql://"),
        (f"u:{_SECRET}@h/d", "missing"),
        (f"postgresql://u:{_SECRET}@h:{_SECRET}/d", "port is no number"),
        (f"postgresql://u:{_SECRET}@h:99999/d", "port is no number"),
        (f"postgresql://u:{_SECRET}@[::1/d", "end of string reached"),
        (f"postgresql://u:{_SECRET}@h/d?{_SECRET}=1", "invalid URI query parameter"),
        (f"host=h password={_SECRET} {_SECRET}", "missing"),
        (f"host=h {_SECRET}=1", "invalid connection option"),
    ],
)
def test_what_cannot_be_read_is_told_without_what_it_is(url: str, why: str) -> None:
    with pytest.raises(AddressError, match=why) as caught:
        plain_url(url)
    assert _SECRET not in str(caught.value)
    assert "postgresql://USER:PASSWORD@HOST:PORT/DATABASE" in str(caught.value)
    assert caught.value.__cause__ is None

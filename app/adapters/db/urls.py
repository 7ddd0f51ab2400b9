"""Addresses of databases as operators write them: a URL or `host=... dbname=...`, of any hosts."""

import re
from urllib.parse import quote, unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

_URL = re.compile(r"(?P<scheme>[A-Za-z0-9_+.-]*)://(?P<rest>.*)", re.DOTALL)
_SCHEMES = frozenset({"postgresql", "postgres"})
_NAMED = re.compile(r"(?P<user>[^:/]*):(?P<password>.*)@(?P<rest>[^@]*)", re.DOTALL)
_QUOTED = re.compile(r'".*"', re.DOTALL)
_FORMS = (
    "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, several hosts as HOST:PORT,HOST:PORT, or"
    " 'host=HOST port=PORT user=USER password=PASSWORD dbname=DATABASE'; in a URL, special"
    " characters of the password are written as %XX"
)
_MAX_PORT = 65_535


class AddressError(ValueError):
    """An address that cannot be read; the message repeats nothing that may be a secret."""


def plain_url(url: str) -> str:
    """Return an address as libpq reads it, whatever driver it names.

    Special characters of a password that stand there bare are encoded.

    Raises:
        AddressError: it is none of Postgres.
    """
    found = _URL.fullmatch(url.strip())
    if found is None:
        return _read(url.strip())
    if found["scheme"].partition("+")[0].lower() not in _SCHEMES:
        raise AddressError(f"it begins with another scheme than postgresql://; {_FORMS}")
    plain = f"postgresql://{found['rest']}"
    try:
        return _read(plain)
    except AddressError:
        named = _NAMED.fullmatch(found["rest"])
        if named is None:
            raise
        user, password = (quote(unquote(named[part]), safe="") for part in ("user", "password"))
        return _read(f"postgresql://{user}:{password}@{named['rest']}")


def _read(address: str) -> str:
    """Return an address that libpq can read.

    Raises:
        AddressError: it cannot, or what it reads cannot be meant.
    """
    try:
        found = conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        # What libpq quotes may be a part of the password.
        why = _QUOTED.sub('"..."', str(error).strip())
        raise AddressError(f"{why}; {_FORMS}") from None
    if not address:
        raise AddressError(f"it is empty; {_FORMS}")
    ports = [port for port in str(found.get("port", "")).split(",") if port]
    if not all(port.isdecimal() and 0 < int(port) <= _MAX_PORT for port in ports):
        raise AddressError(f"its port is no number from 1 to {_MAX_PORT}; {_FORMS}")
    if "@" in str(found.get("host", "")) or (
        # It may be a part of the password, which libpq ends at the first slash.
        "@" in str(found.get("dbname", "")) and "://" in address and "%40" not in address
    ):
        raise AddressError(f"it holds an @ that belongs to no user or password; {_FORMS}")
    return address

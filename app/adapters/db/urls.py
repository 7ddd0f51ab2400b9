"""Database addresses as written by operators: a URL or `host=... dbname=...`, also multi-host."""

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
    """A malformed address; the message does not repeat possible secrets."""


def plain_url(url: str) -> str:
    """Return an address in libpq's form, without a driver's name in the scheme.

    Unescaped special characters of a password are encoded.

    Raises:
        AddressError: the text is not a Postgres address.
    """
    match = _URL.fullmatch(url.strip())
    if match is None:
        return _read(url.strip())
    if match["scheme"].partition("+")[0].lower() not in _SCHEMES:
        raise AddressError(f"it begins with another scheme than postgresql://; {_FORMS}")
    plain = f"postgresql://{match['rest']}"
    try:
        return _read(plain)
    except AddressError:
        named = _NAMED.fullmatch(match["rest"])
        if named is None:
            raise
        user, password = (quote(unquote(named[part]), safe="") for part in ("user", "password"))
        return _read(f"postgresql://{user}:{password}@{named['rest']}")


def _read(address: str) -> str:
    """Return the address if libpq accepts it."""
    try:
        parameters = conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        # libpq's message may quote a part of the password.
        why = _QUOTED.sub('"..."', str(error).strip())
        raise AddressError(f"{why}; {_FORMS}") from None
    if not address:
        raise AddressError(f"it is empty; {_FORMS}")
    ports = [port for port in str(parameters.get("port", "")).split(",") if port]
    if not all(port.isdecimal() and 0 < int(port) <= _MAX_PORT for port in ports):
        raise AddressError(f"its port is no number from 1 to {_MAX_PORT}; {_FORMS}")
    if "@" in str(parameters.get("host", "")) or (
        # Possibly a part of the password: libpq ends it at the first slash.
        "@" in str(parameters.get("dbname", "")) and "://" in address and "%40" not in address
    ):
        raise AddressError(f"it holds an @ that belongs to no user or password; {_FORMS}")
    return address

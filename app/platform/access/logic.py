"""The secrets of API keys: created here, recognised by shape, stored only as a SHA-256.

    omb_  43 characters: 32 random bytes in base 62  6 characters: the CRC-32 of all before

The checksum allows a mistyped secret to be refused, and a leaked one to be detected, without a
database query.
"""

import hashlib
import re
import secrets
import zlib

_PREFIX = "omb_"
_RANDOM_BYTES = 32
_RANDOM_CHARS = 43
_SUM_CHARS = 6
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = re.compile(rf"{_PREFIX}[0-9A-Za-z]{{{_RANDOM_CHARS + _SUM_CHARS}}}")


def mint() -> str:
    """Generate a secret."""
    number = int.from_bytes(secrets.token_bytes(_RANDOM_BYTES))
    body = _PREFIX + _base62(number, _RANDOM_CHARS)
    return body + check_sum(body)


def check_sum(body: str) -> str:
    """Return the checksum that follows the body of a secret generated here."""
    return _base62(zlib.crc32(body.encode()), _SUM_CHARS)


def has_shape(secret: str) -> bool:
    """Return True if a secret has the shape of those generated here."""
    return _SHAPE.fullmatch(secret) is not None


def is_mistyped(secret: str) -> bool:
    """Return True if a secret has the shape but a wrong checksum."""
    return has_shape(secret) and check_sum(secret[:-_SUM_CHARS]) != secret[-_SUM_CHARS:]


def hash_of(secret: str) -> bytes:
    """Return the SHA-256 of a secret, which has too much entropy to need a slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def _base62(number: int, length: int) -> str:
    written = []
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        written.append(_DIGITS[digit])
    return "".join(reversed(written))

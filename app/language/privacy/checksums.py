"""Checks that distinguish a number or a token from a look-alike (pure)."""

import ipaddress
import json
from base64 import urlsafe_b64decode
from functools import lru_cache
from itertools import accumulate, chain, zip_longest

_CARD_LENGTHS: tuple[tuple[int, int, frozenset[int]], ...] = (
    # (least prefix, greatest prefix, lengths): the ranges published by card networks.
    (4, 4, frozenset({13, 16, 19})),
    (51, 55, frozenset({16})),
    (2221, 2720, frozenset({16})),
    (34, 34, frozenset({15})),
    (37, 37, frozenset({15})),
    (300, 305, frozenset({14, 16, 19})),
    (3095, 3095, frozenset({14, 16, 19})),
    (36, 36, frozenset({14, 16, 19})),
    (38, 39, frozenset({14, 16, 19})),
    (3528, 3589, frozenset({16, 17, 18, 19})),
    (6011, 6011, frozenset({16, 19})),
    (644, 649, frozenset({16, 19})),
    (65, 65, frozenset({16, 19})),
    (62, 62, frozenset({16, 17, 18, 19})),
    (81, 82, frozenset({16})),
    (2200, 2204, frozenset({16, 17, 18, 19})),
    (9792, 9792, frozenset({16})),
    (5018, 5018, frozenset(range(13, 20))),
    (5019, 5020, frozenset(range(13, 20))),
    (5038, 5038, frozenset(range(13, 20))),
    (5893, 5893, frozenset(range(13, 20))),
    (6304, 6304, frozenset(range(13, 20))),
    (6759, 6759, frozenset(range(13, 20))),
    (6761, 6763, frozenset(range(13, 20))),
)
_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22,
    "BI": 27, "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27,
    "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27,
    "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HN": 28, "HR": 21, "HU": 28,
    "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28,
    "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22,
    "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23,
    "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24,
    "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25, "SV": 28,
    "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}  # fmt: skip
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_DOUBLES = bytes.maketrans(b"0123456789", b"0246813579")
MIN_CARD_DIGITS = 13


@lru_cache(maxsize=10_000)
def card_lengths(prefix: str) -> frozenset[int]:
    """Return the lengths of the cards that begin with four digits."""
    return frozenset().union(
        *(
            lengths
            for low, high, lengths in _CARD_LENGTHS
            if low <= int(prefix[: len(str(low))]) <= high
        )
    )


def has_luhn(digits: bytes) -> bool:
    """Return True if the Luhn checksum of a number is valid."""
    other = digits[-2::-2].translate(_DOUBLES)
    return (sum(digits[::-2]) + sum(other) - ord("0") * len(digits)) % 10 == 0


class Luhn:
    """The Luhn checksum over any part of a row of digits, in constant time for each part."""

    def __init__(self, digits: bytes) -> None:
        plain = [byte - ord("0") for byte in digits]
        doubled = [_DOUBLED[number] for number in plain]
        # Sums up to each place, with the digits at even, or at odd, places doubled.
        self._sums = tuple(
            [0, *accumulate(chain.from_iterable(zip_longest(first, second, fillvalue=0)))]
            for first, second in (
                (doubled[::2], plain[1::2]),
                (plain[::2], doubled[1::2]),
            )
        )

    def holds(self, start: int, end: int) -> bool:
        """Return True if the checksum of the digits from `start` to `end` is valid."""
        sums = self._sums[end % 2]
        return (sums[end] - sums[start]) % 10 == 0


def iban_length(country: str) -> int | None:
    """Return the length of a country's IBANs; None for a country without IBANs."""
    return _IBAN_LENGTHS.get(country.upper())


def is_iban(text: str) -> bool:
    """Return True for an IBAN without blanks, by the length for its country and mod 97."""
    if iban_length(text[:2]) != len(text) or not (text.isascii() and text.isalnum()):
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def is_json_object(part: str) -> bool:
    """Return True if the first part of a token is a JSON object in base64, as in a JWT."""
    try:
        head = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(head, dict)


def is_public_address(text: str) -> bool:
    """Return True for an IP address that is neither private nor reserved for documentation."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return address.is_global and not address.is_multicast


def is_ssn(digits: str) -> bool:
    """Return True for nine digits in the ranges of US social security numbers."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"

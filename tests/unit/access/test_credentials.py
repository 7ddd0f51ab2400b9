"""The secrets of keys: their shape, their entropy, and what tells a mistyped one."""

import hashlib
import re
import string
import zlib

import pytest

from app.platform.access.logic import check_sum, has_shape, hash_of, is_mistyped, mint

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase


def _number(text: str) -> int:
    found = 0
    for digit in text:
        found = found * 62 + _DIGITS.index(digit)
    return found


def test_a_secret_has_its_prefix_32_bytes_and_a_check_sum() -> None:
    made = [mint() for _ in range(200)]
    assert len(set(made)) == 200
    for secret in made:
        assert re.fullmatch(r"omb_[0-9A-Za-z]{49}", secret)
        assert _number(secret[-6:]) == zlib.crc32(secret[:-6].encode())
        assert has_shape(secret)
        assert not is_mistyped(secret)
    numbers = [_number(secret[4:47]) for secret in made]
    assert max(numbers) < 2**256
    # No bit of the 256 is always the same: the chance of that is one in 2**190 or so.
    for bit in range(256):
        assert {number >> bit & 1 for number in numbers} == {0, 1}


def test_each_single_mistake_is_found() -> None:
    secret = mint()
    for place in range(4, len(secret)):
        other = "a" if secret[place] != "a" else "b"
        wrong = secret[:place] + other + secret[place + 1 :]
        assert is_mistyped(wrong)
        assert has_shape(wrong)


@pytest.mark.parametrize(
    "other",
    [
        "",
        "omb_",
        "chosen",
        # As the release before made them.
        "omb_" + "x" * 43,
        "omb_" + "x" * 48,
        "omb_" + "x" * 50,
        "OMB_" + "x" * 49,
        "omb_" + "x" * 48 + "-",
        "omb_" + "x" * 48 + "\u0663",
        "omb_" + "x" * 49 + "\n",
    ],
)
def test_what_was_not_made_here_has_another_shape(other: str) -> None:
    assert not has_shape(other)
    assert not is_mistyped(other)


def test_a_check_sum_is_padded() -> None:
    small = next(text for n in range(10**6) if zlib.crc32((text := str(n)).encode()) < 62**4)
    assert check_sum(small).startswith("00")
    assert len(check_sum(small)) == 6


def test_a_secret_of_any_text_has_a_hash() -> None:
    assert hash_of("omb_x") == hashlib.sha256(b"omb_x").digest()
    assert len({hash_of("\udcff"), hash_of("\xff"), hash_of("")}) == 3

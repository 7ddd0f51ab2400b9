"""Page sizes and page tokens."""

import base64
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.paging import clamp_page_size, decode_token, encode_token, rows_within, typed_key

QUERY: dict[str, object] = {"parent": "1", "filter": None, "order": "create_time desc"}
GARBAGE = (b"[" * 3000, b"9" * 3000, b"{}", b"[]", b"[NaN,1]", b"[null]", b"\xff\xfe")


@pytest.mark.parametrize(
    ("requested", "expected"), [(None, 100), (0, 100), (1, 1), (1000, 1000), (10**9, 1000)]
)
def test_page_sizes_are_clamped(requested: int | None, expected: int) -> None:
    assert clamp_page_size(requested) == expected


def test_a_negative_page_size_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="pageSize"):
        clamp_page_size(-1)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([], 0), ([1], 1), ([99], 1), ([6, 5], 1), ([5, 5, 1], 2), ([1, 1, 1], 2), ([11, 1, 1], 1)],
)
def test_a_page_takes_what_fits_but_at_least_one_row(sizes: list[int], expected: int) -> None:
    assert rows_within(sizes, limit=2, max_bytes=10) == expected


def test_a_token_gives_its_key_back() -> None:
    moment = datetime(2030, 1, 2, 3, 4, 5, 6, timezone(timedelta(hours=2)))
    token = encode_token(QUERY, [moment, "likes-tea", 7, b"\x00\xff"])
    key = typed_key(decode_token(token, QUERY), datetime, str, int, bytes)
    assert key == (moment, "likes-tea", 7, b"\x00\xff")
    assert key[0].tzinfo is UTC
    assert typed_key([None, 7], datetime | None, int) == (None, 7)
    assert typed_key([moment.isoformat()], datetime | None) == (moment,)
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_the_order_of_the_query_does_not_matter() -> None:
    token = encode_token(QUERY, [0.5])
    assert decode_token(token, dict(reversed(QUERY.items()))) == [0.5]


def test_a_token_of_another_query_is_refused() -> None:
    token = encode_token(QUERY, ["a"])
    for other in ({**QUERY, "filter": "x"}, "digest", {}):
        _assert_refused(token, other)


def test_a_changed_key_is_refused() -> None:
    token = encode_token("q", ["a"])
    padded = token + "=" * (-len(token) % 4)
    digest, _ = json.loads(base64.urlsafe_b64decode(padded))
    _assert_refused(_token([digest, "b"]), "q")


@pytest.mark.parametrize(
    "token",
    ["", "a", "é", "\ud800", "AAAA", "a b", "a" * 5000]
    + [base64.urlsafe_b64encode(text).decode() for text in GARBAGE],
)
def test_garbage_is_refused(token: str) -> None:
    _assert_refused(token, "q")


@pytest.mark.parametrize("part", [True, 2**63, 1e999, "\x00", "\ud800", [1], {"a": 1}])
def test_a_part_that_no_column_holds_is_refused(part: object) -> None:
    _assert_refused(_token(["digest", part]), "q")


@pytest.mark.parametrize(
    "part", [1, None, "a", 1.5, "2030-01-02T03:04:05", "0001-01-01T00:00:00+14:00"]
)
def test_a_part_of_another_type_is_refused(part: object) -> None:
    for kind in (datetime, bytes):
        with pytest.raises(InvalidArgument):
            typed_key([part], kind)


def test_a_key_of_another_length_is_refused() -> None:
    for key in ([], ["a", "b"]):
        with pytest.raises(InvalidArgument):
            typed_key(key, str)
    with pytest.raises(InvalidArgument):
        typed_key([True], int)


def _token(parts: list[object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def _assert_refused(token: str, query: str | dict[str, object]) -> None:
    with pytest.raises(InvalidArgument) as refused:
        decode_token(token, query)
    assert refused.value.reason is Reason.PAGE_TOKEN_INVALID
    assert refused.value.violations[0].field == "pageToken"

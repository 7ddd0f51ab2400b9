"""Pairs of filter rows: what is written is read again, whatever the key holds."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.surfaces.filters import pair, split_pair, written_pair

_KEYS = st.text(st.sampled_from('ab=" \\\n\u3000é'), min_size=1, max_size=6)


@given(_KEYS, st.text(max_size=6))
@example("a=b", "c=d")
@example('"a', '"')
@example(" a", "")
def test_a_written_pair_is_read_as_it_was(key: str, value: str) -> None:
    assert split_pair(written_pair(key, value)) == (key, value.strip())


@pytest.mark.parametrize(
    ("written", "comparison"),
    [
        ("user_id = 42 ", 'scope."user_id"="42"'),
        ("user_id", 'scope."user_id":*'),
        ("a=b=c", 'scope."a"="b=c"'),
        ('"a=b" = c', 'scope."a=b"="c"'),
        ('"a=b"', 'scope."a=b":*'),
        ('"a=b', 'scope."\\"a"="b"'),
        ('"a"b=c', 'scope."\\"a\\"b"="c"'),
        ("a=", 'scope."a"=""'),
    ],
)
def test_a_pair_is_compared_by_its_key(written: str, comparison: str) -> None:
    assert pair("scope", written) == comparison

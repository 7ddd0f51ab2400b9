"""Round trips of everything the wire carries, and parsers that refuse garbage in one way only."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.changes import check, parse_mask
from app.kernel.errors import InvalidArgument, NotFound
from app.kernel.filters import And, Comparison, Node, Not, Operator, Or, parse_filter
from app.kernel.names import EngineName, MemoryName
from app.kernel.paging import decode_token, encode_token, typed_key
from app.kernel.wire.scalars import (
    MAX_DURATION,
    format_duration,
    format_timestamp,
    parse_duration,
    parse_timestamp,
)

MOMENTS = st.datetimes(timezones=st.just(UTC))
STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
IDS = st.integers(1, 2**63 - 1)
PIECES = [*"ab1.:=<>!~()\"'\\-* \n\ud800\x00é", " AND ", " OR ", "NOT ", "a=1", "a:(", '"b"']
FILTER_LIKE = st.lists(st.sampled_from(PIECES)).map("".join)
PATHS = ["display_name", "fact", "a_b.c_d"]


def _comparisons() -> st.SearchStrategy[Node]:
    segments = st.text(min_size=1).filter(lambda text: text.isprintable()) | STORABLE
    quoted = st.builds(
        Comparison,
        st.lists(segments, min_size=1, max_size=3).map(tuple),
        st.sampled_from(Operator),
        STORABLE,
        st.just(True),
    )
    bare = st.builds(
        Comparison,
        st.just(("a",)),
        st.sampled_from(Operator),
        st.from_regex(r"[a-z0-9:+.-]+", fullmatch=True),
        st.just(False),
    )
    return quoted | bare


def _nested(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.builds(And, several) | st.builds(Or, several) | st.builds(Not, inner)


TREES = st.recursive(_comparisons(), _nested, max_leaves=6)


@given(st.timedeltas(-MAX_DURATION, MAX_DURATION))
def test_durations_read_what_they_write(length: timedelta) -> None:
    assert parse_duration(format_duration(length)) == length


@given(MOMENTS)
def test_timestamps_read_what_they_write(moment: datetime) -> None:
    assert parse_timestamp(format_timestamp(moment)) == moment


@given(TREES)
def test_filters_read_what_they_write(tree: Node) -> None:
    assert parse_filter(str(tree)) == tree


@given(IDS, NAMES)
def test_names_read_what_they_write(engine: int, memory: str) -> None:
    name = MemoryName(EngineName("p", "l", engine), memory)
    assert MemoryName.parse(str(name)) == name


@given(MOMENTS, STORABLE, st.integers(-(2**63) + 1, 2**63 - 1))
def test_page_tokens_give_their_key_back(moment: datetime, text: str, number: int) -> None:
    token = encode_token({"filter": text}, [moment, text, number])
    key = typed_key(decode_token(token, {"filter": text}), datetime, str, int)
    assert key == (moment, text, number)


@given(st.lists(st.sampled_from([*PATHS, "displayName", "aB.cD"]), min_size=1))
def test_applying_a_mask_twice_equals_once(paths: list[str]) -> None:
    once = parse_mask(",".join(paths))
    assert once is not None
    assert parse_mask(",".join(once)) == once
    assert check(check(once, PATHS), PATHS) == check(once, PATHS)


@given(FILTER_LIKE | st.text())
def test_filters_refuse_garbage_as_an_invalid_argument(text: str) -> None:
    _refuses_only_by(InvalidArgument, parse_filter, text)


@given(st.text() | st.text("ABCDab-_=[{1,"))
def test_page_tokens_refuse_garbage_as_an_invalid_argument(text: str) -> None:
    with pytest.raises(InvalidArgument):
        decode_token(text, "q")


@given(st.text() | st.text("0123456789-+:.TZs"))
def test_scalars_refuse_garbage_as_a_value_error(text: str) -> None:
    for parse in (parse_duration, parse_timestamp):
        _refuses_only_by(ValueError, parse, text)


@given(st.text() | st.text("projects/locations/reasoningEngines/memories/1a"))
def test_names_refuse_garbage_as_ours(text: str) -> None:
    for parse in (EngineName.parse, MemoryName.parse):
        _refuses_only_by((InvalidArgument, NotFound), parse, text)


@given(st.text())
def test_masks_refuse_garbage_as_an_invalid_argument(text: str) -> None:
    _refuses_only_by(InvalidArgument, lambda mask: check(parse_mask(mask) or (), PATHS), text)


def _refuses_only_by(
    error: type[Exception] | tuple[type[Exception], ...],
    parse: Callable[[str], object],
    text: str,
) -> None:
    try:
        parse(text)
    except error:
        return

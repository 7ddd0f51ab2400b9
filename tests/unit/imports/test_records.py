"""Records of files in every form that products write, in pieces of any size."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.process.imports import records
from app.process.imports.records import FileError, read_records

_A, _B = {"id": "a", "n": [1, {"x": "]}"}]}, {"id": "b \u00e9 \U0001f600"}
_HEAD = {"user": {"id": "u"}}


def _pieces(text: str | bytes, size: int) -> Iterator[bytes]:
    data = text.encode() if isinstance(text, str) else text
    return (data[at : at + size] for at in range(0, len(data), size))


def _values(text: str | bytes, size: int = 7) -> list[Any]:
    return [one.value for one in read_records(_pieces(text, size), ("results", "items"))]


_FORMS = {
    "list": json.dumps([_A, _B]),
    "list, indented": json.dumps([_A, _B], indent=2),
    "object": json.dumps({**_HEAD, "results": [_A, _B], "total": 2}),
    "object, indented": json.dumps({**_HEAD, "results": [_A, _B]}, indent=1, ensure_ascii=False),
    "lines": f"{json.dumps(_A)}\n\n{json.dumps(_B, ensure_ascii=False)}\r\n",
    "pages by line": f"{json.dumps({'items': [_A]})}\n{json.dumps({'items': [_B], 'total': 2})}",
    "pages": json.dumps({"items": [_A]}, indent=2) + json.dumps({"items": [_B]}, indent=2),
    "with a mark": "\ufeff" + json.dumps([_A, _B]),
    "two lists": json.dumps({"items": [_A], "results": [_B]}),
}


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_every_form_has_the_same_records(form: str, size: int) -> None:
    assert _values(_FORMS[form], size) == [_A, _B]


@given(
    values=st.lists(st.dictionaries(st.text(), st.integers() | st.text() | st.floats(-9, 9))),
    size=st.integers(1, 40),
    indent=st.sampled_from([None, 1]),
)
def test_any_list_comes_back(values: list[Any], size: int, indent: int | None) -> None:
    assert _values(json.dumps(values, indent=indent), size) == values


@pytest.mark.parametrize("text", ["", "\n \n", "[]", '{"results": []}'])
def test_a_file_may_have_none(text: str) -> None:
    assert _values(text) == []


def test_a_document_without_a_list_is_a_record() -> None:
    assert _values(json.dumps(_A, indent=2)) == [_A]


def test_records_know_what_stood_before_them() -> None:
    for indent in (None, 2):
        text = json.dumps({**_HEAD, "results": [_A]}, indent=indent)
        (record,) = read_records([text.encode()], ("results",))
        assert record.heading == _HEAD


def test_a_broken_line_stops_no_other() -> None:
    text = '{"id": \n{"id": "b"}\n{"id"\n["c"]\n'
    found = [(one.number, one.value, one.error) for one in read_records([text.encode()], ())]
    assert found == [
        (1, '{"id": ', "The line is not JSON."),
        (2, {"id": "b"}, None),
        (3, '{"id"', "The line is not JSON."),
        (4, "c", None),
    ]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('[{"a": 1},\n {"b": 2}\n', 2),
        ('[{"a": 1} {"b": 2}]', 1),
        ('{"results": [{"a": 1},]}', 1),
        ('{"results": [{"a": 1}], 7: 8}', 1),
        ("nothing", 0),
    ],
)
def test_a_broken_document_is_refused_at_its_place(text: str, after: int) -> None:
    with pytest.raises(FileError, match=f"not JSON after item {after}"):
        _values(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(FileError, match="not UTF-8"):
        _values(b'["\xff"]')


def test_a_value_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_VALUE_CHARS", 100)
    with pytest.raises(FileError, match="more than 100 characters"):
        _values(json.dumps([{"a": "x" * 500}]))


def test_of_a_long_list_one_record_at_a_time_is_read() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        yield b"["
        while True:
            taken += 1
            yield b'{"id": "a"},\n'

    found = read_records(endless(), ())
    assert [next(found).value for _ in range(50)] == [{"id": "a"}] * 50
    assert taken < 200_000

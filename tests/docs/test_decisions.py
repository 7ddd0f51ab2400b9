"""Records of decisions are short, complete and indexed; the tests that they name exist."""

import re

import pytest

from tests.support.documents import DOCS, ROOT

_INDEX = (ROOT / "DECISIONS.md").read_text()
_RECORD = re.compile(r"^## (\d+)\. (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
_LINE = re.compile(r"^- (\d+) \[(.+)\]\((\S+)#\S+\)$", re.MULTILINE)
_PATH = re.compile(r"`((?:app|benchmarks|docs|migrations|scripts|tests)/[\w./-]+)`")
_MAX_WORDS = 120
_MAX_RECORDS = 12
_RECORDS = [
    (int(number), title, body, f"docs/decisions/{page.name}")
    for page in sorted((DOCS / "decisions").glob("*.md"))
    for number, title, body in _RECORD.findall(page.read_text())
]


@pytest.mark.parametrize("body", [pytest.param(body, id=title) for _, title, body, _ in _RECORDS])
def test_a_record_is_short_and_complete(body: str) -> None:
    assert len(body.split()) <= _MAX_WORDS
    parts = re.findall(r"^\*(.+?)\.?\*", body, re.MULTILINE)
    assert parts == ["Context", "Decision", "Price", "Enforced by"]
    assert [path for path in _PATH.findall(body) if not (ROOT / path).exists()] == []


def test_pages_are_short() -> None:
    pages = [page for *_, page in _RECORDS]
    assert [page for page in set(pages) if pages.count(page) > _MAX_RECORDS] == []


def test_the_index_lists_every_record() -> None:
    listed = {(int(number), title, page) for number, title, page in _LINE.findall(_INDEX)}
    assert listed == {(number, title, page) for number, title, _, page in _RECORDS}


def test_every_number_is_a_record_or_retired() -> None:
    numbers = [number for number, *_ in _RECORDS]
    _, retired = _INDEX.split("## Retired numbers")
    known = {*numbers, *map(int, re.findall(r"\d+", retired))}
    assert len(numbers) == len(set(numbers))
    assert known == set(range(1, max(known) + 1))

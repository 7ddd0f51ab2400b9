"""Files made to take time or memory out of proportion: their text comes all the same."""

import tracemalloc
from collections.abc import Iterator

import pytest

from app.documents.page_text import text_of_html
from app.documents.record_text import text_of_csv

MIB = 1024**2
PAGE = 256 * 1024


def pages(unit: str, length: int) -> Iterator[str]:
    page = unit * (PAGE // len(unit))
    for _ in range(length // len(page)):
        yield page


@pytest.mark.parametrize("unit", ["<b>w </x>", "<div>w </p>", "<a>w <table></a>"])
def test_ends_without_beginnings_are_not_looked_for_in_all_that_is_open(unit: str) -> None:
    # Where they are, this takes the better part of an hour.
    length = 4 * MIB
    found = sum(part.count("w") for part in text_of_html(pages(unit, length)))
    assert found == sum(page.count("w") for page in pages(unit, length))


def test_a_page_that_never_closes_what_it_opens_has_all_of_its_text_and_no_markup() -> None:
    page = "".join(
        f'<font face="a font of a long name" size={n}>word{n} &amp; <br>' for n in range(3_000)
    )
    for step in (len(page), 1_000, 77):
        parts = [page[n : n + step] for n in range(0, len(page), step)]
        found = "".join(text_of_html(parts))
        assert found.split() == [one for n in range(3_000) for one in (f"word{n}", "&")]


def test_a_row_that_never_ends_is_not_held_in_its_cells() -> None:
    def table() -> Iterator[str]:
        yield "a,b\n1,2\n"
        yield from pages('"x\ny",', 8 * MIB)
        yield "the last"

    tracemalloc.start()
    try:
        length, last = 0, ""
        for part in text_of_csv(table()):
            length, last = length + len(part), part or last
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert length > 7 * MIB
    assert last.endswith("the last")
    # In its cells it is more than 200 MiB.
    assert most < 24 * MIB


def test_a_cell_that_never_ends_hides_nothing_of_a_line_that_never_ends() -> None:
    words = [f"word{n}" for n in range(100_000)]
    line = " ".join(words)
    for step in (PAGE, 10_000):
        parts = [line[n : n + step] for n in range(0, len(line), step)]
        found = "".join(text_of_csv(['a,b\n1,2\n"open ', *parts, "\nend"]))
        assert found.split()[-len(words) - 1 :] == [*words, "end"]

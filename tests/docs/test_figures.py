"""Figures that several pages show come from one table, so that the pages agree."""

import re
import tomllib

import pytest

from scripts.make_figures import FIGURES, PAGES, with_figures

TABLES = tomllib.loads(FIGURES.read_text())
TOLD = ("command", "taken", "embedder", "key", "request id")


def test_the_pages_show_the_present_figures() -> None:
    stale = [
        page.name for page in PAGES if with_figures(page.read_text(), TABLES) != page.read_text()
    ]
    assert stale == [], "run `make figures`"


def test_each_table_is_shown_and_tells_what_makes_it() -> None:
    shown = {
        name for page in PAGES for name in re.findall(r"<!-- figures: (\w+) -->", page.read_text())
    }
    assert shown == set(TABLES)
    for table in TABLES.values():
        assert set(table) == {*TOLD, "columns", "rows"}
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_no_page_repeats_a_row_outside_its_table() -> None:
    for page in PAGES:
        kept = re.sub(r"<!-- figures.*?end of figures -->", "", page.read_text(), flags=re.DOTALL)
        for table in TABLES.values():
            for row in table["rows"]:
                assert " | ".join(cell for cell in row[1:] if cell) not in kept, page.name


def test_the_short_table_of_searches_is_a_part_of_the_long_one() -> None:
    short, whole = TABLES["recall"], TABLES["search"]
    measured = {
        row[0]: [cell.partition(" / ")[0] for cell in (row[1], row[2], row[4])]
        for row in whole["rows"]
    }
    for name, *cells in short["rows"]:
        assert [cell.strip("*") for cell in cells] == measured[name]
    for told in TOLD:
        assert short[told] == whole[told]


def test_a_changed_figure_is_written() -> None:
    page = "Before.\n<!-- figures: x -->\nold\n<!-- end of figures -->\nAfter.\n"
    told = dict(zip(TOLD, ("make x", "today", "MiniLM", "bound", "none"), strict=True))
    tables = {"x": {**told, "columns": ["", "a"], "rows": [["b", "1"], ["c", ""]]}}
    assert with_figures(page, tables) == (
        "Before.\n<!-- figures: x -->\n\n| | a |\n| --- | --- |\n| b | 1 |\n| c | |\n\n"
        "`make x`, today. Embedder: MiniLM; key: bound; request id: none.\n\n"
        "<!-- end of figures -->\nAfter.\n"
    )
    with pytest.raises(KeyError):
        with_figures(page.replace(": x", ": y"), tables)

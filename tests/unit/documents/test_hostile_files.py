"""Files made to take time or memory out of proportion: their text comes all the same."""

import re
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.documents import page_text
from app.adapters.documents.page_text import text_of_html
from app.adapters.documents.record_text import text_of_csv

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


def held_mib() -> float:
    """Return how much memory this process has, in MiB; parsers' own is not known to Python."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / MIB


def test_of_a_long_page_little_is_held() -> None:
    paragraph = "<div><p>" + "word " * 4_000 + "</p></div>"
    before, most = held_mib(), 0.0
    for part in text_of_html(pages(paragraph, 48 * MIB)):
        most = max(most, held_mib()) if part else most
    # A parser that reads all of it holds all of it.
    assert most - before < 24


@pytest.mark.parametrize("unit", ["<a>", "<br>", "<b>w</b> ", "<td>w"])
def test_of_a_long_page_without_blocks_little_is_held(unit: str) -> None:
    before, most = held_mib(), 0.0
    for number, _ in enumerate(text_of_html(pages(unit, 8 * MIB))):
        most = max(most, held_mib()) if number % 100 == 0 else most
    assert most - before < 20


UNENDED = ["<!--", "<![CDATA[", "<a b='", "<?a ", "<a " + "b=1 ", "</a "]


@pytest.mark.parametrize("unit", UNENDED)
def test_what_never_ends_does_not_keep_the_process(unit: str) -> None:
    # Of more than ten million characters, the parser's limit, which it did not get past. It held
    # all threads meanwhile: the child is not waited for in this process.
    code = f"""
from app.adapters.documents.page_text import text_of_html
print("".join(text_of_html(["<p>Before.</p>", *[{unit!r} * 100_000] * {120 // len(unit)}])))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("Before.")


def test_after_a_tag_that_is_too_long_the_text_continues() -> None:
    attributes = " ".join(f"a{number}=1" for number in range(700_000))
    for middle in (f"<a {attributes}>", f"<!--{attributes}-->", f"<img src='{attributes}'>"):
        found = "".join(text_of_html(["<p>Before.</p>", middle, "<p>After.</p>"]))
        assert found.split() == ["Before.", "After."]


def test_a_comment_in_which_a_parser_is_replaced_stays_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_text, "MAX_HELD", 10)
    page = "<p>Some text.</p><!--" + "x" * 50 + "</p> hidden --><p>More.</p>"
    for step in (1, 7, 4_096):
        parts = [page[n : n + step] for n in range(0, len(page), step)]
        assert "".join(text_of_html(parts)).split() == ["Some", "text.", "More."]


LONG_PAGE = "".join(
    f"<div class='</p>'><!-- </p> --><h2>Head {n}</h2><p>Some <b>bold</b> text {n}</p>"
    f"<pre>a {n}\n  <b>laid</b>  out</pre><script>hidden('</p>')</script>"
    f"<svg><p>drawn</p></svg><table><tr><td>Row</td><td>{n}</td></tr></table></div>\n"
    for n in range(40)
)


@pytest.mark.parametrize("step", [16, 100, 4_096])
def test_a_page_that_is_read_by_several_parsers_has_the_same_text(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    whole = "".join(text_of_html([LONG_PAGE]))
    assert "a 7\n  laid" in whole
    assert "Row | 7" in whole
    monkeypatch.setattr(page_text, "MAX_HELD", 10)
    parts = [LONG_PAGE[n : n + step] for n in range(0, len(LONG_PAGE), step)]
    found = "".join(text_of_html(parts))
    assert re.sub(r"\n+", "\n", found) == re.sub(r"\n+", "\n", whole)


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

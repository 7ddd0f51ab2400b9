"""PDFs made to take time or memory out of proportion: the process that reads them ends."""

from collections.abc import Callable

import pytest

from app.adapters.documents.pdf_process import DAMAGED, MAX_PAGES, TOO_LARGE
from tests.support.pdfs import (
    HELVETICA,
    deflated,
    of_contents,
    of_pages,
    read,
    shown,
    stream,
    written,
)

MIB = 1024**2
MOST_MEMORY = 200_000_000
CPU_SECONDS = 10
READ = 0
KILLED = -24
"""By the kernel, for its time."""
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"


def tree(pages: bytes, *more: bytes) -> bytes:
    """Return a file with a page tree."""
    return written(b"<< /Type /Catalog /Pages 2 0 R >>", pages, *more)


def laughs(depth: int, width: int) -> bytes:
    """Return a page of forms, each of which shows the next one many times."""
    forms = [
        stream(
            b" ".join([b"/X Do"] * width),
            b"/Type /XObject /Subtype /Form /BBox [0 0 9 9]"
            b" /Resources << /XObject << /X %d 0 R >> /Font << /F1 3 0 R >> >>" % (7 + level),
        )
        for level in range(depth)
    ]
    last = stream(shown("ha"), b"/Type /XObject /Subtype /Form /BBox [0 0 9 9]")
    resources = b"/Resources << /XObject << /X 6 0 R >> /Font << /F1 3 0 R >> >>"
    return of_contents(stream(b"/X Do"), resources=resources, more=[*forms, last])


def mapped(cmap: bytes) -> bytes:
    """Return a page in a font with a map to Unicode."""
    font = (
        b"<< /Type /Font /Subtype /Type0 /BaseFont /F /Encoding /Identity-H /ToUnicode 6 0 R"
        b" /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /F >>] >>"
    )
    return of_contents(stream(b"BT /F1 9 Tf <0041> Tj ET"), font=font, more=[deflated(cmap)])


def deep_tree(depth: int) -> bytes:
    nodes = [
        b"<< /Type /Pages /Parent %d 0 R /Kids [%d 0 R] /Count 1 >>" % (number - 1, number + 1)
        for number in range(3, 3 + depth)
    ]
    return tree(b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", *nodes, PAGE)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a compressed page": lambda: of_contents(deflated(bytes(90 * MIB))),
    "a page compressed twice": lambda: of_contents(deflated(bytes(90 * MIB), 2)),
    "a page of spaces": lambda: of_contents(deflated(b" " * 70 * MIB)),
    "a page of operators": lambda: of_contents(deflated(b"q Q " * MIB)),
    "a page of lines": lambda: of_contents(deflated(shown(*["word"] * 400_000))),
    "a long text": lambda: of_contents(deflated(shown("word " * 100_000))),
    "nested arrays": lambda: of_contents(stream(b"[" * 200_000)),
    "nested dictionaries": lambda: written(b"<< /Type /Catalog /Pages " + b"<< /A " * 100_000),
    "forms in forms": lambda: laughs(9, 20),
    "a form in itself": lambda: of_contents(
        stream(b"/X Do"),
        resources=b"/Resources << /XObject << /X 6 0 R >> >>",
        more=[
            stream(
                b"/X Do /X Do",
                b"/Type /XObject /Subtype /Form /BBox [0 0 9 9]"
                b" /Resources << /XObject << /X 6 0 R >> >>",
            )
        ],
    ),
    "pages in a circle": lambda: tree(
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 3 0 R] /Count 1 >>",
    ),
    "a deep tree of pages": lambda: deep_tree(5_000),
    "one page many times": lambda: tree(
        b"<< /Type /Pages /Kids [%s] /Count 1 >>" % (b"3 0 R " * 200_000), PAGE
    ),
    "too many pages": lambda: tree(
        b"<< /Type /Pages /Kids [%s] /Count 1 >>" % (b"3 0 R " * (MAX_PAGES + 1)), PAGE
    ),
    "a count of pages": lambda: tree(b"<< /Type /Pages /Kids [3 0 R] /Count 2147483647 >>", PAGE),
    "a map of all characters": lambda: mapped(
        b"1 beginbfrange <00000000> <ffffffff> <0041> endbfrange"
    ),
    "a map of many ranges": lambda: mapped(
        b"100 beginbfrange\n" + b"<0000> <ffff> <0041>\n" * 100_000 + b"endbfrange"
    ),
    "a font of many widths": lambda: of_contents(
        stream(shown("word")),
        font=HELVETICA[:-2]
        + b"/FirstChar 0 /LastChar 1000000 /Widths [%s] >>" % (b"1 " * 1_000_000),
    ),
    "a table in a circle": lambda: of_pages("word").replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev 9"),
    "a reference to itself": lambda: written(
        b"<< /Type /Catalog /Pages 2 0 R >>", b"2 0 R", trailer=b"/Info 3 0 R"
    ),
    "a long file": lambda: of_contents(stream(shown("word")), more=[stream(bytes(64 * MIB))]),
    "a file of beginnings": lambda: b"%PDF-1.7\n" + b"1 0 obj\n" * 200_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_ends_within_its_memory(name: str) -> None:
    ended = read(HOSTILE[name](), CPU_SECONDS)
    assert ended.status in {READ, DAMAGED, TOO_LARGE, KILLED}
    assert ended.memory < MOST_MEMORY

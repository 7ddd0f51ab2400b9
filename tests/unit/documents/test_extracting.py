"""What bytes look like, and their text: of whatever kind, and however broken."""

import codecs
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.documents.extracting import extracted, format_read, is_readable, sniffed
from app.kernel.media_types import MediaType, TextFormat, format_of

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + bytes(17)
ALL_BYTES = bytes(range(256))


def text(data: bytes, declared: str = "text/plain", step: int | None = None) -> str:
    pages = [data[n : n + step] for n in range(0, len(data), step)] if step else [data]
    return "".join(extracted(pages, declared, sniffed(data)))


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"", "text/plain"),
        (b"plain", "text/plain"),
        ("\u00e9t\u00e9".encode("latin-1"), "text/plain"),
        ("text".encode("utf-16"), "text/plain"),
        (b"a terminal rings its bell: \x07, and this goes on for a while", "text/plain"),
        (b"BM is no picture here", "text/plain"),
        (b"MZ neither", "text/plain"),
        (b"[Chapter 1] Once", "text/plain"),
        (b' {"a": 1}', "application/json"),
        (b"[1, 2]", "application/json"),
        (b"\xef\xbb\xbf[[]]", "application/json"),
        (b"\n<!DOCTYPE html><p>", "text/html"),
        (b"<HTML lang=en>", "text/html"),
        (b"<?xml version='1.0'?><a/>", "application/xml"),
        (b"<?xml version='1.0'?>\n<svg xmlns='x'/>", "image/svg+xml"),
        (b"%PDF-1.7\nall ASCII", "application/pdf"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\x00", "application/pdf"),
        (b"{\\rtf1 x}", "application/rtf"),
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01", "image/jpeg"),
        (b"GIF89a\x01\x00\x01\x00", "image/gif"),
        (b"PK\x03\x04\x14\x00\x00\x00", "application/zip"),
        (b"PK\x03\x04" + b"a name " * 500, "application/zip"),
        (b"\x1f\x8b\x08\x00\x00", "application/x-gzip"),
        (b"OggS\x00\x02", "audio/ogg"),
        (b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
        (b"\x7fELF\x02\x01\x01\x00", "application/x-elf"),
        (ALL_BYTES, "application/octet-stream"),
    ],
)
def test_bytes_are_known_by_their_beginning(head: bytes, expected: str) -> None:
    assert sniffed(head) == expected


@given(st.binary(max_size=200))
def test_whatever_bytes_are_they_look_like_a_media_type(head: bytes) -> None:
    assert MediaType.parse(sniffed(head)).essence == sniffed(head)


@pytest.mark.parametrize(
    ("declared", "looks_like", "expected"),
    [
        ("text/plain", "text/plain", TextFormat.PLAIN),
        ("text/plain", "text/html", TextFormat.PLAIN),
        ("text/markdown", "text/plain", TextFormat.PLAIN),
        ("text/csv; charset=utf-8", "text/plain", TextFormat.CSV),
        ("application/problem+json", "application/json", TextFormat.JSON),
        ("text/html", "text/plain", TextFormat.HTML),
        ("text/html", "application/json", TextFormat.HTML),
        ("application/xml", "application/xml", TextFormat.PLAIN),
        ("text/plain", "image/png", None),
        ("text/plain", "application/pdf", None),
        ("text/plain", "application/octet-stream", None),
        ("text/plain; charset=utf-16-le", "application/octet-stream", TextFormat.PLAIN),
        ("application/pdf", "application/pdf", TextFormat.PDF),
        ("application/octet-stream", "application/pdf", TextFormat.PDF),
        ("application/pdf", "text/plain", None),
        ("application/pdf; charset=utf-16-le", "application/octet-stream", None),
        ("image/png", "application/pdf", None),
        ("image/png", "image/png", None),
        ("image/png", "text/plain", None),
        ("image/svg+xml", "image/svg+xml", None),
        # Declared to be nothing in particular.
        ("application/octet-stream", "text/html", TextFormat.HTML),
        ("application/octet-stream", "application/json", TextFormat.JSON),
        ("application/octet-stream", "image/png", None),
    ],
)
def test_a_file_is_read_as_declared_unless_it_cannot_be(
    declared: str, looks_like: str, expected: TextFormat | None
) -> None:
    assert format_read(declared, looks_like) == expected
    assert is_readable(declared, looks_like) == (expected is not None)


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        ("Gr\u00fc\u00dfe".encode(), "text/plain"),
        ("Gr\u00fc\u00dfe".encode(), "text/plain; charset=nonsense"),
        ("Gr\u00fc\u00dfe".encode(), "text/plain; charset=zip"),
        ("Gr\u00fc\u00dfe".encode(), "text/plain; charset=unicode_escape"),
        ("Gr\u00fc\u00dfe".encode(), "text/plain; charset=us-ascii"),
        ("Gr\u00fc\u00dfe".encode("latin-1"), "text/plain"),
        ("Gr\u00fc\u00dfe".encode("cp850"), "text/plain; charset=cp850"),
        ("Gr\u00fc\u00dfe".encode("utf-16"), "text/plain"),
        ("Gr\u00fc\u00dfe".encode("utf-16-be"), "text/plain; charset=UTF-16BE"),
        ("Gr\u00fc\u00dfe".encode("utf-16-le"), "text/plain; charset=utf-16"),
        ("Gr\u00fc\u00dfe".encode("utf-32"), "text/plain"),
        (codecs.BOM_UTF8 + "Gr\u00fc\u00dfe".encode(), "text/plain; charset=latin-1"),
    ],
)
def test_characters_are_found_by_mark_declaration_or_guess(data: bytes, declared: str) -> None:
    for step in (None, 1, 3):
        assert text(data, declared, step) == "Gr\u00fc\u00dfe"


def test_line_breaks_are_of_one_kind_and_nothing_is_left_that_cannot_be_stored() -> None:
    assert text(b"a\r\nb\rc\n", step=2) == "a\nb\nc\n"
    assert text("a\0b".encode("utf-16"), "text/plain") == "a\ufffdb"
    assert text(b"a" * 70_000 + b"\xff\x00", "text/plain") == "a" * 70_000 + "\ufffd\ufffd"


def test_json_is_a_record_to_a_line_with_its_texts_as_they_are_read() -> None:
    data = {
        "rows": [{"name": "B\u00f6b \U0001f600", "tags": ["x", 1]}, {"name": 'A"l\n2'}],
        "n": None,
    }
    expected = (
        '{"rows": [{"name": "B\u00f6b \U0001f600", "tags": ["x", 1]},\n'
        '{"name": "A"l\n2"}],\n"n": null}'
    )
    for sent in (
        json.dumps(data),
        json.dumps(data, indent=2),
        json.dumps(data, ensure_ascii=False),
    ):
        for step in (None, 1, 7):
            assert text(sent.encode(), "application/json", step) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"not json", "notjson"),
        (b"{", "{"),
        (b'{"a": "never ends \\', '{"a": "never ends \\'),
        (b'["\\ud83d", "\\u0000", "\\u12"]', '["\ufffd", "\ufffd", "u12"]'),
        (b"", ""),
    ],
)
def test_broken_json_is_read_as_far_as_it_goes(data: bytes, expected: str) -> None:
    for step in (None, 1):
        assert text(data, "application/json", step) == expected


def test_cells_of_a_table_come_with_the_names_of_their_columns() -> None:
    data = b'name;price\r\nTea;"3\n50"\r\nMilk;\r\nRest;1;2\r\n'
    for step in (None, 1):
        found = text(data, "text/csv", step)
        assert found == (
            "name, price\nname: Tea, price: 3\n50\nname: Milk\nname: Rest, price: 1, 2\n"
        )


def test_a_table_without_names_is_rows() -> None:
    assert text(b"1,2\n3,4\n", "text/csv") == "1, 2\n3, 4\n"
    assert text(b"a\tb\nc\td\n", "text/tab-separated-values") == "a, b\na: c, b: d\n"
    assert text(b"same,same\n1,2\n", "text/csv") == "same, same\n1, 2\n"


def test_a_quote_that_never_ends_hides_nothing() -> None:
    found = text(b'a,b\n"open\n' + b"hidden line\n" * 20_000 + b"the last", "text/csv")
    assert found.count("hidden line") == 20_000
    assert found.endswith("the last")


def test_long_names_over_short_cells_do_not_make_much_of_little() -> None:
    names = ",".join(f"a very long name of a column number {n}" for n in range(50))
    data = f"{names}\n" + f"{','.join('1' * 50)}\n" * 5_000
    assert len(text(data.encode(), "text/csv")) < 5 * len(data) + 200_000


def test_of_html_there_is_the_text_in_paragraphs_and_lines() -> None:
    page = (
        "<!DOCTYPE html><html><head><title>Menu</title><style>p { color: red }</style>"
        "<script>var secret = '<p>';</script></head><body><h1>Our\n  menu</h1>"
        "<p>Fresh <b>te</b>a, caf&eacute; &amp; <i>milk</i>.<br>Daily</p>"
        "<ul><li>one<li>two</ul><noscript>no</noscript><svg><text>drawn</text></svg>"
        "<table><tr><th>What</th><th>Price</th></tr><tr><td>Tea</td><td>3</td></tr></table>"
        "<template>later</template><!-- remark --><div>a<div>b</div></div>end"
    )
    expected = (
        "Menu\n\nOur menu\n\nFresh tea, caf\u00e9 & milk.\nDaily\n\none\ntwo\n\nWhat | Price\n"
        "Tea | 3\n\na\nb\nend"
    )
    for step in (None, 1, 10):
        assert text(page.encode(), "text/html", step) == expected


def test_lines_that_are_laid_out_stay_lines() -> None:
    page = "<p>Code:</p><pre>\nif x:\n    <b>y</b> = 1\n\nend</pre> and  more<pre> z</pre>"
    for step in (None, 1, 5):
        found = text(page.encode(), "text/html", step)
        assert found == "Code:\n\nif x:\n    y = 1\n\nend\n\nand more\n\n z"


def test_a_word_with_places_to_break_it_is_a_word() -> None:
    assert text("<p>un&shy;break\u200bable&nbsp;x".encode(), "text/html") == "unbreakable x"


def test_html_may_say_itself_what_its_characters_are() -> None:
    page = '<meta charset="iso-8859-15"><p>5 \u20ac'
    assert text(page.encode("iso-8859-15"), "text/html") == "5 \u20ac"
    # Who sends it knows better, and what cannot be is passed over.
    assert text(page.encode(), "text/html; charset=utf-8") == "5 \u20ac"
    assert text(b'<meta charset="utf-16"><p>5', "text/html") == "5"


@pytest.mark.parametrize(
    "page",
    ["<div>" * 50_000, "<", "<a " + "b=c " * 50_000, "</a>" * 9, "<script>x", "<!--", "&", ""],
)
def test_html_that_is_none_has_little_text(page: str) -> None:
    assert len(text(page.encode(), "text/html")) <= len(page)
    assert text(f"{page}".encode() + b"<p>", "text/html").strip() in {"", "<", "&"}


CHARSETS = ["utf-16", "utf-32", "utf-32-be", "cp949", "gb18030", "iso-2022-jp", "euc-kr", "johab"]


@given(
    st.binary(max_size=300),
    st.one_of(
        st.sampled_from(["text/plain", "text/html", "text/csv", "application/json"]),
        st.sampled_from(CHARSETS).map(lambda name: f"text/plain; charset={name}"),
    ),
    st.integers(1, 50),
)
def test_nothing_is_too_broken(data: bytes, declared: str, step: int) -> None:
    found = "".join(
        extracted([data[n : n + step] for n in range(0, len(data), step)], declared, "text/plain")
    )
    assert "\0" not in found
    assert len(found.encode()) <= 100 * len(data)


def test_what_has_no_text_has_none() -> None:
    assert text(PNG, "image/png") == ""
    assert text(PNG, "text/plain") == ""


@pytest.mark.parametrize(
    "declared",
    ["", "text", "text/", "/plain", "a b/c", "t/\u00e9", "x" * 300, "text/plain; charset="],
)
def test_what_is_no_media_type_is_refused_and_not_repeated(declared: str) -> None:
    with pytest.raises(ValueError, match='must be a media type such as "text/csv"') as refused:
        MediaType.parse(declared)
    assert len(str(refused.value)) < 100


def test_types_without_text_are_told_from_those_with() -> None:
    assert format_of("application/x-ndjson") is TextFormat.PLAIN
    assert format_of("application/ld+json") is TextFormat.JSON
    assert format_of("audio/mpeg") is None

"""What bytes look like, and the text that readers are given of them (pure).

All of it streams: a file of any length is read in pages, and its text comes in parts. Nothing that
is broken is refused; it has less text, or none.
"""

import re
from collections.abc import Iterable, Iterator

import puremagic

from app.adapters.documents.charsets import HEAD_BYTES, is_text, is_wide, text_of
from app.adapters.documents.page_text import text_of_html
from app.adapters.documents.record_text import text_of_csv, text_of_json
from app.kernel.media_types import BYTES, TEXT, Format, MediaType, format_of

_BEGINNINGS = (
    (re.compile(rb"%PDF-"), "application/pdf"),
    (re.compile(rb"\{\\rtf"), "application/rtf"),
    (re.compile(rb"%!PS"), "application/postscript"),
    (re.compile(rb"\s{0,99}<(?:!doctype\s{1,9}html|html|head|body)\b", re.IGNORECASE), "text/html"),
    (re.compile(rb"\s{0,99}(?:<\?xml\b[^>]{0,200}>\s{0,99})?<svg\b"), "image/svg+xml"),
    (re.compile(rb"\s{0,99}<\?xml\b"), "application/xml"),
    (
        re.compile(rb"\s{0,99}(?:\{\s{0,99}[\"}]|\[\s{0,99}(?:[\[\]{\"]|-?\d{1,20}\s{0,99}[,\]]))"),
        "application/json",
    ),
)
_CONTAINERS = (
    (b"PK\x03\x04", "application/zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x7fELF", "application/x-elf"),
)
"""Of which only what is in them says more."""
_MARK = b"\xef\xbb\xbf"


def sniffed(head: bytes) -> str:
    """Return the media type that bytes look like, by the first of them (4,096 are enough)."""
    head = head[:HEAD_BYTES]
    if is_text(head):
        begin = head.removeprefix(_MARK)
        return next((found for form, found in _BEGINNINGS if form.match(begin)), TEXT)
    for begin, container in _CONTAINERS:
        if head.startswith(begin):
            return container
    try:
        known = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return BYTES
    return next((one.mime_type for one in known if _is_type(one.mime_type)), BYTES)


def format_read(declared: str, looks_like: str) -> Format | None:
    """Return how a file is read; None: readers are given nothing of it.

    It is read as what it is declared to be, unless it looks like none of what has a text. What is
    declared to be just bytes is read as what it looks like.
    """
    if not _may_be_text(declared, looks_like):
        return None
    essence = MediaType.parse(declared).essence
    return format_of(looks_like if essence == BYTES else essence)


def is_readable(declared: str, looks_like: str) -> bool:
    """Tell whether readers are given the text of a file."""
    return format_read(declared, looks_like) is not None


def extracted(pages: Iterable[bytes], declared: str, looks_like: str) -> Iterator[str]:
    """Yield the text of a file, in parts of any size; what has none yields nothing.

    Takes long for a long file: belongs into a thread.

    Args:
        pages: its bytes, in pages of any size.
        declared: its media type, as it is stored; its charset counts.
        looks_like: what `sniffed` returns for its head.
    """
    read_as = format_read(declared, looks_like)
    if read_as is None:
        return
    is_html = read_as is Format.HTML
    parts = text_of(pages, MediaType.parse(declared).charset, is_html=is_html)
    yield from filter(None, _READERS[read_as](parts))


def _as_it_is(parts: Iterable[str]) -> Iterator[str]:
    yield from parts


_READERS = {
    Format.PLAIN: _as_it_is,
    Format.JSON: text_of_json,
    Format.CSV: text_of_csv,
    Format.HTML: text_of_html,
}


def _may_be_text(declared: str, looks_like: str) -> bool:
    if looks_like == BYTES:
        # Nothing is known of it, and there are charsets that look like nothing.
        return is_wide(MediaType.parse(declared).charset)
    return format_of(looks_like) is not None or looks_like == "image/svg+xml"


def _is_type(text: str) -> bool:
    try:
        MediaType.parse(text)
    except ValueError:
        return False
    return True

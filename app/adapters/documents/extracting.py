"""Detection of file types, and extraction of their text (pure).

Files of any length are read in pages, and their text is yielded in parts. A broken file is not
refused; it has less text, or none.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from app.adapters.documents.charsets import HEAD_BYTES, is_text, is_wide, text_of
from app.adapters.documents.record_text import text_of_csv, text_of_json
from app.kernel.media_types import BYTES, TEXT, MediaType, TextFormat, format_of

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
"""Container formats; only their contents determine a more precise type."""
_MARK = b"\xef\xbb\xbf"


def sniffed(head: bytes) -> str:
    """Guess the media type of bytes from the first 4,096 of them."""
    head = head[:HEAD_BYTES]
    if is_text(head):
        begin = head.removeprefix(_MARK)
        return next((media_type for form, media_type in _BEGINNINGS if form.match(begin)), TEXT)
    for begin, container in _CONTAINERS:
        if head.startswith(begin):
            return container
    # Imported late: few processes are given such files.
    import puremagic  # noqa: PLC0415 - costly import

    try:
        known = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return BYTES
    return next((match.mime_type for match in known if _is_type(match.mime_type)), BYTES)


def format_read(declared: str, looks_like: str) -> TextFormat | None:
    """Return the format in which a file is read; None: the file has no readable text.

    The declared type decides, unless the bytes look like a type without text. For a file declared
    as plain bytes, the guessed type decides.
    """
    if not _may_be_text(declared, looks_like):
        return None
    essence = MediaType.parse(declared).essence
    return format_of(looks_like if essence == BYTES else essence)


def is_readable(declared: str, looks_like: str) -> bool:
    """Return True if readers get the text of a file."""
    return format_read(declared, looks_like) is not None


def extracted(pages: Iterable[bytes], declared: str, looks_like: str) -> Iterator[str]:
    """Yield the text of a file in parts of any size; a file without text yields nothing.

    Call it in a thread, because a long file takes long.

    The charset of the `declared` type counts; `looks_like` is the result of `sniffed`.
    """
    read_as = format_read(declared, looks_like)
    if read_as is None:
        return
    is_html = read_as is TextFormat.HTML
    parts = text_of(pages, MediaType.parse(declared).charset, is_html=is_html)
    yield from filter(None, _READERS[read_as](parts))


def _pages(parts: Iterable[str]) -> Iterator[str]:
    # Imported late, since it imports lxml.
    from app.adapters.documents.page_text import text_of_html  # noqa: PLC0415 - costly import

    return text_of_html(parts)


_READERS: Mapping[TextFormat, Callable[[Iterable[str]], Iterator[str]]] = {
    TextFormat.PLAIN: iter,
    TextFormat.JSON: text_of_json,
    TextFormat.CSV: text_of_csv,
    TextFormat.HTML: _pages,
}


def _may_be_text(declared: str, looks_like: str) -> bool:
    if looks_like == BYTES:
        # An unknown type may be text in a charset that looks like binary data.
        return is_wide(MediaType.parse(declared).charset)
    return format_of(looks_like) is not None or looks_like == "image/svg+xml"


def _is_type(text: str) -> bool:
    try:
        MediaType.parse(text)
    except ValueError:
        return False
    return True

"""Detection of file types and charsets, and extraction of text (pure).

No input is refused: an invalid byte becomes the replacement character, and a broken file has less
text, or none. Files of any length are read in pages, and their text is yielded in parts.
"""

import codecs
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from app.adapters.documents.record_text import text_of_csv, text_of_json
from app.kernel.media_types import BYTES, PDF, TEXT, MediaType, TextFormat, format_of

HEAD_BYTES = 4_096
"""Number of leading bytes that show whether a file is text, and may declare its charset."""
_GUESSED_BYTES = 64 * 1024
"""Number of leading bytes from which an undeclared charset is guessed."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FALLBACK = "cp1252"
_LOSSLESS = "latin-1"
"""A charset that has a character for each byte."""
_TAKEN = frozenset(
    {"utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"}
    | {f"iso8859-{number}" for number in range(1, 17)}
    | {f"cp{number}" for number in (437, 850, 852, 866, 874, 932, 949, 950, *range(1250, 1259))}
    | {"koi8-r", "koi8-u", "mac-roman", "big5", "gb2312", "gbk", "gb18030"}
    | {"euc_jp", "euc_kr", "shift_jis", "iso2022_jp", "johab"}
)
"""The accepted charsets; Python's other codecs are not charsets, or are slow."""
_MEANT = {"ascii": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""The codecs for wide charsets without a byte order mark, and for declared ASCII."""
_META = re.compile(
    rb"<meta[^>]{0,200}charset\s{0,9}=\s{0,9}[\"']?([a-z0-9._:-]{1,40})", re.IGNORECASE
)
_STRANGE = bytes(set(range(32)) - set(b"\t\n\r\f\v\b\x1b"))
_MOST_STRANGE = 50
"""Text contains at most one control byte per this number of bytes."""
_NUL = {0: "\ufffd"}
"""The one character that the database does not store."""


def text_of(pages: Iterable[bytes], charset: str = "", *, is_html: bool = False) -> Iterator[str]:
    r"""Yield the decoded text, with `\n` for every kind of line break.

    A byte order mark wins over the declared `charset`; `is_html`: the text itself may declare one.
    """
    rest = iter(pages)
    head = b""
    for page in rest:
        head += page
        if len(head) >= _GUESSED_BYTES:
            break
    name = _charset(head, charset, is_html=is_html)
    decode = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder(name)(errors="replace"), translate=True
    ).decode
    for page in chain([head], rest):
        yield _storable(decode(page))
    yield _storable(decode(b"", final=True))


def charset_of(data: bytes, declared: str = "") -> str:
    """Return a charset in which a whole text can be decoded and encoded without loss."""
    for name in (_charset(data, declared, is_html=False), _FALLBACK):
        try:
            if data.decode(name).encode(name) == data:
                return name
        except ValueError:
            continue
    return _LOSSLESS


def is_text(head: bytes) -> bool:
    """Return True if bytes look like text: they have a byte order mark, or no control bytes."""
    if any(head.startswith(mark) for mark, _ in _MARKS):
        return True
    strange = len(head) - len(head.translate(None, _STRANGE))
    # Text may contain a few control bytes, such as terminal output.
    is_much = strange * _MOST_STRANGE > len(head) or b"\0" in head
    return strange == 0 or (not is_much and _is_utf8(head))


def is_wide(charset: str) -> bool:
    """Return True if text in this charset has bytes that other text lacks."""
    return (_known(charset) or "").startswith(("utf-16", "utf-32"))


def _charset(head: bytes, declared: str, *, is_html: bool) -> str:
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    codec = _known(declared)
    if codec is None and is_html and (meta := _META.search(head, 0, HEAD_BYTES)):
        codec = _known(meta.group(1).decode("ascii"))
        # The declaration was readable as ASCII, so the charset is not a wide one.
        codec = None if codec is None or is_wide(codec) else codec
    return codec or ("utf-8" if _is_utf8(head[:_GUESSED_BYTES]) else _FALLBACK)


def _known(charset: str) -> str | None:
    try:
        name = codecs.lookup(charset).name if charset.isascii() else ""
    except (LookupError, ValueError):
        return None
    name = _MEANT.get(name, name)
    return name if name in _TAKEN else None


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _storable(text: str) -> str:
    return text.translate(_NUL) if "\0" in text else text


_BEGINNINGS = (
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
    (b"%PDF-", PDF),
    (b"PK\x03\x04", "application/zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x7fELF", "application/x-elf"),
)
"""Formats known by their first bytes; only the contents of containers show a more precise type."""
_MARK = b"\xef\xbb\xbf"


def sniffed(head: bytes) -> str:
    """Guess the media type of bytes from the first 4,096 of them."""
    head = head[:HEAD_BYTES]
    for begin, container in _CONTAINERS:
        if head.startswith(begin):
            return container
    if is_text(head):
        begin = head.removeprefix(_MARK)
        return next((media_type for form, media_type in _BEGINNINGS if form.match(begin)), TEXT)
    # Imported late: few processes are given such files.
    import puremagic  # noqa: PLC0415 - costly import

    try:
        known = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return BYTES
    return next((match.mime_type for match in known if _is_type(match.mime_type)), BYTES)


def format_read(declared: str, looks_like: str) -> TextFormat | None:
    """Return the format in which a file is read; None: the file has no readable text.

    The declared type decides, unless it is plain bytes, or the bytes look like a type without text.
    A PDF is read only if it looks like one, and nothing else that does is read.
    """
    if not _may_be_text(declared, looks_like):
        return None
    essence = MediaType.parse(declared).essence
    read_as = format_of(looks_like if essence == BYTES else essence)
    return read_as if (read_as is TextFormat.PDF) == (looks_like == PDF) else None


def is_readable(declared: str, looks_like: str) -> bool:
    """Return True if readers get the text of a file."""
    return format_read(declared, looks_like) is not None


def extracted(pages: Iterable[bytes], declared: str, looks_like: str) -> Iterator[str]:
    """Yield the text of a file, but of no PDF, in parts of any size.

    It is slow for long files, so run it in a thread. `pdf_text` reads a PDF.
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

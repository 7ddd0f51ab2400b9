"""Declared media types: validated, shortened and normalised.

Source: RFC 9110, section 8.3; RFC 6838, section 4.2.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from typing_extensions import override

TEXT, JSON, BYTES = "text/plain", "application/json", "application/octet-stream"
PDF, CSV = "application/pdf", "text/csv"
MAX_CHARS = 200
_NAME = r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}"
_ESSENCE = re.compile(rf"{_NAME}/{_NAME}")
_CHARSET = re.compile(r"[a-z0-9][a-z0-9._:+-]{0,39}")
_FORM = 'must be a media type such as "text/csv" or "text/plain; charset=latin-1"'


@dataclass(frozen=True)
class MediaType:
    """A media type in lower case; only its charset parameter is kept."""

    essence: str
    charset: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a declared media type; the message of a `ValueError` does not repeat it."""
        essence, _, parameters = text[: MAX_CHARS + 1].partition(";")
        essence = essence.strip().lower()
        if len(text) > MAX_CHARS or _ESSENCE.fullmatch(essence) is None:
            raise ValueError(_FORM)
        return cls(essence, _charset(parameters))

    @override
    def __str__(self) -> str:
        return f"{self.essence}; charset={self.charset}" if self.charset else self.essence


def _charset(parameters: str) -> str:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            value = value.strip().strip('"').lower()
            if _CHARSET.fullmatch(value) is None:
                raise ValueError(_FORM)
            return value
    return ""


class TextFormat(StrEnum):
    """The format in which a file's text is read."""

    PLAIN = "plain"
    JSON = "json"
    CSV = "csv"
    HTML = "html"
    PDF = "pdf"


_FORMATS = {
    "application/json": TextFormat.JSON,
    "text/json": TextFormat.JSON,
    "text/csv": TextFormat.CSV,
    "application/csv": TextFormat.CSV,
    "text/tab-separated-values": TextFormat.CSV,
    "text/html": TextFormat.HTML,
    "application/xhtml+xml": TextFormat.HTML,
    PDF: TextFormat.PDF,
}
_PLAIN = frozenset(
    {f"application/{name}" for name in ("javascript", "ecmascript", "sql", "graphql", "toml")}
    | {f"application/{name}" for name in ("xml", "xml-dtd", "yaml", "jsonl", "ndjson", "json-seq")}
    | {f"application/x-{name}" for name in ("javascript", "yaml", "ndjson", "sh", "httpd-php")}
)
_WITH_ROWS = frozenset({TextFormat.JSON, TextFormat.CSV, TextFormat.HTML})
_IMAGES = frozenset({"image/svg+xml"})
"""Media types with text that readers cannot use."""


_EXTENSIONS = {
    "application/json": ".json",
    PDF: ".pdf",
    "application/x-ndjson": ".ndjson",
    "application/xml": ".xml",
    "application/yaml": ".yaml",
    "application/zip": ".zip",
    "audio/mpeg": ".mp3",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/svg+xml": ".svg",
    "image/webp": ".webp",
    "text/css": ".css",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/javascript": ".js",
    "text/markdown": ".md",
    "text/tab-separated-values": ".tsv",
    "text/xml": ".xml",
    "video/mp4": ".mp4",
}


_OF_EXTENSIONS = {extension: essence for essence, extension in _EXTENSIONS.items()} | {
    ".htm": "text/html",
    ".jpeg": "image/jpeg",
    ".log": TEXT,
    ".txt": TEXT,
    ".yml": "application/yaml",
    # Two types have this extension.
    ".xml": "application/xml",
}


def type_of_name(name: str) -> str:
    """Return the media type of a file by the extension of its name; `BYTES` if none is known."""
    return _OF_EXTENSIONS.get("." + name.lower().rpartition(".")[2], BYTES)


def extension_of(media_type: str) -> str:
    """Return the extension for files of a media type, with its dot; empty if none is known.

    The table of `mimetypes` differs between releases of Python and has `.xsl` for XML.
    """
    essence = MediaType.parse(media_type).essence
    known = _EXTENSIONS.get(essence)
    if known is not None:
        return known
    if essence.endswith("+json"):
        return ".json"
    return ".txt" if essence.startswith("text/") else ""


def has_rows(media_type: str) -> bool:
    """Return True if files of a media type have rows, which need no model to be read."""
    return format_of(MediaType.parse(media_type).essence) in _WITH_ROWS


def format_of(essence: str) -> TextFormat | None:
    """Return the format of a media type. None: its files have no readable text."""
    known = _FORMATS.get(essence)
    if known is not None:
        return known
    if essence.endswith("+json"):
        return TextFormat.JSON
    is_plain = essence.startswith("text/") or essence.endswith("+xml") or essence in _PLAIN
    return TextFormat.PLAIN if is_plain and essence not in _IMAGES else None

"""Decompression of archives: gzip or plain NDJSON."""

import zlib
from collections.abc import Iterator
from typing import Any

from app.memory.transfer.logic.failures import invalid

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
_PIECE_BYTES = 256 * 1024


class Unpacking:
    """Decompressor that detects gzip or plain NDJSON and yields pieces of bounded length."""

    def __init__(self) -> None:
        self._start = b""
        self._unzip: Any = None
        self._is_plain = False

    @property
    def is_ended(self) -> bool:
        """True if the gzip stream is complete; always True for NDJSON, which has no end mark."""
        return self._is_plain or (self._unzip is not None and self._unzip.eof)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed pieces of the next bytes.

        Raises:
            InvalidArgument: the body has another format, is damaged, or continues after its end.
        """
        if self._unzip is None and not self._is_plain:
            data = self._begin(data)
        if self._is_plain:
            for start in range(0, len(data), _PIECE_BYTES):
                yield data[start : start + _PIECE_BYTES]
        elif self._unzip is not None:
            yield from self._unzipped(data)

    def _begin(self, data: bytes) -> bytes:
        """Detect the format from the first two bytes; return the bytes to unpack, or none yet."""
        data, self._start = self._start + data, b""
        if len(data) < len(_GZIP):
            self._start = data
            return b""
        if data.startswith(_GZIP):
            self._unzip = zlib.decompressobj(_GZIP_WINDOW)
        elif data.startswith(b"{"):
            self._is_plain = True
        else:
            raise invalid("The body is neither gzip nor NDJSON.")
        return data

    def _unzipped(self, data: bytes) -> Iterator[bytes]:
        is_full = False
        while data or is_full:
            if self._unzip.eof:
                raise invalid("The archive goes on after its end.")
            try:
                piece = self._unzip.decompress(data, _PIECE_BYTES)
            except zlib.error:
                raise invalid("The archive is damaged: its gzip cannot be unpacked.") from None
            # A full piece may leave output in zlib, which can be read without further input.
            is_full = len(piece) == _PIECE_BYTES and not self._unzip.eof
            data = self._unzip.unconsumed_tail or self._unzip.unused_data
            yield piece

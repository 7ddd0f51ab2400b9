"""Small tables of tiktoken encodings, made on the spot."""

from base64 import b64encode
from pathlib import Path


def write_encoding(folder: Path, name: str, *words: str) -> None:
    """Write a table of all bytes, and of what leads up to each word: it is one token."""
    parts = [bytes([one]) for one in range(256)]
    for word in words:
        letters = word.encode()
        parts += [letters[:end] for end in range(2, len(letters) + 1)]
    known = dict.fromkeys(parts)
    lines = [b64encode(part) + b" %d\n" % rank for rank, part in enumerate(known)]
    (folder / f"{name}.tiktoken").write_bytes(b"".join(lines))

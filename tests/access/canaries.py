"""Marks on what is a tenant's alone, and the finding of them wherever they come out."""

import base64
import binascii
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,}")


@dataclass
class Canaries:
    """Texts that are nowhere else, by what was marked with them.

    Attributes:
        contents: of what somebody said or wrote.
        names: of resources, users, streams, events, requests.
        places: of projects and engines.
        shared: of the engine that others work in, too.
    """

    contents: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)

    def content(self, what: str) -> str:
        return _marked(self.contents, what)

    def name(self, what: str) -> str:
        return _marked(self.names, what)

    def place(self, what: str) -> str:
        return _marked(self.places, what)

    def share(self, what: str) -> str:
        return _marked(self.shared, what)

    @property
    def all(self) -> dict[str, str]:
        return self.contents | self.names | self.places | self.shared


def _marked(known: dict[str, str], what: str) -> str:
    # Letters that a resource's id may have, and that no other text holds by chance.
    mark = f"zq{secrets.token_hex(6)}"
    known[mark] = what
    return f"canary-{mark}"


def found_in(text: str, canaries: Mapping[str, str]) -> dict[str, str]:
    """Return the canaries in a text, with what they mark.

    Page tokens, and whatever else looks as if it were encoded, are looked into.
    """
    shown = "\n".join([text, *_decoded(_TOKEN.findall(text))]).lower()
    if "zq" not in shown:
        return {}
    return {mark: what for mark, what in canaries.items() if mark in shown}


def _decoded(tokens: Iterable[str]) -> Iterator[str]:
    for token in tokens:
        try:
            yield base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode("latin-1")
        except (binascii.Error, ValueError):
            continue

"""Content that an answer leaves for the next page: a note on a deed, or a form without a session.

It travels in a cookie that ends after a minute, names its page, and is signed with the session. So
neither a link nor another site nor another host of the domain can plant a note or a filled form.
"""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from app.surfaces.console.sessions import cookie_name, is_signed, set_cookie, signature

NOTE, FORM = "note", "form"
"""The kinds of what is carried, each in a cookie of its own."""
MOST_CHARS = 3_700
"""The longest packed text; browsers keep cookies of up to 4,096 bytes."""
_MOST_BYTES = 262_144
_SECONDS = 60


class Carried(BaseModel):
    """Content for the page with the path and query `at`.

    Attributes:
        did: the name of the sentence of a note.
        values: numbers, times and ids in the sentence, never texts of memories.
        back: the path of what takes the deed back; empty: nothing does.
        memories: the memories that a form brings back with one press; empty: `back` is a link.
        fields: the values of a form that was sent without a session, by the fields' names.
    """

    at: str
    did: str = ""
    values: dict[str, str] = {}
    back: str = ""
    memories: tuple[str, ...] = ()
    fields: dict[str, list[str]] = {}

    def packed(self) -> str:
        """Return it as a text without characters that a form or a cookie escapes."""
        squeezed = zlib.compress(self.model_dump_json(exclude_defaults=True).encode(), 9)
        return urlsafe_b64encode(squeezed).decode().rstrip("=")


def carry(request: Request, answer: Response, value: str, kind: str, packed: str) -> None:
    """Add a packed text to an answer if it fits; `value` is the session's cookie."""
    if len(packed) <= MOST_CHARS:
        signed = f"{packed}.{signature(value, f'{kind} {packed}')}"
        set_cookie(request, answer, signed, kind, _SECONDS)


def read(request: Request, value: str, kind: str) -> Carried | None:
    """Return what was carried to this page; None: nothing, or it is not of this session."""
    packed, _, signed = request.cookies.get(cookie_name(request, kind), "").partition(".")
    if request.method != "GET" or not is_signed(value, f"{kind} {packed}", signed):
        return None
    try:
        squeezed = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        # The browser chose the text, and a short one can become very long.
        text = zlib.decompressobj().decompress(squeezed, _MOST_BYTES)
        found = Carried.model_validate_json(text)
    except (ValueError, zlib.error):
        return None
    return found if found.at == address(request) else None


def address(request: Request) -> str:
    """Return the path and the query of a request, as the browser wrote them."""
    raw: bytes = request.scope.get("raw_path") or b""
    path, query = raw.decode("latin-1"), request.url.query
    return f"{path}?{query}" if query else path


def is_of_own_page(request: Request) -> bool:
    """Return True if the browser says that a page of this console sent a form."""
    return request.method == "POST" and request.headers.get("sec-fetch-site") == "same-origin"

"""The console's static files; their paths contain a digest to allow long caching."""

import hashlib
from functools import cache
from pathlib import Path

from starlette.responses import Response

STATIC = "/console/static"
_FOLDER = Path(__file__).parent / "static"
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_DIGEST_CHARS = 16
_FOR_A_YEAR = "public, max-age=31536000, immutable"


@cache
def served() -> dict[str, tuple[bytes, str]]:
    """Return the content and the media type of each file, by path."""
    files = {}
    for path in sorted(_FOLDER.iterdir()):
        if path.suffix in _KINDS:
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()[:_DIGEST_CHARS]
            files[f"{STATIC}/{digest}/{path.name}"] = (content, _KINDS[path.suffix])
    return files


def path_of(name: str) -> str:
    """Return the path at which a file is served."""
    return next(path for path in served() if path.endswith(f"/{name}"))


def answer(path: str) -> Response | None:
    """Return the response to a request for a file; None: there is no such file."""
    if path not in served():
        return None
    content, kind = served()[path]
    return Response(content, media_type=kind, headers={"Cache-Control": _FOR_A_YEAR})

"""The files that a model is given."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from app.adapters.llm.ports import Attachment

VENDOR_MEDIA_TYPES = (
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/gif",
    "application/pdf",
)
"""The media types that the models of OpenAI, Anthropic and Google all accept."""


def reads(attachment: Attachment, media_types: Sequence[str], schemes: Sequence[str]) -> bool:
    """Return True if a model that accepts these types, such as `image/*`, can be given the file.

    A reference is passed on for the provider to fetch, never fetched here, so that no one can make
    this service call addresses of its network. Only images of these `schemes` are passed on.
    """
    if not any(fnmatchcase(attachment.media_type.lower(), kind) for kind in media_types):
        return False
    if attachment.data is not None:
        return True
    scheme = (attachment.uri or "").partition("://")[0].lower()
    return scheme in schemes and attachment.media_type.lower().startswith("image/")

"""Which files a model is given."""

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
"""What the models of OpenAI, Anthropic and Google all take."""


def reads(attachment: Attachment, media_types: Sequence[str], schemes: Sequence[str]) -> bool:
    """Say whether the file can be given to a model that takes these types, such as `image/*`.

    A reference is passed on for the provider to fetch, never fetched here, so that no one can make
    this service call addresses of its network; only images, and only those `schemes`.
    """
    if not any(fnmatchcase(attachment.media_type.lower(), kind) for kind in media_types):
        return False
    if attachment.data is not None:
        return True
    scheme = (attachment.uri or "").partition("://")[0].lower()
    return scheme in schemes and attachment.media_type.lower().startswith("image/")

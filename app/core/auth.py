"""Who is calling, and the port through which a credential becomes a caller."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Caller:
    """An authenticated caller."""

    key_id: str
    """The id of the API key; never the key itself."""


class Authenticator(Protocol):
    """Turns a credential into a caller."""

    async def authenticate(self, secret: str) -> Caller:
        """Return whose key `secret` is.

        Raises:
            Unauthenticated: the key is not known.
        """
        ...

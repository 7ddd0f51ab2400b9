"""The form of texts that models write, in the structures that they answer with."""

import re
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, StringConstraints

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _storable(said: object) -> object:
    """Leave out what no database keeps: a reply that says nothing else is malformed."""
    return _UNSTORABLE.sub("", said) if isinstance(said, str) else said


ModelText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1),
    BeforeValidator(_storable),
]
"""What a model has written: not blank, without what no database keeps."""


class Told(BaseModel):
    """A structure around one text: many models say that text alone, which is as good."""

    @classmethod
    def of_prose(cls, text: str) -> Self:
        """Return the structure around a text.

        Raises:
            ValidationError: it is no such text.
        """
        raise NotImplementedError

"""The form of texts that models write, in the structures that they answer with."""

import re
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

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

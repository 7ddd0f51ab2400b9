"""Texts in structured replies of models."""

from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints
from typing_extensions import override

from app.kernel.text import UNSTORABLE


def _storable(said: object) -> object:
    """Remove unstorable characters; pydantic then refuses an empty text."""
    return UNSTORABLE.sub("", said) if isinstance(said, str) else said


ModelText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1),
    BeforeValidator(_storable),
]
"""A text from a model: not blank, without characters that the database cannot store."""


class TextReply(BaseModel):
    """A structure around one text; a model may also answer with the text alone."""

    @classmethod
    def of_prose(cls, text: str) -> Self:
        """Return the structure around a text.

        Raises:
            ValidationError: the text does not fit the structure.
        """
        raise NotImplementedError


class SummaryReply(TextReply):
    """A structure around one summary."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    summary: ModelText

    @classmethod
    @override
    def of_prose(cls, text: str) -> Self:
        return cls(summary=text)

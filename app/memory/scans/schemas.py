"""Schemas of `:scanPrivacy`; this method is an addition of this service."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from app.kernel.wire.base import WireModel
from app.kernel.wire.privacy_config import MAX_CUSTOM_PATTERNS, Kind
from app.kernel.wire.scalars import one_of
from app.memory.memories.schemas.memories import Scope

MAX_NAMES = 1_000


class ScanAction(StrEnum):
    """The treatment of the values that a scan finds."""

    REPORT = "REPORT"
    """Count the values."""
    MASK = "MASK"
    """Permanently replace each value by its kind in brackets."""


class ScanPrivacyRequest(WireModel):
    """The values to search for, and the action on them."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"kinds": ["EMAIL"], "action": "REPORT"}]}
    )

    kinds: list[Annotated[str, Field(max_length=32)]] | None = Field(
        None,
        max_length=len(Kind) + 2 * MAX_CUSTOM_PATTERNS,
        description="Kinds, or names of custom patterns; absent or empty: all that the engine's"
        " rules mask or refuse at any place.",
    )
    action: Annotated[ScanAction, one_of(ScanAction)] = Field(
        description="`REPORT`: the values are counted. `MASK`: their kinds in brackets are put"
        " in their place, for good.",
    )
    scope: Scope | None = Field(
        None,
        description="Pairs: only scopes that contain them are scanned; absent: the whole engine.",
    )


class ScanPrivacyResponse(WireModel):
    """The results of a scan; they contain no text."""

    action: ScanAction = Field(description="Action that was taken on the values.")
    counts: dict[str, dict[str, int]] = Field(description="Values, by table and kind.")
    names: list[str] | None = Field(
        None,
        description="Only with `REPORT`: names of the resources with such values, at most"
        f" {MAX_NAMES}.",
    )
    has_more_names: bool | None = Field(
        None, description="True: more rows have such values than `names` lists."
    )

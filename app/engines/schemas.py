"""The wire form of engines (`ReasoningEngine`)."""

from typing import ClassVar

from pydantic import ConfigDict, Field

from app.core.names import EngineName
from app.engines.config import STORED, MemoryBankConfig
from app.engines.tables import EngineRow
from app.wire.base import WireModel
from app.wire.labels import Labels
from app.wire.scalars import Timestamp

_MAX_NAME_CHARS = 128
_MAX_DESCRIPTION_CHARS = 4096


class ContextSpec(WireModel):
    """Where the bank's configuration lies within an engine."""

    memory_bank_config: MemoryBankConfig | None = None


class EncryptionSpec(WireModel):
    """Kept and returned; this service encrypts nothing itself."""

    kms_key_name: str = Field(max_length=1024)


class ReasoningEngineRequest(WireModel):
    """An engine as callers send it. Fields that only answers have are ignored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "displayName": "Travel agent",
                    "contextSpec": {"memoryBankConfig": {"ttlConfig": {"defaultTtl": "2592000s"}}},
                }
            ]
        }
    )

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "create_time", "update_time"})

    display_name: str | None = Field(None, max_length=_MAX_NAME_CHARS, examples=["Travel agent"])
    description: str | None = Field(None, max_length=_MAX_DESCRIPTION_CHARS)
    labels: Labels | None = None
    context_spec: ContextSpec | None = None
    encryption_spec: EncryptionSpec | None = None
    etag: str | None = Field(None, description="On update: the etag that was read.")


class DeleteEngineRequest(WireModel):
    """The body of a delete, as the Python client sends it."""

    force: bool = False


class ReasoningEngine(WireModel):
    """An engine: the parent of memories, with the configuration of its memory bank."""

    name: str
    display_name: str | None = None
    description: str | None = None
    labels: dict[str, str] | None = None
    create_time: Timestamp
    update_time: Timestamp
    etag: str
    context_spec: ContextSpec | None = None
    encryption_spec: EncryptionSpec | None = None

    @classmethod
    def from_row(cls, row: EngineRow) -> "ReasoningEngine":
        """Build the answer."""
        return cls(
            name=str(name_of(row)),
            display_name=row.display_name,
            description=row.description,
            labels=row.labels or None,
            create_time=row.create_time,
            update_time=row.update_time,
            etag=str(row.version),
            context_spec=None
            if row.bank_config is None
            else ContextSpec(memory_bank_config=config_of(row)),
            encryption_spec=None
            if row.encryption_spec is None
            else EncryptionSpec.model_validate(row.encryption_spec),
        )


class ListReasoningEnginesResponse(WireModel):
    """A page of engines, newest first."""

    reasoning_engines: list[ReasoningEngine]
    next_page_token: str | None = None


def name_of(row: EngineRow) -> EngineName:
    """Return the full name under which the engine is stored."""
    return EngineName(row.project, row.location, row.engine_id)


def config_of(row: EngineRow) -> MemoryBankConfig:
    """Return the bank's configuration; an engine without one has the defaults."""
    return MemoryBankConfig.model_validate(row.bank_config or {}, context=STORED)

"""The wire form of engines (`ReasoningEngine`)."""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo

from app.kernel.changes import FIELD
from app.kernel.errors import InvalidArgument
from app.kernel.wire.archived import ArchivedRow, Past
from app.kernel.wire.base import WireModel
from app.kernel.wire.objects import Labels
from app.kernel.wire.scalars import Timestamp
from app.platform.engines.logic.config import MemoryBankConfig
from app.platform.engines.store.tables import EngineRow, config_of, name_of

_MAX_NAME_CHARS = 128
_MAX_DESCRIPTION_CHARS = 4096


class ContextSpec(WireModel):
    """The location of the bank's configuration within an engine."""

    memory_bank_config: MemoryBankConfig | None = Field(
        None, description="The bank's configuration; absent: the service's defaults."
    )


class EncryptionSpec(WireModel):
    """Encryption settings of an engine of an earlier release or an archive; they have no effect."""

    kms_key_name: str = Field(
        max_length=1024, description="Name of a key of a key management service."
    )


_RUNS_NO_AGENTS = "is a field of the API that this service does not serve, since it runs no agents"
UNSERVED_FIELDS: Mapping[str, str] = {
    "spec": _RUNS_NO_AGENTS,
    "traffic_config": _RUNS_NO_AGENTS,
    "encryption_spec": "is a field of the API that this service does not serve, since it encrypts"
    " no columns: encrypt the disk or the database that holds them (docs/operations/encryption.md)",
}
"""Fields of the API for engines that this service does not serve, each with the reason."""


def _refuse(value: object, info: ValidationInfo) -> None:
    if value is not None:
        raise ValueError(f"{UNSERVED_FIELDS[str(info.field_name)]}; leave it out.")


def check_served(paths: Iterable[str]) -> None:
    """Raise InvalidArgument for a mask path to a field that this service does not serve."""
    for path in paths:
        if (reason := UNSERVED_FIELDS.get(path.partition(".")[0])) is not None:
            raise InvalidArgument.of_field(FIELD, f"{path[:_MAX_NAME_CHARS]} {reason}.")


_Unserved = Annotated[None, BeforeValidator(_refuse)]
"""A field of the API that must be absent here."""


class ReasoningEngineRequest(WireModel):
    """An engine as sent by clients. Output-only fields are ignored."""

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

    display_name: str | None = Field(
        None,
        max_length=_MAX_NAME_CHARS,
        examples=["Travel agent"],
        description="Name for people.",
    )
    description: str | None = Field(
        None, max_length=_MAX_DESCRIPTION_CHARS, description="Explanation for people."
    )
    labels: Labels | None = Field(None, description="The caller's own labels.")
    context_spec: ContextSpec | None = Field(None, description="Configuration of its memory bank.")
    encryption_spec: _Unserved = Field(
        None,
        description="Not served: this service encrypts no columns. Encrypt the disk or the"
        " database.",
    )
    spec: _Unserved = Field(None, description="Not served: no agents run here.")
    traffic_config: _Unserved = Field(None, description="Not served: no agents run here.")
    etag: str | None = Field(None, description="On update: the etag that was read.")


class DeleteEngineRequest(WireModel):
    """The body of a delete, as the Python client sends it."""

    force: bool = Field(
        False,
        description="True: delete the engine with its whole content; otherwise only an empty"
        " engine is deleted.",
    )


class ReasoningEngine(WireModel):
    """An engine: the parent of memories, with the configuration of its memory bank."""

    name: str = Field(description="Full name of the engine.")
    display_name: str | None = Field(None, description="Name for people.")
    description: str | None = Field(None, description="Explanation for people.")
    labels: dict[str, str] | None = Field(
        None, description="The caller's own labels; absent: none."
    )
    create_time: Timestamp = Field(description="Time of its creation.")
    update_time: Timestamp = Field(description="Time of its last change.")
    etag: str = Field(description="Version of the engine, for conditional requests.")
    context_spec: ContextSpec | None = Field(
        None, description="Configuration of its memory bank; absent: none was sent."
    )
    encryption_spec: EncryptionSpec | None = Field(
        None,
        description="Settings from an earlier release or an archive; they have no effect.",
    )

    @classmethod
    def from_row(cls, row: EngineRow) -> "ReasoningEngine":
        """Build the wire form."""
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


class AnsweredEngine(ReasoningEngine):
    """An engine as an operation left it."""


class ListReasoningEnginesResponse(WireModel):
    """A page of engines, newest first."""

    reasoning_engines: list[ReasoningEngine] = Field(description="The engines of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )


class ArchivedEngine(ArchivedRow):
    """The columns of an engine in an archive."""

    display_name: str | None = Field(max_length=_MAX_NAME_CHARS)
    description: str | None = Field(max_length=_MAX_DESCRIPTION_CHARS)
    labels: Labels
    bank_config: MemoryBankConfig | None
    encryption_spec: EncryptionSpec | None
    create_time: Past

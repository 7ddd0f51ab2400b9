"""Expiry of memories and their revisions (wire specification, sections 5.2, 5.5, 6.1 and 8.3)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from app.kernel.errors import InvalidArgument
from app.kernel.wire.scalars import moment_after
from app.platform.engines.logic.config import MemoryBankConfig, TtlConfig


class Cause(StrEnum):
    """The kind of write that sets a memory's expiry."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    GENERATE_CREATED = "GENERATE_CREATED"
    GENERATE_UPDATED = "GENERATE_UPDATED"


@dataclass(frozen=True)
class Life:
    """A lifetime in a request, as a length or as an end."""

    ttl: timedelta | None
    expire_time: datetime | None
    fields: tuple[str, str]
    """Wire names of the two fields."""

    def end(self, now: datetime) -> datetime | None:
        """Return the end of the life, which must be in the future; None if none is requested."""
        if self.ttl is not None:
            return moment_after(now, self.ttl, self.fields[0])
        if self.expire_time is not None and self.expire_time <= now:
            raise InvalidArgument.of_field(self.fields[1], "must lie in the future.")
        return self.expire_time


def bank_ttl(config: MemoryBankConfig, cause: Cause) -> timedelta | None:
    """Return the bank's lifetime for a cause, or None if it has none."""
    ttl = config.ttl_config or TtlConfig()
    granular = ttl.granular_ttl_config
    if granular is None:
        return ttl.default_ttl
    match cause:
        case Cause.CREATE:
            return granular.create_ttl
        case Cause.UPDATE:
            return None
        case Cause.GENERATE_CREATED:
            return granular.generate_created_ttl
        case Cause.GENERATE_UPDATED:
            return granular.generate_updated_ttl


def memory_expiry(
    config: MemoryBankConfig,
    cause: Cause,
    now: datetime,
    requested: datetime | None,
    present: datetime | None,
) -> datetime | None:
    """Return the expiry of a memory written now: the request's, else the bank's, else `present`."""
    if requested is not None:
        return requested
    ttl = bank_ttl(config, cause)
    return present if ttl is None else moment_after(now, ttl, "ttlConfig")


def ahead(moment: datetime | None, now: datetime) -> datetime | None:
    """Return a future expiry, or None if it passed while the memory was deleted."""
    return None if moment is not None and moment <= now else moment


def revision_expiry(
    config: MemoryBankConfig, now: datetime, requested: datetime | None, default: timedelta
) -> datetime:
    """Return the expiry of a revision made now: the request's, the bank's, or else `default`."""
    if requested is not None:
        return requested
    ttl = (config.ttl_config or TtlConfig()).memory_revision_default_ttl
    return moment_after(now, ttl or default, "memoryRevisionDefaultTtl")

"""Repetition of erasures on a database that was restored from a backup made before them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import combinations
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.adapters.db.session import Session
from app.adapters.db.subjects import Subject, list_scopes, scopes_within
from app.adapters.resources import Resources
from app.kernel.errors import FailedPrecondition, InvalidArgument, NotFound, Reason
from app.kernel.names import EngineName, OperationName
from app.kernel.wire.scalars import Timestamp
from app.memory.erasures import store
from app.memory.erasures.logic import Pseudonyms
from app.memory.erasures.services.erasures import ErasureService, pseudonyms_of
from app.platform.access import store as keys

UNDER_WAY = timedelta(hours=1)
"""Time before an export; an erasure that began within it may not have ended by then."""


class ErasureLine(BaseModel):
    """A line of the list of erasures."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    certificate_id: str = Field(alias="certificateId")
    engine: str
    subject: str
    key_id: str = Field(alias="keyId")
    has_sessions: bool = Field(alias="includeSessions")
    is_service_wide: bool = Field(True, alias="serviceWide")
    time: Timestamp

    @property
    def key(self) -> tuple[str, str]:
        """The engine and the certificate: an engine that was restored twice has one twice."""
        return self.engine, self.certificate_id


def read_lines(text: str) -> Sequence[ErasureLine]:
    """Return the erasures of a list, each once.

    Raises:
        InvalidArgument: a line does not belong to such a list; the error gives its number.
    """
    lines: dict[tuple[str, str], ErasureLine] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            read = ErasureLine.model_validate_json(line)
            EngineName.parse(read.engine)
        except (ValidationError, InvalidArgument, NotFound):
            message = "must be a line that `memory-bank erasures export` has written."
            raise InvalidArgument.of_field(f"line {number}", message) from None
        lines[read.key] = read
    return list(lines.values())


async def queue_again(resources: Resources, lines: Sequence[ErasureLine]) -> list[OperationName]:
    """Queue the erasures in a list that this database does not know.

    Raises:
        FailedPrecondition: pseudonyms of the list were made with another key.
    """
    async with resources.db.transaction() as session:
        pseudonyms = await pseudonyms_of(session, resources.settings)
        rows = await store.list_all(session)
    known = {(row.engine_name, row.certificate_id) for row in rows}
    new = [line for line in lines if line.key not in known]
    for line in new:
        if line.key_id != pseudonyms.key_id:
            raise FailedPrecondition(
                f"The pseudonym of {line.certificate_id} was made with the key {line.key_id},"
                f" and this database has {pseudonyms.key_id}; set MEMORY_BANK_PSEUDONYM_KEY to"
                " the key of then.",
                Reason.FIELD_INVALID,
            )
    queued: list[OperationName] = []
    for name in sorted({line.engine for line in new}):
        of_engine = [line for line in new if line.engine == name]
        queued += await _of_engine(resources, EngineName.parse(name), of_engine, pseudonyms)
    return queued


async def _of_engine(
    resources: Resources, engine: EngineName, lines: Sequence[ErasureLine], pseudonyms: Pseudonyms
) -> list[OperationName]:
    async with resources.db.snapshot() as session:
        scopes = await list_scopes(session, engine.engine)
        for conditions in await keys.list_conditions(session):
            scopes += scopes_within(conditions)
    wanted = {line.subject for line in lines}
    matching = _matching(scopes, wanted, pseudonyms)
    queued = []
    for line in lines:
        async with resources.db.transaction() as session:
            queued += await _again(resources, session, engine, line, matching.get(line.subject))
    return queued


async def _again(
    resources: Resources,
    session: Session,
    engine: EngineName,
    line: ErasureLine,
    scope: Mapping[str, str] | None,
) -> list[OperationName]:
    """Queue one erasure under its certificate; without a scope to erase, only record it."""
    if scope is not None:
        service = ErasureService(resources)
        subject = Subject(engine.engine, scope, line.has_sessions)
        values = {
            "certificate_id": line.certificate_id,
            "is_service_wide": line.is_service_wide,
        }
        # The backup may be older than the engine, but not than a key bound to the scope.
        with suppress(NotFound):
            return [await service.repeat(session, engine, subject, values)]
    await store.add(session, _ended(engine, line), is_known=True)
    return []


def _ended(engine: EngineName, line: ErasureLine) -> dict[str, Any]:
    return {
        "engine_id": engine.engine,
        "certificate_id": line.certificate_id,
        "engine_name": line.engine,
        "subject": line.subject,
        "pseudonym_key_id": line.key_id,
        "has_sessions": line.has_sessions,
        "is_service_wide": line.is_service_wide,
        "operation_id": "",
        "counts": {},
        "pseudonymised": {},
        "start_time": line.time,
        "end_time": line.time,
    }


def _matching(
    scopes: Sequence[Mapping[str, str]], wanted: Collection[str], pseudonyms: Pseudonyms
) -> dict[str, Mapping[str, str]]:
    """Return the wanted subjects that a scope contains, each with its pairs."""
    tried: set[frozenset[tuple[str, str]]] = set()
    matching: dict[str, Mapping[str, str]] = {}
    for scope in scopes:
        for pairs in _subsets(scope):
            if pairs not in tried:
                tried.add(pairs)
                part = dict(pairs)
                if (subject := pseudonyms.of(part)) in wanted:
                    matching[subject] = part
    return matching


def _subsets(scope: Mapping[str, str]) -> Iterator[frozenset[tuple[str, str]]]:
    """Yield the non-empty subsets of a scope's pairs; there are 31 at most."""
    pairs = sorted(scope.items())
    for size in range(1, len(pairs) + 1):
        yield from map(frozenset, combinations(pairs, size))

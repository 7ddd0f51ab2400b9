"""The certificate of an erasure, and its line in the list kept outside the database."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.adapters.db.session import Session
from app.adapters.db.subjects import Subject
from app.kernel.release import RELEASE
from app.kernel.wire.scalars import format_timestamp
from app.memory.erasures.logic.pseudonyms import Pseudonyms
from app.memory.erasures.schemas import RESIDUE, EraseScopeResponse
from app.memory.erasures.store import repository
from app.memory.erasures.store.tables import ErasureRow
from app.platform.operations.logic.states import type_url
from app.settings.settings import Settings

LIST = "erasures.ndjson"
"""The file in the data folder with a line for each erasure."""
USER = "user_id"


async def pseudonyms_of(session: Session, settings: Settings) -> Pseudonyms:
    """Return the pseudonyms for the key in the settings, else for the key in the database."""
    if settings.pseudonym_key:
        return Pseudonyms(settings.pseudonym_key.get_secret_value().encode())
    return Pseudonyms(await repository.pseudonym_key(session))


def certificate(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response of an erasure."""
    response = EraseScopeResponse(release=RELEASE, residue=list(RESIDUE), **values)
    return {"@type": type_url("EraseScopeResponse"), **response.wire()}


def not_covered(subject: Subject, *, spares_keys: bool) -> list[str]:
    """Return the kinds of data left out; sessions are erased only for the scope of a user."""
    is_of_user = USER in subject.scope
    has_sessions = subject.has_sessions and len(subject.scope) == 1
    left = ["sessions"] if is_of_user and not has_sessions else []
    return [*left, "api_keys"] if spares_keys else left


def line_of(row: ErasureRow) -> str:
    """Return the line of an erasure in the list."""
    line = {
        "certificateId": row.certificate_id,
        "engine": row.engine_name,
        "subject": row.subject,
        "keyId": row.pseudonym_key_id,
        "includeSessions": row.has_sessions,
        "serviceWide": row.is_service_wide,
        "time": format_timestamp(row.start_time),
    }
    return json.dumps(line) + "\n"


async def append(settings: Settings, row: ErasureRow) -> None:
    """Append an erasure to the list, if this service has a data folder; readers drop repeats."""
    if settings.database_url is None:
        await asyncio.to_thread(_append, settings.data_dir / LIST, line_of(row))


def _append(path: Path, line: str) -> None:
    with path.open("ab+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            # End a line that was cut off: it must not damage the next one.
            file.write(b"" if file.read() == b"\n" else b"\n")
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())

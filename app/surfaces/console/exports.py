"""Downloads of lists: all rows that a list's filter finds, as CSV for spreadsheets or as NDJSON."""

import asyncio
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable
from collections.abc import Set as AbstractSet
from pathlib import Path

from starlette.responses import Response, StreamingResponse

from app.kernel.csv_cells import cell, csv_of, json_of
from app.kernel.errors import Reason, Unauthenticated
from app.surfaces.api import Api, ApiRefusal, Json, Query
from app.surfaces.console.texts import TEXTS
from app.web.answers import MEDIA_TYPE

KINDS = {"csv": "text/csv", "ndjson": MEDIA_TYPE}
"""The kinds of files with their media types."""
_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ROWS = "200"
"""Rows of a request: few enough not to delay other requests while they are parsed."""
_TOO_MANY_REQUESTS = 429
_RETRIES, _PAUSE_SECONDS = 60, 1.0
_UTF8 = "\ufeff"
"""The first character of a file that spreadsheets read as UTF-8."""


def download(pages: AsyncIterator[Json], name: str, file: str, only: AbstractSet[str]) -> Response:
    """Return the pages of a list as a file, whose name ends in its kind.

    `only` has the ids of the rows to keep, which are on the first page; empty: all rows.
    """
    kind = file.rpartition(".")[2]
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    written = _written(pages, name, only, is_csv=kind == "csv")
    return StreamingResponse(written, headers=headers, media_type=KINDS[kind])


async def pages_of(
    api: Api, path: str, query: Query, first: Json, is_open: Callable[[], Awaitable[bool]]
) -> AsyncIterator[Json]:
    """Yield the pages of a list after its first; a key whose rate is used up waits for it.

    Raises:
        Unauthenticated: the session has ended meanwhile.
    """
    answer, retries = first, _RETRIES
    yield answer
    while token := answer["nextPageToken"]:
        # A page shows its calls; a download has too many to keep.
        api.made.clear()
        if not await is_open():
            raise Unauthenticated(TEXTS.session_ended, Reason.CREDENTIAL_INVALID)
        try:
            answer = await api.get(path, [("pageSize", _ROWS), ("pageToken", token), *query])
        except ApiRefusal as refused:
            if refused.status != _TOO_MANY_REQUESTS or not retries:
                raise
            retries -= 1
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            retries = _RETRIES
            yield answer


async def _written(
    pages: AsyncIterator[Json], name: str, only: AbstractSet[str], *, is_csv: bool
) -> AsyncIterator[str]:
    columns = _LISTS[name]["columns"].split()
    if is_csv:
        yield _UTF8 + csv_of([columns])
    async for answer in pages:
        rows: list[Json] = answer[_LISTS[name]["rows"]] or []
        if only:
            rows = [row for row in rows if (row["name"] or "").rpartition("/")[2] in only]
        if is_csv:
            yield csv_of([[cell(row[column]) for column in columns] for row in rows])
        else:
            yield "".join(f"{json_of(row)}\n" for row in rows)
        if only:
            return

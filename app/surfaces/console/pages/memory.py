"""Screen 6: one memory with its history, the differences of two revisions, and its rollback."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from urllib.parse import quote

from pydantic import Field
from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.kernel.permissions import Permission
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.forms import VersionForm, read_form
from app.surfaces.console.templating import last_part, pretty, short_id
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import CONFLICT, ENGINE, TOKEN_PARAMETER, Route, Visit

COMPARED = {
    "fact": TEXTS.fact,
    "displayName": TEXTS.display_name,
    "description": TEXTS.description,
    "context": TEXTS.context,
    "topics": TEXTS.topics,
    "metadata": TEXTS.metadata,
    "structuredContent": TEXTS.structured_content,
    "expireTime": TEXTS.expires,
}
"""The fields that are compared, with their labels."""
PATH = f"{ENGINE}/memories/{{memory}}"
_SIDES = {"from": TEXTS.compare_from, "to": TEXTS.compare_to}
"""The two sides of a comparison in the URL, with their labels."""
_TOLD_CHARS = 1_000
"""Beyond this length, a timeline shows a text without its differences."""
MAX_WORDS = 4_000
"""Beyond this number of words in one text, the texts are not compared."""
_WORD = re.compile(r"\s*(?:[^\W_]+|\S)|\s+")
"""A word with the white space before it; separate white space would match everywhere."""


async def known(visit: Visit) -> Json:
    """Return the memory, including a deleted one if the key may see revisions."""
    sees_deleted = visit.may(Permission.REVISIONS_LIST)
    return await visit.api.get(visit.own_path, [("showDeleted", "true")] if sees_deleted else [])


def comparable(version: Json) -> dict[str, str]:
    """Return the compared fields of a memory or a revision as texts."""
    # A revision's own expiry is `expireTime`; the memory's is `memoryExpireTime`.
    is_revision = "action" in version
    expiry = version.get("memoryExpireTime" if is_revision else "expireTime")
    values = Json({**version, "expireTime": expiry})
    return {
        key: value if isinstance(value := values[key] or "", str) else pretty(value)
        for key in COMPARED
    }


async def show(visit: Visit) -> Response:
    """Show a memory with its timeline and a comparison of two chosen revisions."""
    query = visit.request.query_params
    path, paged = f"{visit.own_path}/revisions", visit.page_query()
    memory, listed = await asyncio.gather(
        known(visit), visit.visible(Permission.REVISIONS_LIST, path, paged)
    )
    revisions: list[Json] = listed["memoryRevisions"] or []
    chosen = {name: query.get(name, "") for name in _SIDES}
    compared = await _compared(visit, *chosen.values()) if all(chosen.values()) else None
    return visit.render(
        "memory.html",
        memory=memory,
        revisions=revisions,
        told=await asyncio.to_thread(told, revisions),
        older=visit.next_page(listed),
        key_names=await visit.key_names([memory["deleteCaller"]]),
        chosen=chosen,
        elsewhere=_on_other_pages(chosen, revisions),
        page=query.get(TOKEN_PARAMETER, ""),
        compared=compared,
        sides=_SIDES,
        is_whole=query.get("all") == "1",
    )


def told(revisions: Sequence[Json]) -> dict[str, "list[DiffPart] | None"]:
    """Return, by revision, how its fact differs from the one before it; None: show it whole.

    Of a deletion, the whole fact before it is removed.
    """
    facts = [revision["fact"] or "" for revision in revisions]
    earlier = [*facts, ""][1:]
    return {
        last_part(revision["name"]): compare(old, new)
        if old
        and (new or revision["action"] == "DELETED")
        and max(len(old), len(new)) <= _TOLD_CHARS
        else None
        for revision, new, old in zip(revisions, facts, earlier, strict=True)
    }


def _on_other_pages(chosen: Mapping[str, str], revisions: Sequence[Json]) -> dict[str, str]:
    """Return the chosen revisions that are on other pages, by side of the comparison."""
    here = {last_part(revision["name"]) for revision in revisions}
    return {name: value for name, value in chosen.items() if value and value not in here}


async def _compared(visit: Visit, *chosen: str) -> Json:
    path = visit.own_path
    paths = [f"{path}/revisions/{quote(revision, safe='')}" for revision in chosen]
    before, after = await asyncio.gather(*(visit.api.get(path) for path in paths))
    differences = await _differences(before, after, COMPARED)
    return Json({"from": before, "to": after}, changes=differences)


class DiffKind(StrEnum):
    """The kind of a part."""

    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True)
class DiffPart:
    """A part of a text."""

    kind: DiffKind
    text: str


def compare(before: str, after: str) -> list[DiffPart] | None:
    """Return the parts of two texts in order; None: they are too long to compare.

    Kept and removed parts form the first text, kept and added parts the second.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > MAX_WORDS:
        return None
    parts: list[DiffPart] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.append(DiffPart(DiffKind.KEPT, "".join(old[i:j])))
        else:
            _add(parts, DiffKind.REMOVED, old[i:j])
            _add(parts, DiffKind.ADDED, new[k:m])
    return parts


def _add(parts: list[DiffPart], kind: DiffKind, words: Sequence[str]) -> None:
    if words:
        parts.append(DiffPart(kind, "".join(words)))


@dataclass(frozen=True)
class FieldDifference:
    """A field of two versions, empty where absent; `parts` is None if the texts are too long."""

    name: str
    before: str
    after: str
    parts: list[DiffPart] | None

    @property
    def is_change(self) -> bool:
        """True if the versions differ in the field."""
        return self.before != self.after


def changes(
    before: dict[str, str], after: dict[str, str], fields: dict[str, str]
) -> list[FieldDifference]:
    """Compare fields of two versions."""
    return [
        FieldDifference(label, old := before[key], new := after[key], compare(old, new))
        for key, label in fields.items()
    ]


async def _differences(before: Json, after: Json, fields: dict[str, str]) -> list[FieldDifference]:
    found = await asyncio.to_thread(changes, comparable(before), comparable(after), fields)
    return [change for change in found if change.is_change]


class RollbackForm(VersionForm):
    """The revision to restore."""

    revision: str = Field(min_length=1)


async def preview_rollback(visit: Visit) -> Response:
    """Show the changes of a rollback to a revision."""
    revision = visit.request.query_params.get("revision", "")
    if not revision:
        raise InvalidArgument.of_field("revision", "must be the id of a revision of the memory.")
    return await _show_rollback(visit, revision, 200)


async def _show_rollback(visit: Visit, revision: str, status: int) -> Response:
    path = visit.own_path
    memory, target = await asyncio.gather(
        visit.api.get(path), visit.api.get(f"{path}/revisions/{quote(revision, safe='')}")
    )
    fields = {key: label for key, label in COMPARED.items() if key != "expireTime"}
    return visit.render(
        "rollback.html",
        status,
        changes=await _differences(memory, target, fields),
        etag=memory["etag"],
        revision=last_part(target["name"]),
        target=target,
        is_stale=status == CONFLICT,
    )


async def roll_back(visit: Visit) -> Response:
    """Roll a memory back; after a concurrent change, show a new preview."""
    form = await read_form(visit.request, RollbackForm, visit.session)
    try:
        operation = await visit.api.send(
            "POST",
            f"{visit.own_path}:rollback",
            {"targetRevisionId": form.revision},
            request_id=form.request_id,
            etag=form.etag,
        )
    except ApiRefusal as refused:
        if refused.is_stale:
            return await _show_rollback(visit, form.revision, CONFLICT)
        raise
    undo = visit.undo_of(operation)
    return visit.done(visit.own_url, "rolled_back", undo, revision=short_id(form.revision))


ROUTES = (
    Route(f"{PATH}/rollback", get=preview_rollback, post=roll_back),
    Route(PATH, get=show),
)

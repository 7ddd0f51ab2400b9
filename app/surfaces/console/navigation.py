"""The navigation at the side and above a page: the screens that a caller may open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from app.kernel.auth import Caller
from app.kernel.permissions import Permission
from app.surfaces.console.templating import short_id
from app.surfaces.console.texts import TEXTS

START = "/console"


@dataclass(frozen=True)
class Entry:
    """A screen of the navigation; without its permission it would be empty."""

    path: str
    label: str
    icon: str
    permission: Permission
    keys: str = ""


class ScreenLink(NamedTuple):
    """A screen with its URL, as seen from the present page."""

    entry: Entry
    url: str
    is_current: bool


class Group(NamedTuple):
    """Screens under one heading; empty: without one."""

    heading: str
    places: Sequence[ScreenLink]


class Places(NamedTuple):
    """The navigation of a page; `crumbs` has the label and the URL of each page above it."""

    of_engine: Sequence[Group]
    of_service: Group
    crumbs: Sequence[tuple[str, str]]
    find: str


_OF_ENGINE: Mapping[str, Sequence[Entry]] = {
    "": (Entry("", TEXTS.overview, "layout-dashboard", Permission.ENGINES_GET),),
    TEXTS.memory: (
        Entry("memories", TEXTS.memories, "brain", Permission.MEMORIES_LIST, "g m"),
        Entry("search", TEXTS.search, "search", Permission.MEMORIES_RETRIEVE),
        Entry("try", TEXTS.play, "play", Permission.MEMORIES_GENERATE),
        Entry("revisions", TEXTS.revisions, "history", Permission.REVISIONS_LIST, "g r"),
        Entry("deleted", TEXTS.deleted, "trash-2", Permission.REVISIONS_LIST, "g d"),
    ),
    TEXTS.conversation: (
        Entry("sessions", TEXTS.sessions, "messages-square", Permission.SESSIONS_LIST),
        Entry("tasks", TEXTS.tasks, "package", Permission.ARTIFACTS_REFERENCE),
    ),
    TEXTS.activity_group: (
        Entry("operations", TEXTS.operations, "workflow", Permission.OPERATIONS_LIST, "g o"),
        Entry("streams", TEXTS.streams, "radio", Permission.OPERATIONS_LIST),
        Entry("usage", TEXTS.usage, "chart-column", Permission.USAGE_GET),
        Entry("audit", TEXTS.audit, "scroll-text", Permission.AUDIT_LIST),
    ),
    TEXTS.engine: (
        Entry("settings", TEXTS.engine_settings, "settings", Permission.ENGINES_GET),
        Entry("data", TEXTS.data, "archive-restore", Permission.ENGINES_EXPORT),
    ),
}
_OF_SERVICE: Sequence[Entry] = (
    Entry("", TEXTS.engines, "layers", Permission.ENGINES_LIST),
    Entry("keys", TEXTS.api_keys, "key-round", Permission.KEYS_MANAGE),
    Entry("audit", TEXTS.audit_of_all, "shield-check", Permission.AUDIT_LIST_ALL),
    Entry("server", TEXTS.server, "server", Permission.SERVER_GET),
)


def places_of(caller: Caller, path: str, engine: str | None, title: str) -> Places:
    """Return the navigation of a page; without an engine, only the service's screens."""
    groups = []
    crumbs = [(TEXTS.engines, START)] if path != START else []
    service = _group(caller, TEXTS.service, _OF_SERVICE, START, path)
    above = [service]
    find = ""
    if engine is not None:
        base = f"{START}/e/{quote(engine, safe='')}"
        found = (_group(caller, name, own, base, path) for name, own in _OF_ENGINE.items())
        groups = [group for group in found if group.places]
        if path != base:
            crumbs.append((title or f"{TEXTS.engine} {short_id(engine)}", base))
        above = groups
        find = f"{base}/find" if caller.may(Permission.ENGINES_GET) else ""
    crumbs += [
        (place.entry.label, place.url)
        for group in above
        for place in group.places
        if place.is_current and place.url != path
    ]
    return Places(groups, service, crumbs, find)


def _group(caller: Caller, heading: str, entries: Sequence[Entry], base: str, path: str) -> Group:
    places = []
    for entry in entries:
        if caller.may(entry.permission):
            url = f"{base}/{entry.path}" if entry.path else base
            is_below = bool(entry.path) and path.startswith(f"{url}/")
            places.append(ScreenLink(entry, url, path == url or is_below))
    return Group(heading, places)

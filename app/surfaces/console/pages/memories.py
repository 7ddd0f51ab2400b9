"""Screen 4: the memories of an engine. What the filter row says goes into the API's filter."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.responses import Response

from app.kernel.auth import Conditions
from app.kernel.permissions import Permission
from app.surfaces.console import filters
from app.surfaces.console.api import ApiRefusal
from app.surfaces.console.pages.memory import may_erase
from app.surfaces.console.routing import ENGINE, Route
from app.surfaces.console.templating import pairs
from app.surfaces.console.visits import BAD_REQUEST, TOKEN_PARAMETER, Visit

TOPICS = (
    "USER_PERSONAL_INFO",
    "USER_PREFERENCES",
    "KEY_CONVERSATION_DETAILS",
    "EXPLICIT_INSTRUCTIONS",
)
_TIMES = {
    "changed_after": "update_time>=",
    "changed_before": "update_time<",
    "expires_before": "expire_time<",
    "deleted_after": "delete_time>=",
    "deleted_before": "delete_time<",
}
_SUGGESTED = "100"
"""Scopes from which pairs are suggested."""


@dataclass(frozen=True)
class Filters:
    """The state of the filter row, which is in the URL.

    Attributes:
        scopes: pairs `key=value`.
        locked: the same, where the key's conditions leave one value; no URL changes them.
        metadata: a pair `key=value`.
        topic: the name of a topic.
        text: what the fact contains.
        times: bounds of times, by the name of the field of the form.
    """

    scopes: tuple[str, ...]
    locked: tuple[str, ...]
    metadata: str
    topic: str
    text: str
    times: dict[str, str]

    @classmethod
    def of(cls, query: QueryParams, conditions: Conditions) -> "Filters":
        """Read the filters of a URL, for a key with these conditions."""
        locked = tuple(
            f"{key}={next(iter(values))}"
            for key, values in sorted(conditions.items())
            if len(values) == 1
        )
        asked = dict.fromkeys(pair.strip() for pair in query.getlist("scope"))
        return cls(
            scopes=tuple(pair for pair in asked if pair and pair not in locked),
            locked=locked,
            metadata=query.get("metadata", "").strip(),
            topic=query.get("topic", "").strip(),
            text=query.get("text", "").strip(),
            times={name: query.get(name, "").strip() for name in _TIMES},
        )

    @property
    def is_empty(self) -> bool:
        """True if the user has chosen nothing."""
        return not self.query()

    def query(self) -> list[tuple[str, str]]:
        """Return the parameters of a URL with these filters."""
        named = {"topic": self.topic, "metadata": self.metadata, "text": self.text, **self.times}
        return [
            *(("scope", pair) for pair in self.scopes),
            *((name, value) for name, value in named.items() if value),
        ]

    def without(self, pair: str) -> str:
        """Return the query of a URL without one of the scopes."""
        return urlencode([item for item in self.query() if item != ("scope", pair)])

    def scope_parts(self) -> list[str]:
        """Return what the filter demands of scopes, as the API takes it."""
        return [filters.pair("scope", pair) for pair in (*self.locked, *self.scopes)]

    def text_of_api(self) -> str:
        """Return the filter as the API takes it."""
        parts = self.scope_parts()
        if self.metadata:
            parts.append(filters.pair("metadata", self.metadata))
        if self.topic in TOPICS:
            parts.append(f"topics.managed_memory_topic={filters.quoted(self.topic)}")
        elif self.topic:
            parts.append(f"topics.custom_memory_topic_label={filters.quoted(self.topic)}")
        parts += [
            _TIMES[name] + filters.moment(value) for name, value in self.times.items() if value
        ]
        if self.text:
            parts.append(filters.contains("fact", self.text))
        return filters.all_of(parts)


async def show(visit: Visit) -> Response:
    """Show a page of memories; what the API says of a filter stands beside the filter."""
    return await list_memories(visit, "memories.html", chosen_of(visit).text_of_api())


def chosen_of(visit: Visit) -> Filters:
    """Return what the filter row of a visit says."""
    return Filters.of(visit.request.query_params, visit.session.caller.reach.conditions)


async def list_memories(
    visit: Visit, template: str, chosen: str, *more: tuple[str, str]
) -> Response:
    """Show a page of memories with their filter row.

    Args:
        visit: the request.
        template: of the page.
        chosen: the filter of the API.
        more: further parameters of the list.
    """
    row, conditions = chosen_of(visit), visit.session.caller.reach.conditions
    (answer, fault), scopes = await asyncio.gather(
        visit.listed(f"{visit.engine_path}/memories", chosen, *more), _suggestions(visit, row)
    )
    token = answer["nextPageToken"]
    return visit.render(
        template,
        BAD_REQUEST if fault else 200,
        memories=answer["memories"] or [],
        filters=row,
        conditions={key: sorted(values) for key, values in sorted(conditions.items())},
        scopes=scopes,
        topics=TOPICS,
        fault=fault,
        here=visit.request.url.path.rstrip("/"),
        token=visit.request.query_params.get(TOKEN_PARAMETER, ""),
        older=urlencode([*row.query(), (TOKEN_PARAMETER, token)]) if token else None,
        may_delete=visit.may(Permission.MEMORIES_DELETE),
        may_purge=visit.may(Permission.MEMORIES_PURGE),
        may_erase=may_erase(visit),
        may_undelete=visit.may(Permission.MEMORIES_ROLLBACK),
        may_undo=visit.may(Permission.OPERATIONS_UNDO),
    )


async def _suggestions(visit: Visit, row: Filters) -> list[str]:
    """Return pairs of the scopes that the chosen ones leave; none if the API refuses."""
    query = [("pageSize", _SUGGESTED)]
    if parts := row.scope_parts():
        query.append(("filter", filters.all_of(parts)))
    with suppress(ApiRefusal):
        listed = await visit.api.get(f"{visit.engine_path}/memories:listScopes", query)
        suggested = {pair for item in listed["scopes"] for pair in pairs(item["scope"])}
        # A field takes a pair as it is, so that its hidden characters could not be shown.
        return sorted(filter(str.isprintable, suggested))
    return []


ROUTES = (Route(f"{ENGINE}/memories", get=show),)

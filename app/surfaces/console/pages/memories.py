"""Screen 4: the memories of an engine. What the filter row says goes into the API's filter."""

import json
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.responses import Response

from app.kernel.auth import Conditions
from app.surfaces.console.api import ApiRefusal, Json
from app.surfaces.console.visits import Visit, redirect

TOPICS = (
    "USER_PERSONAL_INFO",
    "USER_PREFERENCES",
    "KEY_CONVERSATION_DETAILS",
    "EXPLICIT_INSTRUCTIONS",
)
_BAD_REQUEST = 400
_SPECIAL = frozenset("\\.+*?()|[]{}^$")
_TIMES = {
    "changed_after": 'update_time>="{}"',
    "changed_before": 'update_time<"{}"',
    "expires_before": 'expire_time<"{}"',
}


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

    def text_of_api(self) -> str:
        """Return the filter as the API takes it."""
        parts = [_entry("scope", pair) for pair in (*self.locked, *self.scopes)]
        if self.metadata:
            parts.append(_entry("metadata", self.metadata))
        if self.topic in TOPICS:
            parts.append(f"topics.managed_memory_topic={_quoted(self.topic)}")
        elif self.topic:
            parts.append(f"topics.custom_memory_topic_label={_quoted(self.topic)}")
        parts += [
            _TIMES[name].format(_moment(value)) for name, value in self.times.items() if value
        ]
        if self.text:
            parts.append(f"fact=~{_quoted(f'(?is).*{_literal(self.text)}.*')}")
        return " AND ".join(parts)


def _entry(field: str, pair: str) -> str:
    """Return the comparison of a pair `key=value`; without a value: the key is there."""
    key, equals, value = pair.partition("=")
    name = f"{field}.{_quoted(key.strip())}"
    return f"{name}={_quoted(value.strip())}" if equals else f"{name}:*"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _literal(text: str) -> str:
    """Return a regular expression that matches a text itself."""
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)


def _moment(written: str) -> str:
    """Return a time as browsers send it, in UTC, as the API takes it; others as they are."""
    if len(written) == len("2026-01-15T12:00"):
        written += ":00"
    has_zone = written.endswith("Z") or "+" in written
    return json.dumps(written if has_zone else f"{written}Z", ensure_ascii=False)[1:-1]


async def show_first(visit: Visit) -> Response:
    """Send from an engine to its memories."""
    return redirect(f"{visit.engine_url}/memories")


async def show(visit: Visit) -> Response:
    """Show a page of memories; what the API says of a filter stands beside the filter."""
    conditions = visit.session.caller.reach.conditions
    filters = Filters.of(visit.request.query_params, conditions)
    query = list(visit.page_query())
    if text := filters.text_of_api():
        query.append(("filter", text))
    fault, found = "", Json()
    try:
        found = await visit.api.get(f"{visit.engine_path}/memories", query)
    except ApiRefusal as refused:
        if refused.status != _BAD_REQUEST or filters.is_empty:
            raise
        fault = refused.fields.get("filter", refused.message)
    token = found["nextPageToken"]
    return visit.render(
        "memories.html",
        _BAD_REQUEST if fault else 200,
        memories=found["memories"] or [],
        filters=filters,
        conditions={key: sorted(values) for key, values in sorted(conditions.items())},
        topics=TOPICS,
        fault=fault,
        here=f"{visit.engine_url}/memories",
        older=urlencode([*filters.query(), ("page", token)]) if token else None,
    )

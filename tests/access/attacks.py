"""What an attacker sends: good requests that name, guess or ask around for a tenant's resources."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tests.access.names import ENGINE, Names, event
from tests.access.routes import Route
from tests.access.service import Asked, Json
from tests.access.victim import Victim

_FIRST = "/v1beta1/projects/{project}/locations/{location}/"
_SPELLINGS = (
    "/v1/projects/{project}/locations/{location}/",
    "/v1beta1/projects/-/locations/-/",
    "/v1beta1/projects/{project}/locations/-/",
    "/v1/",
    "/v1beta1/",
)
_ENGINES = ENGINE.removesuffix("/{engine}")
_LISTED: dict[str, Sequence[str]] = {
    ENGINE + "/operations": ["author"],
    ENGINE + "/operations:groupFailures": ["author"],
    ENGINE + "/memories": ["fact", "display_name", "scope.user_id"],
    ENGINE + "/memories/-/revisions": ["labels.k", "caller", "scope.user_id"],
    ENGINE + "/memories/-/revisions:export": ["labels.k", "author"],
    ENGINE + "/memories/{memory}/revisions": ["labels.k"],
    ENGINE + "/sessions": ["user_id", "display_name", "labels.k"],
    ENGINE + "/sessions/{session}/events": ["timestamp"],
    ENGINE + "/streams": ["scope.user_id", "stream_id"],
    ENGINE + "/auditEvents": ["resource", "caller"],
    ENGINE + "/auditEvents:export": ["resource"],
    _ENGINES: ["display_name", "labels.k"],
}
"""The lists, with the texts that their filters may name."""
_CHANGED = ("PATCH", "DELETE", "POST", "PUT")
_AGES_AGO, _FAR_AHEAD = "2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z"


def innocent(route: Route, own: Names) -> Iterator[Asked]:
    """Return requests of somebody who knows nothing of the tenant, but asks for all there is."""
    asked = route.asked(own)
    yield asked
    yield from _respelt(asked, own)
    if route.method == "GET" and route.template in _LISTED:
        yield from _searches(route, asked)
    yield from _asking_around(route, asked, own)


def informed(victim: Victim, route: Route, own: Names) -> Iterator[Asked]:
    """Return requests of somebody who knows the name of everything that the tenant has."""
    theirs = victim.names
    strange = replace(theirs, engine=own.engine, project=own.project, location=own.location)
    misplaced = replace(own, engine=theirs.engine, project=theirs.project, location=theirs.location)
    for names in (theirs, strange, misplaced):
        yield route.asked(names)
    yield from _respelt(route.asked(theirs), theirs)
    if route.method == "GET" and route.template in _LISTED:
        for names in (theirs, own):
            yield from _searches(route, route.asked(names), theirs.user)
    for mixed in _mixtures(route, own, theirs):
        yield route.asked(mixed)
    if route.method in _CHANGED:
        yield route.asked(own).with_params(requestId=victim.request_ids[0].params["requestId"])
    yield from _smuggled(route, own, victim)


def replayed(own: Names, victim: Victim) -> Iterator[Asked]:
    """Return the tenant's own requests once more: on its engine, and on the attacker's."""
    place = victim.names.path(ENGINE)
    for asked in [*victim.request_ids, *victim.page_tokens]:
        yield asked
        yield replace(asked, path=asked.path.replace(place, own.path(ENGINE)))


def operations_of(own: Names, victim: Victim) -> Iterator[Asked]:
    """Ask for every operation of the tenant, by each engine."""
    for number, operation in enumerate(victim.operations):
        own_path, path = (
            replace(place, operation=operation).path(ENGINE + "/operations/{operation}")
            for place in (own, victim.names)
        )
        yield Asked("GET", own_path)
        yield Asked("GET", path)
        if not number % 3:
            yield Asked("POST", path + ":undo", body={"validateOnly": True})
            yield Asked("POST", path + ":cancel")


def _respelt(asked: Asked, names: Names) -> Iterator[Asked]:
    """Return a request in other spellings: two of them, others for each path."""
    first = names.path(_FIRST)
    if not asked.path.startswith(first):
        return
    turn = len(asked.path.removeprefix(first)) + len(asked.method)
    for step in (0, 2):
        path = asked.path.replace(first, names.path(_SPELLINGS[(turn + step) % len(_SPELLINGS)]))
        yield replace(asked, path=path.replace("reasoningEngines", "memoryBanks") if step else path)


def _mixtures(route: Route, own: Names, theirs: Names) -> Iterator[Names]:
    """Return the attacker's names with one of the tenant's in each."""
    ids = ("memory", "revision", "session", "event", "task_memory", "namespace", "artifact")
    named = [name for name in ids if f"{{{name}}}" in route.template]
    for name in (*named, "user", "scope"):
        yield replace(own, **{name: getattr(theirs, name)})


def _searches(route: Route, asked: Asked, guess: str = "") -> Iterator[Asked]:
    for field in _LISTED[route.template]:
        for text in _filters(field, guess):
            yield asked.with_params(filter=text)
    for order in ("create_time", "timestamp desc"):
        yield asked.with_params(orderBy=order)
    yield asked.with_params(pageSize="1")


def _filters(field: str, guess: str) -> Iterator[str]:
    yield f'{field}=~".*"'
    yield f'{field}:"canary" OR create_time>"{_AGES_AGO}"'
    if guess:
        yield f'{field}="{guess}"'
        yield f'scope="{{\\"user_id\\": \\"{guess}\\"}}"'
    else:
        yield f'NOT {field}="x"'


_GROUPS: list[Json] = [
    {"filters": [{"key": "score", "op": "GREATER_THAN", "value": {"doubleValue": 0}}]},
    {"filters": [{"key": "when", "op": "LESS_THAN", "value": {"timestampValue": _FAR_AHEAD}}]},
    {"filters": [{"key": "none", "value": {"stringValue": "x"}, "negate": True}]},
]


def _asking_around(route: Route, asked: Asked, own: Names) -> Iterator[Asked]:
    """Ask for more than one's own in the body, without a name."""
    if asked.path.endswith(":purge"):
        for text in (*_filters("fact", ""), *_filters("scope.user_id", "")):
            yield replace(asked, body={"filter": text})
        yield replace(asked, body={"filterGroups": _GROUPS})
        yield replace(asked, body={"filter": 'fact=~".*"', "force": True, "permanent": True})
    if asked.path.endswith(":retrieve"):
        search = {"searchQuery": "canary", "topK": 100}
        types = ["NATURAL_LANGUAGE_COLLECTION", "STRUCTURED_PROFILE"]
        for scope in _scopes(own, "nobody"):
            base = {"scope": scope, "memoryTypes": types}
            yield replace(asked, body={**base, "similaritySearchParams": search})
            yield replace(asked, body={**base, "filterGroups": _GROUPS})
            yield replace(asked, body={**base, "filter": 'NOT fact="x"'})
    if asked.path.endswith((":query", ":summarize", ":extract")):
        wishes: list[Json] = [{"wait": True}, {"offPrompt": True}, {"model": "builtin"}]
        yield from (replace(asked, body={**(asked.body or {}), **wish}) for wish in wishes)
    if route.method == "PATCH":
        for mask in ("*", "fact", "scope", "user_id", "display_name,labels"):
            yield asked.with_params(updateMask=mask)


def _scopes(own: Names, user: str) -> Iterator[Json]:
    yield dict(own.scope)
    yield {"user_id": user}
    yield {**own.scope, "user_id": user}
    yield {**own.scope, "team": user}
    yield {"team": user}
    yield {"User_id": user}
    yield {"user_id": f"{user} "}
    yield {"user_id": "*"}
    yield {}


def _smuggled(route: Route, own: Names, victim: Victim) -> Iterator[Asked]:
    """Name the tenant's resources in the body of a request on one's own."""
    asked, theirs = route.asked(own), victim.names
    build = _SMUGGLERS.get(asked.path.rpartition("/")[2].rpartition(":")[2])
    if asked.method == "POST" and build is not None:
        for body in build(own, victim):
            yield replace(asked, body=body)
    if route.id == f"PATCH {ENGINE}/memories/{{memory}}":
        yield replace(asked, body={"fact": "x", "scope": dict(theirs.scope)})
        yield replace(asked, body={"scope": dict(theirs.scope)}).with_params(updateMask="scope")
    if route.id == f"PATCH {ENGINE}/sessions/{{session}}":
        yield replace(asked, body={"userId": theirs.user})
        yield replace(asked, body={"userId": theirs.user}).with_params(updateMask="user_id")
    if route.id == f"POST {ENGINE}/memories":
        yield asked.with_params(memoryId=theirs.memory)
    if route.id == f"POST {ENGINE}/sessions":
        yield asked.with_params(sessionId=theirs.session)


def _retrieved(own: Names, victim: Victim) -> Iterator[Json]:
    for scope in _scopes(own, victim.names.user):
        yield {"scope": scope}
        yield {"scope": scope, "similaritySearchParams": {"searchQuery": "canary", "topK": 100}}


def _purged(own: Names, victim: Victim) -> Iterator[Json]:
    del own
    for text in (
        *_filters("fact", victim.names.user),
        *_filters("scope.user_id", victim.names.user),
    ):
        yield {"filter": text, "force": True, "permanent": True}
        yield {"filter": text, "filterGroups": _GROUPS, "force": True}


def _generated(own: Names, victim: Victim) -> Iterator[Json]:
    theirs = victim.names
    own_scope = dict(own.scope)
    for name in _names_of_session(own, theirs):
        session = {"session": name}
        yield {"vertexSessionSource": session}
        yield {"vertexSessionSource": session, "scope": own_scope}
        yield {"vertexSessionSource": session, "scope": own_scope, "validateOnly": True}
    said = {"directContentsSource": {"events": [event("I like canaries.")]}}
    given = {"directMemoriesSource": {"directMemories": [{"fact": "I like canaries."}]}}
    for scope in _scopes(own, theirs.user):
        yield {**said, "scope": scope}
        yield {**given, "scope": scope, "validateOnly": True}


def _names_of_session(own: Names, theirs: Names) -> Iterator[str]:
    """Return the tenant's session in its own place and in others, spelt in several ways."""
    below = "/sessions/{session}"
    for place in (
        replace(own, session=theirs.session),
        theirs,
        replace(theirs, project=own.project, location=own.location),
        replace(theirs, project="-", location="-"),
        replace(theirs, engine="0" + theirs.engine),
    ):
        yield place.full(below)
        yield theirs.path("reasoningEngines/{engine}" + below)
        yield place.full(below).replace("reasoningEngines", "memoryBanks")
    for guess in (theirs.user, theirs.session.upper(), f"{theirs.session}/events", "-", "1", "s"):
        yield replace(theirs, session=guess).full(below)


def _ingested(own: Names, victim: Victim) -> Iterator[Json]:
    events = [{**event("I like tea."), "eventId": one} for one in victim.event_ids]
    source = {"directContentsSource": {"events": events}}
    for scope in _scopes(own, victim.names.user):
        for stream in (victim.names.stream, "default"):
            yield {**source, "scope": scope, "streamId": stream}
            yield {"scope": scope, "streamId": stream, "forceFlush": True}


def _rolled_back(own: Names, victim: Victim) -> Iterator[Json]:
    theirs = victim.names
    yield {"targetRevisionId": theirs.revision}
    for names in (theirs, replace(own, revision=theirs.revision)):
        yield {"targetRevisionId": names.full("/memories/{memory}/revisions/{revision}")}


def _created(own: Names, victim: Victim) -> Iterator[Json]:
    for scope in _scopes(own, victim.names.user):
        yield {"fact": "I like tea.", "scope": scope}


def _created_at_once(own: Names, victim: Victim) -> Iterator[Json]:
    for memory in _created(own, victim):
        for memory_id in (victim.names.memory, "mine"):
            requests = [{"memory": memory, "memoryId": memory_id}, {"memory": _own(own)}]
            yield {"requests": requests, "atomic": False}


def _imported(own: Names, victim: Victim) -> Iterator[Json]:
    for memory in [*_created(own, victim), _own(own)]:
        yield {**memory, "memoryId": victim.names.memory}


def _own(own: Names) -> Json:
    return {"fact": "I like tea.", "scope": dict(own.scope)}


def _read(own: Names, victim: Victim) -> Iterator[Json]:
    """Ask for what the tenant was answered, in case that is found again."""
    del own
    for asked in victim.request_ids:
        if asked.path.endswith((":query", ":summarize", ":extract")):
            yield dict(asked.body or {})


def _made(own: Names, victim: Victim) -> Iterator[Json]:
    del own
    yield {"userId": victim.names.user}
    yield {"userId": f"{victim.names.user} "}


def _granted(own: Names, victim: Victim) -> Iterator[Json]:
    """Make keys that reach the tenant."""
    bounds: list[dict[str, Any]] = [
        {},
        {"engines": [victim.names.engine]},
        {"projects": [victim.names.project]},
        {"scopeConditions": {"user_id": [victim.names.user, own.user]}},
    ]
    for bound in bounds:
        yield {"displayName": "k", "roles": ["admin"], **bound}


def _found(own: Names, victim: Victim) -> Iterator[Json]:
    """Ask for everything that the tenant has, by ids, by names and by values of scopes."""
    theirs = victim.names
    ids = (theirs.memory, theirs.revision, theirs.session, theirs.operation, theirs.key)
    yield from ({"text": text} for text in (*ids, theirs.engine, theirs.user, *victim.operations))
    for names in (theirs, replace(theirs, engine=own.engine), replace(theirs, engine="-")):
        for below in (
            "",
            "/memories/{memory}",
            "/memories/{memory}/revisions/{revision}",
            "/sessions/{session}",
            "/operations/{operation}",
        ):
            yield {"text": names.full(below)}


_SMUGGLERS: dict[str, Callable[[Names, Victim], Iterator[Json]]] = {
    "find": _found,
    "retrieve": _retrieved,
    "retrieveProfiles": lambda own, victim: (
        {"scope": scope} for scope in _scopes(own, victim.names.user)
    ),
    "purge": _purged,
    "eraseScope": lambda own, victim: (
        {"scope": scope, "validateOnly": True} for scope in _scopes(own, victim.names.user)
    ),
    "scanPrivacy": lambda own, victim: (
        {"scope": scope, "action": "REPORT", "kinds": ["EMAIL"]}
        for scope in _scopes(own, victim.names.user)
    ),
    "generate": _generated,
    "ingestEvents": _ingested,
    "rollback": _rolled_back,
    "memories": _created,
    "batchCreate": _created_at_once,
    "import": _imported,
    "query": _read,
    "summarize": _read,
    "extract": _read,
    "sessions": _made,
    "keys": _granted,
}
"""By the last word of the path."""

"""Screen 16: the settings of an engine, as fields and as JSON."""

import copy
import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator
from starlette.responses import Response
from typing_extensions import override

from app.kernel.errors import InvalidArgument
from app.kernel.permissions import Permission
from app.kernel.ranking import Ranking
from app.surfaces.api import ApiFault, ApiRefusal, Json
from app.surfaces.console.forms import VersionForm, read_form, read_object
from app.surfaces.console.pages.memories import TOPICS
from app.surfaces.console.pages.usage import QUOTAS
from app.surfaces.console.templating import pretty
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, CONFLICT, ENGINE, Route, Visit

_PATH = f"{ENGINE}/settings"
_PARTS = {
    "displayName": TEXTS.display_name,
    "description": TEXTS.description,
    "labels": TEXTS.labels,
    "contextSpec": TEXTS.configuration,
}
"""The parts of an engine that one update changes, with their labels."""
_BANK = ("contextSpec", "memoryBankConfig")
_PLACES: Mapping[str, tuple[str, ...]] = {
    "displayName": ("displayName",),
    "model": (*_BANK, "generationConfig", "model"),
    "ranking": (*_BANK, "similaritySearchConfig", "ranking"),
    "ttl": (*_BANK, "ttlConfig", "defaultTtl"),
    "revisionTtl": (*_BANK, "ttlConfig", "memoryRevisionDefaultTtl"),
}
_CUSTOMIZATIONS = (*_BANK, "customizationConfigs")
_LABELS = {
    "displayName": TEXTS.display_name,
    "model": TEXTS.model,
    "ranking": TEXTS.ranking,
    "ttl": TEXTS.ttl,
    "revisionTtl": TEXTS.revision_ttl,
    "topics": TEXTS.custom_topics,
}


class DocumentForm(VersionForm):
    """The settings as JSON, and what they were when the form was made."""

    document: str = ""
    was: str = Field(min_length=1)

    @field_validator("was")
    @classmethod
    def _is_of_a_form(cls, was: str) -> str:
        """Refuse a document that this page cannot have sent; later code relies on its shape."""
        try:
            _fields(json.loads(was))
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            raise ValueError("must be the settings of an engine") from None
        return was

    def text(self) -> str:
        """Return the new settings as JSON."""
        return self.document

    def values(self) -> dict[str, str]:
        """Return the common settings by their names in the form, as they were."""
        return _fields(json.loads(self.was))


class FieldsForm(DocumentForm):
    """The common settings, each in a field."""

    display_name: str = ""
    model: str = ""
    ranking: str = ""
    ttl: str = ""
    revision_ttl: str = ""
    topics: str = ""

    @override
    def values(self) -> dict[str, str]:
        """Return the fields by their names in the form."""
        named = self.model_dump(by_alias=True)
        return {name: named[name].strip() for name in _LABELS}

    @override
    def text(self) -> str:
        """Return the former settings with the changed fields."""
        document = read_object(self.was)
        before = _fields(document)
        for name, value in self.values().items():
            if value != before[name]:
                _put(document, name, value)
        return pretty(document)


def _fields(document: Mapping[str, Any]) -> dict[str, str]:
    values = {name: _at(document, place) or "" for name, place in _PLACES.items()}
    topics = _general(_at(document, _CUSTOMIZATIONS) or []).get("memoryTopics") or []
    return {**values, "topics": "\n".join(map(_topic_line, topics))}


def _at(document: Any, place: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON
    for name in place:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _general(customizations: list[dict[str, Any]]) -> dict[str, Any]:
    return next((part for part in customizations if not part.get("scopeKeys")), {})


def _topic_line(topic: Mapping[str, Any]) -> str:
    own = topic.get("customMemoryTopic")
    if own is None:
        return str(_at(topic, ("managedMemoryTopic", "managedTopicEnum")) or "")
    described = " ".join((own.get("description") or "").split())
    return f"{own['label']}: {described}" if described else str(own["label"])


def _topic(line: str) -> dict[str, Any]:
    if line in TOPICS:
        return {"managedMemoryTopic": {"managedTopicEnum": line}}
    label, _, described = (part.strip() for part in line.partition(":"))
    own = {"label": label, "description": described} if described else {"label": label}
    return {"customMemoryTopic": own}


def _put(document: dict[str, Any], name: str, value: str) -> None:
    """Set a common setting; an empty one is removed."""
    if name == "topics":
        _put_topics(document, [line.strip() for line in value.splitlines() if line.strip()])
        return
    *above, last = _PLACES[name]
    holder = document
    for part in above:
        holder = holder.setdefault(part, {})
    if value:
        holder[last] = value
    else:
        holder.pop(last, None)


def _put_topics(document: dict[str, Any], lines: list[str]) -> None:
    holder = document
    for part in _BANK:
        holder = holder.setdefault(part, {})
    customizations = holder.setdefault(_CUSTOMIZATIONS[-1], [])
    general = _general(customizations)
    if not general:
        customizations.append(general)
    former = {_topic_line(topic): topic for topic in general.pop("memoryTopics", None) or []}
    if lines:
        general["memoryTopics"] = [former.get(line) or _topic(line) for line in lines]


def _document(engine: Mapping[str, Any]) -> dict[str, Any]:
    return {name: copy.deepcopy(engine[name]) for name in _PARTS if engine.get(name)}


def _texts(document: Mapping[str, Any]) -> dict[str, str]:
    values = {name: document.get(name) or "" for name in _PARTS}
    return {
        name: value if isinstance(value, str) else pretty(value) for name, value in values.items()
    }


def _kind(visit: Visit) -> type[DocumentForm]:
    return DocumentForm if visit.path.endswith("/json") else FieldsForm


async def show(visit: Visit) -> Response:
    """Show the settings, in forms for those who may change them."""
    engine = await visit.api.get(visit.engine_path)
    document = pretty(_document(engine))
    form = visit.filled(_kind(visit)) or _shown(engine["etag"], document, document)
    return await _page(visit, form)


def _shown(etag: str, was: str, document: str) -> DocumentForm:
    return DocumentForm(request_id="-", etag=etag, was=was, document=document)


async def _page(
    visit: Visit,
    form: DocumentForm,
    status: int = 200,
    faults: Mapping[str, str] | None = None,
    **shown: object,
) -> Response:
    """Render the page; `shown` may hold other `fields` and a `conflict`."""
    used = await visit.visible(Permission.USAGE_GET, f"{visit.engine_path}:usage")
    return visit.render(
        "settings.html",
        status,
        form=form,
        labels=_LABELS,
        rankings=list(Ranking),
        faults=_by_field(faults or {}),
        quotas=QUOTAS,
        held=used["quotas"],
        generation=used["generation"],
        parts_labels=_PARTS,
        here=f"{visit.engine_url}/settings",
        **{"fields": form.values(), "conflict": None, **shown},
    )


def _by_field(faults: Mapping[str, str]) -> dict[str, str]:
    """Map faults to the form's fields; other faults keep the API's field names."""
    places = {".".join(place): name for name, place in _PLACES.items()}
    return {places.get(path, path): fault for path, fault in faults.items()}


async def save(visit: Visit) -> Response:
    """Change the common settings, or replace all settings with a JSON document."""
    form = await read_form(visit.request, _kind(visit), visit.session)
    was = read_object(form.was)
    text = form.text()
    try:
        document = read_object(text)
    except InvalidArgument as error:
        return await _page(visit, form, BAD_REQUEST, faults={"document": error.message})
    shown = _shown(form.etag, form.was, text)
    if document == was:
        return await _page(visit, shown, BAD_REQUEST, faults={"": TEXTS.must_change})
    sent, changed = _changes(document, was)
    try:
        await visit.api.send(
            "PATCH",
            visit.engine_path,
            sent,
            request_id=form.request_id,
            etag=form.etag,
            mask=changed,
        )
    except ApiRefusal as refused:
        if refused.is_stale:
            return await _conflict(visit, document, was)
        if not isinstance(refused, ApiFault):
            raise
        faults = refused.fields or {"": refused.message}
        return await _page(visit, shown, BAD_REQUEST, faults, fields=form.values())
    return visit.done(f"{visit.engine_url}/settings", "saved_settings")


def _changes(
    document: Mapping[str, Any], was: Mapping[str, Any]
) -> tuple[dict[str, Any], str | None]:
    """Return the body and the mask of an update; the mask is None if no known part changes."""
    changed = sorted(name for name in _PARTS if document.get(name) != was.get(name))
    # Unknown names are sent too, because the API then reports them as errors.
    sent = {name: document[name] for name in document if name in changed or name not in _PARTS}
    return sent, ",".join(changed) or None


async def check_field(visit: Visit) -> Response:
    """Return the fault of a common setting after the user leaves its field; empty: none."""
    form = await read_form(visit.request, FieldsForm, visit.session)
    name = visit.id_of("field")
    faults = await _faults(visit, form)
    return visit.render("field_fault.html", name=name, faults={name: faults.get(name, "")})


async def check_document(visit: Visit) -> Response:
    """Return the fault of the JSON document after the user leaves its field; empty: none."""
    form = await read_form(visit.request, DocumentForm, visit.session)
    said = (
        f"{name}: {fault}" if name else fault
        for name, fault in (await _faults(visit, form)).items()
    )
    return visit.render("field_fault.html", name="document", faults={"document": "; ".join(said)})


async def _faults(visit: Visit, form: DocumentForm) -> dict[str, str]:
    try:
        sent, mask = _changes(read_object(form.text()), read_object(form.was))
        await visit.api.send("POST", f"{visit.engine_path}:validate", sent, mask=mask)
    except InvalidArgument as error:
        return {"": error.message}
    except ApiFault as refused:
        return _by_field(refused.fields) or {"": refused.message}
    return {}


async def _conflict(visit: Visit, yours: dict[str, Any], was: dict[str, Any]) -> Response:
    engine = await visit.api.get(visit.engine_path)
    theirs = _document(engine)
    versions = Json(yours=_texts(yours), theirs=_texts(theirs), was=_texts(was))
    shown = _shown(engine["etag"], pretty(theirs), pretty(yours))
    return await _page(visit, shown, CONFLICT, conflict=versions)


ROUTES = (
    Route(_PATH, get=show, post=save, kept=FieldsForm),
    Route(f"{_PATH}/json", get=show, post=save, kept=DocumentForm),
    Route(f"{_PATH}/json/check", post=check_document),
    Route(f"{_PATH}/check/{{field}}", post=check_field),
)

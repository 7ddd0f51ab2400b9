"""Screen 6, the edit form of a memory, which detects concurrent changes."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field
from pydantic import Json as OfJson
from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.surfaces import filters
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.forms import VersionForm, read_form, read_object
from app.surfaces.console.pages.memories import TOPICS
from app.surfaces.console.pages.memory import COMPARED, PATH, comparable
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, CONFLICT, Route, Visit

_OBJECTS = ("metadata", "structuredContent")
"""The fields with JSON objects."""
_PATH_END = re.compile(r"[.\[].*", re.DOTALL)


class EditForm(VersionForm):
    """The editable fields of a memory as texts, and what they were when the form was made."""

    fact: str = ""
    display_name: str = ""
    description: str = ""
    context: str = ""
    topics: str = ""
    metadata: str = ""
    structured_content: str = ""
    expire_time: str = ""
    was: OfJson[dict[str, str]] = Field(default_factory=dict)

    def values(self) -> dict[str, str]:
        """Return the fields by their names in the API."""
        named = self.model_dump(by_alias=True)
        return {name: named[name] for name in COMPARED}

    def before(self) -> dict[str, str]:
        """Return the former values of the fields."""
        return {name: self.was.get(name, "") for name in COMPARED}

    def changed(self) -> list[str]:
        """Return the names of the changed fields."""
        before = self.before()
        return [name for name, value in self.values().items() if value != before[name]]


def _texts(memory: Json) -> dict[str, str]:
    topics = (
        topic["managedMemoryTopic"] or topic["customMemoryTopicLabel"]
        for topic in memory["topics"] or []
    )
    return {**comparable(memory), "topics": "\n".join(topics)}


def _body(form: EditForm) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the changed fields, without empty ones, which clears them, and the faults by field."""
    values, body, faults = form.values(), dict[str, Any](), dict[str, str]()
    for name in form.changed():
        try:
            if value := _value(name, values[name]):
                body[name] = value
        except InvalidArgument as error:
            faults[name] = error.message
    return body, faults


def _value(name: str, text: str) -> object:
    if name in _OBJECTS and text.strip():
        return read_object(text)
    if name == "topics":
        return [_topic(line.strip()) for line in text.splitlines() if line.strip()]
    return filters.utc(text.strip()) if name == "expireTime" else text


def _topic(line: str) -> dict[str, str]:
    return {"managedMemoryTopic" if line in TOPICS else "customMemoryTopicLabel": line}


async def show(visit: Visit) -> Response:
    """Show the form that edits a memory."""
    memory = await visit.api.get(visit.own_path)
    if form := visit.filled(EditForm):
        return _page(visit, form.etag, form.values(), form.before())
    texts = _texts(memory)
    return _page(visit, memory["etag"], texts, texts)


async def edit(visit: Visit) -> Response:
    """Change a memory; after a concurrent change, show all three versions."""
    form = await read_form(visit.request, EditForm, visit.session)
    changed = form.changed()
    body, faults = _body(form)
    if not changed:
        faults = {"fact": TEXTS.must_change}
    if faults:
        return _page(visit, form.etag, form.values(), form.before(), BAD_REQUEST, faults)
    try:
        operation = await visit.api.send(
            "PATCH",
            visit.own_path,
            body,
            request_id=form.request_id,
            etag=form.etag,
            mask=",".join(changed),
        )
    except ApiRefusal as refused:
        if refused.is_stale:
            return await _conflict(visit, form)
        if refused.status != BAD_REQUEST or not refused.fields:
            raise
        faults = _by_field(refused.fields)
        return _page(visit, form.etag, form.values(), form.before(), BAD_REQUEST, faults)
    return visit.done(visit.own_url, "edited", visit.undo_of(operation))


def _by_field(faults: Mapping[str, str]) -> dict[str, str]:
    """Map faults to the form's fields; other faults keep the API's field names."""
    placed: dict[str, str] = {}
    for path, fault in faults.items():
        field = _PATH_END.sub("", path)
        place = field if field in COMPARED else path
        said = fault if place == path else f"{path}: {fault}"
        placed[place] = f"{placed[place]}; {said}" if place in placed else said
    return placed


async def _conflict(visit: Visit, form: EditForm) -> Response:
    memory = await visit.api.get(visit.own_path)
    theirs = _texts(memory)
    shown = {"was": form.before(), "theirs": theirs}
    return _page(visit, memory["etag"], form.values(), theirs, CONFLICT, **shown)


def _page(
    visit: Visit,
    etag: str,
    values: Mapping[str, str],
    before: Mapping[str, str],
    status: int = 200,
    faults: Mapping[str, str] | None = None,
    **shown: Mapping[str, str],
) -> Response:
    """Render the form; `shown` may hold the former values `was` and the current ones `theirs`."""
    # A memory without structured content holds a fact, and the form does not add any.
    left_out = {"structuredContent"} - {name for name in values if values[name] or before[name]}
    return visit.render(
        "edit.html",
        status,
        labels={name: label for name, label in COMPARED.items() if name not in left_out},
        objects=_OBJECTS,
        etag=etag,
        values=values,
        before=before,
        faults=faults or {},
        **{"was": None, "theirs": None, **shown},
    )


ROUTES = (Route(f"{PATH}/edit", get=show, post=edit, kept=EditForm),)

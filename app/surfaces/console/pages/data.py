"""The data of a whole engine: archive, restore, import, vectors, scan; creation and deletion."""

from functools import partial

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.forms import ChangeForm, read_form, read_upload
from app.surfaces.console.pages import server, usage
from app.surfaces.console.sessions import Sessions
from app.surfaces.console.templating import last_part, plain
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import (
    BAD_REQUEST,
    CONFLICT,
    ENGINE,
    IN_PLACE_OF_ALL,
    Route,
    Visit,
    redirect,
)

_API = "/v1beta1/reasoningEngines"
_NEW = "/console/engines/new"
_FILES = {
    "import": ("/memories:import", "application/x-ndjson", ("validateOnly", "overwrite")),
    "restore": (":restore", "application/gzip", ("extendRecovery",)),
}
"""The methods that take a file, by the end of the page's path, with its type and switches."""


class DataForm(ChangeForm):
    """The fields of all forms about a whole engine; switches are words, as the API takes them."""

    display_name: str = ""
    then: str = ""
    typed: str = ""
    kinds: tuple[str, ...] = ()
    extend_recovery: str = "false"
    overwrite: str = "false"
    validate_only: str = "false"


async def show(visit: Visit) -> Response:
    """Show what can be done with all data of an engine."""
    state = await visit.visible(Permission.SERVER_GET, server.PATH)
    return await show_part(visit, model=(state["embedder"] or Json())["model"])


async def show_part(visit: Visit, status: int = 200, **values: object) -> Response:
    """Show the page that the path names, with the engine's name and what it holds, if allowed."""
    # Refused while the engine is restored.
    used = await visit.part(Permission.USAGE_GET, f"{visit.engine_path}:usage")
    return visit.render(
        f"engine_{last_part(visit.path)}.html",
        status,
        name=await _name(visit),
        used=used,
        quotas=usage.QUOTAS,
        **{"found": None, "fault": "", "unnamed": "", "form": None, **values},
    )


async def _name(visit: Visit) -> str:
    engine = await visit.visible(Permission.ENGINES_GET, visit.engine_path)
    return engine["displayName"] or visit.engine


async def show_new(visit: Visit) -> Response:
    """Show the form for a new engine."""
    return visit.render("engine_new.html")


async def create(visit: Visit) -> Response:
    """Create an engine and open it, or the form for an archive to fill it from."""
    form = await read_form(visit.request, DataForm, visit.session)
    body = {"displayName": form.display_name.strip()}
    operation = await visit.api.send("POST", _API, body, request_id=form.request_id)
    here = f"/console/e/{last_part(operation['response']['name'])}"
    return redirect(f"{here}/restore" if form.then else here)


async def delete(visit: Visit) -> Response:
    """Delete an engine with its whole content if the user typed its name."""
    form = await read_form(visit.request, DataForm, visit.session)
    name = await _name(visit)
    # Hidden characters cannot be typed; the page shows them as code points.
    if form.typed.strip() not in {name.strip(), plain(name).strip()}:
        return await show_part(visit, BAD_REQUEST, fault=TEXTS.engine_delete_mismatch)
    await visit.api.send("DELETE", visit.engine_path, {"force": True}, request_id=form.request_id)
    return redirect("/console")


async def archive(visit: Visit) -> Response:
    """Send an archive of the engine, with the chosen parts, as a file."""
    # Errors are found while an error page can still be shown.
    await visit.api.get(visit.engine_path)
    query = [
        (part, str(part in visit.request.query_params).lower()) for part in TEXTS.archive_parts
    ]
    file = f"{visit.engine}-{visit.now:%Y%m%dT%H%M%SZ}.omb.gz"
    return visit.api.download(f"{visit.engine_path}:export", query, file)


async def upload(visit: Visit) -> Response:
    """Hand the file of a form on to a method of the API, and show the answer."""
    method, media_type, switches = _FILES[last_part(visit.path)]
    form, file = await read_upload(visit.request, DataForm, visit.session)
    sent = form.model_dump(by_alias=True)
    # Sent twice, a file would be imported twice, unless all its memories have ids.
    if not await Sessions.of(visit.request).spend_form(visit.session.value, form.request_id):
        await file.drop()
        return await show_part(visit, CONFLICT, fault=TEXTS.form_spent, form=form)
    query = [(name, sent[name]) for name in switches]
    try:
        found = await visit.api.upload(visit.engine_path + method, query, media_type, file.receive)
    except ApiRefusal as refused:
        await file.drop()
        told = (one["metadata"] or Json() for one in refused.details)
        held = next((one for one in told if one["lines"]), None)
        return await show_part(visit, refused.status, found=held, fault=refused.message, form=form)
    unnamed = ""
    if name := form.display_name.strip():
        try:
            await visit.api.send("PATCH", visit.engine_path, {"displayName": name})
        except ApiRefusal as refused:
            unnamed = refused.message
    shown = await show_part(visit, found=found, unnamed=unnamed, form=form)
    if form.validate_only == "false":
        # Nothing more is to be sent, so the form goes, too.
        shown.headers.update(IN_PLACE_OF_ALL)
    return shown


async def _start(visit: Visit, *, method: str, **body: object) -> Response:
    form = await read_form(visit.request, DataForm, visit.session)
    sent = body | ({"kinds": form.kinds} if form.kinds else {})
    path = f"{visit.engine_path}{method}"
    operation = await visit.api.send("POST", path, sent, request_id=form.request_id)
    return redirect(visit.url_of_operation(operation))


ROUTES = (
    Route(_NEW, get=show_new, post=create),
    Route(f"{ENGINE}/data", get=show),
    Route(f"{ENGINE}/archive", get=archive),
    Route(f"{ENGINE}/delete", get=show_part, post=delete),
    Route(f"{ENGINE}/restore", get=show_part, post=upload),
    Route(f"{ENGINE}/import", get=show_part, post=upload),
    Route(f"{ENGINE}/reembed", post=partial(_start, method=":reembed")),
    Route(f"{ENGINE}/scan", post=partial(_start, method=":scanPrivacy", action="REPORT")),
)

"""The data of a whole engine: archive, restore, import, vectors, scan; creation and deletion."""

from collections.abc import Sequence
from functools import partial

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.kernel.wire.privacy_config import Kind
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.forms import ChangeForm, read_form, read_upload
from app.surfaces.console.pages import server, usage
from app.surfaces.console.sessions import Sessions
from app.surfaces.console.templating import last_part, plain
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, CONFLICT, ENGINE, Route, Visit, redirect

_API = "/v1beta1/reasoningEngines"
_NEW = "/console/engines/new"
_PARTS = ("sessions", "artifacts", "vectors")
"""The parts of an archive that one may leave out."""


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
    state = await visit.visible(Permission.SERVER_GET, server.PATH, ())
    return await _page(visit, "data.html", model=(state["embedder"] or Json())["model"])


async def _page(visit: Visit, template: str, status: int = 200, **values: object) -> Response:
    """Render a page with the name of the engine and what it holds, if the user may see it."""
    used = None
    if visit.may(Permission.USAGE_GET):
        # Refused while the engine is restored.
        used = await visit.answered(f"{visit.engine_path}:usage")
    return visit.render(
        template,
        status,
        name=await _name(visit),
        used=used,
        quotas=usage.QUOTAS,
        kinds=list(Kind),
        parts_of_archive=_PARTS,
        may={permission.name: visit.may(permission) for permission in Permission},
        here=visit.request.url.path.rstrip("/"),
        **{"found": None, "fault": "", "form": None, **values},
    )


async def _name(visit: Visit) -> str:
    engine = await visit.visible(Permission.ENGINES_GET, visit.engine_path, ())
    return engine["displayName"] or visit.engine


async def show_new(visit: Visit) -> Response:
    """Show the form for a new engine."""
    return visit.render("engine_new.html", may_restore=visit.may(Permission.ENGINES_RESTORE))


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
        fault = TEXTS.engine_delete_mismatch
        return await _page(visit, "engine_delete.html", BAD_REQUEST, fault=fault)
    body = {"force": True}
    await visit.api.send("DELETE", visit.engine_path, body, request_id=form.request_id)
    return redirect("/console")


async def archive(visit: Visit) -> Response:
    """Send an archive of the engine, with the chosen parts, as a file."""
    # Errors are found while an error page can still be shown.
    await visit.api.get(visit.engine_path)
    query = [(part, str(part in visit.request.query_params).lower()) for part in _PARTS]
    file = f"{visit.engine}-{visit.now:%Y%m%dT%H%M%SZ}.omb.gz"
    return visit.api.download(f"{visit.engine_path}:export", query, file)


async def _upload(
    visit: Visit, *, template: str, method: str, media_type: str, switches: Sequence[str]
) -> Response:
    """Hand the file of a form on to a method of the API, and show the answer."""
    form, file = await read_upload(visit.request, DataForm, visit.session)
    sent = form.model_dump(by_alias=True)
    # Sent twice, a file would be imported twice, unless all its memories have ids.
    if not await Sessions.of(visit.request).spend_form(visit.session.value, form.request_id):
        await file.drop()
        return await _page(visit, template, CONFLICT, fault=TEXTS.form_spent, form=form)
    query = [(name, sent[name]) for name in switches]
    try:
        path = f"{visit.engine_path}{method}"
        found = await visit.api.upload(path, query, media_type, file.receive)
    except ApiRefusal as refused:
        await file.drop()
        counts = next((one["metadata"] for one in refused.details if one["metadata"]), None)
        values = {"found": counts, "fault": refused.message, "form": form}
        return await _page(visit, template, refused.status, **values)
    return await _page(visit, template, found=found, form=form)


async def _start(visit: Visit, *, method: str, **body: object) -> Response:
    """Start the work of a form, and show its operation."""
    form = await read_form(visit.request, DataForm, visit.session)
    sent = body | ({"kinds": form.kinds} if form.kinds else {})
    path = f"{visit.engine_path}{method}"
    operation = await visit.api.send("POST", path, sent, request_id=form.request_id)
    return redirect(f"{visit.engine_url}/operations/{last_part(operation['name'])}")


_import = partial(
    _upload,
    template="engine_import.html",
    method="/memories:import",
    media_type="application/x-ndjson",
    switches=("validateOnly", "overwrite"),
)
_restore = partial(
    _upload,
    template="engine_restore.html",
    method=":restore",
    media_type="application/gzip",
    switches=("extendRecovery",),
)
ROUTES = (
    Route(_NEW, get=show_new, post=create),
    Route(f"{ENGINE}/data", get=show),
    Route(f"{ENGINE}/archive", get=archive),
    Route(f"{ENGINE}/delete", get=partial(_page, template="engine_delete.html"), post=delete),
    Route(f"{ENGINE}/restore", get=partial(_page, template="engine_restore.html"), post=_restore),
    Route(f"{ENGINE}/import", get=partial(_page, template="engine_import.html"), post=_import),
    Route(f"{ENGINE}/reembed", post=partial(_start, method=":reembed")),
    Route(f"{ENGINE}/scan", post=partial(_start, method=":scanPrivacy", action="REPORT")),
)

"""The search at the top: the pages of what an id, a full name or a value of a scope stands for."""

from urllib.parse import quote

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.surfaces import filters
from app.surfaces.api import ApiFault, Json
from app.surfaces.console.navigation import START
from app.surfaces.console.pages import users
from app.surfaces.console.templating import last_part, memory_id
from app.surfaces.console.visits import BAD_REQUEST, COLLECTIONS, ENGINE, Route, Visit, redirect


async def show(visit: Visit) -> Response:
    """Lead to what a text names; show a list if it names several things or nothing."""
    text = visit.request.query_params.get("q", "").strip()
    found: list[Json] = []
    fault = ""
    if text:
        try:
            path = f"{visit.engine_path}/resources:find"
            found = (await visit.api.ask(path, {"text": text}))["resources"]
        except ApiFault as refused:
            fault = refused.fields.get("text", refused.message)
    urls = [_url_of(visit, one) for one in found]
    if len(urls) == 1:
        return redirect(urls[0])
    key, value = filters.split_pair(text)
    of_scope = users.url_of(visit, {key: value}) if key and value else ""
    if of_scope and not found and not fault and visit.may(Permission.MEMORIES_LIST):
        return redirect(of_scope)
    return visit.render(
        "find.html",
        BAD_REQUEST if fault else 200,
        find_text=text,
        fault=fault,
        found=list(zip(found, urls, strict=True)),
    )


def _url_of(visit: Visit, found: Json) -> str:
    kind, name = found["kind"], found["name"] or ""
    collection = COLLECTIONS.get(kind.lower())
    id_ = quote(last_part(name), safe="")
    if collection:
        return f"{visit.engine_url}/{collection}/{id_}"
    if kind == "REVISION":
        return f"{visit.engine_url}/memories/{quote(memory_id(name), safe='')}#revision-{id_}"
    if kind == "KEY":
        return f"{START}/keys#key-{id_}"
    if kind == "ENGINE":
        return f"{START}/e/{id_}"
    return users.url_of(visit, found["scope"] or {})


ROUTES = (Route(f"{ENGINE}/find", get=show),)

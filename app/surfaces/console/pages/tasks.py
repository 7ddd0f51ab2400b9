"""Screen 13: task memory with artifacts stored by reference, questions and tool policies."""

import asyncio
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import Response

from app.adapters.documents.extracting import text_of
from app.kernel.media_types import MediaType
from app.kernel.permissions import Permission
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.templating import last_part
from app.surfaces.console.visits import ENGINE, ROWS, TOKEN_PARAMETER, Route, Visit

_LIST = f"{ENGINE}/tasks"
_MEMORY = f"{_LIST}/{{memory}}"
_NAMESPACE = f"{_MEMORY}/{{namespace}}"
_MAX_BYTES = 262_144
_MAX_CITED = 4
"""Number of pages of artifacts whose cited passages are marked; each one costs a call."""
MAX_CHARS = 20_000
"""Largest number of characters of a text that is shown whole."""
_AROUND = 300
_IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""The images that a page shows; an SVG can hold scripts and stays a file."""
_MAX_IMAGE_BYTES = 10_485_760
_GAP = "\n…\n"

Span = tuple[int, int]


@dataclass(frozen=True)
class Passage:
    """A part of a text: a citation or its context."""

    text: str
    is_cited: bool


class QuestionForm(ChangeForm):
    """A question about a namespace."""

    question: str = ""


def _paths(visit: Visit) -> tuple[str, str]:
    """Return the paths of the shown resource in the API and in the console."""
    names = [
        visit.quoted(name)
        for name in ("memory", "namespace", "artifact")
        if name in visit.request.path_params
    ]
    kinds = ("taskMemories", "namespaces", "artifacts")
    parts = [part for pair in zip(kinds, names, strict=False) for part in pair]
    return "/".join([visit.engine_path, *parts]), "/".join([visit.engine_url, "tasks", *names])


async def show(visit: Visit) -> Response:
    """Show the task memories of an engine."""
    listed = await visit.api.get(f"{visit.engine_path}/taskMemories", visit.page_query())
    return visit.render(
        "tasks.html",
        memories=listed["taskMemories"] or [],
        older=visit.next_page(listed),
    )


async def show_memory(visit: Visit) -> Response:
    """Show the namespaces of a task memory, and the policies of its tools."""
    path, here = _paths(visit)
    listed, policies = await asyncio.gather(
        visit.api.get(f"{path}/namespaces", visit.page_query()),
        visit.api.get(f"{path}/toolPolicies", [("pageSize", str(ROWS))]),
    )
    return visit.render(
        "task_memory.html",
        memory=visit.request.path_params["memory"],
        namespaces=listed["namespaces"] or [],
        policies=policies["toolPolicies"] or [],
        older=visit.next_page(listed),
        here=here,
    )


async def show_namespace(visit: Visit) -> Response:
    """Show a namespace with its artifacts."""
    form = visit.filled(QuestionForm)
    return await _namespace(visit, 200, form.question if form else "")


async def ask(visit: Visit) -> Response:
    """Answer a question; the answer has no URL of its own, because asking can cost money."""
    form = await read_form(visit.request, QuestionForm, visit.session)
    path = f"{_paths(visit)[0]}:query"
    try:
        answer = await visit.api.ask(path, {"query": form.question}, request_id=form.request_id)
    except ApiRefusal as refused:
        if refused.is_forbidden or not refused.message:
            raise
        return await _namespace(visit, refused.status, form.question, fault=refused.message)
    return await _namespace(visit, 200, form.question, answer=answer)


async def _namespace(
    visit: Visit, status: int, question: str = "", *, answer: Json | None = None, fault: str = ""
) -> Response:
    path, here = _paths(visit)
    namespace, listed = await asyncio.gather(
        visit.api.get(path), visit.api.get(f"{path}/artifacts", visit.page_query())
    )
    return visit.render(
        "namespace.html",
        status,
        namespace=namespace,
        artifacts=listed["artifacts"] or [],
        older=visit.next_page(listed),
        question=question,
        answer=answer,
        cited=await _cited(visit, path, answer or Json()),
        fault=fault,
        here=here,
    )


async def _cited(visit: Visit, path: str, answer: Json) -> list[Json]:
    spans: dict[tuple[str, int], list[Span]] = {}
    for citation in answer["citations"] or []:
        place = citation["artifact"], citation["page"]
        spans.setdefault(place, []).append((citation["start"], citation["end"]))
    readable = _MAX_CITED if visit.may(Permission.ARTIFACTS_CONTENT) else 0
    found = (
        _citation(visit, path, name, page, of_it, is_read=number < readable)
        for number, ((name, page), of_it) in enumerate(spans.items())
    )
    return list(await asyncio.gather(*found))


async def _citation(
    visit: Visit, path: str, name: str, page: int, cited: list[Span], *, is_read: bool
) -> Json:
    text = f"{path}/artifacts/{quote(name, safe='')}:text"
    read = await visit.answered(text, [("page", str(page))]) if is_read else None
    if read is None:
        # An image, for example, has no text to show, but the answer stays.
        return Json(name=name, page=page, spans=cited)
    begin = read["start"]
    inside = [(max(start - begin, 0), end - begin) for start, end in cited]
    return Json(name=name, page=page, spans=cited, parts=passages(read["text"], inside))


async def _content(visit: Visit, path: str, artifact: Json) -> bytes:
    if artifact["sizeBytes"] == "0":
        return b""
    return await visit.api.content(f"{path}/content", _MAX_BYTES)


async def _as_stored(visit: Visit, path: str, artifact: Json) -> list[Passage]:
    content = await _content(visit, path, artifact)
    charset = MediaType.parse(artifact["mediaType"]).charset
    text = await asyncio.to_thread(lambda: "".join(text_of([content], charset)))
    return passages(text, [])


async def show_artifact(visit: Visit) -> Response:
    """Show an artifact; if the user may see contents, with a page of its text, or as stored."""
    path, here = _paths(visit)
    artifact = await visit.api.get(path)
    may_read = visit.may(Permission.ARTIFACTS_CONTENT)
    is_image = may_read and artifact["mediaType"].partition(";")[0].lower() in _IMAGES
    page = visit.request.query_params.get(TOKEN_PARAMETER)
    shown, read, fault, status = None, None, "", 200
    if may_read and page is None and artifact["kind"] != "blob":
        shown = await _as_stored(visit, path, artifact)
    elif may_read and not is_image:
        try:
            read = await visit.api.get(f"{path}:text", [("page", page or "1")])
            shown = [Passage(read["text"], is_cited=False)]
        except ApiRefusal as refused:
            fault, status = refused.message, 200 if page is None else refused.status
    return visit.render(
        "artifact.html",
        status,
        artifact=artifact,
        parts_of_text=shown,
        read=read,
        fault=fault,
        is_image=is_image and int(artifact["sizeBytes"] or 0) <= _MAX_IMAGE_BYTES,
        may_read=may_read,
        memory_url=here.rpartition("/")[0].rpartition("/")[0],
        here=here,
    )


async def download(visit: Visit) -> Response:
    """Send an artifact as a file, which browsers do not render; an image is also shown from here.

    A first request for one byte finds errors while an error page can still be shown.
    """
    path, _ = _paths(visit)
    artifact = await visit.api.get(path)
    if artifact["sizeBytes"] != "0":
        await visit.api.content(f"{path}/content", 1)
    name = re.sub(r"[^a-zA-Z0-9_.-]", "_", last_part(artifact["name"]))
    return visit.api.download(f"{path}/content", [], name)


ROUTES = (
    Route(_LIST, get=show),
    Route(_MEMORY, get=show_memory),
    Route(_NAMESPACE, get=show_namespace, post=ask, kept=QuestionForm),
    Route(f"{_NAMESPACE}/{{artifact}}", get=show_artifact),
    Route(f"{_NAMESPACE}/{{artifact}}/content", get=download),
)


def passages(text: str, cited: Iterable[Span]) -> list[Passage]:
    """Split a text by citations, whose ends are exclusive; a long one is cut to their contexts."""
    spans = [(start, min(end, len(text))) for start, end in _joined(cited) if start < len(text)]
    is_long = len(text) > MAX_CHARS
    around = _AROUND if spans and is_long else MAX_CHARS
    parts: list[Passage] = []
    done = 0
    for place, (start, end) in enumerate(spans):
        shown_from = max(done, start - around)
        if shown_from > done:
            parts.append(Passage(_GAP, is_cited=False))
        following = spans[place + 1][0] if place + 1 < len(spans) else len(text)
        done = min(following, end + around)
        parts += [
            Passage(text[shown_from:start], is_cited=False),
            Passage(text[start : min(end, start + MAX_CHARS)], is_cited=True),
            Passage(text[end:done], is_cited=False),
        ]
    if not spans:
        parts.append(Passage(text[:MAX_CHARS], is_cited=False))
        done = MAX_CHARS
    if done < len(text):
        parts.append(Passage(_GAP, is_cited=False))
    return [part for part in parts if part.text]


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans in order, with touching or overlapping spans merged."""
    held: Span | None = None
    for start, end in sorted(spans):
        if held is not None and start <= held[1]:
            held = held[0], max(held[1], end)
            continue
        if held is not None:
            yield held
        held = start, end
    if held is not None:
        yield held

"""Templates, styles and scripts: what they may not hold, their weight, how they are served."""

import hashlib
import re
from pathlib import Path

import httpx
import pytest
from jinja2 import UndefinedError

import app.surfaces.console
from app.surfaces.console import templating
from app.surfaces.console.templating import environment
from tests.conftest import ADMIN_KEY
from tests.support.console import sign_in

_FOLDER = Path(app.surfaces.console.__file__).parent
_TEMPLATES = sorted((_FOLDER / "templates").iterdir())
_STATIC = _FOLDER / "static"
_FORBIDDEN = {
    "safe": r"\|\s*safe\b",
    "autoescape": r"autoescape",
    "inline script": r"<script(?![^>]*\bsrc=)",
    "inline style": r"<style|\sstyle\s*=",
    "event attribute": r"\son[a-z]+\s*=|hx-on",
    "other origin": r"(?:src|href|action)\s*=\s*[\"'](?:https?:)?//",
    "evaluated": r"hx-vals|hx-vars|javascript:",
}


def test_no_template_holds_what_the_policy_forbids() -> None:
    found = [
        (path.name, name)
        for path in _TEMPLATES
        for name, pattern in _FORBIDDEN.items()
        if re.search(pattern, path.read_text(), re.IGNORECASE)
    ]
    assert found == []


def test_every_form_that_changes_has_a_token_and_a_request_id() -> None:
    """Signing in has no session yet; signing out twice is signing out."""
    bare = []
    for path in _TEMPLATES:
        for form in re.findall(r"<form method=\"post\".*?</form>", path.read_text(), re.DOTALL):
            action = re.search(r"action=\"(.*?)\"", form)
            has_both = "token(session, request_id)" in form
            if not has_both and action:
                bare.append((action[1], 'name="token"' in form))
    assert bare == [("/console/sign-out", True), ("/console/sign-in", False)]


def test_the_style_sheet_loads_nothing_and_needs_no_force() -> None:
    sheet = (_STATIC / "console.css").read_text()
    assert not re.search(r"@import|url\(", sheet)
    forced = [line for line in sheet.splitlines() if "!important" in line]
    assert all(
        "[hidden]" in line or line.endswith("{ display: none !important; }") for line in forced
    )
    assert sheet.count("\n") <= 700


def test_each_icon_that_is_named_is_drawn() -> None:
    drawn = set(re.findall(r'<symbol id="([a-z0-9-]+)"', (_STATIC / "icons.svg").read_text()))
    named = (
        r'\b(?:icon|empty)\("([a-z0-9-]+)"|"([a-z0-9-]+)", Permission|link\([^,]*, "([a-z-0-9]+)"'
    )
    for path in (*_TEMPLATES, _FOLDER / "navigation.py"):
        wanted = {name for names in re.findall(named, path.read_text()) for name in names if name}
        assert wanted <= drawn, path.name


def test_tables_and_filter_rows_have_one_frame_each() -> None:
    for frame, holder in (
        ("<table", "parts.html"),
        (' class="filter" role="search"', "filter_parts.html"),
    ):
        found = {path.name for path in _TEMPLATES if frame in path.read_text()}
        assert found == {holder}, frame


def test_an_unknown_name_in_a_template_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("{{ unknown }}").render()


def test_files_weigh_little_and_the_vendored_one_is_whole() -> None:
    assert len((_STATIC / "console.css").read_bytes()) < 40_000
    assert len((_STATIC / "icons.svg").read_bytes()) < 10_000
    # Confirmations open as dialogs above the page.
    assert len((_STATIC / "console.js").read_bytes()) <= 7_680
    [told] = _STATIC.glob("htmx-*.sha256")
    digest, name = told.read_text().split()
    assert hashlib.sha256((_STATIC / name).read_bytes()).hexdigest() == digest
    assert list(_STATIC.glob("htmx-*.LICENSE"))


async def test_files_are_served_for_good_under_their_digest(visitor: httpx.AsyncClient) -> None:
    await sign_in(visitor, ADMIN_KEY)
    shown = (await visitor.get("/console")).text
    for name in ("console.css", "console.js", "favicon.svg", "icons.svg", "htmx-4.0.1.min.js"):
        path = templating.path_of(name)
        assert path in shown
        answer = await visitor.get(path)
        assert answer.content == (_STATIC / name).read_bytes()
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"

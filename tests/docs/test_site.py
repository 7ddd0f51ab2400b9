"""The site builds strictly, without a network, and refers to nothing of another origin."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typing_extensions import override

from tests.support.documents import DOCS, ROOT, copy_site

_NOWHERE = "http://127.0.0.1:9"
_LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "src"),
    ("iframe", "src"),
    ("link", "href"),
    ("use", "href"),
    ("object", "data"),
}
"""What a browser fetches by itself."""
_FETCHED_ON_DEMAND = {"mermaid", "glightbox", "arithmatex", "pyodide"}
"""Classes for which the theme's script would fetch a library of another origin."""
_STYLED = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.classes: set[str] = set()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (tag, name) in _LOADED and value:
                self.loaded.append(value)
            if name == "class":
                self.classes |= set((value or "").split())
            if name == "style" and _STYLED.search(value or ""):
                self.loaded.append(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    copy_site(folder)
    proxies = [f"{name}={_NOWHERE}" for name in ("http_proxy", "https_proxy", "all_proxy")]
    command = ["env", *proxies, sys.executable, "-m", "zensical", "build", "--strict"]
    built = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, _Page]:
    found = {}
    for path in sorted(site.rglob("*.html")):
        found[path.relative_to(site).as_posix()] = page = _Page()
        page.feed(path.read_text())
    return found


def test_every_page_is_in_the_navigation_and_built(pages: dict[str, _Page]) -> None:
    listed = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert written <= listed
    assert {name.removesuffix(".md") + ".html" for name in listed} <= set(pages)


def test_pages_load_nothing_of_another_origin(pages: dict[str, _Page]) -> None:
    loaded = {link for page in pages.values() for link in page.loaded}
    assert loaded
    assert [link for link in sorted(loaded) if re.match(r"(?:https?:)?//", link)] == []


def test_styles_and_drawings_load_nothing_of_another_origin(site: Path) -> None:
    for path in (*site.rglob("*.css"), *site.rglob("*.svg")):
        text = path.read_text()
        assert not re.search(r"(?:url\(\s*['\"]?|href=\"|@import\s+['\"])(?:https?:)?//", text)


def test_no_page_makes_the_theme_fetch_a_library(pages: dict[str, _Page]) -> None:
    for page in pages.values():
        assert page.classes & _FETCHED_ON_DEMAND == set()


def test_the_configuration_asks_for_no_font_and_no_analytics() -> None:
    configured = (ROOT / "mkdocs.yml").read_text()
    assert re.search(r"^  font: false\b", configured, re.MULTILINE)
    assert not re.search(r"^(?:extra|repo_url|plugins)", configured, re.MULTILINE)


def test_the_changelog_is_included(site: Path) -> None:
    assert "For operators, newest first." in (site / "changelog.html").read_text()

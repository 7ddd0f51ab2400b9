"""Links between documents lead somewhere where the repository is browsed, without a site."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.documents import DOCS, ROOT

_FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+).+?\1", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")
_HEADING = re.compile(r"^#+ (.+?)(?: \{#([\w-]+)\})?$", re.MULTILINE)
_TARGET = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")
_INCLUDED = re.compile(r'^--8<-- "([^":]+)', re.MULTILINE)
_OF_TOOLS = re.compile(r"(?:^|/)(?:\.\w|node_modules/|site/)")


def _documents() -> list[str]:
    found = [path.relative_to(ROOT) for path in ROOT.rglob("*.md")]
    return sorted(str(path) for path in found if not _OF_TOOLS.search(str(path)))


def _links(text: str) -> Iterator[str]:
    for link in _LINK.findall(_CODE.sub("", _FENCED.sub("", text))):
        if not _ELSEWHERE.match(link):
            yield link


@cache
def _anchors(path: Path) -> set[str]:
    """Return the anchors that a browser of repositories gives to headings."""
    text = path.read_text()
    # A page that includes another one shows where it is.
    included = [ROOT / name for name in _INCLUDED.findall(text)]
    anchors = {anchor for page in included for anchor in _anchors(page)}
    for heading, named in _HEADING.findall(_FENCED.sub("", text)):
        plain = _TARGET.sub(r"\1", heading).replace("`", "").strip().lower()
        anchors |= {_NOT_IN_ANCHOR.sub("", plain).replace(" ", "-"), named}
    return anchors


def _leads(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not anchor or anchor in _anchors(target))


def test_there_are_documents_with_links() -> None:
    linked = {name for name in _documents() if list(_links((ROOT / name).read_text()))}
    assert {"README.md", "docs/index.md", "docs/reference/limits.md"} <= linked


@pytest.mark.parametrize("name", _documents())
def test_every_link_leads_to_a_file_and_its_heading(name: str) -> None:
    page = ROOT / name
    dead = [link for link in _links(page.read_text()) if not _leads(page, link)]
    assert dead == []


def test_the_first_page_of_the_documentation_lists_every_page() -> None:
    listed = {link.partition("#")[0] for link in _links((DOCS / "index.md").read_text())}
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert pages - listed == {"index.md"}

"""Every page: nothing for axe-core in light and dark, no sideways scrolling, nobody else's."""

import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignIn, judge
from tests.browser.service import Bank

_OTHERS = "a-canary-of-seven"
_MAX_PAGES = 120
_NARROW = 320
_FILES = re.compile(r"export|download|csv|/content$")
_HREFS = """() => [...document.querySelectorAll("a:not([href^='#'])")]
    .map((link) => link.getAttribute("href"))"""
_ID = re.compile(r"[^/]*\d[^/]*")


@pytest.fixture
def filled(bank: Bank) -> Bank:
    """An engine with something to see on every page."""
    labels = {"data_source": "321"}
    memory = bank.remember("I like green tea.", revisionLabels=labels)
    bank.change(memory, "I like coffee.")
    bank.remember("word" * 500, {"user_id": "42", "a-long-key": "value" * 20})
    bank.call("DELETE", f"memories/{bank.remember('It is deleted.')}")
    return bank


def _reached(page: Page, bank: Bank) -> Iterator[str]:
    """Open a page of each kind to which links lead, and a comparison, which a form leads to."""
    waiting = ["/console", f"/console/e/{bank.engine}/memories"]
    kinds: set[str] = set()
    while waiting and len(kinds) < _MAX_PAGES:
        url = waiting.pop(0)
        if _kind(url) in kinds:
            continue
        kinds.add(_kind(url))
        answer = page.goto(url)
        assert answer is not None
        assert answer.status < 400, (url, answer.status)
        yield url
        waiting += _links(page, bank)


def _links(page: Page, bank: Bank) -> Iterator[str]:
    for link in page.evaluate(_HREFS):
        found = urljoin(urlsplit(page.url).path, link).partition("#")[0]
        is_near = found.startswith(f"/console/e/{bank.engine}/") or "/console/e/" not in found
        if found.startswith("/console") and is_near and not _FILES.search(found):
            yield found
    chosen = [
        f"{name}={page.locator(f'input[name={name}]').nth(at).get_attribute('value')}"
        for name, at in (("from", -1), ("to", 0))
        if page.locator("input[name=from]").count() > 1
    ]
    if chosen:
        yield f"{urlsplit(page.url).path}?{'&'.join(chosen)}"


def _kind(url: str) -> str:
    """Return what pages that differ in an id or a value alone have in common."""
    path, mark, _ = url.partition("?")
    return _ID.sub("*", path) + mark


def test_axe_finds_nothing_and_nothing_scrolls_sideways(filled: Bank, open_page: SignIn) -> None:
    page = open_page()
    found = []
    for _ in _reached(page, filled):
        found += judge(page)
        page.set_viewport_size({"width": _NARROW, "height": 640})
        if page.evaluate("document.documentElement.scrollWidth") > _NARROW:
            found.append(f"{page.url}: wider than {_NARROW} pixels")
        page.set_viewport_size({"width": 1280, "height": 720})
    page.context.clear_cookies()
    page.goto("/console/sign-in")
    assert found + judge(page) == []


def test_a_bound_key_meets_nobody_else_at_any_url(filled: Bank, open_page: SignIn) -> None:
    other = filled.remember(f"This is {_OTHERS}.", {"user_id": _OTHERS})
    filled.change(other, f"This is {_OTHERS} again.")
    gone = filled.remember(f"This was {_OTHERS}.", {"user_id": _OTHERS})
    filled.call("DELETE", f"memories/{gone}")
    revision = filled.revisions(other)[-1]["name"].rpartition("/")[2]
    urls = list(_reached(open_page(), filled))
    key = filled.make_key("editor", scopeConditions={"user_id": ["42"]})
    page = open_page(key)
    here = f"/console/e/{filled.engine}/memories"
    for url in (
        *(url for url in urls if _OTHERS not in url),
        *(f"{here}/{one}" for one in (other, gone)),
        f"{here}/{other}/edit",
        f"{here}/{other}/rollback?revision={revision}",
        f"{here}?scope=user_id%3D7",
    ):
        page.goto(url)
        assert _OTHERS not in page.content(), url
    expect(page.locator(".locked")).to_contain_text("user_id=42")

"""A service for all tests, an engine for each, and browsers that nothing escapes.

Each test ends with the judgement of all its pages: the browser's console must be silent, no request
may go to another origin, and nothing may violate the content security policy.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    Request,
    expect,
)

from tests.browser.chromium import MISSING, find
from tests.browser.hands import WAYS, Pointer
from tests.browser.service import Bank, Service, running_service

_FLAGS = [
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
_WAIT_MILLISECONDS = 15_000
# Three times as long as a page waits before it looks for news.
expect.set_options(timeout=_WAIT_MILLISECONDS)
# Schemes differ in colours alone.
_RULES: dict[Literal["light", "dark"], str] = {
    "light": "{resultTypes: ['violations']}",
    "dark": "{resultTypes: ['violations'], runOnly: ['color-contrast']}",
}
_REPORT = """document.addEventListener("securitypolicyviolation", (event) =>
    console.error("policy violated:", event.violatedDirective, event.blockedURI));"""
SignIn = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip everything without a browser."""
    if find() is None:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=MISSING))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    flags = [*_FLAGS, "--no-sandbox"] if os.geteuid() == 0 else _FLAGS
    return {**browser_type_launch_args, "executable_path": find(), "args": flags}


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    with running_service() as found:
        yield found


@pytest.fixture(scope="session")
def root(playwright: Playwright, service: Service) -> Iterator[Bank]:
    """The first engine, with the administrator's key."""
    bank = Bank(playwright, service, "1", service.key)
    yield bank
    bank.close()


_numbers = itertools.count(1)


@pytest.fixture
def bank(playwright: Playwright, service: Service, root: Bank) -> Iterator[Bank]:
    """An engine of the test's own, with the administrator's key."""
    title = {"displayName": f"bank {next(_numbers)}"}
    made = root.call("POST", "/v1/reasoningEngines", title)["response"]["name"]
    found = Bank(playwright, service, made.rpartition("/")[2], service.key)
    yield found
    found.close()
    root.call("DELETE", f"/v1/reasoningEngines/{found.engine}?force=true")


class Watch:
    """What happened in the pages of a test that may not happen."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self.faults: list[str] = []
        self.refused: list[str] = []
        """Parts of addresses that the test means to have refused."""
        self._opened: set[str] = set()

    def add(self, context: BrowserContext) -> None:
        """Watch every page of a context."""
        context.set_default_timeout(_WAIT_MILLISECONDS)
        context.add_init_script(_REPORT)
        context.on("console", self._hear)
        context.on("request", self._see)
        context.on("weberror", lambda error: self.faults.append(str(error.error)))

    def _hear(self, message: ConsoleMessage) -> None:
        is_status, url = "responded with a status of" in message.text, message.location["url"]
        # A page that is refused, such as another's memory, is what a test asks for.
        is_meant = url in self._opened or any(part in url for part in self.refused)
        if not (is_status and is_meant):
            self.faults.append(f"console: {message.text} ({message.location})")

    def _see(self, request: Request) -> None:
        if request.is_navigation_request():
            self._opened.add(request.url)
        if not request.url.startswith((self._origin, "data:", "blob:", "about:")):
            self.faults.append(f"request: {request.url}")


@pytest.fixture(autouse=True)
def watch(service: Service) -> Iterator[Watch]:
    """Judge all pages of a test at its end."""
    found = Watch(service.url)
    yield found
    assert found.faults == []


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any], service: Service) -> dict[str, Any]:
    return {**browser_context_args, "base_url": service.url, "reduced_motion": "reduce"}


@pytest.fixture
def open_page(new_context: Callable[..., BrowserContext], watch: Watch, service: Service) -> SignIn:
    """Open a browser of its own, signed in with a key; none: the administrator's."""

    def opened(key: str | None = None, **options: object) -> Page:
        context = new_context(**options)
        watch.add(context)
        page = context.new_page()
        sign_in(page, key or service.key)
        return page

    return opened


@pytest.fixture(params=WAYS)
def hand(
    request: pytest.FixtureRequest,
    new_context: Callable[..., BrowserContext],
    watch: Watch,
    service: Service,
) -> Pointer:
    """Somebody who is signed in as administrator, by each way to use a page."""
    way: type[Pointer] = WAYS[request.param]
    context = new_context(**way.options)
    watch.add(context)
    found = way(context.new_page())
    found.page.goto("/console")
    found.write(found.page.get_by_label("API key or token"), service.key)
    found.press(found.page.get_by_role("button", name="Sign in"))
    found.page.wait_for_url("**/console")
    return found


def sign_in(page: Page, key: str) -> None:
    """Sign in as a person does."""
    page.goto("/console/sign-in")
    page.get_by_label("API key or token").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/console")


def judge(page: Page) -> list[str]:
    """Return what axe-core finds against a page, in light and dark."""
    page.evaluate(AXE_SCRIPT)
    found = []
    for scheme, options in _RULES.items():
        page.emulate_media(color_scheme=scheme)
        for each in page.evaluate(f"axe.run({options})")["violations"]:
            found += [
                f"{page.url}, {scheme}: {each['id']} {node['target']} {node['failureSummary']}"
                for node in each["nodes"]
            ]
    return found

"""Draws docs/images, in light and dark: a service that has heard the demonstration's talks."""

import json
from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.conftest import sign_in
from tests.browser.service import ROOT, Bank, Json, Service, running_service

SCREENS = (
    ("overview", "{engine}"),
    ("memories", "{engine}/memories"),
    ("memory", "{engine}/memories/{memory}?from={oldest}&to={newest}"),
    ("revisions", "{engine}/revisions?label=conversation%3Dtravel"),
    ("deleted", "{engine}/deleted"),
    ("operation", "{engine}/operations/{operation}"),
    # The last: it keeps memories.
    ("playground", "{engine}/try"),
)
"""The name of each image and the path of its screen."""
_FOLDER = ROOT / "docs" / "images"
_SIZE = {"width": 1280, "height": 720}
_TALL = {"width": 1280, "height": 920}
"""The size of the playground, which has what is kept below what a talk would change."""
_SUFFIXES: dict[Literal["light", "dark"], str] = {"light": "", "dark": "-dark"}
_MAX_BYTES = 230_000


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    with running_service("rules") as found:
        yield found


@pytest.fixture(scope="session")
def ids(root: Bank) -> dict[str, str]:
    """What stands in the paths of the screens."""
    root.call("PATCH", "/v1/reasoningEngines/1", {"displayName": "travel-agent"})
    # Something is in the bin, and one memory has a history.
    root.call("DELETE", f"memories/{root.remember('I used to live in Lyon.')}")
    generated = [_heard(root, "travel", half) for half in (0, 1)]
    _heard(root, "umzug", 0)
    changed = next(one for one in _memories(generated[1]) if one["action"] == "UPDATED")
    memory = changed["memory"]["name"].rpartition("/")[2]
    revisions = [each["name"].rpartition("/")[2] for each in root.revisions(memory)]
    return {
        "engine": "/console/e/1",
        "memory": memory,
        "newest": revisions[0],
        "oldest": revisions[-1],
        "operation": generated[1]["name"].rpartition("/")[2],
    }


def _heard(bank: Bank, name: str, half: int) -> Json:
    talk = json.loads((ROOT / "tests" / "data" / "conversations" / f"{name}.json").read_text())
    events = talk["events"]
    middle = len(events) // 2
    part = events[middle:] if half else events[:middle]
    return bank.generate(
        {
            "scope": talk["scope"],
            "directContentsSource": {"events": part},
            "revisionLabels": {"conversation": name, "part": ("first-half", "second-half")[half]},
        }
    )


def _memories(operation: Json) -> list[Json]:
    found: list[Json] = operation["response"]["generatedMemories"]
    return found


def _play(page: Page) -> None:
    """Keep the first talk of the playground, and look at what the second would change."""
    page.set_viewport_size(_TALL)
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("region", name="In your playground").wait_for()
    page.get_by_role("link", name="A change of mind").click()
    page.get_by_role("button", name="What would be remembered?").click()
    page.get_by_text("Updated").first.wait_for()
    page.evaluate("scrollTo(0, 0)")


@pytest.mark.parametrize("scheme", _SUFFIXES)
@pytest.mark.parametrize(("name", "path"), SCREENS, ids=[name for name, _ in SCREENS])
def test_screen_is_drawn(
    name: str,
    path: str,
    scheme: Literal["light", "dark"],
    ids: dict[str, str],
    service: Service,
    new_context: Callable[..., BrowserContext],
) -> None:
    page = new_context(viewport=_SIZE, color_scheme=scheme).new_page()
    sign_in(page, service.key)
    answer = page.goto(path.format(**ids))
    assert answer is not None
    assert answer.ok, page.url
    if name == "playground":
        _play(page)
    _FOLDER.mkdir(exist_ok=True)
    drawn = page.screenshot(path=_FOLDER / f"console-{name}{_SUFFIXES[scheme]}.png")
    assert len(drawn) < _MAX_BYTES

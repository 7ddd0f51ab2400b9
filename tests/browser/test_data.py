"""All data of an engine: into a new one, out of it, away, and into another."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignIn, judge
from tests.browser.hands import Pointer, PointerWithoutScripts
from tests.browser.service import Bank

_NAME = "Travel 東京 وكيل"
_WIDE, _PHONE = 1440, 390
_FACTS = ("I like tea.", "أحب القهوة.")


def _create(hand: Pointer, name: str, button: str) -> str:
    """Create an engine by its form; return its id."""
    page = hand.page
    page.goto("/console")
    hand.press(page.get_by_role("link", name="New engine"))
    hand.write(page.get_by_label("Display name"), name)
    hand.press(page.get_by_role("button", name=button, exact=True))
    return str(page.url.split("/e/")[1].partition("/")[0])


def _import(hand: Pointer, engine: str, file: Path) -> None:
    """Import a file of which two lines are memories, and the third is none."""
    page, main = hand.page, hand.page.locator("main")
    page.goto(f"/console/e/{engine}/memories")
    hand.press(main.get_by_role("link", name="Import"))
    page.get_by_label("File", exact=True).set_input_files(file)
    hand.press(page.get_by_role("button", name="Dry run"), leaves=False)
    expect(page.get_by_role("region", name="Lines that fail")).to_contain_text("Line 3")
    if isinstance(hand, PointerWithoutScripts):
        # Without scripts, the answer is a page of its own, for which no browser keeps the file.
        page.get_by_label("File", exact=True).set_input_files(file)
    hand.press(page.get_by_role("button", name="Import 2 memories"), leaves=False)
    expect(main).to_contain_text("What the import did")


def test_an_engine_goes_and_comes_back_from_its_archive(
    root: Bank, hand: Pointer, tmp_path: Path
) -> None:
    page, main = hand.page, hand.page.locator("main")
    engine = _create(hand, _NAME, "Create")
    expect(page.locator("#side .switch")).to_contain_text("Travel 東京")
    lines = [json.dumps({"fact": fact, "scope": {"user_id": "42"}}) for fact in _FACTS]
    file = tmp_path / "memories.ndjson"
    file.write_text("\n".join([*lines, "{"]))
    _import(hand, engine, file)
    page.goto(f"/console/e/{engine}/data")
    with page.expect_download() as caught:
        hand.press(page.get_by_role("button", name="Download the archive"), leaves=False)
    archive = tmp_path / caught.value.suggested_filename
    caught.value.save_as(archive)
    assert archive.name.endswith(".omb.gz")
    hand.press(main.get_by_role("link", name="Delete engine"))
    expect(main).to_contain_text("Nothing brings it back")
    hand.write(page.get_by_label("To confirm"), _NAME)
    hand.press(page.get_by_role("button", name="Delete the engine with 2 memories"))
    page.wait_for_url("**/console")
    expect(main).not_to_contain_text("Travel 東京")
    other = _create(hand, "For now", "Create, and restore an archive")
    page.get_by_label("Archive", exact=True).set_input_files(archive)
    hand.press(page.get_by_role("button", name="Restore"))
    expect(main).to_contain_text("The archive is restored.")
    hand.press(page.get_by_role("link", name="Open the engine"))
    page.goto(f"/console/e/{other}/memories")
    for fact in _FACTS:
        expect(main).to_contain_text(fact)
    expect(page.locator("#side .switch")).to_contain_text("Travel 東京")
    root.call("DELETE", f"/v1/reasoningEngines/{other}?force=true")


@pytest.mark.parametrize("width", [_WIDE, _PHONE])
def test_answers_to_files_fit_and_have_names(
    bank: Bank, open_page: SignIn, tmp_path: Path, width: int
) -> None:
    name = "word" * 25 + " مرحبا"
    bank.call("PATCH", f"/v1/reasoningEngines/{bank.engine}", {"displayName": name})
    file = tmp_path / "memories.ndjson"
    line = {"fact": "x" * 300, "scope": {"user_id": "42"}}
    bad = {**line, "metadata": {"k" * 120: {"stringValue": 7}}}
    file.write_text("\n".join(map(json.dumps, [line, bad])))
    page = open_page(viewport={"width": width, "height": 844})
    here = f"/console/e/{bank.engine}"

    found = []

    def check() -> None:
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{page.url} is too wide")
        found.extend(judge(page))

    for url in (
        "/console",
        "/console/engines/new",
        here,
        *(f"{here}/{x}" for x in ("data", "delete")),
    ):
        page.goto(url)
        check()
    for below, labels in (
        ("import", (("File", "Dry run"), ("File", "Import 1 memory"))),
        ("restore", (("Archive", "Restore"),)),
    ):
        page.goto(f"{here}/{below}")
        check()
        for label, button in labels:
            page.get_by_label(label, exact=True).set_input_files(file)
            page.get_by_role("button", name=button).click()
            page.locator("#counts, .note.bad").first.wait_for()
            check()
    assert found == []

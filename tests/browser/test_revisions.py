"""Revisions over all memories: by a label and an action, and the same rows in a file."""

import json
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.hands import Pointer
from tests.browser.service import Bank

_FILTER = 'labels.data_source="321" AND action="DELETED"'


def test_revisions_of_a_label_are_filtered_and_downloaded(bank: Bank, hand: Pointer) -> None:
    labels = {"revisionLabels": {"data_source": "321"}}
    for fact in ("One.", "Two."):
        memory = bank.remember(fact, **labels)
        bank.call("DELETE", f"memories/{memory}", labels)
    bank.remember("Three.", revisionLabels={"data_source": "9"})
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/revisions")
    hand.write(page.get_by_label("Label, as key=value"), "data_source=321")
    hand.press(page.get_by_role("button", name="Show"), leaves=False)
    expect(page.locator("tr[data-row]")).to_have_count(4)
    hand.press(page.locator(".filter summary"), leaves=False)
    hand.pick(page.get_by_label("Action", exact=True), "DELETED")
    hand.press(page.get_by_role("button", name="Show"), leaves=False)
    expect(page.locator("tr[data-row]")).to_have_count(2)
    with page.expect_download() as download:
        link = page.get_by_role("link", name="NDJSON")
        hand.press(link, leaves=False)
    lines = Path(download.value.path()).read_text().splitlines()
    found = bank.call("GET", f"memories/-/revisions?filter={quote(_FILTER)}")["memoryRevisions"]
    assert {json.loads(line)["name"] for line in lines} == {each["name"] for each in found}
    assert len(lines) == 2

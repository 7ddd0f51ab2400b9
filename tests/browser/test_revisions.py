"""Revisions over all memories: by a label and an action, and the same rows in a file."""

import json
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.conftest import SignIn
from tests.browser.service import Bank

_FILTER = 'labels.data_source="321" AND action="DELETED"'


def test_revisions_of_a_label_are_filtered_and_downloaded(bank: Bank, open_page: SignIn) -> None:
    labels = {"revisionLabels": {"data_source": "321"}}
    for fact in ("One.", "Two."):
        memory = bank.remember(fact, **labels)
        bank.call("DELETE", f"memories/{memory}", labels)
    bank.remember("Three.", revisionLabels={"data_source": "9"})
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/revisions")
    page.get_by_label("Label, as key=value").fill("data_source=321")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tr[data-row]")).to_have_count(4)
    page.get_by_label("Action", exact=True).select_option("DELETED")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tr[data-row]")).to_have_count(2)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all of them as NDJSON").click()
    lines = Path(download.value.path()).read_text().splitlines()
    found = bank.call("GET", f"memories/-/revisions?filter={quote(_FILTER)}")["memoryRevisions"]
    assert {json.loads(line)["name"] for line in lines} == {each["name"] for each in found}
    assert len(lines) == 2

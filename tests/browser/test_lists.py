"""Lists: a filter is downloaded with exactly its rows; the chosen get a label and come back."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignIn, judge
from tests.browser.hands import Pointer
from tests.browser.service import Bank


def test_a_filter_is_downloaded_with_exactly_its_rows(bank: Bank, hand: Pointer) -> None:
    for fact in ("I like green tea.", "=I like black tea.", "I live in Oslo."):
        bank.remember(fact)
    bank.remember("Their tea.", {"user_id": "7"})
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/memories")
    hand.write(page.get_by_label("Scope, as key=value"), "user_id=42")
    hand.write(page.get_by_label("Text within the fact"), "tea")
    hand.press(page.get_by_role("button", name="Show"), leaves=False)
    expect(page.locator("tr[data-row]")).to_have_count(2)
    with page.expect_download() as download:
        hand.press(page.get_by_role("link", name="CSV"), leaves=False)
    file = download.value
    assert file.suggested_filename.startswith(f"engine-{bank.engine}-memories-2")
    with Path(file.path()).open(encoding="utf-8-sig", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [row["fact"] for row in rows] == ["'=I like black tea.", "I like green tea."]
    # A refusal is a page.
    page.goto(f"/console/e/{bank.engine}/memories?page=x&export=csv")
    expect(page.get_by_role("heading", level=1)).to_have_text("This did not work")


def test_the_chosen_get_a_label_and_come_back(bank: Bank, hand: Pointer) -> None:
    for number in range(3):
        bank.remember(f"Fact {number}.")
    page = hand.page
    here = f"/console/e/{bank.engine}"
    page.goto(f"{here}/memories")
    for number in range(2):
        hand.tick(page.locator("tr[data-row]", has_text=f"Fact {number}.").get_by_role("checkbox"))
    hand.press(page.get_by_role("button", name="Label the chosen…"))
    expect(page.get_by_role("main")).to_contain_text("Memories to label: 2")
    hand.write(page.get_by_label("Key in the metadata"), "team")
    hand.write(page.get_by_label("Value; empty removes the key"), "red")
    hand.press(page.get_by_role("button", name="Label 2"))
    page.goto(f"{here}/memories?metadata=team%3Dred")
    expect(page.locator("tr[data-row]")).to_have_count(2)
    bank.call("POST", "memories:purge", {"filter": 'scope.user_id="42"', "force": True})
    page.goto(f"{here}/deleted")
    hand.tick(page.locator("tr[data-row]", has_text="Fact 1.").get_by_role("checkbox"))
    hand.press(page.get_by_role("button", name="Bring back the chosen…"))
    expect(page.get_by_role("main")).to_contain_text("Memories to bring back: 1")
    hand.press(page.get_by_role("button", name="Bring back 1"))
    page.goto(f"{here}/memories")
    expect(page.locator("tr[data-row]")).to_have_count(1)


@pytest.mark.parametrize("place", ["labelling", "recovery"])
def test_what_is_asked_before_a_deed_has_no_fault(
    bank: Bank, open_page: SignIn, place: str
) -> None:
    memory = bank.remember("Fact.")
    if place == "recovery":
        bank.call("DELETE", f"memories/{memory}")
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/{place}?which=page")
    expect(page.get_by_role("link", name="Fact.")).to_be_visible()
    assert judge(page) == []


def test_a_span_of_time_keeps_what_was_typed_before_it(bank: Bank, open_page: SignIn) -> None:
    bank.remember("I like green tea.", {"user_id": "a"})
    bank.remember("I like black tea.", {"user_id": "b"})
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/memories")
    page.get_by_label("Scope, as key=value").fill("user_id=a")
    expect(page.locator("tr[data-row]")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/memories\?scope=user_id%3Da$"))
    expect(page.get_by_role("link", name="Clear")).to_be_visible()
    page.get_by_role("link", name="24 h").click()
    page.wait_for_url("**changed_after**")
    expect(page.locator("tr[data-row]")).to_have_count(1)

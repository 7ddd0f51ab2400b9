"""The bin: a memory comes back, with its time running; a whole purge is undone."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignIn
from tests.browser.hands import Pointer
from tests.browser.service import Bank, Json


@pytest.mark.parametrize("config", [{}, {"disableMemoryRevisions": True}], ids=["", "unrevised"])
def test_a_deleted_memory_counts_down_and_comes_back(
    bank: Bank, hand: Pointer, config: Json
) -> None:
    engine = {"contextSpec": {"memoryBankConfig": config}}
    bank.call("PATCH", f"/v1/reasoningEngines/{bank.engine}", engine)
    bank.remember("I like green tea.")
    bank.remember("I live in Oslo.")
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/memories")
    hand.tick(page.locator("tr[data-row]", has_text="green tea").get_by_role("checkbox"))
    hand.press(page.get_by_role("button", name="Delete the chosen…"))
    expect(page.get_by_role("main")).to_contain_text("Memories to delete: 1")
    hand.press(page.get_by_role("button", name="Delete 1"))
    page.wait_for_url(lambda url: "deletion" not in url)
    assert _found(bank) == ["I live in Oslo."]
    page.goto(f"/console/e/{bank.engine}/deleted")
    row = page.locator("tr[data-row]", has_text="green tea")
    expect(row).to_contain_text(re.compile(r"4[78] h"))
    expect(page.get_by_text("Oslo")).to_have_count(0)
    hand.press(row.get_by_role("button", name="Bring back"))
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.get_by_role("link", name="I like green tea.")).to_be_visible()
    assert sorted(_found(bank)) == ["I like green tea.", "I live in Oslo."]


def _found(bank: Bank) -> list[str]:
    asked = {"scope": {"user_id": "42"}, "similaritySearchParams": {"searchQuery": "green tea"}}
    hits = bank.call("POST", "memories:retrieve", asked).get("retrievedMemories", [])
    return [hit["memory"]["fact"] for hit in hits]


def test_a_whole_purge_is_undone_from_the_bin(bank: Bank, open_page: SignIn) -> None:
    for number in range(3):
        bank.remember(f"Fact {number}.")
    bank.call("POST", "memories:purge", {"filter": 'scope.user_id="42"', "force": True})
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/deleted")
    expect(page.locator("tr[data-row]")).to_have_count(3)
    page.get_by_role("link", name="Undo all of it").first.click()
    page.get_by_role("button", name="Show what it would do").click()
    page.locator("#preview").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("main")).to_contain_text("Succeeded")
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.locator("tr[data-row]")).to_have_count(3)

"""The bin: a memory comes back, with its time running; a whole purge is undone."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import SignIn
from tests.browser.service import Bank


def test_a_deleted_memory_counts_down_and_comes_back(bank: Bank, open_page: SignIn) -> None:
    bank.remember("I like green tea.")
    bank.remember("I live in Oslo.")
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/memories")
    page.locator("tr[data-row]", has_text="green tea").get_by_role("checkbox").check()
    page.get_by_role("button", name="Delete the chosen…").click()
    expect(page.get_by_role("main")).to_contain_text("Memories to delete: 1")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url(lambda url: "deletion" not in url)
    page.goto(f"/console/e/{bank.engine}/deleted")
    row = page.locator("tr[data-row]", has_text="green tea")
    expect(row).to_contain_text(re.compile(r"4[78] h"))
    expect(page.get_by_text("Oslo")).to_have_count(0)
    row.get_by_role("button", name="Bring back").click()
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.get_by_role("link", name="I like green tea.")).to_be_visible()


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
    expect(page.get_by_role("main")).to_contain_text("SUCCEEDED")
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.locator("tr[data-row]")).to_have_count(3)

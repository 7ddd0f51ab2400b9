"""Search: both rankings side by side, each result with its reasons."""

from playwright.sync_api import expect

from tests.browser.conftest import SignIn
from tests.browser.service import Bank


def test_a_search_shows_both_rankings_and_why(bank: Bank, open_page: SignIn) -> None:
    for fact in ("I prefer window seats.", "I am allergic to shellfish.", "I live in Oslo."):
        bank.remember(fact)
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/search")
    page.get_by_label("Scope, as key=value").fill("user_id=42")
    page.get_by_label("Question").fill("Which window seats does the user like?")
    page.locator(".filter summary").click()
    page.get_by_label("Ranking").select_option("both")
    page.get_by_role("main").get_by_role("button", name="Search").click()
    for ranking in ("Hybrid", "Vector"):
        column = page.get_by_role("region", name=ranking, exact=True)
        first = column.locator("[data-row]").first
        expect(first).to_contain_text("I prefer window seats.")
        first.locator("summary").click()
        expect(first).to_contain_text("Vector distance")

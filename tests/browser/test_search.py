"""Search: both rankings side by side, each result with its reasons."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import SignIn
from tests.browser.service import Bank


def test_a_search_shows_both_rankings_and_why(bank: Bank, open_page: SignIn) -> None:
    for fact in ("I prefer window seats.", "I am allergic to shellfish.", "I live in Oslo."):
        bank.remember(fact)
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/search")
    page.get_by_label(re.compile("^Scope")).first.fill("user_id=42")
    page.get_by_label("Question").fill("Which window seats does the user like?")
    page.get_by_role("main").get_by_role(
        "button", name=re.compile("^search", re.IGNORECASE)
    ).click()
    results = page.get_by_role("main")
    expect(results.get_by_text("I prefer window seats.")).to_have_count(2)
    for word in ("hybrid", "vector", "window"):
        expect(results.get_by_text(re.compile(word, re.IGNORECASE)).first).to_be_visible()

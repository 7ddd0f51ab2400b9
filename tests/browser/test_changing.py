"""Changing one memory: edit, compare, roll back; two tabs at once."""

from playwright.sync_api import expect

from tests.browser.conftest import SignIn
from tests.browser.hands import Pointer
from tests.browser.service import Bank


def test_a_memory_is_edited_compared_and_rolled_back(bank: Bank, hand: Pointer) -> None:
    memory = bank.remember("I like green tea.")
    bank.change(memory, "I like black tea.")
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/memories/{memory}")
    hand.press(page.get_by_role("link", name="Edit", exact=True))
    hand.write(page.get_by_label("Fact", exact=True), "I like coffee.")
    hand.press(page.get_by_role("button", name="Save"))
    expect(page.locator("p.fact")).to_have_text("I like coffee.")
    newest, _, oldest = (each["name"].rpartition("/")[2] for each in bank.revisions(memory))
    hand.tick(page.get_by_label(f"From {oldest}"))
    hand.tick(page.get_by_label(f"To {newest}"))
    hand.press(page.get_by_role("button", name="Compare"))
    compared = page.get_by_role("region", name="What changed")
    expect(compared.locator("del")).to_contain_text("green tea")
    expect(compared.locator("ins")).to_contain_text("coffee")
    hand.press(page.get_by_role("link", name="Roll back to this").last, leaves=False)
    hand.press(page.get_by_role("button", name="Roll back"))
    expect(page.locator("p.fact")).to_have_text("I like green tea.")
    actions = [each["action"] for each in bank.revisions(memory)]
    assert actions == ["ROLLED_BACK", "UPDATED", "UPDATED", "CREATED"]


def test_of_two_tabs_the_second_sees_both_texts_and_what_it_was(
    bank: Bank, open_page: SignIn
) -> None:
    memory = bank.remember("It was this.")
    first = open_page()
    second = first.context.new_page()
    for page in (first, second):
        page.goto(f"/console/e/{bank.engine}/memories/{memory}/edit")
    first.get_by_label("Fact", exact=True).fill("This is theirs.")
    first.get_by_role("button", name="Save").click()
    expect(first.locator("p.fact")).to_have_text("This is theirs.")
    second.get_by_label("Fact", exact=True).fill("This is mine.")
    second.get_by_role("button", name="Save").click()
    for text in ("It was this.", "This is theirs.", "This is mine."):
        expect(second.locator("dl", has_text="Yours")).to_contain_text(text)
    second.get_by_role("button", name="Save").click()
    expect(second.locator("p.fact")).to_have_text("This is mine.")

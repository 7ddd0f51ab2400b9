"""Reading: sign in, list, open; by keyboard alone; without scripts; hostile texts; many rows."""

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import SignIn, Watch
from tests.browser.hands import Pointer
from tests.browser.service import Bank, Service

_HOSTILE = (
    "<script>document.title = 'taken'</script><img src=x onerror=alert(1)> {{ 7 * 7 }}",
    "\u202etxet desrever \u0645\u0631\u062d\u0628\u0627",
    "x" * 10_000,
)


def test_the_memories_are_three_clicks_from_the_key(
    bank: Bank, service: Service, new_context: Callable[..., BrowserContext], watch: Watch
) -> None:
    bank.remember("I like green tea.")
    context = new_context()
    watch.add(context)
    page = context.new_page()
    page.goto("/console")
    page.get_by_label("API key or token").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("does not open the console")
    page.get_by_label("API key or token").fill(service.key)
    page.get_by_role("button", name="Sign in").click()
    page.locator(f"main a[href='/console/e/{bank.engine}']").click()
    page.get_by_role("link", name="Memories", exact=True).first.click()
    page.get_by_role("link", name="I like green tea.").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Memory")
    expect(page.locator(".rail")).to_contain_text("Created")
    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_keys_alone_lead_to_a_memory_and_change_it(bank: Bank, open_page: SignIn) -> None:
    for fact in ("I like tea.", "I like milk."):
        bank.remember(fact)
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/memories")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("[data-filter]").first).to_be_focused()
    page.keyboard.type("user_id=42")
    _tab_to(page, page.get_by_role("button", name="Show"))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("scope=user_id"))
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_url("**/memories")
    for key in ("j", "j", "k"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_url("**/memories/*")
    edit = page.get_by_role("link", name="Edit", exact=True)
    _tab_to(page, edit)
    page.keyboard.press("Enter")
    fact = page.get_by_label("Fact", exact=True)
    _tab_to(page, fact)
    page.keyboard.type("By keys alone. ")
    _tab_to(page, page.get_by_role("button", name="Save"))
    page.keyboard.press("Enter")
    expect(page.locator("p.fact")).to_contain_text("By keys alone.")


def _tab_to(page: Page, target: Locator) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if target.evaluate("(one) => one === document.activeElement"):
            return
    raise AssertionError("The keyboard does not lead there.")


def test_a_filter_and_three_presses_lead_to_a_memory(bank: Bank, hand: Pointer) -> None:
    bank.remember("I like coffee.")
    bank.remember("I live in Oslo.", {"user_id": "7"})
    page = hand.page
    hand.press(page.locator(f"main a[href='/console/e/{bank.engine}']"))
    hand.press(page.get_by_role("link", name="Memories", exact=True).first)
    hand.write(page.get_by_label("Scope, as key=value"), "user_id=42")
    hand.press(page.get_by_role("button", name="Show"), leaves=False)
    expect(page.get_by_text("I live in Oslo.")).to_have_count(0)
    hand.press(page.get_by_role("link", name="I like coffee."))
    expect(page.locator(".rail")).to_contain_text("Created")


def test_hostile_texts_stay_texts(bank: Bank, open_page: SignIn) -> None:
    memories = [bank.remember(fact) for fact in _HOSTILE]
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.locator("main img, main script")).to_have_count(0)
    for memory, shown in zip(memories, ("onerror", "[U+202E]", "x" * 1_000), strict=True):
        page.goto(f"/console/e/{bank.engine}/memories/{memory}")
        expect(page.locator("p.fact")).to_contain_text(shown)
        expect(page.locator("main img, main script")).to_have_count(0)
        assert "taken" not in page.title()


def test_the_thousandth_page_has_a_way_on_and_a_way_back(
    bank: Bank, service: Service, open_page: SignIn
) -> None:
    service.insert_memories(bank.engine, 60_000)
    token = ""
    for _ in range(50):  # pages of 999 rows: those before the thousandth page of fifty
        found = bank.call("GET", f"memories?pageSize=999&pageToken={token}")
        token = found["nextPageToken"]
    page = open_page()
    first = f"/console/e/{bank.engine}/memories"
    page.goto(f"{first}?page={token}")
    expect(page.locator("tr[data-row]")).to_have_count(50)
    page.get_by_role("link", name="Older").click()
    expect(page.locator("tr[data-row]")).to_have_count(50)
    page.get_by_role("link", name="First").click()
    page.wait_for_url(f"**{first}")

"""Measures of the console: clicks for a job, rows on a screen, widths, numbers, and print."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignIn
from tests.browser.hands import Pointer
from tests.browser.service import Bank, Service

_PHONE = {"width": 390, "height": 844}
_DESKTOP = {"width": 1440, "height": 900}
_FIRST_ROW = 420
_MOST_PIXELS = 12_000
_ROWS_ON_A_SCREEN = 15
_LONG_NUMBER = re.compile(r"[0-9]{1,3}(,[0-9]{3}){2,}|[0-9]{18}")
_LISTS = (
    "{engine}/memories",
    "{engine}/revisions",
    "{engine}/operations",
    "{engine}/deleted",
    "{engine}/sessions",
    "{engine}/streams",
    "{engine}/audit",
    "/console/keys",
)
# Cells of rows that are narrower than six of their digits, so that their words are broken.
_NARROW = """() => [...document.querySelectorAll("main .table td")].filter((cell) => {
    const text = cell.innerText.trim();
    const box = cell.getBoundingClientRect();
    if (text.length < 6 || !box.width) return false;
    const probe = document.createElement("span");
    probe.textContent = "000000";
    cell.append(probe);
    const least = probe.getBoundingClientRect().width;
    probe.remove();
    const words = document.createRange();
    words.selectNodeContents(cell);
    const lines = new Set([...words.getClientRects()].map((rect) => Math.round(rect.top)));
    return box.width < least && lines.size > 1;
}).map((cell) => cell.innerText)"""


@pytest.fixture
def filled(bank: Bank, service: Service) -> Bank:
    """An engine with 60 rows of memories and failures, and a row of each other list."""
    service.insert_memories(bank.engine, 60)
    service.insert_failures(bank.engine, 60)
    for number in range(20):
        memory = bank.remember(f"I like tea of the kind {number}.", {"user_id": f"user-{number}"})
        if number < 3:
            bank.call("DELETE", f"memories/{memory}")
    bank.call("POST", "sessions", {"userId": "user-0042"})
    event = {"content": {"role": "user", "parts": [{"text": "I like green tea."}]}}
    waits = {"generationTriggerConfig": {"generationRule": {"idleDuration": "3600s"}}}
    source = {"directContentsSource": {"events": [event]}, "scope": {"user_id": "user-0042"}}
    bank.call("POST", "memories:ingestEvents", {**source, **waits})
    bank.make_key("viewer")
    return bank


def _lists(page: Page, bank: Bank) -> Iterator[str]:
    """Open each list and yield its address."""
    for path in _LISTS:
        url = path.format(engine=f"/console/e/{bank.engine}")
        page.goto(url)
        expect(page.locator("tr[data-row]").first).to_be_visible()
        yield url


def test_on_a_phone_rows_come_early_and_are_neither_narrow_nor_long(
    filled: Bank, open_page: SignIn
) -> None:
    page = open_page(viewport=_PHONE)
    found = []
    for url in _lists(page, filled):
        box = page.locator("tr[data-row]").first.bounding_box()
        assert box is not None
        if box["y"] >= _FIRST_ROW:
            found.append((url, "the first row stands at", box["y"]))
        rows = page.locator("tr[data-row]").count()
        height = page.evaluate("document.querySelector('main').scrollHeight")
        if height * 50 / max(rows, 50) >= _MOST_PIXELS:
            found.append((url, "is too long", height))
        found += [(url, "is narrow", cell) for cell in page.evaluate(_NARROW)]
        if page.evaluate("document.documentElement.scrollWidth") > _PHONE["width"]:
            found.append((url, "scrolls sideways", rows))
    assert found == []


@pytest.mark.parametrize("path", ["memories", "operations"])
def test_fifteen_rows_are_on_one_screen(
    service: Service, bank: Bank, open_page: SignIn, path: str
) -> None:
    for number in range(20):
        bank.remember(f"I like tea of the kind {number}.", {"user_id": f"user-{number}"})
    service.insert_failures(bank.engine, 20)
    page = open_page(viewport=_DESKTOP)
    page.goto(f"/console/e/{bank.engine}/{path}")
    expect(page.locator("tr[data-row]").first).to_be_visible()
    whole = page.evaluate(
        """(height) => [...document.querySelectorAll("tr[data-row]")]
        .filter((row) => row.getBoundingClientRect().bottom <= height).length""",
        _DESKTOP["height"],
    )
    assert whole >= _ROWS_ON_A_SCREEN


def test_numbers_of_many_digits_stand_in_titles_only(filled: Bank, open_page: SignIn) -> None:
    page = open_page()
    found = []
    for url in (*_lists(page, filled), f"/console/e/{filled.engine}"):
        page.goto(url)
        # What is read aloud names rows by their whole ids.
        page.evaluate("document.querySelectorAll('.hidden').forEach((one) => one.remove())")
        shown = page.evaluate("document.body.innerText")
        found += [(url, match[0]) for match in _LONG_NUMBER.finditer(shown)]
    assert found == []


def test_one_click_shows_the_cost_of_an_engine(
    bank: Bank, service: Service, open_page: SignIn
) -> None:
    service.model_says({"facts": []})
    source = {"events": [{"content": {"role": "user", "parts": [{"text": "I like tea."}]}}]}
    bank.generate({"scope": {"user_id": "42"}, "directContentsSource": source})
    page = open_page()
    page.goto(f"/console/e/{bank.engine}")
    page.get_by_role("link", name="Usage", exact=True).click()
    expect(page.locator(".tally").first).to_contain_text("Cost")


def test_one_press_finds_a_bare_id(bank: Bank, hand: Pointer) -> None:
    memory = bank.remember("I like green tea.")
    page = hand.page
    page.goto(f"/console/e/{bank.engine}")
    hand.write(page.get_by_label("Find by id, user or words"), memory)
    page.keyboard.press("Enter")
    expect(page.locator("p.fact")).to_have_text("I like green tea.")


def test_three_clicks_roll_back_from_the_list_of_revisions(bank: Bank, hand: Pointer) -> None:
    memory = bank.remember("I like green tea.")
    bank.change(memory, "I like coffee.")
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/revisions")
    hand.press(page.get_by_role("link", name="I like green tea.").first)
    hand.press(page.get_by_role("link", name="Roll back to this").last, leaves=False)
    hand.press(page.get_by_role("button", name="Roll back"))
    expect(page.locator("p.fact")).to_have_text("I like green tea.")
    expect(page.locator(".flash")).to_contain_text("Rolled back to revision")


def test_a_hidden_list_is_not_renewed(bank: Bank, open_page: SignIn) -> None:
    bank.remember("I like green tea.")
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/operations")
    expect(page.locator("tr[data-row]").first).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    hide = "Object.defineProperty(document, 'hidden', {configurable: true, get: () => %s})"
    page.evaluate(hide % "true")
    page.wait_for_timeout(6_000)
    assert asked == []
    page.evaluate(hide % "false")
    with page.expect_request(lambda request: "/operations" in request.url):
        pass


def test_a_printed_memory_is_its_fact_its_fields_and_its_timeline(
    bank: Bank, open_page: SignIn
) -> None:
    memory = bank.remember("I like green tea.")
    bank.change(memory, "I like coffee.")
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/memories/{memory}")
    page.emulate_media(media="print", color_scheme="dark")
    for gone in (".side", ".top", ".actions", ".curl", ".copy", "button"):
        for each in page.locator(gone).all():
            expect(each).to_be_hidden()
    for shown in ("p.fact", ".facts", ".rail"):
        expect(page.locator(shown).first).to_be_visible()
    after = "(one) => getComputedStyle(one, '::after').content"
    assert memory in page.locator(".facts .id > [title]").first.evaluate(after)
    black = page.locator("p.fact").evaluate("(one) => getComputedStyle(one).color")
    assert black == "rgb(18, 24, 31)"
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(ground) == "rgba(0, 0, 0, 0)"


def test_the_counts_stand_at_the_side(bank: Bank, service: Service, open_page: SignIn) -> None:
    bank.remember("I like green tea.")
    service.insert_failures(bank.engine, 2)
    page = open_page()
    page.goto(f"/console/e/{bank.engine}")
    expect(page.locator("#count-memories")).to_have_text("1")
    expect(page.locator("#count-operations")).to_contain_text("2")

"""The playground: an example, what it would write, what is kept and found, and the way back."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignIn, judge
from tests.browser.hands import Pointer
from tests.browser.service import Bank, Service

_FACT = "I prefer window seats."
_FACTS = {
    "facts": [
        {"fact": _FACT, "quote": "I prefer window seats", "line": 4, "topics": ["USER_PREFERENCES"]}
    ]
}
_VERDICT = {"fact": 0, "holds": True, "action": "add", "memory": "", "text": ""}
_ANSWERS = (_FACTS, {"verdicts": [_VERDICT]})
_WIDE, _PHONE = 1440, 390


def test_an_example_is_tried_kept_found_and_forgotten(
    bank: Bank, service: Service, hand: Pointer
) -> None:
    service.model_says(*_ANSWERS, *_ANSWERS)
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/memories")
    hand.press(page.get_by_role("link", name="Try it"))
    expect(page.locator("#estimate")).to_contain_text("openai:scripted")
    hand.press(page.get_by_role("button", name="What would be remembered?"))
    planned = page.get_by_role("region", name="What would be remembered")
    expect(planned).to_contain_text(_FACT)
    assert bank.call("GET", "memories")["memories"] == []
    hand.press(page.get_by_role("button", name="Keep it"))
    expect(page.get_by_role("region", name="In your playground")).to_contain_text(_FACT)
    hand.write(page.get_by_role("textbox", name="Question"), "Where does the user like to sit?")
    hand.press(page.get_by_role("button", name="Ask"))
    for column in ("Hybrid", "Vector", "What the agent gets"):
        expect(page.get_by_role("region", name=column, exact=True)).to_contain_text(_FACT)
    hand.press(page.get_by_role("link", name="Empty it"))
    hand.press(page.get_by_role("button", name="Delete 1"))
    expect(page.get_by_role("main")).to_contain_text(_FACT)
    assert bank.call("GET", "memories")["memories"] == []


def test_the_estimate_follows_what_is_typed(bank: Bank, open_page: SignIn) -> None:
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/try")
    page.get_by_role("textbox", name="Talk").fill("User: " + "I like tea. " * 100)
    expect(page.locator("#estimate")).to_contain_text("About 302 tokens")
    assert page.locator("#estimate input").input_value() == "302"


@pytest.mark.parametrize("width", [_WIDE, _PHONE])
def test_long_and_foreign_talks_fit(
    bank: Bank, service: Service, open_page: SignIn, width: int
) -> None:
    page = open_page(viewport={"width": width, "height": 844})
    for talk in ("User: " + "word" * 500, "User: 私は緑茶が好きです。\nUser: أحب القهوة."):
        service.model_says({"facts": []}, {"facts": []})
        page.goto(f"/console/e/{bank.engine}/try")
        page.get_by_role("textbox", name="Talk").fill(talk)
        expect(page.locator("#estimate input")).to_have_value(str(-(-len(talk) // 4)))
        page.get_by_role("button", name="What would be remembered?").click()
        expect(page.locator("#results")).to_contain_text("Nothing would be remembered.")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert judge(page) == []

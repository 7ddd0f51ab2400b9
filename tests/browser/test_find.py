"""The search at the top: four clicks from a user to the conversation, and a narrow screen."""

from playwright.sync_api import expect

from tests.browser.conftest import SignIn, judge
from tests.browser.hands import Pointer
from tests.browser.service import Bank, Service

_TEXT = "I like green tea."
_FACTS = {"facts": [{"fact": _TEXT, "quote": _TEXT, "line": 0, "topics": ["USER_PREFERENCES"]}]}
_VERDICT = {"fact": 0, "holds": True, "action": "add", "memory": "", "text": ""}
_NARROW = 320


def test_four_clicks_lead_from_a_user_to_the_conversation(
    bank: Bank, service: Service, hand: Pointer
) -> None:
    session = bank.call("POST", "sessions", {"userId": "user-0042"})["response"]["name"]
    said = {
        "author": "user",
        "invocationId": "i",
        "timestamp": "2026-01-15T12:00:00Z",
        "content": {"role": "user", "parts": [{"text": _TEXT}]},
    }
    bank.call("POST", f"/v1beta1/{session}:appendEvent", said)
    service.model_says(_FACTS, {"verdicts": [_VERDICT]})
    assert "response" in bank.generate({"vertexSessionSource": {"session": session}})
    page = hand.page
    page.goto(f"/console/e/{bank.engine}")
    hand.write(page.get_by_label("Find by id, user or words"), "user-0042")
    page.keyboard.press("Enter")
    hand.press(page.get_by_role("region", name="Memories").get_by_role("link", name=_TEXT))
    hand.press(page.locator("main a[href*='/operations/']").first)
    hand.press(page.locator("main a[href*='/sessions/']").first)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Session")
    row = page.url.partition("#")[2]
    expect(page.locator(f"[id='{row}']")).to_contain_text(_TEXT)
    expect(page.get_by_role("region", name="Memories made of this conversation")).to_contain_text(
        "Created 1"
    )


def test_the_slash_leads_there_where_no_filter_is(bank: Bank, open_page: SignIn) -> None:
    page = open_page(viewport={"width": _NARROW, "height": 640})
    page.goto(f"/console/e/{bank.engine}")
    page.keyboard.press("/")
    field = page.get_by_label("Find by id, user or words")
    expect(field).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= _NARROW
    page.keyboard.type("nothing of this name")
    page.keyboard.press("Enter")
    expect(page.locator(".empty")).to_contain_text("Nothing that this key reaches")
    assert judge(page) == []
    page.get_by_role("link", name="Search memories for it").click()
    expect(page.get_by_label("Question")).to_have_value("nothing of this name")
    page.keyboard.press("/")
    expect(page.locator("[data-filter]").first).to_be_focused()

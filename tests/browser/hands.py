"""Three ways to use a page: a pointer, keys alone, and a pointer without scripts."""

from collections.abc import Mapping
from typing import ClassVar

from playwright.sync_api import Locator, Page, expect

_MOST_TABS = 200
_REFRESHES = 50


class Pointer:
    """Uses a page with a pointer."""

    options: ClassVar[Mapping[str, bool]] = {}
    """Of the browser."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, target: Locator, *, leaves: bool = True) -> None:
        """Press a link or a button, which `leaves` the page unless it is said."""
        del leaves
        target.click()

    def write(self, field: Locator, text: str) -> None:
        """Replace what a field holds."""
        field.fill(text)

    def pick(self, field: Locator, option: str) -> None:
        """Pick the option of a list."""
        field.select_option(option)

    def tick(self, box: Locator) -> None:
        """Choose a box, or one of several."""
        box.check()

    def await_text(self, part: Locator, text: str) -> None:
        """Wait until a part that refreshes itself has a text."""
        expect(part).to_contain_text(text)


class PointerWithoutScripts(Pointer):
    """Uses a page without scripts."""

    options: ClassVar[Mapping[str, bool]] = {"java_script_enabled": False}

    def await_text(self, part: Locator, text: str) -> None:
        """Press `Refresh` until a part has a text."""
        for _ in range(_REFRESHES):
            if text in part.inner_text():
                return
            self.page.get_by_role("link", name="Refresh").click()
        raise AssertionError(f"{text} does not come.")


class Keys(Pointer):
    """Uses a page by keys alone."""

    def press(self, target: Locator, *, leaves: bool = True) -> None:
        """Press a link or a button."""
        self._reach(target)
        if not leaves:
            self.page.keyboard.press("Enter")
            return
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def write(self, field: Locator, text: str) -> None:
        """Replace what a field holds."""
        self._reach(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def pick(self, field: Locator, option: str) -> None:
        """Pick the option of a list, by its first letters."""
        self._reach(field)
        self.page.keyboard.type(option)
        expect(field).to_have_value(option)

    def tick(self, box: Locator) -> None:
        """Choose a box, or one of several: the chosen one is reached, the arrows go on."""
        if box.get_attribute("type") != "radio":
            self._reach(box)
            self.page.keyboard.press("Space")
        elif not box.is_checked():
            name = box.get_attribute("name")
            group = self.page.locator(f"input[type=radio][name={name}]")
            self._reach(self.page.locator(f"input[type=radio][name={name}]:checked"))
            for _ in range(group.count()):
                if box.is_checked():
                    break
                self.page.keyboard.press("ArrowDown")
        expect(box).to_be_checked()

    def _reach(self, target: Locator) -> None:
        target.wait_for()
        for _ in range(_MOST_TABS):
            if target.evaluate("(one) => one === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError("The keyboard does not lead there.")


WAYS = {"pointer": Pointer, "keys": Keys, "no scripts": PointerWithoutScripts}

"""A real browser for tests: Debian's Chromium, driven by Playwright.

If it is missing, its tests are skipped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect
else:

    def expect(shown: Any) -> Any:
        """Playwright's, which is imported where there is a browser: each process of the tests would import it."""
        from playwright.sync_api import expect

        return expect(shown)


__all__ = ["Explorer", "browser", "expect", "opened"]

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first of them that is installed. The one without windows takes three fifths of the others' time."""

SCREENSHOTS = os.environ.get("SCREENSHOTS")
"""The folder that keeps pictures of the pages, for people to look at; without it none is made, which saves seconds."""

LIGHT_AND_DARK: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_PERMITTED = ["clipboard-read", "clipboard-write"]
_IDLE: WeakKeyDictionary[Browser, list[Explorer]] = WeakKeyDictionary()
_NOTICED = """
window.noticed = [];
document.addEventListener("securitypolicyviolation", (e) => noticed.push(`${e.violatedDirective}: ${e.sourceFile}`));
"""
_GO = """
(to) => new Promise((done) => {
  if (location.hash === to) done();
  addEventListener("hashchange", done, { once: true });
  location.hash = to;
}).then(() => null)
"""
_PASTE = """
(field, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text", text);
  field.focus();
  field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser of one module. It ends with it, for while it runs its event loop is the thread's: no asyncio.run."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("Chromium not found: install Debian's package chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)  # the first question may have to wait for a compiler
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program, chromium_sandbox=os.geteuid() != 0, timeout=120_000
        )
        yield running
        running.close()


def keep_picture(page: Page, name: str) -> None:
    """See `SCREENSHOTS`."""
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True)


class Explorer:
    """One open explorer, and what went wrong in it.

    Args:
        page: the browser's page.
        base: address of the service, with a slash at its end.
    """

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.faults: list[str] = []
        self._loaded = False
        page.add_init_script(_NOTICED)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._heard)

    def _heard(self, message: ConsoleMessage) -> None:
        # The browser itself logs answers that are errors, and a service that is gone: tested on purpose.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.faults.append(message.text)

    def open(self, address: str = "") -> None:
        """Show what an address names, in a page that is loaded again."""
        if self.page.url.startswith(self.base):  # another hash alone would load nothing
            self.page.evaluate("(to) => history.replaceState(null, '', to)", self.base + address)
            self.page.reload()
        else:
            self.page.goto(self.base + address)
        self._loaded = True

    def go(self, address: str) -> None:
        """Navigate to an address, as by a link within the page, away from the view before."""
        if self._loaded:
            self.page.evaluate(_GO, address)
        else:
            self.open(address)

    def begin(self, base: str) -> None:
        """Serve another test, which is to see nothing of the one before."""
        self.base = base
        self.faults.clear()
        self._loaded = False

    def end(self) -> None:
        """Forget what a test has set and stored."""
        self.page.unroute_all()
        self.page.evaluate("sessionStorage.clear(); localStorage.clear()")
        self.page.mouse.move(0, 0)

    def __getitem__(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def field(self, label: str) -> Locator:
        return self.page.get_by_role("combobox", name=label)

    def chips(self, label: str) -> Locator:
        """The concepts that a field holds."""
        return self.page.get_by_role("list", name=f"Chosen: {label}").get_by_role("listitem")

    def choose(self, label: str, text: str) -> None:
        """Type, and take the first concept that is offered."""
        field = self.field(label)
        field.fill(text)
        expect(self.page.get_by_role("option").first).to_be_visible()
        field.press("Enter")

    def paste(self, label: str, text: str) -> None:
        """Paste a text into a field for concepts."""
        self.field(label).evaluate(_PASTE, text)

    def shot(self, name: str) -> None:
        """Keep a picture of the whole page, if there is a folder for it."""
        keep_picture(self.page, name)

    def saved(self, button: str, folder: Path) -> bytes:
        """The file of a button under "Save as"."""
        with self.page.expect_download() as download:
            self.page.get_by_role("group", name="Save").get_by_role("button", name=button, exact=True).click()
        file = folder / download.value.suggested_filename
        download.value.save_as(file)
        return file.read_bytes()

    def check(self) -> None:
        """Assert an empty console, and no script blocked by the content security policy."""
        assert self.faults == []
        assert self.page.evaluate("window.noticed ?? []") == []


@contextmanager
def opened(browser: Browser, base: str, *, alone: bool = False, **options: Any) -> Iterator[Explorer]:
    """An explorer that shows nothing of other tests.

    Tests share its page, one after another: a process of the browser costs more than most tests. It is a new one if
    the test is to be ``alone``, since it sets what `Explorer.end` does not undo, or has options of its own.
    """
    alone = alone or bool(options)
    options = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light", "permissions": _PERMITTED} | options
    idle = _IDLE.setdefault(browser, [])
    explorer = idle.pop() if idle and not alone else Explorer(browser.new_context(**options).new_page(), base)
    explorer.page.set_default_timeout(60_000)
    explorer.begin(base)
    yield explorer
    explorer.check()
    if alone:
        explorer.page.context.close()
    else:
        explorer.end()
        idle.append(explorer)

"""A tab of the browser: what a person does in it, and what one asks of the page it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)
WATCH = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.__violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""
"""What each page runs before its own scripts: it notes what the policy forbade."""
_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_AXE = """
const [rules, done] = arguments;
axe.run(document, { runOnly: { type: "tag", values: rules }, resultTypes: ["violations"] }).then(
  (found) => done(found.violations.map((each) => `${each.id}: ${each.help}: ` + each.nodes.slice(0, 4).map(
    (node) => node.html.slice(0, 160) + " " + [...node.any, ...node.all].map((one) => one.message).join("; ")
  ).join(" | "))),
  (error) => done([String(error)]),
);
"""
LONGEST = 20
"""Seconds that a page may take on a busy machine."""


class Tab:
    """The one tab."""

    def __init__(self, driver: Chrome, axe: str) -> None:
        self.driver = driver
        self._axe = axe
        self._address = ""

    def before(self, address: str) -> Tab:
        """Look at another server from now on, wide, light and with scripts."""
        self._address = address
        self.look(1200, "light")
        self.scripts(allowed=True)
        self.complaints()
        return self

    # -- what a person does -------------------------------------------------------------------------

    def open(self, path: str = "") -> None:
        """Go to the page at `path`."""
        self.driver.get(self._address + path)

    def look(self, width: int, scheme: str, height: int = 900) -> None:
        """Make the window `width` wide, in the colours of `scheme`."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def scripts(self, *, allowed: bool) -> None:
        """Switch JavaScript on or off for the pages that come."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not allowed})

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def tab_on(self) -> None:
        """Press Tab."""
        self.press(Keys.TAB)

    def click(self, selector: str) -> None:
        """Click on the first that `selector` names."""
        self.one(selector).click()

    def follow(self, selector: str) -> None:
        """Click on what leads to another page, and wait for that page."""
        self.leave(lambda: self.click(selector))

    def leave(self, by: Callable[[], object]) -> None:
        """Do what leads to another page, and wait for that page."""
        self.script("window.__left = 1")
        by()
        come = "return !window.__left && document.readyState === 'complete'"
        self.until("the next page came", lambda: self.script(come))

    # -- what one asks of the page ------------------------------------------------------------------

    def one(self, selector: str) -> WebElement:
        """Return the first element of a CSS selector, or of a button's text (``=Pin``)."""
        found = self.all(selector)
        assert found, f"no {selector} at {self.path}"
        return found[0]

    def all(self, selector: str) -> list[WebElement]:
        """Return all that `selector` names."""
        if selector.startswith("="):
            text = selector[1:]
            of = "//main//*[self::button or self::a or self::summary]"
            return self.driver.find_elements(By.XPATH, f"{of}[starts-with(normalize-space(.), '{text}')]")
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    @property
    def path(self) -> str:
        """Return where the browser is, without the server's own address."""
        return self.driver.current_url.removeprefix(self._address)

    @property
    def text(self) -> str:
        """Return what a person reads on the page."""
        return self.one("body").text

    def script(self, code: str, *given: Any) -> Any:
        """Return what `code` does in the page."""
        return self.driver.execute_script(code, *given)

    def until(self, what: str, holds: Callable[[], object]) -> None:
        """Wait until `holds`."""
        WebDriverWait(self.driver, LONGEST, poll_frequency=0.05).until(lambda _: holds(), what)

    def reads(self, *words: str) -> None:
        """Wait until each of `words` can be read."""
        for word in words:
            self.until(f"{word!r} can't be read at {self.path}", partial(self._holds, word))

    def _holds(self, word: str) -> bool:
        return word in str(self.driver.find_element(By.TAG_NAME, "body").get_property("innerText"))

    def complaints(self) -> list[str]:
        """Return what the console holds that is no mere message, and forget it."""
        return [
            f"{entry['level']}: {entry['message']}"
            for entry in self.driver.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]

    def violations(self) -> list[str]:
        """Return what axe finds on the page as it is now."""
        if not self.script("return 'axe' in window"):
            self.script(self._axe)
        found: list[str] = self.driver.execute_async_script(_AXE, _RULES)
        return found


@contextmanager
def opened(browser: str, driver: str, profile: Path, axe: str = "") -> Iterator[Tab]:
    """Start the browser with an empty profile, and end it."""
    options = ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = Chrome(options, ChromeService(driver))
    try:
        made.set_script_timeout(60)
        made.set_page_load_timeout(60)
        made.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        yield Tab(made, axe)
    finally:
        made.quit()

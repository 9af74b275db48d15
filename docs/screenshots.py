"""Makes the pictures of ``docs/page.md``: ``make screenshots``.

The browser of the tests shows a home that they fill. Pictures differ by the fonts of a machine alone.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from tests.browser.conftest import BROWSER, DRIVER, serving
from tests.browser.filling import fill
from tests.browser.tab import Tab, opened

FOLDER = Path(__file__).with_name("pictures")
HOME = Path("/tmp/ada")
"""Where the home is made: the pictures show it, so it is the same on every machine."""
WIDTH, HEIGHT = 1200, 800
MOST_BYTES = 150_000


def _dream(tab: Tab) -> None:
    """Open the dream that did something."""
    tab.open("dreams")
    tab.follow("nav[aria-labelledby=all-dreams] li:last-child a")


def _memory(tab: Tab) -> None:
    """Open a memory with what was said around its quote."""
    tab.open("memory/gateway-retries?scope=project")
    tab.click("=The dialogue around it")
    tab.script("scrollTo(0, 0)")


PICTURES: dict[str, tuple[str, str | Callable[[Tab], None]]] = {
    "memory": ("light", _memory),
    "dream": ("light", _dream),
    "inbox": ("light", "inbox?item=2"),
    "inbox-dark": ("dark", "inbox?item=2"),
    "graph": ("light", "graph"),
    "today": ("light", "today"),
    "cost": ("light", "cost"),
}


def main() -> int:
    """Make all of them."""
    assert BROWSER and DRIVER, "apt-get install chromium chromium-driver"
    if HOME.exists():
        sys.stderr.write(f"{HOME} is there already: move it away first.\n")
        return 1
    FOLDER.mkdir(exist_ok=True)
    try:
        with (
            tempfile.TemporaryDirectory() as profile,
            serving(fill(HOME, hostile=False)) as address,
            opened(BROWSER, DRIVER, Path(profile)) as tab,
        ):
            tab.before(address)
            for name, (scheme, page) in PICTURES.items():
                tab.look(WIDTH, scheme, HEIGHT)
                tab.open(page) if isinstance(page, str) else page(tab)
                _settle(tab)
                file = FOLDER / f"{name}.png"
                with Image.open(io.BytesIO(tab.driver.get_screenshot_as_png())) as taken:
                    taken.convert("RGB").quantize(method=Image.Quantize.MAXCOVERAGE).save(file, optimize=True)
                assert file.stat().st_size < MOST_BYTES, file
    finally:
        shutil.rmtree(HOME, ignore_errors=True)
    return 0


def _settle(tab: Tab) -> None:
    """Let the page be drawn to its end."""
    tab.driver.execute_async_script(
        "const done = arguments[0]; let left = 60;"
        "const wait = () => (left-- ? requestAnimationFrame(wait) : done()); wait()"
    )


if __name__ == "__main__":
    sys.exit(main())

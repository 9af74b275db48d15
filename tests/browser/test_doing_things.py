"""What a person does in the page with keys and clicks, with scripts and without."""

import re

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from pipeline.app.application import App
from pipeline.ledger import inbox
from tests.browser.filling import NOW, surroundings

pytestmark = pytest.mark.browser

_FOCUSED = """
const at = document.activeElement, style = getComputedStyle(at);
return [at.tagName, at === document.body ? 0 : [...document.querySelectorAll("*")].indexOf(at),
  style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 || at.tagName === "MAIN",
  at.outerHTML.slice(0, 120)];
"""
_REACHABLE = """
const all = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
return [...document.querySelectorAll(all)]
  .filter((each) => each.checkVisibility() && !each.disabled && each.tabIndex >= 0)
  .map((each) => [...document.querySelectorAll("*")].indexOf(each));
"""


@pytest.mark.parametrize(
    "path", ["", "memory/gateway-retries?scope=project", "inbox", "graph", "cost", "today", "health"]
)
def test_tab_reaches_everything_and_shows_where_it_is(shop, path):
    shop.open(path)
    if path == "health":
        shop.until("the doctor came", lambda: not shop.all("[data-load] .button"))
    elif path == "today":
        shop.until("the trouble came", lambda: shop.all("[data-load] strong"))
    wanted, reached, plain = set(shop.script(_REACHABLE)), [], []
    assert wanted
    for _ in range(3 * len(wanted) + 10):
        shop.tab_on()
        tag, number, is_seen, text = shop.script(_FOCUSED)
        if tag == "BODY" or (number in reached and tag != "INPUT"):
            break
        reached.append(number)
        if not is_seen:
            plain.append(text)
    assert plain == [] and wanted <= {*reached}
    assert shop.script("return document.activeElement.tagName") and shop.complaints() == []


def test_what_a_dream_did_stands_beside_the_list_however_long_that_is(shop):
    shop.open("dreams")
    shop.follow("nav[aria-labelledby=all-dreams] li:last-child a")
    place = "return document.querySelector('article .sides').getBoundingClientRect().top"
    before = shop.script(place)
    shop.script(
        "const list = document.querySelector('nav[aria-labelledby=all-dreams] ul');"
        "for (let left = 50; left; left--) list.append(list.firstElementChild.cloneNode(true));"
    )
    assert before == shop.script(place) < 900


def opened(shop):
    """Return which item is open in the list, and which is shown."""
    return shop.script(
        "const of = (selector) => document.querySelector(selector).dataset;"
        "return [of('.pick[data-open]').item, of('[data-number]').number]"
    )


def go(shop, number):
    """Wait until item `number` is open and shown."""
    shop.until(f"item {number} is open", lambda: opened(shop) == [number, number])


def test_keys_alone_go_through_the_inbox(shop):
    shop.open("inbox")
    numbers = [row.get_attribute("data-item") for row in shop.all(".pick")]
    first, second, third = numbers[:3]
    go(shop, first)
    shop.press("j")
    go(shop, second)
    shop.press("j")
    go(shop, third)
    shop.press("k")
    go(shop, second)
    assert f"item={second}" in shop.path
    # Its text, edited, and left again.
    shop.press("e")
    assert shop.script("return document.activeElement.id") == "text"
    shop.press("j", Keys.ESCAPE)
    assert shop.one("#text").get_property("value").count("j") >= 1 and opened(shop) == [second, second]
    # A yes, taken back.
    shop.press("a")
    shop.reads("Accepted", "Take it back")
    left = [row.get_attribute("data-item") for row in shop.all(".pick")]
    assert second not in left and len(left) == len(numbers) - 1
    assert shop.script("return document.activeElement.className") == "name", (
        "the keyboard goes on in the list"
    )
    shop.follow("=Take it back")
    shop.until("it waits again", lambda: len(shop.all(".pick")) == len(numbers))
    # Two ticked, and rejected only when sure.
    shop.open(f"inbox?item={first}")
    go(shop, first)
    shop.press("x", "j")
    go(shop, second)
    shop.press("x", "r")
    shop.reads("Reject 2 items?")
    shop.follow("=Leave them")
    shop.until("nothing was rejected", lambda: len(shop.all(".pick")) == len(numbers))
    shop.press("?")
    assert shop.one("#keys").get_property("open")
    assert shop.complaints() == []


def test_a_key_rejects_and_keys_can_be_switched_off(shop):
    shop.open("inbox")
    before = len(shop.all(".pick"))
    shop.press("?")
    shop.click("#keys-on")
    shop.press("r")
    assert len(shop.all(".pick")) == before
    shop.open("inbox")
    shop.press("j")
    assert opened(shop)[0] == shop.all(".pick")[0].get_attribute("data-item")
    shop.click("#keys summary")
    shop.click("#keys-on")
    row = shop.script(
        "const rows = [...document.querySelectorAll('.pick')];"
        "return rows.find((each) => each.innerText.includes('stock')).dataset.item"
    )
    shop.open(f"inbox?item={row}")
    shop.press("r")
    shop.reads("Rejected stock-is-counted-at-night.")
    assert len(shop.all(".pick")) == before - 1 and shop.complaints() == []


def test_a_second_click_or_key_does_not_decide_the_next_one(shop):
    shop.driver.execute_cdp_cmd("Animation.enable", {})
    shop.open("inbox")
    before = len(shop.all(".pick"))
    # The moment after a decision lasts as long as the test looks at it.
    shop.driver.execute_cdp_cmd("Animation.setPlaybackRate", {"playbackRate": 0})
    shop.follow("#open [value=accept]")
    shop.reads("Accepted")
    assert len(shop.all(".pick")) == before - 1
    for button in shop.all("#open button, #many button"):
        ActionChains(shop.driver).move_to_element(button).click().perform()
    shop.press("a", "r")
    assert shop.script("return document.readyState") == "complete" and "Accepted" in shop.text
    shop.open("inbox?kind=update")
    shop.open("inbox")
    assert len(shop.all(".pick")) == before - 1
    shop.driver.execute_cdp_cmd("Animation.setPlaybackRate", {"playbackRate": 1})
    shop.driver.execute_cdp_cmd("Animation.disable", {})
    shop.driver.back()
    shop.driver.back()
    shop.follow("=Take it back")
    assert len(shop.all(".pick")) == before and shop.complaints() == []


def test_nothing_of_the_menu_moves_from_page_to_page(shop):
    places = set()
    for path in ("", "dreams", "inbox", "health"):
        shop.open(path)
        places.add(
            tuple(
                shop.script(
                    "return [...document.querySelectorAll('nav[aria-label=Pages] a')]"
                    ".map((each) => each.getBoundingClientRect().left)"
                )
            )
        )
    assert len(places) == 1


_ROWS = """
const edge = document.querySelector(".listed").getBoundingClientRect();
return [...document.querySelectorAll(".listed .row")].map((row) => [
  row.getBoundingClientRect().top - edge.top, row.getBoundingClientRect().bottom - edge.bottom,
  "current" in row.dataset]);
"""


def test_the_list_beside_a_memory_begins_with_a_whole_row(shop):
    shop.look(1200, "light", height=500)
    shop.open("")
    addresses = [link.get_attribute("href") for link in shop.all("#found a.name")]
    for address in addresses[-4:]:
        shop.driver.get(address)
        rows = shop.script(_ROWS)
        assert min(abs(top) for top, _, _ in rows) <= 1, address
        assert [top >= -1 and below <= 0 for top, below, is_current in rows if is_current] == [True]


def names(shop):
    return shop.script("return [...document.querySelectorAll('#found a.name')].map((each) => each.innerText)")


def test_the_list_follows_what_is_typed(shop):
    shop.open("")
    every = names(shop)
    shop.press("/")
    assert shop.script("return document.activeElement.id") == "q"
    shop.press(*"gateway")
    shop.until(
        "only what fits is left", lambda: set(names(shop)) < {*every} and "gateway-retries" in names(shop)
    )
    shop.until("the address has it", lambda: "q=gateway" in shop.path)
    shop.one("#q").clear()
    shop.one("#q").send_keys("zebra")
    shop.reads("No memory is like that.")
    shop.until("the address has it", lambda: "q=zebra" in shop.path)
    shop.driver.refresh()
    assert shop.one("#q").get_property("value") == "zebra"
    shop.one("#q").clear()
    shop.one("#q").send_keys(Keys.ENTER)
    shop.until("all are back", lambda: names(shop) == every)
    shop.click(".filters summary")
    shop.one("#f-type").send_keys("problem")
    shop.until("one type", lambda: names(shop) == ["backup-filled-the-disk"])
    assert shop.complaints() == []


def memory_is_changed_and_back(shop):
    """Edit, pin, move and forget a memory, and take each back, by the page's own buttons."""
    shop.open("memory/search-in-postgres?scope=project")
    shop.click("=Edit")
    text = shop.one("#e-text")
    before = text.get_property("value")
    text.clear()
    text.send_keys("Search is SQLite's <b>full text</b>.")
    shop.follow("=Keep this text")
    shop.reads("Your text is kept", "Search is SQLite's <b>full text</b>.")
    shop.follow("=Undo")
    shop.reads("Undone")
    assert shop.one("#e-text").get_property("value") == before
    shop.follow("=Pin")
    shop.reads("no dream changes it")
    shop.follow("=Undo")
    shop.reads("Undone")
    shop.follow("=Keep for all projects")
    shop.reads("for all projects now")
    shop.follow("=Undo")
    shop.reads("Undone")
    shop.open("memory/search-in-postgres?scope=project")
    shop.follow("=Forget")
    shop.reads("is forgotten")
    shop.open("?show=left&q=search")
    shop.follow("=Restore")
    shop.reads("It is back")
    assert before.split(".")[0] in shop.text


def dream_is_undone_and_back(shop):
    """Undo the dream that did something, and put it back."""
    shop.open("dreams")
    shop.driver.find_elements(By.CSS_SELECTOR, "nav[aria-labelledby=all-dreams] a")[-1].click()
    shop.follow("=Undo this dream")
    shop.reads("Put it back", "came back")
    shop.follow("=Put it back")
    shop.reads("Put back: 2 memories were put away", "Undo this dream")


def test_a_memory_is_changed_and_each_change_taken_back(shop):
    memory_is_changed_and_back(shop)
    assert shop.complaints() == []


def test_a_dream_is_undone_and_done_again(shop):
    dream_is_undone_and_back(shop)
    assert shop.complaints() == []


PAGES = [
    "",
    "memory/gateway-retries?scope=project",
    "today",
    "timeline",
    "dreams",
    "inbox",
    "graph",
    "cost",
    "health",
]


def test_without_scripts_all_of_it_works(shop):
    shop.scripts(allowed=False)
    for path in PAGES:
        shop.open(path)
        html = shop.driver.page_source
        assert not re.search(r'<html[^>]*class="js"', html), "a script ran"
        assert html.count("<h1") == 1
        links = shop.all("nav[aria-label=Pages] a")
        assert len(links) >= 8 and all(link.is_displayed() for link in links)
    shop.open("")
    shop.one("#q").send_keys("gateway", Keys.ENTER)
    shop.reads("found")
    memory_is_changed_and_back(shop)
    dream_is_undone_and_back(shop)
    shop.open("inbox?kind=update")
    shop.follow("#open [value=accept]")
    shop.reads("Accepted")
    shop.follow("=Take it back")
    shop.open("health")
    shop.follow("=Examine now")
    shop.reads("things looked at")
    assert shop.complaints() == []


def test_health_shows_by_itself_what_changes(shop, shop_desk):
    shop.open("health")
    shop.reads("Live: changes show by themselves.", "for you")
    before = shop.script("return [...document.querySelectorAll('dd')].map((each) => each.innerText).join()")
    with surroundings(shop_desk), App(folder=shop_desk.project).ledger() as ledger:
        store = inbox.list_inbox(ledger)[0].store
        inbox.add_inbox(
            ledger, store, kind="new", payload_json="{}", reason="it came now", run_id="late", now=NOW
        )
    shop.until(
        "the number changed",
        lambda: (
            shop.script("return [...document.querySelectorAll('dd')].map((each) => each.innerText).join()")
            != before
        ),
    )
    assert shop.complaints() == []

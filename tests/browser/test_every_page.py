"""Every page, over memories of people who mean well and of one who does not."""

from urllib.parse import quote

import pytest

from tests.browser.filling import HOSTILE, LONG

pytestmark = pytest.mark.browser

PAGES = {
    "memories": "",
    "memories found": "?q=gateway",
    "memories filtered": "?type=decision&for=project&age=365&sort=name",
    "memories not found": "?q=zebra",
    "memories that left": "?show=left",
    "memories that sleep": "?band=archived&q=gateway",
    "a memory": "memory/gateway-retries?scope=project",
    "a memory of markup": f"memory/hostile?scope=project&undo=%3Cb%3E&done={quote(HOSTILE)}",
    "a memory without an end": f"memory/{LONG[:100]}?scope=project",
    "a memory by hand": "memory/odd?scope=project",
    "a memory in Arabic": "memory/nightly-backups-ar?scope=project",
    "a procedure": "memory/ship-a-release?scope=project",
    "a memory that left": "memory/staging?scope=project",
    "no such memory": "memory/%3Cimg%20src=x%3E",
    "today": "today",
    "a day": "today?day=2026-11-26",
    "an empty day": "today?day=2026-01-01",
    "timeline": "timeline",
    "an empty month": "timeline?month=2020-01",
    "a dream that put off": "dreams",
    "a dream that did": "dreams?run=DREAM",
    "inbox": "inbox",
    "inbox, of one kind": "inbox?kind=new&all=1",
    "inbox, decided": "inbox?kind=decided",
    "graph": "graph",
    "graph, of one cluster": "graph?group=1",
    "runs": "runs",
    "a run": "RUN",
    "a run's bundle": "RUN#bundle",
    "tools": "tools",
    "cost": "cost",
    "cost of 90 days": "cost?days=90&by=tokens",
    "sharing with nobody": "shared",
    "health": "health",
    "health with an audit": "health?look=audit",
    "no such page": "nowhere",
    "no such choice": "graph?type=%3Cb%3E&group=x",
}
WIDTHS, SCHEMES = (360, 1600), ("light", "dark")


def path_of(tab, path):
    """Return `path` with the id that the first dream happens to have."""
    if "DREAM" in path:
        tab.open("dreams")
        links = [str(link.get_attribute("href")) for link in tab.all("nav a[href*='run=']")]
        ids = [link.partition("run=")[2].partition("&")[0] for link in links]
        path = path.replace("DREAM", next(one for one in ids if not one.startswith("00000002")))
    if path.startswith("RUN"):
        tab.open("runs")
        first = str(tab.all("main a[href*='/runs/']")[0].get_attribute("href"))
        path = path.replace("RUN", f"runs/{first.rpartition('/runs/')[2]}")
    return path


def is_refused(path):
    return path == "nowhere" or path.startswith(("graph?type", "memory/%3C", "memory/staging"))


def check(tab, path):
    """Look at the page at `path` as everybody may."""
    tab.complaints()
    tab.open(path)
    if path.startswith("health"):
        tab.until("the doctor came", lambda: not tab.all("[data-load] .button"))
    judge(tab, path, refused=is_refused(path))


def judge(tab, path, *, refused=False):
    """Judge the page that `tab` shows, which came of `path`, at each width in each light."""
    faults = []
    for width in WIDTHS:
        for scheme in SCHEMES:
            tab.look(width, scheme)
            wide = tab.script("return document.scrollingElement.scrollWidth - innerWidth")
            found = [f"{wide} pixels too wide"] if wide > 0 else []
            faults += [f"{path} at {width} {scheme}: {each}" for each in [*found, *tab.violations()]]
    if tab.script("return document.querySelectorAll('h1').length") != 1:
        faults.append("there is not one h1")
    faults += [f"forbidden: {each}" for each in tab.script("return __violations")]
    assert tab.script("return window.__hit") is None
    faults += [each for each in tab.complaints() if not (refused and "status of 40" in each)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_a_page_is_whole_at_any_width_in_any_light(worst, path):
    check(worst, path_of(worst, path))


def test_each_item_of_the_inbox_is_so_too(worst):
    worst.open("inbox")
    items = [row.get_attribute("data-item") for row in worst.all(".pick")]
    assert len(items) == 12
    for number in items:
        check(worst, f"inbox?item={number}")


def test_an_undo_that_an_edit_by_hand_blocks_is_so_too(worst, worst_desk):
    """A memory is changed, then edited by hand with markup; the undo of the change shows both."""
    worst.open("memory/release-day?scope=project")
    worst.script("document.querySelector('#edit').open = true")
    worst.script("document.querySelector('#e-text').value = arguments[0]", "Releases go out at noon.")
    worst.follow("#edit button.main")
    (file,) = worst_desk.project.parent.rglob("memory/release-day.md")
    file.write_text(file.read_text("utf-8").replace("at noon", f"at one {HOSTILE}"), "utf-8")
    worst.complaints()
    worst.follow("form.undo button")
    worst.reads("Written since the change", "<script>", "What the undo would have brought back")
    judge(worst, "a blocked undo", refused=True)
    worst.click("=What the undo would")
    judge(worst, "the same with all of it open", refused=True)
    worst.follow("=Edit release-day")
    judge(worst, "its way out")


def test_what_was_asked_anew_stands_beside_what_it_was(worst):
    worst.open(path_of(worst, "RUN"))
    worst.follow("=Ask anew, free")
    worst.reads("Then and now", "never-said")
    judge(worst, "a run asked anew")
    worst.script("for (const each of document.querySelectorAll('details')) each.open = true")
    judge(worst, "its bundle, all of it open")


def test_machines_are_told_of_where_there_are_some(worst, worst_desk, tmp_path):
    worst_desk.here("sync", "init", tmp_path / "a remote of <b>markup.git")
    for path in ("shared", "shared?ask=1", "health"):
        check(worst, path)


_SPOILS = """
document.querySelector("main").innerHTML += "<img src=x><h1>Two</h1><p>pale</p>";
const style = document.createElement("style");
style.textContent = "p { color: #999 }";
document.head.append(style);
document.querySelector("main p").style.color = "#999";
console.error("it is spoilt");
"""


def test_what_is_looked_for_would_be_found(worst):
    """The checks of every page see a page that is wrong."""
    worst.open("cost")
    worst.script(_SPOILS)
    found = " ".join(worst.violations())
    assert "image-alt" in found and "color-contrast" in found
    assert worst.script("return __violations") and "spoilt" in " ".join(worst.complaints())

"""The inbox in the browser: what each kind shows; a yes, a no, words of one's own, many at once."""

import html
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import pytest

from pipeline.app.application import App
from pipeline.consolidation.commit.proposals import inbox_item
from pipeline.domain.memory import Evidence
from pipeline.domain.operations import Operation, Refused
from pipeline.extraction import cited_writes
from pipeline.ledger import inbox, open_ledger
from pipeline.store import ChangeSet, Store
from pipeline.verify.provenance import sources_of
from pipeline.web.visit import Setting
from tests.support.stores import die_at, memory
from tests.web.conftest import Browser

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
SPOKEN = "2026-11-19T10:00:00Z"
SAID = {
    "session": "s", "uuid": "u", "quote": f"four {HOSTILE}", "at": SPOKEN, "speaker": "person",
}  # fmt: skip
FRESH = {
    "name": "tea-break", "type": "project", "description": "Tea at four.", "statement": "Tea is at four.",
    "why": "", "how_to_apply": "", "origin": "assistant-inferred", "sources": [SAID],
}  # fmt: skip
PROCEDURE = {
    **FRESH, "name": "release", "type": "procedure", "statement": "When a release is due.",
    "steps": ["Run `make check`.", "Push the tag."], "preconditions": ["The tree is clean."],
    "postconditions": [f"The tag is there. {HOSTILE}"],
}  # fmt: skip


class Shop:
    """A memory folder with a few memories, its inbox, and a browser on it."""

    def __init__(self, root):
        self.store = Store.open(root / "memories", create=True)
        texts = {
            "retries": "Three retries for the gateway. Log each.",
            "tries": "The gateway is tried three times.",
            "ship": "Ship on Mondays.",
        }
        made = [
            memory(name, type="project", description=text, body=f"{text}\n") for name, text in texts.items()
        ]
        made.append(memory("written", body="Cut on Friday.\n", origin="assistant-written", sources=()))
        puts = [self.store.put(item) for item in made]
        self.store.apply(ChangeSet(id="run-0", reason="fixture", operations=puts))
        self.app = App(store=self.store.path)
        self.browser = Browser(Setting(folder=root, secret=b"s3cret", store=self.store.path))

    def put(self, kind, payload, reason="only the assistant said it", run="r1"):
        with open_ledger(self.app.home / "ledger.sqlite") as ledger:
            return inbox.add_inbox(
                ledger, str(self.store.path), kind=kind, reason=reason, run_id=run, now=NOW,
                payload_json=json.dumps(payload),
            )  # fmt: skip

    def update(self, **more):
        target = self.store.read("retries")
        pair = ["Three retries for the gateway.", "Four retries for the gateway."]
        return self.put(
            "update",
            {**FRESH, "name": "retries", "update_of": "retries", "statement": "", "replaces": [pair],
             "was": target.digest, **more},
        )  # fmt: skip

    def dreamt(self, **operation):
        documents = {document.name: document for document in self.store.scan().documents}
        ids = tuple(documents[name].id for name in operation.pop("names"))
        wish = Operation(ids=ids, into=ids[0] if operation["op"] == "merge" else "", **operation)
        waiting = Refused(wish, "the second reader did not agree", to_inbox=True)
        return self.put(*inbox_item(waiting, {item.id: item.memory for item in documents.values()}))

    def cited(self):
        with open_ledger(self.app.home / "ledger.sqlite") as ledger:
            found = self.store.read("written").memory
            return cited_writes.note(ledger, str(self.store.path), found, run_id="c1", now=NOW)

    def waiting(self):
        with open_ledger(self.app.home / "ledger.sqlite") as ledger:
            return [item.id for item in inbox.list_inbox(ledger)]

    def item(self, number):
        answer = self.browser.get(f"inbox?item={number}")
        assert answer.status == 200
        return answer.text.partition('<section id="item"')[2]

    def decide(self, word, *numbers, **more):
        answer = self.browser.post("inbox/decide", {"decision": word, "item": numbers, **more})
        if answer.status == 303:
            asked = parse_qs(urlsplit(answer.headers["location"]).query)
            vars(answer)["asked"] = {name: values[0] for name, values in asked.items()}
        return answer

    def names(self):
        return {document.name for document in self.store.scan().documents}


class Tags(HTMLParser):
    """Collects each tag with its attributes."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def tags_of(text):
    reader = Tags()
    reader.feed(text)
    return reader.found


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.setenv("REVERIE_NOW", "2026-11-20T12:00:00Z")
    return Shop(tmp_path)


def test_an_empty_inbox_says_what_comes_here(shop):
    answer = shop.browser.get("inbox")
    assert answer.status == 200 and "Nothing waits for you." in answer.text


def test_a_procedure_shows_its_steps_and_conditions(shop):
    text = shop.item(shop.put("new", PROCEDURE))
    steps = text.partition("<ol>")[2].partition("</ol>")[0]
    assert re.findall(r"<li[^>]*>(.*?)</li>", steps) == ["Run `make check`.", "Push the tag."]
    for part in ("What must hold before", "The tree is clean.", "What holds after", "The tag is there."):
        assert part in text
    assert "created" in text and "commands that came back" in text


def test_an_update_stands_old_beside_new_word_by_word(shop):
    text = shop.item(shop.update())
    assert "<del>Three</del> retries for the gateway." in text
    assert "<ins>Four</ins> retries for the gateway." in text
    assert text.count("Log each.") >= 2 and "What was said" in text
    assert (
        "Three retries for the gateway. Log each." in text.partition("<textarea")[0] or "Four retries" in text
    )


@pytest.mark.parametrize(
    ("at", "warns"), [("2026-11-18T09:30:00Z", True), ("2026-11-18T10:30:00Z", False), ("", False)]
)
def test_an_update_says_when_both_were_said_and_warns_of_earlier_words(shop, at, warns):
    held = shop.store.read("retries")
    said = Evidence.of({**SAID, "quote": "three retries", "at": "2026-11-18T10:00:00Z"})
    put = shop.store.put(replace(held.memory, sources=(said,)), existing=held)
    shop.store.apply(ChangeSet(id="run-1", reason="fixture", operations=[put]))
    text = shop.item(shop.update(sources=[{**SAID, "at": at}])).replace("\N{NO-BREAK SPACE}", " ")
    assert ("Earlier words would take the place of later ones." in text) == warns
    assert "Before, said 2026-11-18 10:00" in text
    assert (f"After, said 2026-11-18 {at[11:16]}" in text) == bool(at)


def test_words_that_put_a_memory_away_may_be_the_earlier_ones_too(shop):
    held = shop.store.read("ship")
    said = Evidence.of({**SAID, "quote": "on Mondays", "at": "2026-11-18T10:00:00Z"})
    put = shop.store.put(replace(held.memory, sources=(said,)), existing=held)
    shop.store.apply(ChangeSet(id="run-1", reason="fixture", operations=[put]))
    early, late = (
        shop.item(shop.put("retire", {"name": "ship", "sources": [{**SAID, "at": at}]}, run=at))
        for at in ("2026-11-17T10:00:00Z", "2026-11-19T10:00:00Z")
    )
    assert "what it puts away was said after that" in early and "Earlier words" not in late


def test_one_tab_is_for_one_deed_whoever_proposes_it(shop):
    shop.put("retire", {"name": "ship", "reason": "no longer"})
    shop.dreamt(op="retire", names=("tries",), until="2026-11-19")
    shop.update()
    page = shop.browser.get("inbox?kind=retire").text
    assert re.findall(r'kind=([a-z:%A-Z0-9]+)"[^>]*>([^<]+) <span class="quiet">(\d)', page) == [
        ("update", "change", "1"),
        ("retire", "put away", "2"),
    ]
    assert page.count('type="checkbox" form="many"') == 2
    assert shop.browser.get("inbox?kind=dream:retire").text.count('type="checkbox" form="many"') == 2


def test_a_memory_says_what_waits_about_it(shop):
    update, merge = shop.update(), shop.dreamt(**MERGED)
    page = shop.browser.get("memory/retries").text
    line = page.partition("2 proposals about it wait for your decision: ")[2].partition("</p>")[0]
    waits = re.findall(r'<a href="[^"]*item=(\d+)">([^<,]+)', line)
    assert waits == [(str(update), "change"), (str(merge), "merge")]
    assert "1 proposal about it waits for your decision" in shop.browser.get("memory/tries").text
    assert "for your decision" not in shop.browser.get("memory/ship").text


def test_what_a_second_reader_doubts_says_who_that_is(shop):
    assert "That is the second reader." in shop.item(shop.dreamt(**MERGED))
    assert "second reader" not in shop.item(shop.put("new", FRESH))


MERGED = {"op": "merge", "names": ("retries", "tries"), "reason": "they say the same"}
OVER = {"op": "retire", "names": ("ship",), "until": "2026-11-19"}
NO_TARGET = {**FRESH, "update_of": "gone", "name": "gone"}
KINDS = {
    "retire": (
        lambda shop: shop.put("retire", {"name": "ship", "reason": "no longer"}),
        ("put away", "<del>Ship on Mondays.</del>"),
    ),
    "dream:merge": (
        lambda shop: shop.dreamt(**MERGED),
        ("put away", 'moved to</span> <a href="/t0ken/memory/retries"'),
    ),
    "dream:retire": (lambda shop: shop.dreamt(**OVER), ("put away", "holds until")),
    "cited": (
        lambda shop: shop.cited(),
        ("<del>Claude, in a file of its own</del>", "<ins>Claude, confirmed by you</ins>"),
    ),
    "conflict": (
        lambda shop: shop.put("conflict", {"name": "ship.md"}),
        ("can’t be accepted", ".reverie/conflicts", "unchanged"),
    ),
    "unreadable": (lambda shop: shop.put("new", {"name": "x"}), ("can’t be accepted", "no text to write")),
    "gone": (lambda shop: shop.put("update", NO_TARGET), ("the memory is gone",)),
}


@pytest.mark.parametrize(("make", "parts"), KINDS.values(), ids=KINDS)
def test_each_kind_shows_what_a_yes_does(shop, make, parts):
    text = shop.item(make(shop))
    for part in parts:
        assert part in text


def test_what_others_wrote_is_text_wherever_it_stands(shop):
    hostile = {
        **FRESH,
        **dict.fromkeys(("title", "description", "statement", "why", "tags"), HOSTILE),
        "name": HOSTILE,
    }
    number = shop.put(HOSTILE, {**hostile, "tags": [HOSTILE]}, reason=HOSTILE)
    second = shop.put("new", {**hostile, "tags": [HOSTILE]}, reason=HOSTILE, run="r2")
    for answer in (
        shop.browser.get(f"inbox?item={number}&done=%3Cscript%3Ealert(3)"),
        shop.browser.get(f"inbox?item={second}"),
        shop.browser.get(f"inbox/item?item={second}"),
        shop.decide("reject", number, second),
    ):
        assert answer.status == 200 and "alert(1)" in answer.text
        tags = tags_of(answer.text)
        assert not [tag for tag, _ in tags if tag == "img"] and not [
            name for tag, given in tags for name in given
            if name.startswith("on") or name == "style" or (tag == "script" and "src" not in given)
        ]  # fmt: skip


def test_a_yes_is_done_opens_the_next_and_can_be_taken_back(shop):
    first, second = shop.update(), shop.put("new", FRESH)
    answer = shop.decide("accept", first)
    assert answer.status == 303 and answer.asked == {
        "done": "Accepted retries.",
        "item": str(second),
        "undo": str(first),
    }
    assert "Four retries" in shop.store.read("retries").memory.body
    page = shop.browser.get(f"inbox?item={second}&undo={first}&done=Accepted").text
    assert f'name="item" value="{first}"' in page and "Take it back" in page
    shop.browser.post("inbox/undo", {"item": first})
    assert "Three retries" in shop.store.read("retries").memory.body and shop.waiting() == [first, second]
    assert "You accepted it before, and took that back" in shop.item(first)
    gone = shop.browser.get("inbox?kind=decided").text
    assert ">accepted, taken back<" in gone and "it waits again" in gone
    assert f'name="item" value="{first}"' not in gone
    assert shop.decide("accept", first).asked["done"] == "Accepted retries."
    shop.browser.post("inbox/undo", {"item": first})
    assert shop.waiting() == [first, second]


def test_many_at_once_and_one_that_fails_stops_no_other(shop):
    good, bad = shop.put("new", FRESH), shop.put("conflict", {"name": "ship.md"})
    more = shop.put("retire", {"name": "ship", "reason": "no longer"})
    answer = shop.decide("accept", good, bad, more)
    assert answer.asked["done"] == f"Accepted 2 items. 1 item could not be: number {bad}."
    assert answer.asked["item"] == str(bad) and shop.waiting() == [bad]
    assert shop.names() == {"retries", "tries", "written", "tea-break"}
    shop.browser.post("inbox/undo", {"item": [good, more]})
    assert "tea-break" not in shop.names() and "ship" in shop.names() and shop.waiting() == [good, bad, more]


def test_many_are_rejected_only_when_sure(shop):
    numbers = [shop.put("new", {**FRESH, "name": name}) for name in ("a", "b", "c")]
    asked = shop.decide("reject", *numbers[:2])
    assert asked.status == 200 and "Reject 2 items?" in asked.text and shop.waiting() == numbers
    answer = shop.decide("reject", *numbers[:2], sure="1")
    assert answer.asked["done"] == "Rejected 2 items." and shop.waiting() == numbers[2:]
    assert shop.decide("reject", numbers[2]).asked == {"done": "Rejected c.", "undo": str(numbers[2])}
    assert shop.waiting() == []


def test_a_no_can_be_taken_back_and_what_was_decided_is_listed(shop):
    number, more = shop.put("new", FRESH), shop.update()
    shop.decide("accept", more)
    assert shop.decide("reject", number).asked["undo"] == str(number) and not shop.waiting()
    barred = [Evidence.of(SAID)]
    assert shop.app.open_store().forgotten().bars(barred, "tea-break")
    page = shop.browser.get("inbox?kind=decided").text
    assert page.count("Take it back") == 2 and ">rejected<" in page and ">accepted<" in page
    answer = shop.browser.post("inbox/undo", {"item": number, "kind": "decided"})
    assert answer.status == 303 and "kind" not in answer.headers["location"] and shop.waiting() == [number]
    assert not shop.app.open_store().forgotten().bars(barred, "tea-break")
    shop.decide("accept", number)
    assert "tea-break" in shop.names()
    page = shop.browser.get("inbox?kind=decided").text
    assert ">rejected, taken back<" in page and "decided anew since" in page and "it waits again" not in page
    assert page.count("Take it back") == 2 and page.count(f"number {number}") == 2


def test_a_form_that_can_not_be_done_is_told_within_the_frame(shop):
    shop.put("new", FRESH)
    answer = shop.decide("accept")
    assert answer.status == 400 and "None was chosen" in answer.text and 'aria-label="Pages"' in answer.text
    assert "Back to Inbox" in answer.text and 'role="alert"' in answer.text


def test_what_can_not_be_accepted_has_no_accept(shop):
    text = shop.item(shop.put("update", NO_TARGET))
    assert "can’t be accepted" in text and 'value="accept"' not in text and 'value="reject"' in text


def test_a_yes_that_can_not_be_shows_why_beside_the_item(shop):
    number = shop.put("conflict", {"name": "ship.md"})
    answer = shop.decide("accept", number)
    assert answer.status == 400 and 'role="alert"' in answer.text and "Compare the two by hand" in answer.text
    assert shop.decide("accept").status == 400 and shop.decide("burn", number).status == 400
    assert shop.decide("accept", "1;2").status == 400 and shop.waiting() == [number]
    assert shop.browser.get("inbox/item?item=77").status == 400


def test_a_conflict_shows_the_file_as_it_is_beside_what_was_put_aside(shop):
    """Somebody writes the file in the moment in which a run does."""
    held = shop.store.read("ship")
    mine = shop.store.put(replace(held.memory, body="Ship on Tuesdays.\n"), existing=held)
    change = ChangeSet(id="run-9", reason="fixture", operations=[mine])
    die_at("store.intent_written", lambda: shop.store.apply(change))
    (shop.store.path / held.path).write_bytes(held.raw.replace(b"Mondays", b"Fridays <b>"))
    Store.open(shop.store.path)
    text = shop.item(shop.put("conflict", {"name": held.path}, run="run-9"))
    assert "In the file now" in text and "Put aside: Reverie’s" in text and "two versions" in text
    old, new = re.findall(r'class="(?:was|is)" dir="auto">(.*?)</p>', text, re.DOTALL)[:2]
    assert "Fridays" in old and "Tuesdays" in new and "<b>" not in text and "runs/run-9" in text
    # What was put aside for another run is not shown as this one's.
    other = shop.item(shop.put("conflict", {"name": held.path}, run="run-8"))
    assert "Put aside" not in other and "Fridays" in other


def edit(shop, number, text, decision="keep", seen=None):
    page = shop.item(number)
    seen = seen or re.findall(r'name="seen" value="(\w+)"', page)[0]
    return shop.browser.post(
        "inbox/decide", {"item": number, "text": text, "decision": decision, "seen": seen}
    )


def test_a_text_is_edited_and_then_accepted(shop):
    number = shop.update()
    assert "Four retries for the gateway. Log each." in shop.item(number).partition("<textarea")[2]
    assert edit(shop, number, "Five retries.\r\nLog each.").status == 303
    assert "Five" in shop.item(number) and shop.waiting() == [number]
    assert edit(shop, number, "Six retries. Log each.", "accept").status == 303
    assert shop.store.read("retries").memory.body.strip() == "Six retries. Log each."
    assert shop.waiting() == []


def test_the_main_accept_means_what_was_typed(shop):
    """A form as a browser sends it: the fields within it, and those elsewhere that belong to it."""
    number = shop.put("new", FRESH)
    page = shop.item(number)
    assert page.count("<form") == 1 and page.count("</form>") == 1
    outside = page.partition("</form>")[2]
    named = [given for _, given in tags_of(outside) if given.get("name")]
    assert {given["name"] for given in named} == {"seen", "text", "decision"}
    assert all(given["form"] == "open" for given in named)
    seen = next(given["value"] for given in named if given["name"] == "seen")
    text = html.unescape(re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", outside, re.DOTALL)[0])
    sent = {"item": number, "seen": seen, "decision": "accept"}
    assert shop.browser.post("inbox/decide", {**sent, "text": text.replace("four", "five")}).status == 303
    assert shop.store.read("tea-break").memory.body == "Tea is at five.\n"
    # Sent as it was shown it is the proposal, with its source.
    other = shop.put("new", {**FRESH, "name": "other"}, run="r2")
    assert shop.browser.post("inbox/decide", {**sent, "item": other, "text": text}).status == 303
    assert shop.store.read("other").memory.sources and not shop.store.read("tea-break").memory.sources


def test_nothing_that_was_said_stands_for_what_a_person_wrote(shop):
    number = shop.update()
    assert edit(shop, number, "Four retries for the gateway. Log each. Ask Mara first.").status == 303
    assert edit(shop, number, "Four retries for the gateway. Log each. Ask Mara soon.").status == 303
    assert shop.decide("accept", number).status == 303
    kept = shop.store.read("retries").memory
    assert kept.body.strip() == "Four retries for the gateway. Log each. Ask Mara soon."
    assert [source.uuid for source in sources_of(kept, "Four retries for the gateway.")] == ["u"]
    assert not sources_of(kept, "Ask Mara soon.")
    assert not sources_of(kept, "Log each.")


@pytest.mark.parametrize(("title", "left"), [("The gateway", "The gateway"), ("Three retries", "")])
def test_an_update_keeps_a_title_that_still_holds(shop, title, left):
    held = shop.store.read("retries")
    put = shop.store.put(replace(held.memory, title=title), existing=held)
    shop.store.apply(ChangeSet(id="run-1", reason="fixture", operations=[put]))
    number = shop.update()
    page = shop.item(number)
    assert (f"<del>{title}</del>" in page) == (not left)
    assert page.count("who says it") <= 1
    shop.decide("accept", number)
    assert shop.store.read("retries").memory.title == left


def test_a_text_that_can_not_be_taken_is_not_lost(shop):
    number = shop.put("new", FRESH)
    words = "Human: do it.</textarea><b>\n\nMine."
    for answer in (
        edit(shop, number, words),
        edit(shop, number, words, seen="0" * 8),
        edit(shop, number, words, "accept"),
    ):
        assert answer.status == 400 and 'role="alert"' in answer.text
        kept = answer.text.partition("<textarea")[2].partition("</textarea>")[0]
        assert "Human: do it.&lt;/textarea&gt;&lt;b&gt;\n\nMine." in kept
    assert shop.waiting() == [number] and "tea-break" not in shop.names()


def test_kinds_filter_and_a_hundred_stand_on_a_page(shop):
    last = [shop.put("new", {**FRESH, "name": f"n{at}"}) for at in range(103)][-1]
    shop.update()
    page = shop.browser.get("inbox?kind=new").text
    assert page.count('type="checkbox" form="many"') == 100 and "1 to 100 of 103" in page
    assert "103 items wait" in page and "kind=update" in page
    opened = shop.browser.get(f"inbox?kind=new&item={last}").text
    assert opened.count('type="checkbox" form="many"') == 3 and "101 to 103 of 103" in opened
    ticked = shop.browser.get("inbox?kind=new&from=100&all=1").text
    assert len(re.findall(r'form="many"[^>]* checked', ticked)) == 3
    assert "Nothing of this kind waits" in shop.browser.get("inbox?kind=retire").text
    assert shop.browser.get("inbox?from=x").status == 400


def test_a_part_for_the_script_is_the_item_alone(shop):
    number = shop.update()
    part = shop.browser.get(f"inbox/item?item={number}").text
    assert "<html" not in part and f'data-number="{number}"' in part and 'name="proof"' in part
    assert part.strip().replace("\n", "") in shop.item(number).replace("\n", "")


def test_no_form_changes_anything_without_its_proof(shop):
    number = shop.put("new", FRESH)
    for path in ("inbox/decide", "inbox/undo"):
        assert shop.browser.post(path, {"proof": "x", "item": number, "decision": "accept"}).status == 400
        assert shop.browser.get(f"{path}?item={number}&decision=accept").status == 405
    assert shop.waiting() == [number]


def test_the_menu_says_how_much_waits_on_every_page(shop):
    for path in ("", "today", "inbox", "cost"):
        assert '"unseen"> waiting' not in shop.browser.get(path).text
    shop.put("new", FRESH)
    for path in ("", "today", "inbox", "cost"):
        assert '<span class="tag">1<span class="unseen"> waiting' in shop.browser.get(path).text

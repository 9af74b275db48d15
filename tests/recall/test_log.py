"""From the hooks' files into the ledger: every line once, whatever stands in it, and old files away."""

import json
import os
import threading
from dataclasses import replace

import pytest

from pipeline.core.clock import parse_time
from pipeline.ledger import open_ledger, recalls
from pipeline.recall.live import session_file
from pipeline.worker import recall_log

NOW = parse_time("2026-11-27T10:00:00+00:00").timestamp()
DAY = 86_400


def item(number=1, **more):
    return {
        "id": f"id-{number}", "name": f"memory-{number}", "path": f"m{number}.md", "store": "/s",
        "digest": "d", "score": 0.5, "why": ["deploy", "staging"], "chars": 401, **more,
    }  # fmt: skip


def sent(*items, **more):
    return {
        "k": "sent", "at": NOW, "hook": "UserPromptSubmit", "cwd": "/w/shop", "store": "/s", "chars": 500,
        "tokens": 125, "left_out": 1, "prompt": "5e0d1c2b", "items": list(items), **more,
    }  # fmt: skip


class Place:
    """A home with the hooks' files, and its ledger."""

    def __init__(self, home):
        self.home = home
        self.folder = home / "recall" / "sessions"
        self.ledger = open_ledger(home / "ledger.sqlite")

    def hook(self, line, session="s-1"):
        assert session_file.append(str(self.home), session, line)

    def put(self, raw, session="s-1"):
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.file(session).open("ab") as out:
            out.write(raw)

    def file(self, session="s-1"):
        return self.folder / f"{session}.jsonl"

    def take(self, now=NOW):
        return recall_log.take(self.ledger, self.home, now)

    def lines(self, session="s-1"):
        return recalls.lines(self.ledger, session)

    def names(self, session="s-1"):
        return [one.name for line in self.lines(session) for one in line.items]

    def bad(self, session="s-1"):
        return recalls.bad_lines(self.ledger, session)


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path / "home")
    yield made
    made.ledger.close()


def test_nothing_written_is_nothing_taken(place):
    assert place.take() == 0


def test_what_the_hook_wrote_is_in_the_ledger(place):
    place.hook(sent(item()))
    session_file.reset(str(place.home), "s-1", "compact", NOW + 1)
    assert place.take() == 2
    first, second = place.lines()
    made = recalls.Item("id-1", "memory-1", "m1.md", "/s", "d", 0.5, ("deploy", "staging"), 401, 101)
    line = recalls.Line(0, "sent", NOW, "UserPromptSubmit", "/w/shop", "/s", 500, 125, 1, "5e0d1c2b", (made,))
    assert first == line
    assert (second.kind, second.hook, second.at, second.items) == ("reset", "compact", NOW + 1, ())


@pytest.mark.parametrize(
    ("line", "hook"),
    [
        ({"k": "start", "source": "resume"}, "SessionStart:resume"),
        ({"k": "start"}, "SessionStart"),
        ({"k": "reset", "source": "clear"}, "clear"),
        ({"k": "sent", "hook": "UserPromptSubmit"}, "UserPromptSubmit"),
    ],
)
def test_a_line_tells_what_it_came_from(place, line, hook):
    place.hook({"at": NOW, **line})
    place.take()
    assert [found.hook for found in place.lines()] == [hook]


def test_each_line_is_taken_once(place):
    place.hook(sent(item(1)))
    assert place.take() == 1
    place.hook(sent(item(2)))
    place.hook(sent(item(3)), session="s-2")
    assert (place.take(), place.take()) == (2, 0)
    assert (place.names(), place.names("s-2")) == (["memory-1", "memory-2"], ["memory-3"])


def test_a_line_without_its_end_waits_for_it(place):
    raw = json.dumps(sent(item())).encode()
    place.put(raw[:40])
    assert (place.take(), place.bad()) == (0, [])
    place.put(raw[40:] + b"\n")
    assert place.take() == 1
    assert place.names() == ["memory-1"]


def test_a_line_torn_by_a_crash_costs_only_itself(place):
    place.put(json.dumps(sent(item(1))).encode()[:60])
    place.hook(sent(item(2)))
    assert place.take() == 1
    assert place.names() == ["memory-2"]
    assert [(line.position, line.reason[:7]) for line in place.bad()] == [(0, "no JSON")]


ODD = [
    (b"\xff\xfe\x00", "no JSON"),
    (b"", "no JSON"),
    (b"7", "no object"),
    (b"[" * 100_000, "no JSON"),
    (b'{"k": "sent"} {"k": "sent"}', "no JSON"),
    (b'{"k": "later"}', "does not know"),
    (b'{"k": ["sent"]}', "does not know"),
    (b"{}", "does not know"),
    (b'{"k": "sent", "items": 7}', "1 of its 1 memories"),
    (b'{"k": "sent", "items": [{}, 7, null]}', "2 of its 3 memories"),
    (json.dumps(sent(*[item()] * 150)).encode(), "50 of its 150 memories"),
    (b"x" * (recall_log.MOST_LINE + 10), "longer than"),
    (b'{"k": "sent", "at": ' + b"9" * 5000 + b"}", "no JSON"),
]


@pytest.mark.parametrize(("raw", "reason"), ODD, ids=[str(n) for n in range(len(ODD))])
def test_what_cant_be_understood_is_told_and_stops_nothing(place, raw, reason):
    place.put(raw + b"\n")
    place.hook(sent(item(2)))
    place.take()
    assert place.names()[-1] == "memory-2"
    [wrong] = place.bad()
    assert (wrong.position, reason in wrong.reason) == (0, True)
    assert wrong.text == raw[:500].decode("utf-8", "replace").strip()[:500].replace("\0", "\ufffd")
    assert place.take() == 0


HOSTILE = [
    ({"name": "a\ud800b\0c"}, "name", "a\ufffdb\ufffdc"),
    ({"name": 7}, "name", ""),
    ({"name": "n" * 9999}, "name", "n" * 200),
    ({"score": float("nan")}, "score", 0.0),
    ({"score": float("inf")}, "score", 0.0),
    ({"score": "high"}, "score", 0.0),
    ({"score": True}, "score", 0.0),
    ({"chars": -5}, "chars", 0),
    ({"chars": 10**400}, "chars", 0),
    ({"chars": 2**70}, "chars", 0),
    ({"why": "one"}, "why", ("one",)),
    ({"why": {"a": 1}}, "why", ()),
    ({"why": [1, None, "x", ""]}, "why", ("x",)),
    ({"why": ["ghp_" + "A1b2C3d4E5" * 3 + "f6G7h8"]}, "why", ("[redacted:token]",)),
    ({"store": None}, "store", "/s"),
]


@pytest.mark.parametrize(("more", "field", "kept"), HOSTILE, ids=[str(n) for n in range(len(HOSTILE))])
def test_an_odd_value_is_made_fit_to_keep(place, more, field, kept):
    place.put(json.dumps(sent(item(**more))).encode() + b"\n")
    assert place.take() == 1
    assert getattr(place.lines()[0].items[0], field) == kept


@pytest.mark.parametrize("at", [None, "soon", -1, 0, NOW + 2 * DAY, 1e300, True])
def test_a_time_that_cant_be_true_counts_as_now(place, at):
    place.hook(sent(item(), at=at))
    place.take()
    assert place.lines()[0].at == NOW


def test_secrets_in_a_bad_line_are_not_kept(place):
    place.put(b'{"token": "ghp_' + b"A1b2C3d4E5" * 3 + b'f6G7h8"\n')
    place.take()
    assert "ghp_" not in place.bad()[0].text


def test_a_file_begun_anew_is_read_from_its_start(place):
    place.hook(sent(item(1)))
    place.hook(sent(item(2)))
    place.take()
    place.file().unlink()
    place.hook(sent(item(3), at=NOW + 5))
    place.take()
    place.file().unlink()
    for number in (4, 5, 6):
        place.hook(sent(item(number), at=NOW + 9))
    assert place.take() == 3
    assert place.names() == [f"memory-{number}" for number in range(1, 7)]


def test_long_files_are_taken_whole(place):
    for number in range(2 * 500 + 3):
        place.put(json.dumps(sent(item(number))).encode() + b"\n")
    assert place.take() == 1003
    assert place.names()[-1] == "memory-1002"


@pytest.mark.parametrize("name", ["a.b.jsonl", "x" * 81 + ".jsonl", "s-1.picks.json", "é.jsonl", ".jsonl"])
def test_files_of_other_names_are_none_of_ours(place, name):
    place.folder.mkdir(parents=True)
    (place.folder / name).write_text(json.dumps(sent(item())) + "\n", "utf-8")
    os.utime(place.folder / name, (1, 1))
    assert place.take() == 0
    assert (place.folder / name).exists()


def test_what_is_no_regular_file_is_left_and_told(place, tmp_path, caplog):
    secret = tmp_path / "elsewhere"
    secret.write_text(json.dumps(sent(item())) + "\n", "utf-8")
    place.folder.mkdir(parents=True)
    place.file("link").symlink_to(secret)
    os.mkfifo(place.file("pipe"))
    place.file("folder").mkdir()
    place.hook(sent(item(2)))
    assert place.take() == 1
    assert sum("no regular file" in text for text in caplog.messages) == 3


def test_after_a_month_of_silence_the_file_goes_and_the_log_stays(place):
    place.hook(sent(item(1)))
    place.hook(sent(item(2)), session="s-2")
    picks = place.folder / "s-1.picks.json"
    picks.write_text("{}", "utf-8")
    os.utime(place.file(), (NOW - 31 * DAY,) * 2)
    os.utime(place.file("s-2"), (NOW - 29 * DAY,) * 2)
    assert place.take() == 2
    assert sorted(os.listdir(place.folder)) == ["s-2.jsonl"]
    assert place.names() == ["memory-1"]
    place.hook(sent(item(3), at=NOW + 3))
    place.take()
    assert place.names() == ["memory-1", "memory-3"]


def test_a_torn_end_is_told_before_its_file_goes(place):
    place.hook(sent(item(1)))
    place.put(b'{"k": "se')
    os.utime(place.file(), (NOW - 31 * DAY,) * 2)
    place.take()
    assert not place.file().exists()
    assert [(line.reason, line.text) for line in place.bad()] == [("torn: it has no end", '{"k": "se')]


def test_a_file_of_which_something_is_unread_stays(place, tmp_path):
    line = json.dumps(sent(item(), cwd="x" * 200_000)).encode() + b"\n"
    place.put(line * 50)
    os.utime(place.file(), (NOW - 31 * DAY,) * 2)
    assert 0 < place.take() < 50
    assert place.file().exists()
    place.take()
    assert not place.file().exists()
    assert len(place.lines()) == 50


def test_two_that_take_at_once_take_each_line_once(place):
    for number in range(600):
        place.hook(sent(item(number)))
    totals = []

    def other():
        with open_ledger(place.home / "ledger.sqlite") as ledger:
            totals.append(recall_log.take(ledger, place.home, NOW))

    threads = [threading.Thread(target=other) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while place.take():
        pass
    assert place.names() == [f"memory-{number}" for number in range(600)]
    assert len(recalls.uncounted(place.ledger, limit=9999)) == 600


def test_progress_and_lines_are_kept_together(place):
    place.hook(sent(item(1)))
    place.take()
    known = recalls.progress(place.ledger)["s-1"]
    assert known.taken == place.file().stat().st_size
    place.hook(sent(item(2)))
    assert not recalls.add_lines(
        place.ledger, "s-1", [], [], before=replace(known, taken=1), after=replace(known, taken=2)
    )
    assert recalls.progress(place.ledger)["s-1"] == known

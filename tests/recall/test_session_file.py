"""The session file: what was given, once, whoever writes and whatever stands in it."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.recall.live import session_file

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path):
    return str(tmp_path / "home")


def line(*digests, chars=100):
    items = [{"id": f"id-{digest}", "store": "/s", "path": "a.md", "digest": digest} for digest in digests]
    return {"k": "sent", "at": 1.0, "chars": chars, "items": items}


def test_what_was_given_is_read_again(home):
    assert session_file.append(home, "s-1", line("d1", "d2"))
    assert session_file.append(home, "s-1", {"k": "start", "chars": 50, "items": []})
    given = session_file.read(home, "s-1")
    assert given.sent == {"id-d1 /s/a.md": "d1", "id-d2 /s/a.md": "d2"}
    assert given.chars == 150
    assert given.end == os.path.getsize(session_file.session_path(home, "s-1"))


def test_who_appends_knows_what_stands_there_without_reading_it_again(home):
    session_file.append(home, "s", line("d1"))
    given = session_file.read(home, "s")
    other = {"k": "sent", "chars": 20, "items": [{"store": "/s", "path": "b.md", "digest": "d2"}]}
    session_file.append(home, "s", other)
    assert session_file.append(home, "s", {"k": "sent", "chars": 3, "items": [], "heard": 5.0}, given)
    there = session_file.read(home, "s")
    assert [getattr(given, name) for name in given.__slots__] == [
        getattr(there, name) for name in there.__slots__
    ]
    assert (given.chars, given.heard, len(given.sent)) == (123, 5.0, 2)


def test_two_that_give_one_id_are_both_known(home):
    both = [{"id": "same", "store": "/s", "path": f"{name}.md", "digest": name} for name in ("a", "b")]
    session_file.append(home, "s", {"k": "sent", "chars": 1, "items": both})
    assert sorted(session_file.read(home, "s").sent.values()) == ["a", "b"]


def test_a_reset_empties_the_context(home):
    session_file.append(home, "s", line("d1"))
    session_file.reset(home, "s", "compact", 2.0)
    session_file.append(home, "s", line("d2", chars=7))
    given = session_file.read(home, "s")
    assert (given.sent, given.chars) == ({"id-d2 /s/a.md": "d2"}, 7)


def test_a_memory_without_id_is_known_by_its_place(home):
    session_file.append(
        home, "s", {"k": "sent", "chars": 1, "items": [{"store": "/s", "path": "a.md", "digest": "d"}]}
    )
    assert session_file.read(home, "s").sent == {"/s/a.md": "d"}


@pytest.mark.parametrize("session", ["", "../x", "a/b", "a.b", "x" * 81, "é", "a\n", "a\0b"])
def test_a_session_without_a_usable_name_is_kept_nowhere(home, session):
    assert session_file.append(home, session, line("d"))
    assert session_file.read(home, session).sent == {}
    assert not os.path.exists(home)


def test_the_file_is_the_persons_alone(home):
    for session in ("first", "s"):
        session_file.append(home, session, line("d"))
    path = Path(session_file.session_path(home, "s"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    folders = (path.parent, path.parent.parent, Path(home))
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


HOSTILE = [
    b'{"k":"sent","items":[{"id":"x","dig',
    b"\xff\xfe\x00",
    b"[]\n5\nnull\n",
    b'{"k":"sent","chars":"many","items":{}}',
    b'{"k":"sent","chars":-5,"items":[null,{"digest":5},{"id":{}}]}',
    b"[" * 50_000,
]


@pytest.mark.parametrize("bad", HOSTILE)
def test_a_torn_or_hostile_line_costs_only_itself(home, bad):
    session_file.append(home, "s", line("d1"))
    path = session_file.session_path(home, "s")
    with open(path, "ab") as file:
        file.write(bad)
    session_file.append(home, "s", line("d2"))
    given = session_file.read(home, "s")
    assert set(given.sent.values()) >= {"d1", "d2"}
    assert given.chars == 200


def test_the_second_of_two_hooks_stays_silent(home):
    session_file.append(home, "s", line("d0"))
    first = session_file.read(home, "s")
    second = session_file.read(home, "s")
    assert session_file.append(home, "s", line("d1"), first)
    assert not session_file.append(home, "s", line("d1"), second)
    assert session_file.append(home, "s", line("d2"), second), "another memory is another matter"
    assert session_file.read(home, "s").chars == 300


def test_bug_110_two_installs_at_once_say_it_once(home):
    code = (
        "import sys; from pipeline.recall.live import session_file as f; given = f.read(sys.argv[1], 's');"
        "print('read', flush=True); sys.stdin.readline();"
        "line = {'k': 'sent', 'chars': 1, 'items': [{'id': 'i', 'digest': 'd'}]};"
        "print(f.append(sys.argv[1], 's', line, given))"
    )
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    hooks = [subprocess.Popen([sys.executable, "-c", code, home], cwd=ROOT, **pipes) for _ in range(4)]
    for hook in hooks:
        assert hook.stdout.readline() == "read\n"
    for hook in hooks:
        hook.stdin.write("go\n")
        hook.stdin.flush()
    answers = [hook.communicate(timeout=20)[0].strip() for hook in hooks]
    assert sorted(answers) == ["False", "False", "False", "True"]
    assert session_file.read(home, "s").chars == 1


def test_a_link_in_place_of_the_file_is_not_followed(home, tmp_path):
    session_file.append(home, "s", line("d"))
    path = Path(session_file.session_path(home, "s"))
    path.unlink()
    (tmp_path / "other").write_bytes(b"mine")
    path.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic"):
        session_file.append(home, "s", line("d"))
    assert (tmp_path / "other").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"at": 1, "store": "/s", "names": ["a", 5, "b"]}', ["a", "b"]),
        ('{"store": "/other", "names": ["a"]}', []),
        ('{"store": "/s", "names": "a"}', []),
        ("{", []),
        ("[]", []),
    ],
)
def test_picks_are_read_with_care(home, text, names):
    assert session_file.picks(home, "s", "/s") == []
    os.makedirs(f"{home}/recall/sessions")
    Path(f"{home}/recall/sessions/s.picks.json").write_bytes(text.encode())
    assert session_file.picks(home, "s", "/s") == names
    assert session_file.picks(home, "../s", "/s") == []

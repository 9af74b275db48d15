"""`doctor`: every part of an installation that can be off is named with its fix."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from pipeline.core.atomic import ensure_dir
from pipeline.install.hook_registration import events_for, settings_snippet
from tests.cli.conftest import make_desk, session
from tests.support.loopback import KEY_VARIABLE, serving

EVENT = json.dumps({"session_id": "s", "hook_event_name": "Stop"})


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory):
    """A home that worked once."""
    desk = make_desk(tmp_path_factory.mktemp("doctor"))
    desk.here("extract", "--transcript", session(desk.project).write(desk.project))
    return desk


@pytest.fixture
def home(lived_in):
    return lived_in.project.parent / ".claude" / "reverie"


@pytest.fixture
def settings(lived_in):
    """The settings of Claude Code, gone again afterwards."""
    file = lived_in.project.parent / ".claude" / "settings.json"
    yield file
    file.unlink(missing_ok=True)


def told(desk, *arguments, code=0, **env):
    rows = desk.here("doctor", "--json", *arguments, code=code, **env).json
    assert all(row["fix"] for row in rows if row["level"] == "error")
    return [(row["level"], row["what"], row["message"]) for row in rows]


def holds(rows, level, what, words):
    return any(r[0] == level and r[1] == what and words in r[2] for r in rows)


def test_a_home_that_worked_has_no_errors(lived_in):
    rows = told(lived_in)
    for what in ("python", "interpreter", "home", "clock", "ledger", "spend", "spool", "store"):
        assert [level for level, name, _ in rows if name == what] == ["ok"], what
    assert lived_in.here("doctor").out.splitlines()[-1].startswith("0 errors, ")


def test_as_json_a_finding_has_the_fields_of_its_command_and_no_more(lived_in, tmp_path):
    keys = {tuple(row) for row in lived_in.here("doctor", "--json").json}
    assert keys == {("level", "what", "message", "fix")}
    (tmp_path / "a.md").write_text("Odd.")
    found = lived_in.here("audit", tmp_path, "--json", code=1).json["findings"]
    assert {tuple(row) for row in found} == {("level", "code", "path", "line", "message", "fix", "other")}


def wire(change):
    """Return the settings with our hooks, as `change` leaves them."""
    whole = settings_snippet()
    return change(whole) or whole


WIRING = {
    "all of them": (lambda s: None, "ok", "all 5 in"),
    "one left out": (lambda s: s["hooks"].pop("PreCompact") and None, "error", "no hook for PreCompact"),
    "switched off": (lambda s: {**s, "disableAllHooks": True}, "error", "switches all hooks off"),
    "a plugin as well": (
        lambda s: {**s, "enabledPlugins": {"reverie@here": True}}, "note", "more than once"
    ),
    "a plugin alone": (lambda s: {"enabledPlugins": {"reverie@here": True}}, "ok", "by the plugin"),
    "a plugin that is off": (lambda s: {"enabledPlugins": {"reverie@here": False}}, "note", "none in"),
    "odd shapes": (lambda s: {"hooks": {"Stop": [3, {"hooks": "x"}]}}, "note", "none in settings.json"),
    "no object": (lambda s: [1], "error", "is no JSON object"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "level", "words"), WIRING.values(), ids=WIRING)
def test_the_wiring_of_the_hooks(lived_in, settings, change, level, words):
    settings.write_text(json.dumps(wire(change)))
    assert holds(told(lived_in, code=1 if level == "error" else 0), level, "hooks", words)


def test_settings_that_are_no_json_are_named(lived_in, settings):
    settings.write_text("{broken")
    assert holds(told(lived_in, code=1), "error", "hooks", str(settings))


def test_a_byte_order_mark_is_no_error(lived_in, settings):
    settings.write_text("\ufeff" + json.dumps(settings_snippet()))
    rows = told(lived_in)
    assert holds(rows, "ok", "hooks", f"all 5 in {settings}") and not holds(rows, "error", "hooks", "")


def test_the_line_of_what_is_no_json_is_named(lived_in, settings):
    settings.write_text('{\n  "model": opus\n}')
    assert holds(told(lived_in, code=1), "error", "hooks", f"{settings}:2: is no JSON")


def test_a_plugin_among_the_skills_runs_the_hooks(lived_in, settings):
    manifest = settings.parent / "skills" / "mine" / ".claude-plugin" / "plugin.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text('{"name": "reverie"}')
    try:
        assert holds(told(lived_in), "ok", "hooks", "by the plugin reverie@skills-dir")
        settings.write_text('{"enabledPlugins": {"reverie@skills-dir": false}}')
        assert holds(told(lived_in), "note", "hooks", "none in settings.json")
    finally:
        shutil.rmtree(settings.parent / "skills")


def test_hooks_of_a_place_that_is_gone_are_named(lived_in, settings):
    moved = settings_snippet(python="/nowhere/bin/python3", hooks=Path("/nowhere/hooks"))
    settings.write_text(json.dumps(moved))
    assert holds(told(lived_in, code=1), "error", "hooks", "/nowhere/bin/python3")


@pytest.mark.parametrize(
    ("on", "there", "level", "words"),
    [
        (True, True, "ok", "PreToolUse in "),
        (True, False, "error", "no settings file has the hook"),
        (False, True, "note", "recall.before_tools is off"),
    ],
)
def test_the_hook_before_tools_is_where_the_setting_wants_it(lived_in, settings, on, there, level, words):
    hooks = settings_snippet(events_for(before_tools=there))
    settings.write_text(json.dumps(hooks), encoding="utf-8")
    env = {"REVERIE_RECALL__BEFORE_TOOLS": str(on).lower()}
    rows = told(lived_in, code=level == "error", **env)
    assert holds(rows, level, "hooks", words) and holds(rows, "ok", "hooks", "all 5 in ")


def test_the_last_event_is_told(lived_in, home):
    (home / "spool").mkdir(exist_ok=True, mode=0o700)
    event = home / "spool" / "1700000000000-1-abcdef-Stop.json"
    event.write_text(EVENT)
    try:
        assert holds(told(lived_in), "ok", "events", "Stop, came")
    finally:
        event.unlink()


OFF = {
    "a loose home": (
        lambda h: h.chmod(0o755), lambda h: h.chmod(0o700), "error", "permissions", "others can read",
    ),
    "a loose report": (
        lambda h: ensure_dir(h / "reports").chmod(0o755), lambda h: (h / "reports").rmdir(),
        "error", "permissions", "/reports",
    ),
    "a Python that is gone": (
        lambda h: (h / "python").write_text("/nowhere/python\n"),
        lambda h: (h / "python").write_text(f"{sys.executable}\n"),
        "error", "interpreter", "is gone",
    ),
    "a Python that does not run": (
        lambda h: (h / "python").write_text("/bin/false\n"),
        lambda h: (h / "python").write_text(f"{sys.executable}\n"),
        "error", "interpreter", "does not run",
    ),
    "what a hook wrote": (
        lambda h: ensure_dir(h / "logs").joinpath("hook.log").write_text("Stop: no room\n"),
        lambda h: (h / "logs/hook.log").unlink(),
        "note", "hook.log", "Stop: no room",
    ),
    "a clock that stands": (None, None, "note", "clock", "REVERIE_NOW stops it"),
    "mode off": (None, None, "note", "mode", "off: no background work"),
    "no calls left": (None, None, "note", "spend", "spend.calls_per_hour"),
    "no model": (None, None, "note", "provider", "count as read"),
}  # fmt: skip
ENV = {
    "clock": {"REVERIE_NOW": "2026-11-27T10:00:00Z"},
    "mode": {"REVERIE_STORE__MODE": "off"},
    "spend": {"REVERIE_SPEND__CALLS_PER_HOUR": "0"},
}


@pytest.mark.parametrize(("spoil", "mend", "level", "what", "words"), OFF.values(), ids=OFF)
def test_what_is_off_is_named(lived_in, home, spoil, mend, level, what, words):
    if spoil:
        spoil(home)
    try:
        rows = told(lived_in, code=1 if level == "error" else 0, **ENV.get(what, {}))
    finally:
        if mend:
            mend(home)
    assert holds(rows, level, what, words)


def test_a_clock_that_is_behind_the_files_is_named(lived_in, home):
    stamp = home.stat()
    os.utime(home, (4e9, 4e9))
    try:
        assert holds(told(lived_in, code=1), "error", "clock", "files here are newer")
    finally:
        os.utime(home, (stamp.st_atime, stamp.st_mtime))


def test_a_lock_that_is_a_folder_is_named(lived_in):
    lock = lived_in.store / ".consolidate-lock"
    lock.mkdir()
    try:
        assert holds(told(lived_in, code=1), "error", "lock", "no regular file")
    finally:
        lock.rmdir()


def test_what_a_killed_writer_left_is_a_note_since_the_next_change_sweeps_it(lived_in):
    left = lived_in.store / ".CORE.md.reverie-tmp-77-0123456789ab"
    left.write_bytes(b"half")
    assert holds(told(lived_in), "note", "store temp-file", "a writer that was killed")
    left.unlink()


def test_a_search_index_that_is_behind_or_gone_is_a_note(lived_in, home):
    lived_in.here("reindex")
    assert holds(told(lived_in), "ok", "search index", "2 memories, up to date")
    file = next(lived_in.store.glob("always*.md"))
    file.write_bytes(file.read_bytes() + b"More.\n")
    assert holds(told(lived_in), "note", "search index", "behind by 1 of 2")
    for index in (home / "search").iterdir():
        index.unlink()
    assert any(row[:2] == ("note", "search index") for row in told(lived_in))


def test_without_online_nothing_is_asked_and_with_it_one_small_call(lived_in):
    with serving(lambda prompt: {"ok": True}) as api:
        env = {
            "REVERIE_MODEL__PROVIDER": "anthropic",
            "REVERIE_MODEL__API_KEY_ENV": KEY_VARIABLE,
            KEY_VARIABLE: "k",
            "REVERIE_MODEL__BASE_URL": api.url,
        }
        told(lived_in, **env)
        assert api.prompts == []
        assert holds(told(lived_in, "--online", **env), "ok", "online", "anthropic answered")
        assert len(api.prompts) == 1
        api.answer = lambda prompt: "no JSON"
        assert any(row[:2] == ("error", "online") for row in told(lived_in, "--online", code=1, **env))


def test_a_setup_that_failed_is_an_error_until_somebody_installs_the_packages(tmp_path):
    desk = make_desk(tmp_path)
    home = desk.project.parent / ".claude" / "reverie"
    home.mkdir(parents=True, mode=0o700)
    text = "Reverie learns nothing yet, as it could not set itself up: no network."
    (home / "setup").write_text(f"failed 1 0 /x\n{text}\n", "utf-8")
    (home / "setup").chmod(0o600)
    assert holds(told(desk, code=1), "error", "environment", text)
    (home / "python").write_text(f"{sys.executable}\n", "utf-8")
    (home / "python").chmod(0o600)
    assert not holds(told(desk), "error", "environment", text)

"""`reverie config`: set and unset keep the file; a broken file is named everywhere and stops no reading."""

import json
import subprocess
import sys

import pytest

from pipeline.hooklib import settings as hook_settings
from tests.cli.conftest import session
from tests.support.hooks import HOOKS

BEFORE = "# mine\n[spend] # caps\ncalls_per_run = 3   # few\n\n# about recall\n[recall]\nmemories = 4\n"


@pytest.fixture
def file(desk):
    """The settings file of a home."""
    home = desk.project.parent / ".claude" / "reverie"
    home.mkdir(parents=True)
    return home / "config.toml"


@pytest.mark.parametrize(
    ("key", "value", "after"),
    [
        ("spend.calls_per_run", "5", BEFORE.replace("= 3 ", "= 5 ")),
        ("spend.dollars_per_day", "0.5", BEFORE.replace("caps\n", "caps\ndollars_per_day = 0.5\n")),
        ("recall.enabled", "off", BEFORE.replace("[recall]\n", "[recall]\nenabled = false\n")),
        ("model.provider", "offline", BEFORE + '\n[model]\nprovider = "offline"\n'),
        ("embeddings.ollama_model", "5", BEFORE + '\n[embeddings]\nollama_model = "5"\n'),
    ],
)
def test_set_changes_one_line_and_says_which(desk, file, key, value, after):
    file.write_text(BEFORE)
    told = desk.here("config", "set", key, value, "--json").json
    assert file.read_text() == after
    assert told["changed"] and after.splitlines()[told["line"] - 1].startswith(key.partition(".")[2])
    assert not desk.here("config", "set", key, value, "--json").json["changed"]
    rows = {row["key"]: row["value"] for row in desk.here("config", "--json").json["settings"]}
    assert rows[key] == told["value"] or key == "model.provider"
    assert "default holds" in desk.here("config", "unset", "-h").out
    assert desk.here("config", "unset", key, "--json").json["changed"]
    assert key.partition(".")[2] not in file.read_text()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("dream.retire_share", "7", "less than or equal to 1"),
        ("spend.dollars_per_day", "lots", "valid number"),
        ("store.mode", "silent", "off, observe, propose, auto"),
        ("embeddings.provider", "magic", "'ollama'"),
        ("extraction.time_zone", "Mars/Base", "no time zone"),
        ("dollars_per_day", "1", "Did you mean spend.dollars_per_day"),
        ("nothing", "1", "there is no setting 'nothing'"),
    ],
)
def test_set_refuses_what_is_no_setting_and_leaves_the_file(desk, file, key, value, said):
    file.write_text(BEFORE)
    assert said in desk.here("config", "set", key, value, code=2).err
    assert file.read_text() == BEFORE


def test_every_setting_is_shown_as_it_can_be_set(desk, file):
    file.write_text("[projects]\nonly = ['~/a b', '/c']\n[recall]\nenabled = false\n")
    rows = desk.here("config", "--json").json["settings"]
    shown = {line.split()[0]: line.split(maxsplit=1)[1] for line in desk.here("config").out.splitlines()}
    assert shown["recall.enabled"].startswith("false ") and shown["projects.ignore"].startswith("[] ")
    assert shown["projects.only"].startswith('["~/a b", "/c"] ') and shown["model.base_url"].startswith('"" ')
    for row in rows:
        text = desk.here("config", "get", row["key"]).out.rstrip("\n")
        assert shown[row["key"]].startswith(text)
        assert desk.here("config", "set", row["key"], text, "--json").json["value"] == row["value"]
    assert desk.here("config", "--json").json["settings"] == rows


def test_one_setting_or_section_is_shown_by_its_name(desk, file):
    file.write_text("[recall]\nfloor = 2.5\n")
    for words in (["get", "recall.floor"], ["recall.floor"]):
        said = desk.here("config", *words)
        assert said.out == "2.5\n" and "Default: 1.0." in said.err and "How relevant" in said.err
    row = desk.here("config", "get", "recall.floor", "--json").json
    assert (row["value"], row["default"]) == (2.5, 1.0)
    for words in (["get", "recall"], ["recall"]):
        names = [row["key"] for row in desk.here("config", *words, "--json").json["settings"]]
        assert "recall.floor" in names and all(name.startswith("recall.") for name in names)
    assert "Did you mean recall.floor" in desk.here("config", "floor", code=2).err
    assert "Did you mean recall.floor" in desk.here("config", "get", "recall.flor", code=2).err
    desk.here("config", "recal", code=2)


def test_set_says_when_the_environment_stands_above_it(desk, file):
    said = desk.here("config", "set", "spend.calls_per_run", "5", REVERIE_SPEND__CALLS_PER_RUN="7")
    assert "REVERIE_SPEND__CALLS_PER_RUN" in said.err and "7 holds here" in said.err


BROKEN = {
    "a key that there is not": ("[recall]\nfloors = 2\n", ":2: recall.floors", "did you mean floor"),
    "a value that can't be": ("[spend]\ndollars_per_day = 'x'\n", ":2: spend.dollars_per_day", "number"),
    "no TOML": ("[spend]\ndollars_per_day = = 2\n", ":2: ", "line 2"),
    "no section": ("[spends]\nx = 1\n", ":1: spends", "did you mean spend"),
}
READING = [
    "list",
    "status",
    "history",
    "timeline",
    "inbox",
    "search ship",
    "recall ship",
    "show ship",
    "why ship",
    "diff",
    "list --retired",
    "conversations",
    "injected",
    "mode",
]
WRITING = [
    "add More.",
    "forget ship",
    "pin ship",
    "undo",
    "reindex",
    "work",
    "process",
    "consolidate",
    "init --yes",
    "install --yes",
]


@pytest.mark.parametrize("broken", BROKEN)
def test_bug_d12_a_broken_file_is_named_and_stops_no_reading(desk, file, broken):
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    text, where, more = BROKEN[broken]
    file.write_text(text)
    for command in READING:
        said = desk.here(*command.split())
        assert said.out and f"{file}{where}" in (said.out if command == "status" else said.err), command
        assert more in said.out + said.err
    assert desk.here("list", "--json").json[0]["name"] == "ship"
    assert "error config: " in desk.here("doctor", code=1).out
    said = desk.here("config", code=1)
    assert f"{file}{where}" in said.err and "spend.dollars_per_day" in said.out
    assert json.loads(desk.here("config", "--json", code=1).out)["error"]


@pytest.mark.parametrize("broken", BROKEN)
def test_with_a_broken_file_nothing_is_written_and_no_model_is_asked(desk, file, broken, tmp_path):
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    transcript = session(desk.project).write(tmp_path)
    file.write_text(BROKEN[broken][0])
    before = {path: path.read_bytes() for path in desk.store.rglob("*") if path.is_file()}
    for command in (*WRITING, f"extract --transcript {transcript}"):
        assert str(file) in desk.here(*command.split(), code=1).err, command
    assert {path: path.read_bytes() for path in desk.store.rglob("*") if path.is_file()} == before


def test_the_broken_key_is_mended_from_the_command_line(desk, file):
    file.write_text("# mine\n[recall]\nfloors = 2\nmemories = 4\n")
    desk.here("config", "unset", "recall.floors")
    assert file.read_text() == "# mine\n[recall]\nmemories = 4\n"
    file.write_text("[spend]\ndollars_per_day = 'x'\n")
    desk.here("config", "set", "spend.dollars_per_day", "2")
    assert desk.here("config").out


def status_line(desk):
    home = str(desk.project.parent / ".claude" / "reverie")
    hook = [sys.executable, "-I", "-S", str(HOOKS / "statusline.py")]
    env = {**desk.env, "REVERIE_HOME": home}
    return subprocess.run(hook, input=b"{}", env=env, capture_output=True, text=False).stdout.decode()


@pytest.mark.parametrize("broken", BROKEN)
def test_bug_d12_the_status_line_names_the_file_once_a_worker_met_it(desk, file, broken):
    file.write_text(BROKEN[broken][0])
    worker = [sys.executable, "-m", "pipeline.worker"]
    done = subprocess.run(worker, cwd=desk.project, env=desk.env, capture_output=True, timeout=60)
    assert done.returncode == 0
    assert status_line(desk).startswith("reverie paused: config.toml:")
    file.write_text("")
    assert "paused" not in status_line(desk)


def test_a_file_that_is_no_toml_shows_in_the_status_line_at_once(desk, file):
    file.write_text("x = [")
    assert status_line(desk).startswith("reverie paused: config.toml: ")


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("[store]\nmode = 'off'\nx = = 1\n", "off"),
        ('x = = 1\nstore.mode = "observe" # mine\n', "observe"),
        ("[store]\nmode = 'ofF'\n", "off"),
        ("[store]\nmode = 'propose'\nx = 2\n", "propose"),
        ("x = = 1\n", "auto"),
    ],
)
def test_a_broken_file_never_allows_more_than_its_mode(desk, file, text, mode):
    file.write_text(text)
    assert desk.here("status", "--json").json["mode"] == mode
    assert f"* {mode}" in desk.here("mode").out
    if "= =" in text:
        assert hook_settings.hook_settings(str(file.parent))["mode"] == mode

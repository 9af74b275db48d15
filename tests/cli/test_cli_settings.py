"""`reverie config`: set and unset keep the file; a broken file is named everywhere and stops no reading."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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
        assert said.out == "2.5\n" and "Default: 1.0." in said.err and "How sure" in said.err
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
    assert "error   config: " in desk.here("doctor", code=1).out
    said = desk.here("config", code=1)
    assert f"{file}{where}" in said.err and "spend.dollars_per_day" in said.out
    assert json.loads(desk.here("config", "--json", code=1).out)["error"]


def test_f7_status_does_not_say_what_a_broken_file_keeps_from_happening(desk, file):
    assert "turns are read by rules" in desk.here("status").out
    file.write_text("[recall]\nfloors = 2\n")
    said = desk.here("status").out
    assert "turns are read by rules" not in said and "looked at after" not in said
    assert "none yet; held, see below" in said and said.count("floors") == 1


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


def no_file(file):
    file.mkdir()


def a_pipe(file):
    os.mkfifo(file)


def a_ring(file):
    file.symlink_to(file)


ODD: dict[str, tuple[bytes | Callable[[Path], None], str]] = {
    "a folder": (no_file, "it is no file"),
    "a pipe that nobody writes to": (a_pipe, "it is no file"),
    "a link to itself": (a_ring, "Too many levels of symbolic links"),
    "bytes": (b"\x82\xff\x00", "it is no text in UTF-8, from byte 1 on"),
    "longer than anybody's": (b"# x\n" * 300_000, "it is longer than 1 MB"),
    "nested without end": (b"x = " + b"[" * 5_000, "it is nested too deeply"),
    "a number without end": (b"[spend]\ncalls_per_hour = " + b"9" * 5_000, "a number in it is too long"),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_file_is_named_in_words_and_waited_for_by_nobody(desk, file, odd):
    content, said = ODD[odd]
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        content(file)
    told = desk.run("list").err
    assert f"config.toml: {said}. Until it is mended nothing is written" in told
    refused = desk.run("config", "set", "spend.calls_per_hour", "3", code=1).err
    for text in (told, refused, desk.run("config", "--json", code=1).json["error"]):
        assert said in text and "Errno" not in text and "codec" not in text and "fault" not in text
    event = json.dumps({"session_id": "s-1", "cwd": str(desk.project), "source": "startup"}).encode()
    hook = subprocess.run(
        [sys.executable, "-I", "-S", HOOKS / "recall.py", "SessionStart"],
        input=event, env=desk.env, capture_output=True, timeout=60,
    )  # fmt: skip
    assert hook.returncode == 0 and hook.stderr == b""
    assert f"config.toml: {said}. Mend {file}" in json.loads(hook.stdout)["systemMessage"]


def test_a_mark_before_the_first_line_is_no_fault(desk, file):
    file.write_bytes(b"\xef\xbb\xbf[spend]\r\ncalls_per_run = 3\r\n")
    assert desk.here("list").err.count("mended") == 0
    desk.here("config", "set", "spend.calls_per_hour", "7")
    assert file.read_bytes().endswith(b"[spend]\r\ncalls_per_hour = 7\r\ncalls_per_run = 3\r\n")


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("projects.ignore", "~/a,~/b", 'ignore = ["~/a", "~/b"]'),
        ("projects.only", '["~/a, b"]', 'only = ["~/a, b"]'),
        ("projects.ignore", "secret", 'ignore = ["secret"]'),
        ("model.pass_env", "AWS_*, A=B", 'pass_env = ["AWS_*", "A=B"]'),
        ("dialogue.keep_days", "30", "keep_days = 30"),
        ("dialogue.keep_days", "forever", 'keep_days = "forever"'),
    ],
)
def test_set_writes_what_a_setting_takes(desk, file, key, value, line):
    said = desk.here("config", "set", key, value)
    assert file.read_text().splitlines()[1] == line
    assert said.err == "", "nothing of the environment stands above it"


KEY = "sk-ant-api03-" + "A1b2" * 12


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model.api_key_env", KEY),
        ("model.auth_token_env", KEY),
        ("embeddings.openai_key_env", KEY),
        ("model.pass_env", f"ANTHROPIC_API_KEY={KEY}"),
        ("spend.calls_per_hour", KEY),
    ],
)
def test_a_secret_in_place_of_a_variables_name_is_written_nowhere(desk, file, key, value):
    assert KEY not in desk.here("config", "set", key, value, code=2).err
    assert not file.exists()
    section, _, name = key.partition(".")
    file.write_text(f'[{section}]\n{name} = "{value}"\n')
    told = [desk.here("list").err, desk.here("doctor", code=1).out, desk.here("status").out]
    assert not any(KEY in text for text in told)
    desk.here("work", code=1)
    written = [
        f for f in file.parent.rglob("*") if f.is_file() and f != file and KEY.encode() in f.read_bytes()
    ]
    assert written == []


@pytest.mark.parametrize("value", ["9" * 5_000, "a\udcff", "a\x1b[31m"])
def test_set_names_a_value_that_nobody_could_read(desk, file, value):
    key = "model.model" if value[0] == "a" else "spend.calls_per_hour"
    said = desk.here("config", "set", key, value, code=2).err
    assert f"{key} can't be" in said and len(said) < 600 and "fault" not in said and "\x1b" not in said
    assert not file.exists()


def test_of_settings_made_at_once_none_is_lost(desk, file):
    keys = [
        "spend.calls_per_hour",
        "spend.calls_per_run",
        "recall.memories",
        "dream.sessions",
        "recall.floor",
    ]
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli.main", "config", "set", key, "7"],
            cwd=desk.project, env=desk.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for key in keys
    ]  # fmt: skip
    assert [run.wait(60) for run in runs] == [0] * len(keys)
    values = {row["key"]: row["value"] for row in desk.here("config", "--json").json["settings"]}
    assert [values[key] for key in keys] == [7] * len(keys)


def test_settings_nested_deeper_than_can_be_edited_are_said_to_be(desk):
    file = desk.project.parent / ".claude" / "reverie" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("x = " + "{a=" * 200 + "1" + "}" * 200)
    said = desk.here("config", "set", "recall.enabled", "false", code=1)
    assert "nested" in said.err and "fault in Reverie" not in said.err


def test_bug_a_value_below_zero_is_a_value(desk):
    said = desk.here("config", "set", "recall.floor", "-1", code=2).err
    assert "option" not in said and "recall.floor" in said
    desk.here("config", "set", "extraction.time_zone", "-x", code=2)
    assert "Usage" in desk.here("config", "set", "--help").out

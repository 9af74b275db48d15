"""The settings the hooks go by: the board while nothing changed, else the file, and variables above both."""

import json

import pytest

from pipeline.config import load, load_or_defaults
from pipeline.core.errors import ConfigError
from pipeline.hooklib import settings

NO_LISTS: dict[str, list[str]] = {"only": [], "ignore": []}


@pytest.fixture
def home(sealed_environment):
    place = sealed_environment / "reverie"
    (place / "recall").mkdir(parents=True)
    return place


def test_what_is_no_mode_is_refused_with_the_modes(home):
    write(home, b'[store]\nmode = "automatic"\n')
    with pytest.raises(ConfigError, match="one of off, observe, propose, auto"):
        load(home)


def write(home, config=None, board=None):
    if config is not None:
        (home / "config.toml").write_bytes(config)
    if board is not None:
        stamp = settings.config_stamp(str(home))
        (home / "recall" / "board.json").write_text(json.dumps({"config_stamp": stamp, "settings": board}))


def test_without_any_file_all_is_at_its_default(home):
    assert settings.hook_settings(str(home)) == {
        **settings.DEFAULTS,
        "mode": "auto",
        "time_zone": "",
        **NO_LISTS,
    }


def test_config_is_read_when_no_board_knows_it(home):
    write(home, b'[recall]\nmemories = 2\n[store]\nmode = "observe"\n')
    found = settings.hook_settings(str(home))
    assert (found["memories"], found["mode"]) == (2, "observe")


def test_the_board_is_believed_while_config_is_as_it_was(home):
    write(home, b"[recall]\nmemories = 2\n", {"recall": {"memories": 3}, "store": {"mode": "propose"}})
    found = settings.hook_settings(str(home))
    assert (found["memories"], found["mode"]) == (3, "propose")
    write(home, b"[recall]\nmemories = 4 # more\n")
    assert settings.hook_settings(str(home))["memories"] == 4


def test_a_config_that_is_gone_no_longer_holds(home):
    write(home, b"[recall]\nmemories = 2\n", {"recall": {"memories": 2}})
    (home / "config.toml").unlink()
    assert settings.hook_settings(str(home))["memories"] == 5


@pytest.mark.parametrize("board", [b"", b"{", b"[]", b'{"settings": 5}', b"\xff\xfe", b"[" * 99_999])
def test_a_damaged_board_means_reading_config(home, board):
    write(home, b"[recall]\nmemories = 2\n")
    (home / "recall" / "board.json").write_bytes(board)
    assert settings.hook_settings(str(home))["memories"] == 2


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("REVERIE_RECALL__ENABLED", "false", "enabled", False),
        ("REVERIE_RECALL__MEMORIES", "1", "memories", 1),
        ("REVERIE_RECALL__FLOOR", "1.5", "floor", 1.5),
        ("REVERIE_STORE__MODE", "off", "mode", "off"),
    ],
)
def test_variables_stand_above_files_in_commands_and_do_not_count_in_hooks(
    home, monkeypatch, name, text, key, value
):
    write(home, b'[recall]\nenabled = true\nmemories = 4\nfloor = 2\n[store]\nmode = "auto"\n')
    before = settings.hook_settings(str(home))
    monkeypatch.setenv(name, text)
    problems: list[str] = []
    assert settings.hook_settings(str(home), problems) == before
    assert problems == [
        f"{name} does not count in sessions. `reverie config set {name[8:].lower().replace('__', '.')}` does"
    ]
    section = name[8:].lower().partition("__")[0]
    assert getattr(getattr(load(home), section), key) == value
    monkeypatch.setenv("CLAUDECODE", "")
    assert getattr(getattr(load(home), section), key) != value, "in a session it may be a project's"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (b"[recall\n", "config.toml"),
        (b"\xff", "config.toml"),
        (b'[recall]\nmemories = "many"\n', "recall.memories"),
        (b"[recall]\nmemories = 2.5\n", "recall.memories"),
        (b"[recall]\nfloor = nan\n", "recall.floor"),
        (b"[recall]\nenabled = 7\n", "recall.enabled"),
        (b"recall = 3\n", ""),
    ],
)
def test_what_can_not_be_used_is_told_and_at_its_default(home, config, told):
    write(home, config)
    problems: list[str] = []
    found = settings.hook_settings(str(home), problems)
    assert found == {**settings.DEFAULTS, "mode": "auto", "time_zone": "", **NO_LISTS}
    assert [told in problem for problem in problems] == [True] * bool(told)


def test_an_unknown_mode_is_off(home):
    write(home, b'[store]\nmode = "sometimes"\n')
    problems: list[str] = []
    assert settings.hook_settings(str(home), problems)["mode"] == "off"
    assert "sometimes" in problems[0]


@pytest.mark.parametrize(
    "config", [b'[extraction]\ntime_zone = "Asia/Tokyo"\n', b'extraction.time_zone="Asia/Tokyo"']
)
def test_the_zone_is_known_from_the_file_and_the_board(home, config):
    write(home, config)
    assert settings.hook_settings(str(home))["time_zone"] == "Asia/Tokyo"
    write(home, config, {"extraction": {"time_zone": "Europe/Rome"}})
    assert settings.hook_settings(str(home))["time_zone"] == "Europe/Rome"


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (b'[extraction]\nattempts = 2\ntime_zone = "Mars/Olympus"\n', 3),
        (b'[model]\nmodel = "m"\n\n[ extraction ]\n  time_zone="Mars/Olympus"', 5),
        (b'extraction.time_zone = "Mars/Olympus"', 1),
        (b'extraction = { time_zone = "Mars/Olympus" }', None),
    ],
)
def test_a_zone_nobody_knows_is_refused_with_file_line_and_fix(home, config, line):
    write(home, config)
    with pytest.raises(ConfigError, match="there is no time zone 'Mars/Olympus'") as caught:
        load(home)
    error = caught.value
    assert (error.file, error.line) == (str(home / "config.toml"), line)
    assert "Europe/Berlin" in error.fix


def test_a_key_that_does_not_exist_is_refused_with_its_line(home):
    write(home, b"[model]\n\nmodle = 1\n")
    with pytest.raises(ConfigError, match="there is no such key") as caught:
        load(home)
    assert caught.value.line == 3


def test_a_zone_nobody_knows_in_the_environment_is_refused_with_the_variable(home, monkeypatch):
    monkeypatch.setenv("REVERIE_EXTRACTION__TIME_ZONE", "Mars")
    with pytest.raises(ConfigError, match="Mars") as caught:
        load(home)
    assert (caught.value.file, caught.value.line) == ("$REVERIE_EXTRACTION__TIME_ZONE", None)


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        (None, ""),
        (b"[recall]\nfloor = 2\n", ""),
        (b"[recall\n", "config.toml: Expected"),
        (b'[store]\nmode = "sometimes"\n', "config.toml: store.mode: there is no mode 'sometimes'"),
        (b"[recall]\nfloor = nan\n", "config.toml: recall.floor: nan can't be used"),
    ],
)
def test_what_stops_work_is_told_before_any_worker_saw_it(home, monkeypatch, config, fault):
    write(home, config)
    monkeypatch.setenv("REVERIE_RECALL__FLOOR", "many")  # is no fault of the file
    found = settings.config_fault(str(home))
    assert found.startswith(fault) and bool(found) == bool(fault)


def test_what_a_worker_noted_of_another_file_is_no_fault_of_this_one(home):
    write(home, b"[recall]\nfloor = 2\n")
    for stamp, fault in ((settings.config_stamp(str(home)), "noted"), ([1, 2, 3], "")):
        board = {"config_problem": "noted", "config_problem_stamp": stamp}
        (home / "recall" / "board.json").write_text(json.dumps(board))
        assert settings.config_fault(str(home)) == fault
    (home / "config.toml").unlink()
    for stamps in ('"config_problem_stamp": null', '"config_stamp": [1, 2, 3]'):
        (home / "recall" / "board.json").write_text(f'{{"config_problem": "noted", {stamps}}}')
        assert settings.config_fault(str(home)) == ""


@pytest.mark.parametrize(
    ("lines", "mode"),
    [
        (b'ignore = ["~/secret"]', "off"),
        (b'projects.only = ["~/work"]', "off"),
        (b'mode = "propose"', "propose"),
        (b"# ignore what follows", "auto"),
    ],
)
def test_while_the_file_is_no_toml_the_least_holds_that_it_names(home, lines, mode):
    """Nobody can tell which projects it wanted left alone, so none is recalled into."""
    write(home, b"[recall\n" + lines + b"\n")
    assert settings.hook_settings(str(home))["mode"] == mode
    assert load_or_defaults(home)[0].store.mode == mode

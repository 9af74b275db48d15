"""Settings that were found sound once: what a fresh process makes of them, and when they hold no longer."""

import json
import os
import stat
import subprocess
import sys

import pytest

from pipeline import config
from pipeline.core.errors import ConfigError
from pipeline.core.home import Home
from pipeline.hooklib.digests import sha256
from tests.architecture.source import ROOT

TEXT = '[spend]\ncalls_per_hour = 7\n[model]\npass_env = ["AWS_*"]\n[projects]\nignore = ["~/a b"]\n'
ASK = """
import sys
from pathlib import Path
from pipeline import config
found = config.load(Path(sys.argv[1]), keep=True)
print(found.spend.calls_per_hour, "pydantic" in sys.modules)
"""


@pytest.fixture
def home(tmp_path):
    Home(tmp_path).config.write_text(TEXT, "utf-8")
    Home(tmp_path).ledger.touch()
    return tmp_path


def test_a_home_that_is_not_in_use_yet_stays_as_it_was(home):
    Home(home).ledger.unlink()
    assert asked(home) == asked(home) == (7, True)
    assert not kept(home).exists()


def kept(home):
    return Home(home).kept_settings


def asked(home, **variables):
    """Return the hourly calls that a fresh process goes by, and whether it loaded the rules."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(home), **variables}
    command = [sys.executable, "-c", ASK, str(home)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    number, loaded = done.stdout.split()
    return int(number), loaded == "True"


def test_a_second_process_needs_no_rules(home):
    assert asked(home) == (7, True)
    assert asked(home) == (7, False)
    assert stat.S_IMODE(kept(home).stat().st_mode) == 0o600


def test_what_is_kept_says_the_same_as_the_rules(home):
    fresh = config.load(home, keep=True)
    again = config.load(home)
    assert type(again) is not type(fresh)
    assert again == fresh and again.model_dump() == fresh.model_dump()
    assert again.model.pass_env == ("AWS_*",) and again.projects.ignore == ("~/a b",)
    assert again.model.model_copy(update={"attempts": 1}).attempts == 1
    with pytest.raises(ValueError, match="frozen"):
        setattr(again.spend, "calls_per_hour", 1_000)  # noqa: B010 - read-only, as mypy knows


def test_another_text_or_variable_is_another_key(home):
    asked(home)
    assert asked(home, REVERIE_SPEND__CALLS_PER_HOUR="9") == (9, True)
    assert asked(home, REVERIE_SPEND__CALLS_PER_HOUR="9") == (9, False)
    assert asked(home) == (7, False)
    Home(home).config.write_text(TEXT.replace("7", "8"), "utf-8")
    assert asked(home) == (8, True)


def test_a_wrong_setting_is_told_though_a_sound_one_is_kept(home):
    config.load(home, keep=True)
    Home(home).config.write_text("[spend]\ncalls_per_hour = -1\n", "utf-8")
    with pytest.raises(ConfigError, match="calls_per_hour"):
        config.load(home, keep=True)


def torn(file):
    file.write_bytes(file.read_bytes()[:-20])


def forged(file):
    digest, text = file.read_bytes().split(b"\n", 1)
    file.write_bytes(digest + b"\n" + text.replace(b'"calls_per_hour": 7', b'"calls_per_hour": 5'))


def of_another_shape(file):
    key = next(iter(json.loads(file.read_bytes().split(b"\n", 1)[1])))
    text = json.dumps({key: {"spend": 3}}).encode()
    file.write_bytes(sha256(text).encode() + b"\n" + text)


def open_to_others(file):
    file.chmod(0o666)


def a_link(file):
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))


@pytest.mark.skipif(os.name == "nt", reason="modes and links as POSIX has them")
@pytest.mark.parametrize("spoil", [torn, forged, of_another_shape, open_to_others, a_link])
def test_what_is_not_ours_as_we_wrote_it_is_made_anew(home, spoil):
    fresh = config.load(home, keep=True)
    spoil(kept(home))
    assert type(config.load(home, keep=True)) is type(fresh)
    again = config.load(home)
    assert type(again) is not type(fresh) and again.spend.calls_per_hour == 7
    assert stat.S_IMODE(kept(home).lstat().st_mode) == 0o600


@pytest.mark.parametrize(
    "line",
    [
        'proxy = "http://me:hunter2@proxy.example:3128"',
        'proxy = "http://proxy.example/?pass=hunter2"',
        'no_proxy = "ghp_' + "a1B2" * 9 + '"',
    ],
)
def test_what_may_be_a_secret_is_not_kept(home, line):
    Home(home).config.write_text(f"[network]\n{line}\n", "utf-8")
    config.load(home, keep=True)
    assert not kept(home).exists()


def test_who_only_looks_keeps_nothing(home):
    config.load(home)
    config.load_or_defaults(home)
    assert not kept(home).exists()


def test_where_nothing_can_be_written_all_goes_on(home):
    kept(home).mkdir()
    assert config.load(home, keep=True).spend.calls_per_hour == 7


def test_a_home_that_is_not_there_is_not_made(tmp_path):
    config.load(tmp_path / "none", keep=True)
    assert not (tmp_path / "none").exists()

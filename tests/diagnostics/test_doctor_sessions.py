"""`doctor` says what of a shell does not hold in sessions."""

import pytest

from tests.cli.conftest import make_desk


@pytest.fixture
def desk(tmp_path):
    return make_desk(tmp_path)


def told(desk, **env):
    # The exit code is 1 where something is wrong; what is printed counts here.
    code = 1 if "REVERIE_HOME" in env else 0
    return desk.here("doctor", code=code, **env).out


def test_a_home_that_sessions_do_not_know_is_an_error_until_install_noted_it(desk):
    own = str(desk.project.parent / "own")
    assert "sessions keep all in" in told(desk, REVERIE_HOME=own)
    desk.here("install", "--yes", REVERIE_HOME=own)
    note = desk.project.parent / ".claude" / "reverie.home"
    assert note.read_text() == f"{own}\n"
    assert "sessions keep all in" not in desk.here("doctor", REVERIE_HOME=own).out
    assert desk.here("status", "--json").json["home"] == own, "commands without the variable follow"
    usual = str(note.parent / "reverie")
    desk.here("install", "--yes", REVERIE_HOME=usual)
    assert note.read_text() == f"{usual}\n{own}\n", "the one of before holds what is Reverie's as well"


def test_claude_can_note_no_home(desk):
    own = str(desk.project.parent / "own")
    desk.here("install", "--yes", REVERIE_HOME=own, CLAUDECODE="1")
    assert not (desk.project.parent / ".claude" / "reverie.home").exists()


def test_a_setting_of_the_shell_is_told(desk):
    assert "REVERIE_SPEND__CALLS_PER_HOUR" in told(desk, REVERIE_SPEND__CALLS_PER_HOUR="3")


def test_a_claude_that_only_this_shell_finds_is_told_until_it_is_noted(desk):
    tools = desk.project.parent / "tools"
    tools.mkdir()
    (tools / "claude").write_text("#!/bin/sh\n")
    (tools / "claude").chmod(0o755)
    path = f"{tools}:/usr/bin:/bin"
    assert f"background work does not find {tools}/claude" in told(desk, PATH=path)
    desk.here("install", "--yes", PATH=path)
    assert "background work does not find" not in told(desk, PATH=path)
    noted = (desk.project.parent / ".claude" / "reverie" / "path").read_text()
    assert noted.startswith(f"{tools}:") and "/usr/bin" in noted


def test_an_address_that_a_session_may_change_is_told(desk):
    pairs = {"REVERIE_MODEL__PASS_ENV": "ANTHROPIC_AUTH_TOKEN,ANTHROPIC_BASE_URL"}
    assert "takes ANTHROPIC_BASE_URL from the session" in told(desk, **pairs)
    named = {**pairs, "REVERIE_MODEL__BASE_URL": "http://127.0.0.1:9"}
    assert "from the session" not in told(desk, **named)

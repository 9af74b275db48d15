"""`doctor`, `init` and `status` where the login is in the shell only: what will not be learned, and why."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from pipeline.domain.job import Job
from pipeline.ledger import jobs, open_ledger
from tests.cli.conftest import make_desk, session
from tests.support.loopback import Refusal, serving
from tests.support.model import HELP, PROGRAM

LOGGED_OUT = {"type": "result", "subtype": "success", "is_error": True} | {
    "result": "Not logged in · Please run /login"
}
SHELLS = {
    "key": ({"ANTHROPIC_API_KEY": "k"}, 'api_key_env = "ANTHROPIC_API_KEY"'),
    "oauth": (
        {"CLAUDE_CODE_OAUTH_TOKEN": "k"},
        'pass_env = ["CLAUDE_CODE_OAUTH_TOKEN=REVERIE_OAUTH_TOKEN"]',
    ),
    "gateway": (
        {"ANTHROPIC_AUTH_TOKEN": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"},
        'pass_env = ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"]',
    ),
    "bedrock": ({"CLAUDE_CODE_USE_BEDROCK": "1"}, 'pass_env = ["CLAUDE_CODE_USE_BEDROCK"]'),
    "vertex": ({"CLAUDE_CODE_USE_VERTEX": "1"}, 'pass_env = ["CLAUDE_CODE_USE_VERTEX"]'),
}
each_login = pytest.mark.parametrize(("shell", "line"), SHELLS.values(), ids=SHELLS)


@pytest.fixture
def desk(tmp_path):
    """A machine whose client is not logged in."""
    made = make_desk(tmp_path)
    program = tmp_path / "claude"
    body = f"sys.stdout.write({json.dumps(LOGGED_OUT)!r})"
    program.write_text(
        PROGRAM.format(python=sys.executable, seen=str(tmp_path / "seen.json"), help=HELP, body=body)
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    made.env |= {"REVERIE_MODEL__PROVIDER": "claude-cli", "REVERIE_MODEL__CLAUDE_PATH": str(program)}
    return made


def provider(desk, *arguments, code, **env):
    rows = desk.here("doctor", "--json", *arguments, code=code, **env).json
    return next(row for row in rows if row["what"] == "provider")


@each_login
def test_daily_6_doctor_says_that_nothing_will_be_learned(desk, shell, line):
    found = provider(desk, code=1, **shell)
    assert found["level"] == "error" and "so nothing will be learned" in found["message"]
    assert all(name in found["message"] for name in shell)
    assert line in found["fix"] and "config.toml" in found["fix"] and "/login" in found["fix"]


@each_login
def test_daily_6_init_says_it_before_anything_runs(desk, shell, line):
    told = " ".join(desk.here("init", "--dry-run", **shell).out.split())
    assert "Nothing is learned without a login." in told and line in told


def test_a_login_of_the_clients_own_makes_it_a_note(desk):
    config = desk.project.parent / ".claude"
    config.mkdir()
    (config / ".credentials.json").write_text("{}")
    rows = desk.here("doctor", "--json", code=0, ANTHROPIC_API_KEY="k").json
    levels = {row["what"]: row["level"] for row in rows}
    assert (levels["provider"], levels["login"]) == ("ok", "note")


def test_daily_6_work_waits_with_the_cause_and_the_cure(desk):
    key = session(desk.project).write(desk.project)
    told = desk.here("extract", "--transcript", key, code=1, CLAUDE_CODE_OAUTH_TOKEN="k")
    assert "CLAUDE_CODE_OAUTH_TOKEN is set here" in told.err
    assert 'pass_env = ["CLAUDE_CODE_OAUTH_TOKEN=REVERIE_OAUTH_TOKEN"]' in " ".join(told.err.split())
    found = provider(desk, code=1)
    assert found["level"] == "error" and "its last call was refused" in found["message"]
    assert "doctor --online" in found["fix"]


def test_what_waits_for_one_cause_is_told_once(desk):
    home = Path(desk.here("status", "--json").json["home"])
    home.mkdir(parents=True, exist_ok=True)
    with open_ledger(home / "ledger.sqlite") as ledger:
        for key, reason in (("a", "not logged in"), ("b", "not logged in"), ("c", "at its cap")):
            jobs.enqueue(ledger, "dream", key, now=0, run_after=0)
            job = jobs.claim(ledger, owner="test", lease_seconds=9, now=0)
            assert isinstance(job, Job)
            jobs.postpone(ledger, job, run_after=9e9, reason=reason, now=0)
    rows = desk.here("doctor", "--json", code=0).json
    assert sorted(row["message"] for row in rows if row["what"] == "jobs") == [
        "1 dream waits: at its cap",
        "2 dreams wait: not logged in",
    ]


def test_without_a_client_the_line_is_one_for_the_messages_api(desk):
    (desk.project.parent / "claude").unlink()
    shell = {"ANTHROPIC_AUTH_TOKEN": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    auto = {"REVERIE_MODEL__PROVIDER": "auto", "REVERIE_MODEL__CLAUDE_PATH": "", "PATH": "/nowhere"}
    found = provider(desk, code=0, **shell, **auto)
    assert found["message"].startswith("offline: ") and "ANTHROPIC_AUTH_TOKEN" in found["message"]
    assert 'auth_token_env = "ANTHROPIC_AUTH_TOKEN" and base_url = "http://127.0.0.1:1"' in found["fix"]


def test_p1_a_gateway_that_refuses_is_asked_once_and_named(desk):
    with serving(lambda _: Refusal(401, "token not accepted")) as gateway:
        env = {
            "REVERIE_MODEL__PROVIDER": "anthropic",
            "REVERIE_MODEL__AUTH_TOKEN_ENV": "ANTHROPIC_AUTH_TOKEN",
            "REVERIE_MODEL__BASE_URL": gateway.url,
            "ANTHROPIC_AUTH_TOKEN": "k",
        }
        rows = desk.here("doctor", "--json", "--online", code=1, **env).json
    (online,) = [row for row in rows if row["what"] == "online"]
    assert "token not accepted" in online["message"] and "model.auth_token_env" in online["fix"]
    assert len(gateway.prompts) == 1


def test_the_token_that_hooks_never_get_is_an_error(desk):
    env = {"CLAUDE_CODE_OAUTH_TOKEN": "k", "REVERIE_MODEL__PASS_ENV": "CLAUDE_CODE_OAUTH_TOKEN"}
    rows = desk.here("doctor", "--json", code=1, **env).json
    (login,) = [row for row in rows if row["what"] == "login"]
    assert login["level"] == "error" and "keeps CLAUDE_CODE_OAUTH_TOKEN from hooks" in login["message"]
    assert "REVERIE_OAUTH_TOKEN" in login["fix"]


def test_f9_doctor_says_that_a_key_passes_by_the_clients_gateway(desk):
    config = desk.project.parent / ".claude"
    config.mkdir()
    (config / "settings.json").write_text('{"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}}')
    key = {"ANTHROPIC_API_KEY": "k", "REVERIE_MODEL__API_KEY_ENV": "ANTHROPIC_API_KEY"}
    rows = desk.here("doctor", "--json", code=0, REVERIE_MODEL__PROVIDER="auto", **key).json
    (login,) = [row for row in rows if row["what"] == "login"]
    assert login["level"] == "note" and "Claude Code asks http://127.0.0.1:1" in login["message"]
    assert 'base_url = "http://127.0.0.1:1"' in login["fix"]
    # With the client in between, the key goes where the client goes.
    rows = desk.here("doctor", "--json", code=0, **key).json
    assert not [row for row in rows if row["what"] == "login"]

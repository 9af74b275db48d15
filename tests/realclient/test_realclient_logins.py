"""Logins that are in the shell only, with the real client: what is said, and that the line works."""

import json
from typing import Any

import pytest

from tests.realclient.box import KEY, Box, OpenBox
from tests.realclient.scripted_api import MODEL, Rule, value_reply
from tests.realclient.test_realclient import converse, remember

pytestmark = pytest.mark.realclient

LOGINS = {
    "key": ({"ANTHROPIC_API_KEY": KEY}, 'api_key_env = "ANTHROPIC_API_KEY"'),
    "oauth": (
        {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-made-up"},
        'pass_env = ["CLAUDE_CODE_OAUTH_TOKEN=REVERIE_OAUTH_TOKEN"]',
    ),
    "gateway": ({"ANTHROPIC_AUTH_TOKEN": "made-up"}, 'pass_env = ["ANTHROPIC_AUTH_TOKEN"]'),
}
OWN = {"helper": {"apiKeyHelper": f"echo {KEY}"}, "settings": {"env": {"ANTHROPIC_API_KEY": KEY}}}


def opened(open_box: OpenBox, shell: dict[str, str]) -> Box:
    """Open a box whose person has `shell` exported, and no login that a setting of Reverie's names."""
    box = open_box(Rule(lambda asked: value_reply(asked, {"ok": True}), kind=MODEL))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "REVERIE_MODEL__API_KEY_ENV"):
        del box.env[name]
    box.env.update(shell)
    return box


def online(box: Box) -> dict[str, Any]:
    """Return what `doctor --online` says of its one call."""
    # The exit code is 1 where something is wrong; what is printed counts here.
    out = box.run("sh", "-c", "reverie doctor --online --json || true")
    return dict(next(row for row in json.loads(out) if row["what"] == "online"))


@pytest.mark.parametrize(("shell", "line"), LOGINS.values(), ids=LOGINS)
def test_a_login_of_the_shell_is_named_and_its_line_lets_it_through(
    open_box: OpenBox, shell: dict[str, str], line: str
) -> None:
    box = opened(open_box, shell)
    found = online(box)
    assert found["level"] == "error" and not box.journal.asked()
    assert found["message"].startswith("claude has no login of its own here. ")
    assert all(f"{name} is set here" in found["message"] for name in shell) and line in found["fix"]
    config = box.home / ".claude" / "reverie" / "config.toml"
    config.write_text(f"[model]\n{line}\n", "utf-8")
    if "CLAUDE_CODE_OAUTH_TOKEN" in shell:
        box.env["REVERIE_OAUTH_TOKEN"] = shell["CLAUDE_CODE_OAUTH_TOKEN"]
    assert online(box)["level"] == "ok"
    assert [asked.kind for asked in box.journal.asked()] == [MODEL]


@pytest.mark.parametrize("settings", OWN.values(), ids=OWN)
def test_a_login_in_the_clients_own_settings_works_by_itself(
    open_box: OpenBox, settings: dict[str, Any]
) -> None:
    box = opened(open_box, {})
    (box.home / ".claude").mkdir(exist_ok=True)
    (box.home / ".claude" / "settings.json").write_text(json.dumps(settings), "utf-8")
    assert online(box)["level"] == "ok"


def test_f9_a_key_of_the_shell_goes_by_the_gateway_of_the_clients_settings(open_box: OpenBox) -> None:
    """`api_key_env` alone asks Anthropic's own address, which no box can reach: it passes by the gateway."""
    box = opened(open_box, {"ANTHROPIC_API_KEY": KEY})
    del box.env["REVERIE_MODEL__BASE_URL"], box.env["REVERIE_MODEL__PROVIDER"]
    (box.home / ".claude").mkdir(exist_ok=True)
    settings = {"env": {"ANTHROPIC_BASE_URL": box.base_url}}
    (box.home / ".claude" / "settings.json").write_text(json.dumps(settings), "utf-8")
    line = 'pass_env = ["ANTHROPIC_API_KEY"]'
    for more in ({}, settings["env"]):
        box.env.update(more)  # as hooks have it
        assert f"config.toml: {line}." in online(box)["fix"]
    del box.env["ANTHROPIC_BASE_URL"]
    config = box.home / ".claude" / "reverie" / "config.toml"
    config.write_text('[model]\napi_key_env = "ANTHROPIC_API_KEY"\n', "utf-8")
    assert "api.anthropic.com can't be reached" in online(box)["message"] and not box.journal.asked()
    config.write_text(f"[model]\n{line}\n", "utf-8")
    assert online(box)["level"] == "ok"
    assert [asked.kind for asked in box.journal.asked()] == [MODEL]


def test_p2_a_bedrock_switch_reaches_the_client_when_allowed(open_box: OpenBox) -> None:
    """The client then asks Amazon's address, not ours, by a name that Amazon knows."""
    cloud = {"CLAUDE_CODE_USE_BEDROCK": "1", "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1", "AWS_REGION": "us-east-1"}
    box = opened(open_box, cloud)
    box.env["ANTHROPIC_BEDROCK_BASE_URL"] = box.base_url
    found = online(box)
    assert "CLAUDE_CODE_USE_BEDROCK" in found["message"] and "AWS_*" in found["fix"]
    line = found["fix"].split("config.toml: ")[1].split(". Or run")[0]
    (box.home / ".claude" / "reverie" / "config.toml").write_text(f"[model]\n{line}\n", "utf-8")
    # The scripted API speaks no Bedrock; that it was asked as Amazon is asked is what counts.
    assert "no login of its own" not in online(box)["message"]
    assert any("anthropic.claude-haiku" in asked.path for asked in box.journal.asked())


def test_a_session_teaches_by_a_token_of_the_shell_that_is_allowed(open_box: OpenBox) -> None:
    """The client keeps the token from its hooks, and so from the worker: a copy of it goes through."""
    box = open_box(Rule(["Tabs it is."], when="indent with tabs"), Rule(remember, kind=MODEL))
    for name in ("ANTHROPIC_API_KEY", "REVERIE_MODEL__API_KEY_ENV"):
        del box.env[name]
    box.env["CLAUDE_CODE_OAUTH_TOKEN"] = box.env["REVERIE_OAUTH_TOKEN"] = "sk-ant-oat01-made-up"
    box.env["REVERIE_MODEL__PASS_ENV"] = "CLAUDE_CODE_OAUTH_TOKEN=REVERIE_OAUTH_TOKEN"
    converse(box)
    assert [file.name for file in box.memory.glob("indent*.md")] == ["indent-with-tabs.md"]


def test_a_session_without_its_token_says_where_to_look(open_box: OpenBox) -> None:
    box = open_box(Rule(["Tabs it is."], when="indent with tabs"), Rule(remember, kind=MODEL))
    for name in ("ANTHROPIC_API_KEY", "REVERIE_MODEL__API_KEY_ENV"):
        del box.env[name]
    box.env["CLAUDE_CODE_OAUTH_TOKEN"] = "sk-ant-oat01-made-up"
    converse(box)
    waits = " ".join(box.run("reverie", "status").split())
    assert "If CLAUDE_CODE_OAUTH_TOKEN of your shell is your login, write" in waits

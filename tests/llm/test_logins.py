"""Logins of the shell: what is used of them, and what a person reads of those that are not."""

import json
from pathlib import Path

import pytest

from pipeline.config import ModelSettings
from pipeline.core.errors import UnauthorisedError
from pipeline.llm import logins
from pipeline.llm.anthropic_client import AnthropicProvider
from pipeline.llm.providers import describe, open_provider
from pipeline.llm.request import Message, Request
from tests.support.model import Api, FakeClaude

REQUEST = Request("extract", "claude-haiku-4-5", "", (Message("user", "Hello."),), 500)
SCHEMA = {"type": "object", "properties": {"memories": {"type": "array"}}}
GOOD = {"type": "result", "subtype": "success", "is_error": False, "structured_output": {"memories": []}}
LOGGED_OUT = {"type": "result", "subtype": "success", "is_error": True} | {
    "result": "Not logged in · Please run /login"
}
REFUSED = LOGGED_OUT | {
    "result": "Failed to authenticate. API Error: 401 token not accepted",
    "api_error_status": 401,
}
BEDROCK = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "us-east-1", "AWS_PROFILE": "work"}
VERTEX = {
    "CLAUDE_CODE_USE_VERTEX": "1",
    "CLOUD_ML_REGION": "global",
    "ANTHROPIC_VERTEX_PROJECT_ID": "made-up",
}


def ask(program: Path, tmp_path: Path, **settings: object) -> dict[str, str]:
    """Ask the fake client; return the environment it was given."""
    made = ModelSettings.model_validate({"claude_path": str(program), **settings})
    open_provider("claude-cli", made, home=tmp_path / "state").send(REQUEST, SCHEMA)
    env: dict[str, str] = json.loads((tmp_path / "seen.json").read_text("utf-8"))["env"]
    return env


def refusal(program: Path, tmp_path: Path, **settings: object) -> str:
    """Return all that is said when the fake client is not let in."""
    with pytest.raises(UnauthorisedError) as caught:
        ask(program, tmp_path, **settings)
    return f"{caught.value} {caught.value.fix}"


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, 'api_key_env = "ANTHROPIC_API_KEY"'),
        ({"CLAUDE_CODE_OAUTH_TOKEN": "t"}, 'pass_env = ["CLAUDE_CODE_OAUTH_TOKEN=REVERIE_OAUTH_TOKEN"]'),
        (
            {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"},
            'pass_env = ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"]',
        ),
        (BEDROCK, 'pass_env = ["CLAUDE_CODE_USE_BEDROCK", "AWS_*"]'),
        (VERTEX, 'pass_env = ["CLAUDE_CODE_USE_VERTEX", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_*"]'),
    ],
    ids=["key", "oauth", "gateway", "bedrock", "vertex"],
)
def test_daily_6_a_login_of_the_shell_is_named_with_the_line_that_allows_it(
    fake_claude: FakeClaude,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shell: dict[str, str],
    line: str,
) -> None:
    for name, value in shell.items():
        monkeypatch.setenv(name, value)
    told = refusal(fake_claude(LOGGED_OUT), tmp_path)
    assert told.startswith("claude has no login of its own here. ")
    assert all(name in told for name in shell) and "unasked" in told
    assert f"{tmp_path}/state/config.toml: {line}" in told and "/login" in told
    # And the line does what it says; Claude Code keeps one of them from hooks, so its copy is taken.
    if "CLAUDE_CODE_OAUTH_TOKEN" in shell:
        assert 'export REVERIE_OAUTH_TOKEN="$CLAUDE_CODE_OAUTH_TOKEN"' in told
        monkeypatch.setenv("REVERIE_OAUTH_TOKEN", "t")
        monkeypatch.delenv("CLAUDE_CODE_OAUTH_TOKEN")
    setting, _, value = line.partition(" = ")
    env = ask(fake_claude(GOOD), tmp_path, **{setting: json.loads(value)})
    assert {name: env[name] for name in shell} == shell


def test_a_login_in_none_of_the_shells_is_not_made_up(fake_claude: FakeClaude, tmp_path: Path) -> None:
    told = refusal(fake_claude(LOGGED_OUT), tmp_path)
    assert told.startswith("claude: Not logged in · Please run /login. Run `claude` and log in with /login.")
    assert "If CLAUDE_CODE_OAUTH_TOKEN of your shell is your login, write " + logins.COPY_LINE in told


def test_p1_a_token_that_was_allowed_and_refused_is_what_is_named(
    fake_claude: FakeClaude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "t")
    told = refusal(fake_claude(REFUSED), tmp_path, pass_env=["ANTHROPIC_AUTH_TOKEN"])
    assert "asked with ANTHROPIC_AUTH_TOKEN, which was not accepted" in told and "/login" not in told
    assert "Check what ANTHROPIC_AUTH_TOKEN holds" in told


def test_a_login_that_is_allowed_and_missing_is_named(fake_claude: FakeClaude, tmp_path: Path) -> None:
    told = refusal(fake_claude(LOGGED_OUT), tmp_path, pass_env=["CLAUDE_CODE_USE_BEDROCK"])
    assert "CLAUDE_CODE_USE_BEDROCK, which config.toml names, is not set where this ran" in told
    told = refusal(fake_claude(LOGGED_OUT), tmp_path, pass_env=["CLAUDE_CODE_OAUTH_TOKEN"])
    assert "keeps CLAUDE_CODE_OAUTH_TOKEN from hooks" in told
    assert 'pass_env = ["CLAUDE_CODE_OAUTH_TOKEN=REVERIE_OAUTH_TOKEN"]' in told


def model_given(tmp_path: Path) -> str:
    argv: list[str] = json.loads((tmp_path / "seen.json").read_text("utf-8"))["argv"]
    return argv[argv.index("--model") + 1]


@pytest.mark.parametrize("given", [BEDROCK, VERTEX, {"ANTHROPIC_DEFAULT_HAIKU_MODEL": "mine"}])
def test_p2_in_a_cloud_the_client_gets_its_alias(
    fake_claude: FakeClaude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    ask(fake_claude(GOOD), tmp_path)
    assert model_given(tmp_path) == "claude-haiku-4-5"
    ask(fake_claude(GOOD), tmp_path, pass_env=list(given))
    assert model_given(tmp_path) == "haiku"


def test_p2_a_cloud_that_the_clients_settings_name_counts_as_well(
    fake_claude: FakeClaude, tmp_path: Path, sealed_environment: Path
) -> None:
    file = sealed_environment / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"env": BEDROCK}), "utf-8")
    ask(fake_claude(GOOD), tmp_path)
    assert model_given(tmp_path) == "haiku"


def test_p1_the_client_asks_once(fake_claude: FakeClaude, tmp_path: Path) -> None:
    assert ask(fake_claude(GOOD), tmp_path)["CLAUDE_CODE_MAX_RETRIES"] == "0"


@pytest.mark.parametrize("model", ["us.anthropic.claude-haiku-4-5-20251001-v1:0", "my-gateway-model"])
def test_p2_another_name_goes_to_the_client_as_it_is(
    fake_claude: FakeClaude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    made = ModelSettings(claude_path=str(fake_claude(GOOD)), pass_env=("CLAUDE_CODE_USE_BEDROCK",))
    request = Request("p", model, "", REQUEST.messages, 5)
    open_provider("claude-cli", made, home=tmp_path / "state").send(request, SCHEMA)
    assert model_given(tmp_path) == model


def test_the_messages_api_gets_the_full_name_for_an_alias(api: Api) -> None:
    api.say("{}")
    request = Request("p", "sonnet", "", REQUEST.messages, 5)
    AnthropicProvider("k", base_url=api.url).send(request, SCHEMA)
    assert api.requests[0]["model"] == "claude-sonnet-5-5"


@pytest.mark.parametrize("setting", ["auth_token_env", "api_key_env"])
def test_p1_a_token_goes_to_a_gateway_as_bearer_alone(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "found-by-chance")
    api.say("{}")
    settings = ModelSettings.model_validate({setting: "ANTHROPIC_AUTH_TOKEN", "base_url": api.url})
    assert describe("auto", settings) == ("anthropic", f"ANTHROPIC_AUTH_TOKEN is set (model.{setting})")
    open_provider("auto", settings, home=tmp_path).send(REQUEST, SCHEMA)
    assert api.headers[0]["authorization"] == "Bearer token-1" and "x-api-key" not in api.headers[0]
    assert "found-by-chance" not in json.dumps(api.headers)


@pytest.mark.parametrize("switched", ["0", "false", ""])
def test_a_cloud_switch_that_is_off_is_no_login(monkeypatch: pytest.MonkeyPatch, switched: str) -> None:
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", switched)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert logins.unused(ModelSettings()) == []


def test_aws_credentials_without_the_switch_are_no_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    assert logins.unused(ModelSettings()) == []


def test_no_value_of_a_login_is_ever_told(
    fake_claude: FakeClaude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.setenv(name, "tell-nobody")
    assert "tell-nobody" not in refusal(fake_claude(LOGGED_OUT), tmp_path)


@pytest.mark.parametrize("written", ["A_B, ZZZ_*", "A_B ZZZ_*"])
def test_the_names_may_come_from_a_variable(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ZZZ_REGION", "A_B", "A_BC"):
        monkeypatch.setenv(name, "x")
    made = ModelSettings.model_validate({"pass_env": written})
    assert made.pass_env == ("A_B", "ZZZ_*")
    assert sorted(logins.passed(made)) == ["A_B", "ZZZ_REGION"]


@pytest.mark.parametrize("name", ["*", "A-B", "A*B", "", "A=1", "A*=B"])
def test_what_is_no_name_of_a_variable_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name of a variable"):
        ModelSettings.model_validate({"pass_env": [name]})


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".credentials.json", "{}"),
        ("settings.json", '{"apiKeyHelper": "echo k"}'),
        ("settings.json", '{"env": {"CLAUDE_CODE_USE_VERTEX": "1"}}'),
        (".claude.json", '{"oauthAccount": {"emailAddress": "a@example.org"}}'),
    ],
)
def test_the_clients_own_login_is_seen(sealed_environment: Path, file: str, text: str) -> None:
    assert not logins.has_own_login()
    config = sealed_environment / ".claude"
    config.mkdir(exist_ok=True)
    (config / file).write_text(text, "utf-8")
    assert logins.has_own_login()


GATEWAY = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}


@pytest.fixture
def gateway_of_the_client(sealed_environment: Path) -> None:
    """A client whose settings send it to a gateway."""
    (sealed_environment / ".claude").mkdir(exist_ok=True)
    (sealed_environment / ".claude" / "settings.json").write_text(json.dumps({"env": GATEWAY}), "utf-8")


@pytest.mark.usefixtures("gateway_of_the_client")
@pytest.mark.parametrize("shell", [{}, GATEWAY], ids=["in a shell", "in a hook"])
def test_f9_hooks_and_a_shell_come_to_the_same_line(
    fake_claude: FakeClaude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: dict[str, str]
) -> None:
    for name, value in {"ANTHROPIC_API_KEY": "k", **shell}.items():
        monkeypatch.setenv(name, value)
    told = refusal(fake_claude(LOGGED_OUT), tmp_path)
    assert "ANTHROPIC_API_KEY is set here" in told and "BASE_URL" not in told
    assert 'config.toml: pass_env = ["ANTHROPIC_API_KEY"]' in told and "api_key_env" not in told
    (login,) = logins.unused(ModelSettings(), client=False)
    assert login.line == 'api_key_env = "ANTHROPIC_API_KEY" and base_url = "http://127.0.0.1:1"'
    # The line that was told before is no fault: the client has the address.
    before = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
    assert logins.lacking(ModelSettings(pass_env=before)) == []


@pytest.mark.usefixtures("gateway_of_the_client")
def test_f9_a_key_alone_passes_by_the_gateway(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_KEY", "k")
    asked = ModelSettings(api_key_env="MY_KEY")
    assert logins.passed_by(asked) == "http://127.0.0.1:1"
    way = logins.how_to_stay_with("http://127.0.0.1:1", asked, tmp_path)
    assert 'base_url = "http://127.0.0.1:1"' in way and 'pass_env = ["ANTHROPIC_API_KEY=MY_KEY"]' in way
    assert logins.passed_by(ModelSettings(api_key_env="MY_KEY", base_url="http://127.0.0.1:1")) == ""
    assert logins.passed_by(ModelSettings()) == ""


def test_a_gateway_of_the_shell_is_passed_on_with_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "k")
    asked = ModelSettings(auth_token_env="MY_TOKEN")
    assert logins.passed_by(asked) == ""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://api.anthropic.com/")
    assert logins.passed_by(asked) == ""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    way = logins.how_to_stay_with(logins.passed_by(asked), asked, Path("config.toml"))
    assert 'pass_env = ["ANTHROPIC_AUTH_TOKEN=MY_TOKEN", "ANTHROPIC_BASE_URL"] in place of MY_TOKEN' in way
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert logins.unused(ModelSettings())[0].line == 'pass_env = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]'

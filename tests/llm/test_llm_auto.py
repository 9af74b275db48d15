from pathlib import Path
from typing import Any

import pytest

from pipeline.config import ModelSettings
from pipeline.core.errors import ConfigError, LiveCallError, UnauthorisedError, UnavailableError
from pipeline.llm import describe, open_provider
from pipeline.llm.claude_program import find_claude
from pipeline.llm.request import Message, Request
from tests.support.model import Api, FakeClaude

REQUEST = Request("p", "m", "", (Message("user", "Q"),), 5)
EMPTY_PATH = "/nonexistent"


@pytest.fixture(autouse=True)
def bare_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", EMPTY_PATH)


def opened(spec: str, **settings: Any) -> str:
    return open_provider(spec, ModelSettings(**settings), home=Path("/nonexistent/home")).name


def test_auto_takes_the_key_that_the_settings_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "k")
    assert opened("auto", api_key_env="MY_KEY") == "anthropic"
    assert "MY_KEY" in describe("auto", ModelSettings(api_key_env="MY_KEY"))[1]


def test_bug_116_auto_ignores_a_key_found_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert opened("auto", claude_path="") == "offline"
    name, reason = describe("auto", ModelSettings())
    assert name == "offline" and "model.api_key_env" in reason


def test_bug_116_a_configured_provider_without_a_key_says_so_and_sends_nothing(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    with pytest.raises(UnauthorisedError, match="api_key_env names no API key"):
        opened("anthropic", provider="anthropic")
    with pytest.raises(UnauthorisedError, match="MY_KEY is not set"):
        opened("anthropic", provider="anthropic", api_key_env="MY_KEY")
    told = describe("anthropic", ModelSettings(provider="anthropic"))
    assert told == ("anthropic", "asked for: anthropic, but model.api_key_env names no API key")
    assert api.requests == []


@pytest.mark.parametrize("spec", ["anthropic", "record:{tmp}"])
def test_what_a_person_types_may_use_the_environment(
    api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "typed-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    api.say("{}")
    provider = open_provider(spec.format(tmp=tmp_path), ModelSettings(), home=tmp_path)
    assert provider.send(REQUEST, {}).text == "{}"
    assert "typed-key" in str(api.headers)


def test_a_named_key_never_goes_to_an_address_found_by_chance(
    api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    provider = open_provider("auto", ModelSettings(api_key_env="MY_KEY"), home=tmp_path)
    with pytest.raises(LiveCallError):
        provider.send(REQUEST, {})
    assert api.requests == []


@pytest.mark.parametrize("spot", [".local/bin/claude", ".claude/local/claude"])
def test_bug_055_claude_is_found_where_installers_put_it(
    fake_claude: FakeClaude, sealed_environment: Path, spot: str
) -> None:
    program = fake_claude({})
    place = sealed_environment / spot
    place.parent.mkdir(parents=True)
    place.symlink_to(program)
    assert find_claude(ModelSettings()) == place
    assert opened("auto") == "claude-cli"


def test_claude_on_the_path_comes_first(
    fake_claude: FakeClaude, sealed_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fake_claude({})
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_claude(ModelSettings()) == program
    assert describe("auto", ModelSettings()) == ("claude-cli", f"the claude program at {program}")


def test_a_named_program_that_is_missing_is_never_replaced(
    fake_claude: FakeClaude, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(fake_claude({}).parent))
    settings = ModelSettings(claude_path="/nonexistent/claude")
    assert find_claude(settings) is None
    assert "/nonexistent/claude is not there" in describe("claude-cli", settings)[1]
    assert describe("auto", settings) == ("claude-cli", "the claude program at /nonexistent/claude (missing)")


def test_offline_answers_nothing(tmp_path: Path) -> None:
    provider = open_provider("offline", ModelSettings(), home=tmp_path)
    with pytest.raises(UnavailableError):
        provider.send(REQUEST, {})


@pytest.mark.parametrize(
    "spec", ["", "gpt", "replay", "replay:", "record:", "offline:x", "Auto", "anthropic:"]
)
def test_other_words_are_errors(spec: str) -> None:
    with pytest.raises(ConfigError, match="unknown provider"):
        opened(spec)
    with pytest.raises(ConfigError):
        describe(spec, ModelSettings())

import json
import os
import select
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import ModelSettings
from pipeline.core.errors import (
    InvalidReplyError,
    LiveCallError,
    ModelError,
    OverloadedError,
    QuotaError,
    TimedOutError,
    TooLongError,
    UnauthorisedError,
    UnavailableError,
)
from pipeline.core.locks import try_lock
from pipeline.llm import claude_call
from pipeline.llm.claude_cli import ClaudeCliProvider
from pipeline.llm.claude_result import read_result
from pipeline.llm.providers import open_provider
from pipeline.llm.request import Message, RawReply, Request
from tests.support.hooks import HOOKS
from tests.support.model import HELP, FakeClaude

SCHEMA = {"type": "object", "properties": {"memories": {"type": "array"}}}
REQUEST = Request("extract", "claude-haiku-4-5", "The rules.", (Message("user", "Hello."),), 500)
USAGE = {
    "input_tokens": 3,
    "output_tokens": 4,
    "cache_creation_input_tokens": 5,
    "cache_read_input_tokens": 6,
}


def result(text: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "result": text, "usage": USAGE, **more}


GOOD = result(structured_output={"memories": []})


def ask(program: Path, tmp_path: Path, request: Request = REQUEST, **settings: Any) -> RawReply:
    made = ModelSettings(claude_path=str(program), **settings)
    return open_provider("claude-cli", made, home=tmp_path / "state").send(request, SCHEMA)


def seen(tmp_path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((tmp_path / "seen.json").read_text("utf-8"))
    return record


def test_the_structured_answer_and_the_tokens_come_back(fake_claude: FakeClaude, tmp_path: Path) -> None:
    reply = ask(fake_claude({**GOOD, "modelUsage": {"claude-haiku-4-5-20251001": {}}}), tmp_path)
    assert (reply.text, reply.stop_reason, reply.provider) == ('{"memories": []}', "end_turn", "claude-cli")
    assert reply.model == "claude-haiku-4-5-20251001"
    assert (reply.usage.input_tokens, reply.usage.cache_write_tokens, reply.usage.total) == (3, 5, 18)


def test_the_child_is_locked_down(fake_claude: FakeClaude, tmp_path: Path) -> None:
    ask(fake_claude(GOOD), tmp_path)
    argv = seen(tmp_path)["argv"]
    for flag in ("-p", "--strict-mcp-config", "--safe-mode", "--no-session-persistence"):
        assert flag in argv
    pairs = dict(pairwise(argv))
    assert pairs["--tools"] == "" and pairs["--settings"] == '{"disableAllHooks":true}'
    assert pairs["--output-format"] == "json" and pairs["--max-turns"] == "3"
    assert json.loads(pairs["--json-schema"]) == SCHEMA
    assert seen(tmp_path)["system"] == "The rules."


def test_bug_072_the_child_runs_in_our_own_folder_and_keeps_no_history(
    fake_claude: FakeClaude, tmp_path: Path
) -> None:
    ask(fake_claude(GOOD), tmp_path)
    folder = tmp_path / "state" / "claude-cwd"
    record = seen(tmp_path)
    assert record["cwd"] == str(folder) and folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.iterdir()) == []
    assert record["env"]["CLAUDE_CODE_SKIP_PROMPT_HISTORY"] == "1"
    assert record["env"]["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] == "1"
    assert record["env"]["REVERIE_INSIDE"] == "1"


def test_the_child_never_wakes_our_own_hook(
    fake_claude: FakeClaude, tmp_path: Path, sealed_environment: Path
) -> None:
    hook = [sys.executable, "-I", "-S", str(HOOKS / "capture.py"), "Stop"]
    event = json.dumps({"session_id": "s", "hook_event_name": "Stop"}).encode()
    run = f"import subprocess\nsubprocess.run({hook!r}, input={event!r}, check=True)"
    ask(fake_claude(body=f"{run}\nprint({json.dumps(GOOD)!r})"), tmp_path)
    assert not (sealed_environment / "reverie").exists()


def test_bug_116_keys_found_by_chance_stay_here(
    fake_claude: FakeClaude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text("ANTHROPIC_API_KEY=k\n", "utf-8")
    monkeypatch.chdir(project)
    chance = (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "AWS_SECRET_KEY",
    )
    for name in chance:
        monkeypatch.setenv(name, "x")
    ask(fake_claude(GOOD), tmp_path)
    record = seen(tmp_path)
    assert not set(chance) & set(record["env"])
    assert record["env"]["HOME"] == os.environ["HOME"] and record["cwd"] != str(project)


def test_bug_116_a_key_and_an_address_that_the_settings_name_go_along(
    fake_claude: FakeClaude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret-1")
    ask(fake_claude(GOOD), tmp_path, api_key_env="MY_KEY", base_url="http://127.0.0.1:1")
    env = seen(tmp_path)["env"]
    assert (env["ANTHROPIC_API_KEY"], env["ANTHROPIC_BASE_URL"]) == ("secret-1", "http://127.0.0.1:1")


@pytest.mark.parametrize("help_text", [HELP, HELP.replace("--system-prompt[-file]", ""), "--tools"])
def test_bug_071_a_long_prompt_never_goes_on_the_command_line(
    fake_claude: FakeClaude, tmp_path: Path, help_text: str
) -> None:
    prompt = "-x \"quoted\" 'text'\n\x01\x7f é😀\n" * 13_000
    request = Request("extract", "m", "s" * 5_000, (Message("user", prompt),), 500)
    program = fake_claude(GOOD, help_text=help_text)
    ask(program, tmp_path, request)
    record = seen(tmp_path)
    assert record["stdin"].endswith(prompt) and len(prompt) > 300_000
    assert max(len(argument.encode()) for argument in record["argv"]) <= 4096
    assert "s" * 5_000 in (record.get("system") or record["stdin"])
    assert not any("quoted" in argument for argument in record["argv"])


def test_bug_071_a_long_schema_goes_to_standard_input() -> None:
    schema = {"description": "d" * 5_000}
    call = claude_call.invocation(Path("/c"), claude_call.flags_in(HELP), REQUEST, schema, Path("/f"))
    assert "--json-schema" not in call.argv
    assert b"d" * 5_000 in call.stdin and call.stdin.endswith(b"\n\nHello.")


def test_a_prompt_larger_than_standard_input_takes_is_too_long() -> None:
    request = Request("p", "m", "", (Message("user", "x" * 10_000_001),), 5)
    with pytest.raises(TooLongError):
        claude_call.invocation(Path("/c"), claude_call.flags_in(HELP), request, SCHEMA, Path("/f"))


def test_several_turns_become_one_prompt(fake_claude: FakeClaude, tmp_path: Path) -> None:
    turns = (Message("user", "one"), Message("assistant", "two"), Message("user", "three"))
    ask(fake_claude(GOOD), tmp_path, Request("p", "m", "", turns, 5))
    assert seen(tmp_path)["stdin"].index("two") < seen(tmp_path)["stdin"].index('<turn role="user">\nthree')


def test_a_client_without_the_tools_switch_is_too_old(fake_claude: FakeClaude, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="too old"):
        ask(fake_claude(GOOD, help_text="--json-schema --toolset"), tmp_path)
    assert not (tmp_path / "seen.json").exists()


def test_the_help_text_is_asked_for_once_per_version(fake_claude: FakeClaude, tmp_path: Path) -> None:
    for _ in range(2):
        ask(fake_claude(GOOD), tmp_path)
        os.utime(tmp_path / "bin" / "claude", ns=(1, 1))
    ask(tmp_path / "bin" / "claude", tmp_path)
    assert (tmp_path / "seen.json.help").read_text("utf-8") == "xxx"
    ask(tmp_path / "bin" / "claude", tmp_path)
    assert (tmp_path / "seen.json.help").read_text("utf-8") == "xxx"


@pytest.mark.parametrize(
    ("prints", "code", "kind"),
    [
        (result("Claude AI usage limit reached|1764241200"), 0, QuotaError),
        (result("You've hit your limit · resets 3pm"), 0, QuotaError),
        (result("Invalid API key · Please run /login", is_error=True), 1, UnauthorisedError),
        (result("Not logged in · Please run /login"), 0, UnauthorisedError),
        (result("Credit balance is too low", is_error=True), 1, QuotaError),
        (result("Prompt is too long", is_error=True), 1, TooLongError),
        (result("Prompt is too long"), 0, TooLongError),
        (result("Please sign in to continue using Claude."), 0, UnauthorisedError),
        (result("Your organization has disabled Claude Code."), 0, UnauthorisedError),
        (result("API Error: 403 Forbidden", is_error=True), 1, UnauthorisedError),
        (result("There's an issue with the selected model (x). It may not exist."), 0, UnavailableError),
        (result("", is_error=True, api_error_status=404), 1, UnavailableError),
        (result("API Error: <html><body>Log in</body></html>", is_error=True), 1, UnavailableError),
        (result("API Error: 502 <html>Bad Gateway</html>", is_error=True), 1, OverloadedError),
        (result("API Error: 529 Overloaded", is_error=True), 1, OverloadedError),
        (result("", is_error=True, api_error_status=503), 1, OverloadedError),
        (result("API Error: Connection error.", is_error=True), 1, UnavailableError),
        (result("", subtype="error_max_structured_output_retries"), 0, InvalidReplyError),
        (result("", subtype="error_max_turns", is_error=True), 1, InvalidReplyError),
        (result("", subtype="error_during_execution", errors=["boom"]), 0, ModelError),
        (result(structured_output={"memories": []}, is_error=True), 0, ModelError),
        (result(structured_output={"memories": []}), 3, ModelError),
        ("error: unknown option '--safe-mode'", 1, UnavailableError),
        ("", 0, ModelError),
        ("", 143, ModelError),
        ("[]", 0, ModelError),
        ('{"type": "other"}', 0, ModelError),
    ],
)
def test_bug_073_failures_have_names_whatever_the_exit_code(
    prints: Any, code: int, kind: type[ModelError]
) -> None:
    with pytest.raises(ModelError) as caught:
        read_result(prints if isinstance(prints, str) else json.dumps(prints), "", code, REQUEST)
    assert type(caught.value) is kind and caught.value.fix


@pytest.mark.parametrize(
    "prints",
    [
        "Warning: something\n" + json.dumps(result('{"memories": []}')) + "\n",
        "(node:1) Warning: x\n" + json.dumps(result('{"memories": ["a\u2028b\x85c"]}'), ensure_ascii=False),
        [{"type": "system"}, result('{"memories": []}')],
        result('```json\n{"memories": ["the usage limit reached me"]}\n```'),
    ],
)
def test_a_result_is_found_amid_other_output(prints: Any) -> None:
    stdout = prints if isinstance(prints, str) else json.dumps(prints)
    assert '{"memories": [' in read_result(stdout, "", 0, REQUEST).text


@pytest.mark.parametrize("stop", ["refusal", "max_tokens", "pause_turn"])
def test_the_stop_reason_is_kept(stop: str) -> None:
    assert read_result(json.dumps(result("{", stop_reason=stop)), "", 0, REQUEST).stop_reason == stop


def test_the_exit_code_and_the_error_output_count_too(fake_claude: FakeClaude, tmp_path: Path) -> None:
    body = "sys.stderr.write('Not logged in - Please run /login')\nsys.exit(1)"
    with pytest.raises(UnauthorisedError):
        ask(fake_claude(body=body), tmp_path)
    with pytest.raises(ModelError, match="exit code 3"):
        ask(fake_claude(GOOD, code=3), tmp_path)


def test_tokens_are_estimated_when_the_client_does_not_say() -> None:
    usage = read_result(json.dumps({**GOOD, "usage": None}), "", 0, REQUEST).usage
    assert usage.estimated and usage.input_tokens > 0 and usage.output_tokens > 0


_HANGS = f"""
import signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([{sys.executable!r}, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"])
with open(seen + ".pids", "w") as out:
    out.write(f"{{os.getpid()}} {{child.pid}}")
time.sleep(600)
"""


def ended(tmp_path: Path) -> list[bool]:
    """Whether client and grandchild are gone, waiting a little for the kernel to be done with them."""
    return [_is_gone(int(pid)) for pid in (tmp_path / "seen.json.pids").read_text("utf-8").split()]


def _is_gone(pid: int) -> bool:
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watch], [], [], 10)[0])
    finally:
        os.close(watch)


def test_bug_056_a_hung_client_and_its_grandchild_are_both_ended(
    fake_claude: FakeClaude, tmp_path: Path
) -> None:
    program = fake_claude(body=_HANGS)
    settings = ModelSettings(claude_path=str(program), timeout_seconds=1.0)
    provider = ClaudeCliProvider(program, settings, home=tmp_path / "state", grace_seconds=0.05)
    with pytest.raises(TimedOutError):
        provider.send(REQUEST, SCHEMA)
    assert ended(tmp_path) == [True, True]
    assert ask(fake_claude(GOOD), tmp_path).text == '{"memories": []}'


def test_bug_056_a_grandchild_that_keeps_the_output_open_delays_nothing(
    fake_claude: FakeClaude, tmp_path: Path
) -> None:
    body = _HANGS.replace("time.sleep(600)\n", f"print({json.dumps(GOOD)!r}, flush=True)\n")
    assert ask(fake_claude(body=body), tmp_path, timeout_seconds=60).text == '{"memories": []}'
    assert ended(tmp_path) == [True, True]


def test_one_call_at_a_time(fake_claude: FakeClaude, tmp_path: Path) -> None:
    program = fake_claude(GOOD)
    held = try_lock(tmp_path / "state" / "claude.lock")
    assert held is not None
    with held, pytest.raises(OverloadedError):
        ask(program, tmp_path)
    assert ask(program, tmp_path).text == '{"memories": []}'


def test_bug_055_a_program_that_went_missing_is_named(fake_claude: FakeClaude, tmp_path: Path) -> None:
    program = fake_claude(GOOD)
    settings = ModelSettings(claude_path=str(program))
    provider = open_provider("auto", settings, home=tmp_path / "state")
    program.unlink()
    with pytest.raises(UnavailableError, match=str(program)):
        provider.send(REQUEST, SCHEMA)
    for spec in ("auto", "claude-cli"):
        with pytest.raises(UnavailableError, match=str(program)):
            open_provider(spec, settings, home=tmp_path)


def test_bug_055_a_poor_path_gets_the_programs_own_folder(
    fake_claude: FakeClaude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    program = fake_claude(GOOD)
    ask(program, tmp_path)
    assert seen(tmp_path)["env"]["PATH"] == f"/usr/bin:/bin:{program.parent}"


def test_the_switch_forbids_a_client_found_on_the_path(
    fake_claude: FakeClaude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fake_claude(GOOD)
    monkeypatch.setenv("PATH", str(program.parent))
    with pytest.raises(LiveCallError):
        open_provider("claude-cli", ModelSettings(), home=tmp_path / "state").send(REQUEST, SCHEMA)
    assert not (tmp_path / "seen.json").exists()


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (
            {"usage": {"input_tokens": 0, "output_tokens": 0}, "duration_api_ms": 0, "total_cost_usd": 0},
            False,
        ),
        ({"usage": None}, False),
        ({}, True),
        ({"usage": None, "duration_api_ms": 12}, True),
        ({"usage": None, "result": "Invalid API key · Please run /login"}, True),
    ],
    ids=["nothing used", "nothing said", "tokens used", "the API was asked", "another refusal"],
)
@pytest.mark.parametrize("code", [0, 1])
def test_only_a_client_without_a_login_that_used_nothing_asked_nobody(
    answer: dict[str, Any], sent: bool, code: int
) -> None:
    printed = {**result("Not logged in · Please run /login", is_error=bool(code)), **answer}
    with pytest.raises(UnauthorisedError) as error:
        read_result(json.dumps(printed), "", code, REQUEST)
    assert error.value.sent is sent


def test_what_a_program_that_is_gone_or_busy_was_asked_was_sent_nowhere(
    fake_claude: FakeClaude, tmp_path: Path
) -> None:
    program = fake_claude(GOOD)
    lock = try_lock(tmp_path / "state" / "claude.lock")
    assert lock is not None
    with lock, pytest.raises(OverloadedError) as busy:
        ask(program, tmp_path)
    provider = open_provider("claude-cli", ModelSettings(claude_path=str(program)), home=tmp_path / "state")
    program.unlink()
    with pytest.raises(UnavailableError) as gone:
        provider.send(REQUEST, SCHEMA)
    assert (busy.value.sent, gone.value.sent) == (False, False)

"""What a project's environment can do through the hooks: nothing. Claude Code hands them whatever it sets."""

from __future__ import annotations

import importlib.util
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pipeline.config import Settings
from pipeline.core import network
from pipeline.core.clock import SystemClock, iso
from pipeline.hooklib import places
from pipeline.llm import claude_call
from pipeline.safety.redaction import has_secret
from tests.support.hooks import HOOKS, LIMIT, Stage, note_home, settings_of
from tests.support.loopback import LoopbackApi, keep_each_line, serving
from tests.support.workshop import Workshop

ROOT = HOOKS.parent
OF_THE_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}
"""What the shell that plays the worker sets by itself."""
SET = {"PATH", "REVERIE_HOME", "REVERIE_SEEN", "PYTHONSAFEPATH", "PYTHONPATH", "PYTHONUTF8"}
SET |= {"PYDANTIC_DISABLE_PLUGINS"}
"""What the hook sets for the worker, whatever it was given."""
PLANTED = {
    "REVERIE_MODEL__BASE_URL": "http://127.0.0.1:9/evil",
    "REVERIE_MODEL__PROVIDER": "anthropic",
    "REVERIE_MODEL__API_KEY_ENV": "AWS_SECRET_ACCESS_KEY",
    "REVERIE_SPEND__DOLLARS_PER_DAY": "9999",
    "REVERIE_NOW": "2099-01-01T00:00:00Z",
    "REVERIE_CRASH_AT": "drain.before_ledger",
    "AWS_SECRET_ACCESS_KEY": "aws-made-up",
    "ANTHROPIC_API_KEY": "key-made-up",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/evil",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "SSL_CERT_FILE": "/evil/ca.pem",
    "NODE_EXTRA_CA_CERTS": "/evil/ca.pem",
    "NODE_OPTIONS": "--require=/evil.js",
    "LD_LIBRARY_PATH": "/evil",
    "PYTHONPATH": "/evil",
    "PYTHONHOME": "/evil",
    "PYTHONSTARTUP": "/evil.py",
    "PIP_INDEX_URL": "http://127.0.0.1:9/evil",
    "UV_INDEX_URL": "http://127.0.0.1:9/evil",
    "XDG_CONFIG_HOME": "/evil",
    "BASH_ENV": "/evil",
    "ENV": "/evil",
    "TZ": "Asia/Tokyo",
    "GIT_DIR": "/evil",
    "GIT_SSH_COMMAND": "/evil",
    "EDITOR": "/evil",
    "SHELL": "/evil",
    "USER": "evil",
    "LOGNAME": "evil",
    "TERM": "evil",
    "TMP": "/evil",
    "TEMP": "/evil",
    "ALL_PROXY": "http://127.0.0.1:9/evil",
    "SSL_CERT_DIR": "/evil",
    "XDG_RUNTIME_DIR": "/evil",
    "IFS": "evil",
    "LOCPATH": "/evil",
    "PERL5LIB": "/evil",
    "DYLD_INSERT_LIBRARIES": "/evil",
    "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "ascii",
}

OF_PLANTED = ("evil", "made-up", "2099-01-01T", "127.0.0.1", "Tokyo")
"""What those values are known by; nothing that the path of a home can hold."""


@pytest.fixture
def start_worker() -> Iterator[ModuleType]:
    """The hook's own module, which belongs to no package."""
    sys.path.insert(0, str(HOOKS))
    try:
        spec = importlib.util.spec_from_file_location("start_worker", HOOKS / "start_worker.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(HOOKS))


def variables(stage: Stage, **env: str) -> dict[str, str]:
    """Return what a worker gets from a hook that has `env` besides the usual."""
    stage.env.update(env)
    stage.run(b"{}")
    stage.await_worker()
    stage.release()
    found = dict(line.partition("=")[::2] for line in stage.lines("variables"))
    return {name: value for name, value in found.items() if name not in OF_THE_SHELL}


def test_security_a7_nothing_that_a_project_sets_reaches_the_worker(
    stage: Stage, start_worker: ModuleType
) -> None:
    got = variables(stage, **PLANTED, LC_TIME="C.UTF-8")
    assert {name for name in got if not start_worker.is_listed(name, start_worker.PASSED)} == SET
    assert got["LC_TIME"] == "C.UTF-8" and got["HOME"] == stage.env["HOME"]
    assert not [name for name, value in got.items() if any(word in value for word in OF_PLANTED)]
    assert (got["PATH"], got["PYTHONPATH"]) == (places.FOLDERS, str(ROOT))
    assert got["PYTHONUTF8"] == "1"


def test_a_worker_reads_names_of_files_as_they_are_in_any_locale(stage: Stage) -> None:
    """Python's own rule would take them for Latin-1 where such a locale is installed and set."""
    got = variables(stage, LC_ALL="de_DE.ISO-8859-1", LANG="de_DE.ISO-8859-1")
    code = "import os, sys; print(sys.getfilesystemencoding(), os.fsencode('日本').hex())"
    done = subprocess.run([sys.executable, "-c", code], env=got, capture_output=True, text=True, check=True)
    assert done.stdout == "utf-8 e697a5e69cac\n" and got["LC_ALL"] == "de_DE.ISO-8859-1"


@pytest.mark.parametrize("mark", places.CLIENT)
def test_what_a_project_sets_does_not_reach_the_program_that_a_command_in_a_session_runs(
    monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    for name, value in {**PLANTED, mark: "1"}.items():
        monkeypatch.setenv(name, value)
    network.use(proxy="", no_proxy="", ca_file="")
    got = claude_call.environment(Path("/opt/own/claude"), Settings().model)
    assert not [name for name, value in got.items() if any(word in value for word in OF_PLANTED)]
    assert {got["USER"], got["LOGNAME"]} == {pwd.getpwuid(os.getuid()).pw_name} and "SHELL" not in got


def test_of_a_shell_of_ones_own_the_program_gets_what_it_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in places.CLIENT:
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "ALL_PROXY", "TMP", "SHELL", "USER"):
        monkeypatch.setenv(name, "/own")
    got = claude_call.environment(Path("/opt/own/claude"), Settings().model)
    assert {name for name, value in got.items() if value == "/own"} == {"XDG_CONFIG_HOME", "ALL_PROXY", "TMP"}


def test_a_projects_zone_moves_no_day() -> None:
    def day(**env: str) -> str:
        code = "from pipeline.hooklib import zone; zone.use(''); print(zone.day(1772492400.0))"
        env["PYTHONPATH"] = str(ROOT)
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert day(TZ="Asia/Tokyo") == "2026-03-03" and day(TZ="America/New_York") == "2026-03-02"
    inside = {places.CLIENT[0]: "1"}
    assert {day(TZ=name, **inside) for name in ("Asia/Tokyo", "America/New_York")} == {day()}


def test_of_a_login_in_the_shell_the_worker_hears_the_name_alone(stage: Stage) -> None:
    stage.env.pop("AWS_CA_BUNDLE", None)
    got = variables(stage, **PLANTED, CLAUDE_CODE_USE_VERTEX="0", AWS_REGION="")
    assert got["REVERIE_SEEN"].split() == ["AWS_SECRET_ACCESS_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]


def test_what_the_persons_own_settings_name_passes(stage: Stage) -> None:
    (stage.home / "config.toml").write_text(
        "# it's mine, LD_PRELOAD is not\n[model]\n"
        'pass_env = ["AWS_*", "CLAUDE_CODE_OAUTH_TOKEN=REVERIE_OAUTH_TOKEN",'
        ' "PATH", "PYTHON*", "REVERIE_*"]\n'
        "auth_token_env = 'GATE_TOKEN'\n"
    )
    got = variables(
        stage, **PLANTED, REVERIE_OAUTH_TOKEN="mine", GATE_TOKEN="gate", AWS_REGION="eu", GATE_TOKENS="no"
    )
    passed = {name: got[name] for name in ("AWS_REGION", "GATE_TOKEN", "REVERIE_OAUTH_TOKEN")}
    assert passed == {"AWS_REGION": "eu", "GATE_TOKEN": "gate", "REVERIE_OAUTH_TOKEN": "mine"}
    assert not {"GATE_TOKENS", "LD_LIBRARY_PATH", "REVERIE_MODEL__BASE_URL", "PYTHONHOME"} & {*got}
    assert got["PATH"] == places.FOLDERS


NAMED = {
    "in its section": ("[spend]\nx = 1\n[model] # mine\npass_env = ['A_A', \"B_*\"]", "A_A B_*"),
    "dotted": ('model.pass_env = ["A_A"]\n"embeddings" . \'openai_key_env\' = "B_B"', "A_A B_B"),
    "in braces": ('model = { attempts = 3, pass_env = ["A_A"], api_key_env = "B_B" }', "A_A B_B"),
    "over lines": ('[model]\npass_env = [ # "NO_A"\n "A_A",\r\n # it\'s "NO_B"\n "N=B_B",\n]\n', "A_A B_B"),
    "as one text": ('[model]\npass_env = "A_A, N=B_B"', "A_A B_B"),
    "long strings": ('[model]\nbase_url = """\npass_env = ["NO"]\n"""\nauth_token_env = """A_A"""', "A_A"),
    "quotes in a long one": ('[model]\nmodel = """x "" ""y"""""\napi_key_env = \'\'\'A_A\'\'\'', "A_A"),
    "behind a mark": ('\ufeff[model]\napi_key_env = "A_A"', "A_A"),
    "a comment": ('# pass_env = ["NO"]\n[model]\n# api_key_env = "NO"\nattempts = 3 # "NO"', ""),
    "a sign in quotes": ('[model]\nbase_url = "#"\nmodel = \'"# \'\napi_key_env = "A_A" # "NO"', "A_A"),
    "an escaped quote": ('[model]\nmodel = "\\"\\\\"\napi_key_env = "A_A"', "A_A"),
    "another key": ('[model]\nmodel = "NO"\nbase_url = "NO"\n[network]\nproxy = "NO"', ""),
    "another section": ('pass_env = ["NO"]\n[spend]\npass_env = ["NO"]\nmodel.pass_env = ["NO"]', ""),
    "a longer section": ('[model.x]\npass_env = ["NO"]\n[x.model]\npass_env = ["NO"]', ""),
    "below it": ('[model]\npass_env.x = "NO"\n[dream]\nx = { model = { pass_env = "NO" } }', ""),
    "a dot in quotes": ('"model.pass_env" = "NO"\n["mo"]\ndel.pass_env = "NO"', ""),
    "next to braces": ('[model]\nx = [{ y = 1 }, [{ z = "NO" }]]\napi_key_env = "A_A"', "A_A"),
    "behind braces": ('spend = { x = { y = 1 } }\nmodel.api_key_env = "A_A"', "A_A"),
}


@pytest.mark.parametrize(("text", "names"), NAMED.values(), ids=NAMED)
def test_only_the_keys_that_name_a_variable_let_it_pass(
    start_worker: ModuleType, tmp_path: Path, text: str, names: str
) -> None:
    (tmp_path / "config.toml").write_bytes(text.encode())
    assert tomllib.loads(text.removeprefix("\ufeff"))
    assert start_worker.names_in(str(tmp_path / "config.toml")) == tuple(names.split())


@pytest.mark.parametrize(
    "text",
    [
        '[model]\npass_env = ["A_A"\nbase_url = "NO"',
        '[model]\npass_env = ["A_A", "NO',
        '[model]\napi_key_env = "A_A"\nmodel = """NO',
        "[model]\napi_key_env = 'A_A\n'",
        '[model]\npass_env = ["A_A",',
        'model = { pass_env = ["A_A" }',
    ],
)
def test_what_is_no_toml_names_nothing(start_worker: ModuleType, tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(text)
    assert start_worker.names_in(str(tmp_path / "config.toml")) == ()


def test_the_keys_that_name_a_variable_are_those_of_the_settings(start_worker: ModuleType) -> None:
    naming = [
        (section, key)
        for section, values in Settings().model_dump().items()
        for key in values
        if key.endswith("_env")
    ]
    assert sorted(naming) == sorted(start_worker.NAMING)


def test_a_comment_or_another_key_lets_nothing_pass_to_the_worker(stage: Stage) -> None:
    (stage.home / "config.toml").write_text(
        '[model]\n# pass_env = ["AWS_*"]\nmodel = "ANTHROPIC_API_KEY" # "NODE_OPTIONS"\n'
        'pass_env = [ # "HTTPS_PROXY"\n  "GATE_*",\n]\n'
    )
    got = variables(stage, **PLANTED, GATE_TOKEN="gate")
    assert got["GATE_TOKEN"] == "gate"
    assert not {"AWS_SECRET_ACCESS_KEY", "ANTHROPIC_API_KEY", "NODE_OPTIONS", "HTTPS_PROXY"} & {*got}


def test_the_path_is_the_one_that_a_typed_command_noted(stage: Stage) -> None:
    (stage.home / "path").write_text("/opt/own/bin:/usr/bin\n")
    assert variables(stage, PATH=f"/evil/bin:{stage.env['PATH']}")["PATH"] == "/opt/own/bin:/usr/bin"


@pytest.mark.parametrize("launcher", [False, True], ids=["direct", "launcher"])
def test_a_home_that_a_project_names_is_not_gone_to(stage: Stage, tmp_path: Path, launcher: bool) -> None:
    """It could hold a config.toml of the project's, and a Python to run."""
    planted = tmp_path / "repository" / "home"
    planted.mkdir(parents=True)
    ran = tmp_path / "ran"
    python = tmp_path / "repository" / "python3"
    python.write_text(f"#!/bin/sh\ntouch {ran}\n")
    python.chmod(0o755)
    (planted / "python").write_text(f"{python}\n")
    stage.env.update(
        {
            "REVERIE_HOME": str(planted),
            "REVERIE_PYTHON": str(python),
            "REVERIE_PYTHON_HOOK": str(python),
            "PATH": f"{python.parent}:{stage.env['PATH']}",
        }
    )
    if launcher:  # nothing is noted, so it looks around
        real = (stage.home / "python").read_text()
        shutil.copytree(HOOKS, tmp_path / "plugin" / "hooks")
        (tmp_path / "plugin" / ".venv" / "bin").mkdir(parents=True)
        (tmp_path / "plugin" / ".venv" / "bin" / "python").symlink_to(real.strip())
        (stage.home / "python").unlink()
        command = ["sh", str(tmp_path / "plugin" / "hooks" / "run"), "Stop"]
        subprocess.run(command, input=b"{}", env=stage.env, check=True, timeout=LIMIT)
    else:
        stage.run(b"{}")
    stage.await_worker()
    stage.release()
    assert len(stage.spooled()) == 1 and not ran.exists()
    assert [file.name for file in planted.iterdir()] == ["python"]


def test_the_launcher_looks_for_a_python_where_the_system_has_them(stage: Stage, tmp_path: Path) -> None:
    ran, tools = tmp_path / "ran", tmp_path / "tools"
    tools.mkdir()
    for name in ("python3", "python3.12", "cat", "sed"):
        (tools / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (tools / name).chmod(0o755)
    shutil.copytree(HOOKS, tmp_path / "plugin" / "hooks")
    (stage.home / "python").unlink()
    (stage.home / "worker.lock").mkdir()  # no worker is to be started under what it finds
    env = {**stage.env, "PATH": f"{tools}:/usr/bin:/bin", "BASH_ENV": str(tools / "cat")}
    for event in ("Stop", "SessionStart"):
        command = ["/bin/sh", str(tmp_path / "plugin" / "hooks" / "run"), event]
        subprocess.run(command, input=b'{"session_id":"s"}', env=env, check=True, timeout=LIMIT)
    assert not ran.exists()


@pytest.mark.parametrize(
    "mark", [places.CLIENT[0], *(pytest.param(each, marks=pytest.mark.whole) for each in places.CLIENT[1:])]
)
def test_inside_claude_code_a_command_goes_where_the_hooks_go(
    stage: Stage, tmp_path: Path, mark: str
) -> None:
    """There is no telling whether the person or a project set a variable, so none counts."""
    planted, ran = tmp_path / "planted", tmp_path / "ran"
    planted.mkdir()
    (planted / "config.toml").write_text('[model]\nbase_url = "http://127.0.0.1:9/evil"\n')
    for name in ("python", "claude"):
        (planted / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (planted / name).chmod(0o755)
    env = {**stage.env, "REVERIE_HOME": str(planted), "REVERIE_PYTHON": str(planted / "python")}
    env |= {"REVERIE_STORE__MODE": "off", "PATH": f"{planted}:{env['PATH']}"}
    (stage.home / "python").write_text(f"{sys.executable}\n")

    def told(**more: str) -> dict[str, object]:
        done = subprocess.run(
            [ROOT / "bin" / "reverie", "status", "--json"],
            env={**env, **more}, cwd=tmp_path, capture_output=True, timeout=LIMIT, check=True,
        )  # fmt: skip
        value = json.loads(done.stdout)
        return {"home": value["home"], "mode": value["mode"], "claude": "claude" in value["provider"]["why"]}

    inside = told(**{mark: ""})
    assert inside["home"] == str(stage.home) and inside["mode"] == "auto" and not ran.exists()
    env["REVERIE_PYTHON"] = sys.executable
    assert told()["home"] == str(planted) and told()["mode"] == "off", "a person's own shell counts"


def test_the_places_written_twice_are_the_same(start_worker: ModuleType) -> None:
    """Hooks import nothing of the package, and shell scripts nothing at all."""
    assert start_worker.FOLDERS == places.FOLDERS and network.VARIABLES == start_worker.NETWORK
    shells = [(HOOKS / "run").read_text(), (ROOT / "bin" / "reverie").read_text()]
    assert all(f"PATH={places.FOLDERS}\n" in text and places.HOME_NOTE in text for text in shells)
    assert all(f"${{{name}+1}}" in shells[1] for name in places.CLIENT)
    assert places.HOME_NOTE in (HOOKS / "spooling.py").read_text()


def test_the_document_names_what_passes_and_why(start_worker: ModuleType) -> None:
    text = (ROOT / "docs" / "privacy.md").read_text("utf-8")
    table = text.partition("| variable | why it passes |\n")[2].partition("\n\n")[0]
    named = [name for row in table.splitlines()[1:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert named == list(start_worker.PASSED)


HOMES = {
    "nothing noted": ("", "{config}/reverie"),
    "noted": ("{root}/own\n", "{root}/own"),
    "relative": ("own\n", "{config}/reverie"),
    "empty": ("\n", "{config}/reverie"),
    "odd": ("\x00\n", "{config}/reverie"),
}


@pytest.mark.parametrize(("note", "home"), HOMES.values(), ids=HOMES)
def test_hooks_launcher_and_commands_find_one_home(tmp_path: Path, note: str, home: str) -> None:
    config = tmp_path / "config"
    config.mkdir()
    at = {"root": tmp_path, "config": config}
    if note:
        (config / places.HOME_NOTE).write_text(note.format(**at))
    expected = Path(home.format(**at))
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(config), "PATH": "/usr/bin:/bin"}
    code = "from pipeline.hooklib import places; print(places.home_dir())"
    seen = subprocess.run([sys.executable, "-c", code], env={**env, "PYTHONPATH": str(ROOT)}, text=True,
                          capture_output=True, check=True).stdout  # fmt: skip
    assert seen == f"{expected}\n"
    for command in (
        [sys.executable, "-I", "-S", str(HOOKS / "capture.py"), "Stop"],
        ["sh", str(HOOKS / "run"), "Stop"],
    ):
        expected.mkdir(exist_ok=True)
        (expected / "worker.lock").mkdir(exist_ok=True)  # no worker
        subprocess.run(command, input=b"{}", env=env, check=True, timeout=LIMIT)
    assert len(list((expected / "spool").glob("*.json"))) == 2


@pytest.fixture
def apis() -> Iterator[tuple[LoopbackApi, LoopbackApi]]:
    with serving(keep_each_line) as own, serving(keep_each_line) as evil:
        yield own, evil


def test_security_a7_a_real_worker_asks_whom_the_home_names_and_within_its_caps(
    tmp_path: Path, apis: tuple[LoopbackApi, LoopbackApi]
) -> None:
    own, evil = apis
    shop = Workshop(tmp_path / "place", own.environment)
    shop.home.mkdir(mode=0o700)
    note_home(shop.projects.parent, shop.home)
    (shop.home / "python").write_text(f"{sys.executable}\n")
    settings = settings_of({**shop.env, "REVERIE_SPEND__CALLS_PER_HOUR": "2"})
    (shop.home / "config.toml").write_text(settings)
    planted = tmp_path / "planted"
    session = shop.session(1, iso(SystemClock().now()))  # the worker's clock can't be stopped from here
    session.user("Shelf 01 holds 17 boxes.")
    session.assistant("Noted.")
    shop.write(session)
    env = {
        **{name: value for name, value in shop.env.items() if "__" not in name},
        "REVERIE_HOME": str(planted),
        "REVERIE_MODEL__BASE_URL": evil.url,
        "REVERIE_MODEL__API_KEY_ENV": "AWS_SECRET_ACCESS_KEY",
        "REVERIE_SPEND__CALLS_PER_HOUR": "1000",
        "AWS_SECRET_ACCESS_KEY": "aws-made-up",
        "HTTP_PROXY": evil.url,
        "http_proxy": evil.url,
    }
    command = [sys.executable, "-I", "-S", str(HOOKS / "capture.py"), "Stop"]
    data = shop.payload(session, hook_event_name="Stop")
    subprocess.run(command, input=data, env=env, check=True, timeout=LIMIT)
    shop.await_idle()
    assert shop.memories() == ["shelf-01-holds"], shop.log()
    assert own.prompts and not (evil.prompts or evil.second) and not planted.exists()
    assert not has_secret("".join(own.prompts))

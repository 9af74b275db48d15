"""Remotes that are servers: git's own, ones that never answer, ask for a password, or speak by ssh."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from pipeline.app import machines
from pipeline.core.errors import InputError
from pipeline.sharing import git as program
from pipeline.sharing.git import remote_named
from pipeline.sharing.state import Share
from tests.support.machines import exchange
from tests.support.remotes import daemon, free_port, self_signed, silent, smart_http, smart_https

PASSWORD = "Basic bWU6b3BlbiBzZXNhbWU="
"""``me:open sesame``, as a browser sends it."""


@pytest.mark.parametrize("kind", ["file", "git", "http", "https"])
def test_two_machines_by_a_server(apart, tmp_path, monkeypatch, kind):
    desk, laptop = apart
    with ExitStack() as stack:
        served = f"file://{tmp_path}"
        if kind == "git":
            served = stack.enter_context(daemon(tmp_path))
        elif kind == "http":
            served = stack.enter_context(smart_http(tmp_path))
        elif kind == "https":
            certificate = self_signed(tmp_path)
            if certificate is None:
                pytest.skip("no openssl here to make a certificate with")
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            served = stack.enter_context(smart_https(tmp_path, certificate))
        for machine in apart:
            assert machine.join(tmp_path / "remote.git", served).first.error == ""
        name = desk.add("The port is eighty. It is open.", name="port")
        desk.sync()
        laptop.sync()
        desk.update(name, "The port is ninety. It is open.\n")
        laptop.update(name, "The port is eighty. It is fast.\n")
        exchange(desk, laptop)
        assert desk.files() == laptop.files()
        assert desk.body(name) == "The port is ninety. It is fast.\n"
        assert machines.status(desk.app)["behind"] == 0


@pytest.mark.parametrize("kind", ["git", "http"])
def test_a_server_that_never_answers_is_left_in_time_and_told(apart, monkeypatch, kind, tmp_path):
    desk = apart[0]
    desk.join(tmp_path / "remote.git")
    monkeypatch.setattr(program, "SILENT_SECONDS", 0.5)
    with silent() as port:
        with pytest.raises(InputError, match="does not answer"):
            machines.init(desk.app, f"{kind}://127.0.0.1:{port}/memories")
        desk.add("The build box has twelve cores.", name="build-box")
        desk.link.unlink()
        state = next(desk.app.home.glob("sharing/*/state.json"))
        state.write_text(state.read_text("utf-8").replace(desk.remote, f"{kind}://127.0.0.1:{port}/memories"))
        done = desk.sync()
        assert "does not answer: said nothing for" in done.error
        assert "Nothing is lost" in done.fix
        found = machines.status(desk.app)
        assert "does not answer" in found["error"]
        assert found["waiting"] == 1
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True).stdout.decode()
        assert f":{port}/memories" not in listed


def test_a_server_that_is_not_there_is_told_at_once(apart, tmp_path):
    with pytest.raises(InputError, match="can't be read"):
        machines.init(apart[0].app, f"http://127.0.0.1:{free_port()}/memories.git")
    assert not Share.of(apart[0].app.home, apart[0].app.store_path).file.exists()


def test_a_server_that_asks_for_a_password_asks_nobody(apart, tmp_path):
    desk = apart[0]
    with smart_http(tmp_path, password=PASSWORD) as served:
        with pytest.raises(InputError, match="asks for a name and a password"):
            desk.join(tmp_path / "remote.git", served)
        # Once git's own keeper of passwords knows it, all is well.
        host = served.removeprefix("http://")
        Path.home().joinpath(".git-credentials").write_text(f"http://me:open%20sesame@{host}\n", "utf-8")
        Path.home().joinpath(".gitconfig").write_text("[credential]\n\thelper = store\n", "utf-8")
        desk.add("The build box has twelve cores.", name="build-box")
        assert machines.init(desk.app, desk.remote).first.error == ""
        assert machines.status(desk.app)["waiting"] == 0
        assert "sesame" not in everything_in(desk.app.home)
        Path.home().joinpath(".git-credentials").unlink()
        assert "asks for a name and a password" in desk.sync().error
        assert "asks for a name and a password" in machines.status(desk.app)["error"]


def test_a_fetch_that_is_at_its_end_yet_is_waited_for(pair, tmp_path, monkeypatch):
    desk, laptop = pair
    laptop.add("Releases go out on Mondays.")
    laptop.sync()
    tools, real = tmp_path / "tools", shutil.which("git")
    tools.mkdir()
    # As git does it while another one holds the ref: once, and then no more.
    script = (
        f'#!/bin/sh\ncase "$*" in *" fetch "*) if mkdir {tools}/failed 2>/dev/null; then\n'
        "echo \"error: cannot lock ref 'refs/reverie/incoming': is at 1 but expected 2\" >&2; exit 1\n"
        f'fi;; esac\nexec {real} "$@"\n'
    )
    (tools / "git").write_text(script, "ascii")
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    assert desk.sync().error == ""
    assert (tools / "failed").is_dir()
    assert desk.names() == laptop.names()


def test_an_address_by_ssh_where_no_ssh_is(apart, tmp_path, monkeypatch):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "sh"):
        found = next(
            Path(folder) / name
            for folder in ("/usr/bin", "/bin", "/usr/local/bin")
            if (Path(folder) / name).exists()
        )
        (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    for address in ("ssh://git@127.0.0.1:9/memories.git", "git@git.example:me/memories.git"):
        with pytest.raises(InputError, match="there is no ssh on this machine"):
            machines.init(apart[0].app, address)


@pytest.mark.parametrize(
    "address",
    [
        "https://me:{}@127.0.0.1/x.git",
        "https://{}@127.0.0.1/x.git",
        "ssh://git:{}@127.0.0.1/x.git",
        "http://me:{}@127.0.0.1/x.git",
        "ftp://me:{}@127.0.0.1/x.git",
        "me:{}@host:x.git",
        "{}@127.0.0.1:x.git",
        "https://127.0.0.1/x.git?token={}#",
    ],
)
def test_a_credential_in_an_address_is_refused_and_never_repeated(apart, tmp_path, address):
    desk, word = apart[0], "q7Zk2mW9xT4bV8nR1cY6"
    if "?" in address:
        word = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    environment = {**os.environ, "REVERIE_HOME": str(desk.app.home), "COLUMNS": "200"}
    command = [sys.executable, "-m", "pipeline.cli.main", "sync", "init", address.format(word)]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, check=False, timeout=60, text=True
    )
    assert done.returncode != 0
    assert "there is a secret in that address" in done.stderr
    assert word not in done.stdout + done.stderr + everything_in(tmp_path)


def test_a_name_that_is_no_token_is_taken():
    for named in ("https://me@git.example/x.git", "ssh://git@git.example/x.git", "git@git.example:x.git"):
        assert remote_named(named) == named
    assert remote_named("file:///srv/x.git") == "file:///srv/x.git"


def test_what_hides_nothing_on_its_way_is_for_this_machine_alone():
    for kind in ("http", "git"):
        assert remote_named(f"{kind}://localhost:8/x.git") == f"{kind}://localhost:8/x.git"
        for host in ("git.example", "localhost.example", "127.0.0.1.example", "10.0.0.1", ""):
            with pytest.raises(InputError, match="hides nothing on its way"):
                remote_named(f"{kind}://{host}/x.git")


def test_a_credential_that_git_puts_into_an_address_is_not_told(apart, tmp_path):
    desk = apart[0]
    address = f"http://me:q7Zk2mW9xT4bV8nR@127.0.0.1:{free_port()}/"
    settings = f'[url "{address}"]\n\tinsteadOf = http://localhost:7/\n'
    Path.home().joinpath(".gitconfig").write_text(settings, "utf-8")
    with pytest.raises(InputError) as caught:
        machines.init(desk.app, "http://localhost:7/x.git")
    assert "q7Zk2mW9xT4bV8nR" not in f"{caught.value} {caught.value.fix}{everything_in(desk.app.home)}"


def everything_in(folder: Path) -> str:
    """All that stands in files below `folder`."""
    found = (file.read_bytes() for file in folder.rglob("*") if file.is_file())
    return b"\n".join(found).decode("utf-8", "replace")

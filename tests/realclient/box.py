"""A closed box for the real client: loopback only, a home of its own, a scripted API.

    python -m tests.realclient.box COMMAND...     runs COMMAND in a network namespace with nothing but lo

`Box` refuses to start the client anywhere else: a real client with a network would try to reach its maker.
Linux only; needs `unshare` (util-linux), `tmux` and `git`.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import re
import select
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.realclient.scripted_api import PATIENCE, SESSION, Journal, Noted, Script, serving
from tests.support.hooks import settings_of

REPO = Path(__file__).resolve().parents[2]
KEY = "not-a-key"
_ANEW = 15.0
"""Seconds after which a key is pressed anew: what the client draws may take keys only a moment later."""
_INSIDE = "REVERIE_BOX_INSIDE"
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1


class NotSealedError(RuntimeError):
    """This process can reach more than loopback."""


def interfaces() -> list[str]:
    """Return the names of the network interfaces this process can see."""
    lines = Path("/proc/self/net/dev").read_text("utf-8").splitlines()[2:]
    return sorted(line.split(":")[0].strip() for line in lines)


def require_sealed(seen: Sequence[str] | None = None) -> None:
    """Raise NotSealedError unless loopback is the only interface, of those `seen` or of this process."""
    names = list(interfaces() if seen is None else seen)
    if names != ["lo"]:
        raise NotSealedError(f"network interfaces {names}: run `make test-realclient`, which has only lo")


def enter(command: Sequence[str]) -> None:
    """Replace this process by `command`, in a new network namespace whose loopback is up."""
    if _INSIDE not in os.environ:
        again = [sys.executable, "-m", __spec__.name, *command]
        os.environ[_INSIDE] = "1"
        os.execvp("unshare", [*_unshare(), *again])
    require_sealed()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))
    os.execvp(command[0], list(command))


def _unshare() -> list[str]:
    """Return how this machine makes a network namespace: as root, or through a user namespace."""
    for options in (["--net"], ["--map-root-user", "--net"]):
        if subprocess.run(["unshare", *options, "true"], capture_output=True).returncode == 0:
            return ["unshare", *options]
    raise SystemExit("`unshare --net` is not permitted here: the client needs a network namespace of its own")


@dataclass(frozen=True)
class Turn:
    """What a headless turn printed: its result object, and the journal line of the client's exit."""

    result: dict[str, Any]
    exit: Noted


class Box:
    """One person's machine: a home, a project under git, the client on PATH."""

    def __init__(
        self,
        root: Path,
        client: Path,
        base_url: str,
        journal: Journal,
        project: str,
        extra: Mapping[str, str],
    ) -> None:
        self.root, self.journal, self.base_url = root, journal, base_url
        self.home, self.project = root / "home", root / project
        self._terminals = itertools.count(1)
        tools = root / "bin"
        for folder in (self.home, self.project, tools):
            folder.mkdir()
        (tools / "claude").symlink_to(client)
        subprocess.run(
            ["git", "init", "-q", str(self.project)], check=True, env=os.environ | {"HOME": str(self.home)}
        )
        scripts = Path(sys.executable).parent
        self.env = {
            "PATH": f"{tools}:{scripts}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": base_url,
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",  # lets root run the client with its permission questions off
            "REVERIE_MODEL__PROVIDER": "claude-cli",
            "REVERIE_MODEL__API_KEY_ENV": "ANTHROPIC_API_KEY",
            "REVERIE_MODEL__BASE_URL": base_url,
            "REVERIE_WORKER__LINGER_SECONDS": "0",
            "REVERIE_DREAM__CUES": "false",
            **extra,
        }
        self.trust(self.project)

    def trust(self, *folders: Path) -> None:
        """Answer beforehand what a first start in one of `folders` asks: theme, key, trust in the folder."""
        answered = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {
                str(folder): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
                for folder in folders
            },
        }
        (self.home / ".claude.json").write_text(json.dumps(answered), encoding="utf-8")

    def watch_hooks(self) -> None:
        """Give the person hooks of their own, which note every event in `fired`."""
        command = {"type": "command", "command": 'cat >> "$HOME/fired"'}
        events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
        settings = {"hooks": {event: [{"hooks": [command]}] for event in events}}
        (self.home / ".claude").mkdir(exist_ok=True)
        (self.home / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    @property
    def fired(self) -> Path:
        """What the hooks of `watch_hooks` noted; no file before the first event."""
        return self.home / "fired"

    @property
    def projects(self) -> Path:
        """Where the client keeps transcripts and memory folders."""
        return self.home / ".claude" / "projects"

    @property
    def memory(self) -> Path:
        """The memory folder of the box's project; the client counts a name in UTF-16 units."""
        real = str(self.project.resolve())
        name = re.sub(r"[^A-Za-z0-9]", lambda odd: "-" * (len(odd[0].encode("utf-16-le")) // 2), real)
        return self.projects / name / "memory"

    def transcripts(self) -> list[Path]:
        """Return every session file in any project, sub-agents' included."""
        found = self.projects.rglob("*.jsonl") if self.projects.exists() else ()
        return sorted(path for path in found if "memory" not in path.parts)

    def note_for_hooks(self) -> None:
        """Write down what hooks don't take from the environment: settings and PATH, as commands note them.

        What a test wrote into ``config.toml`` stays where no variable says otherwise.
        """
        home = self.home / ".claude" / "reverie"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        config = home / "config.toml"
        before = tomllib.loads(config.read_text("utf-8")) if config.exists() else {}
        config.write_text(settings_of(self.env, before), "utf-8")
        (home / "path").write_text(f"{self.env['PATH']}\n", "utf-8")

    def headless(self, prompt: str, *arguments: str, resume: str = "", cwd: Path | None = None) -> Turn:
        """Run one `claude -p` turn to its end; the journal gets `client-exit` the moment it is reaped."""
        require_sealed()
        self.note_for_hooks()
        command = [
            "claude",
            "-p",
            prompt,
            "--output-format",
            "json",
            "--permission-mode",
            "bypassPermissions",
        ]
        command += [*(["--resume", resume] if resume else []), *arguments]
        done = subprocess.run(
            command,
            cwd=cwd or self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
        )
        noted = self.journal.note("client-exit", done.returncode)
        assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return Turn(json.loads(done.stdout), noted)

    def run(self, *command: str) -> str:
        """Run a command of ours in the box, as the person would in a second terminal; gives its output."""
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout.decode()

    @contextmanager
    def terminal(self, *arguments: str, cwd: Path | None = None) -> Iterator[Terminal]:
        """Open an interactive session in a terminal; leaves it with /exit if the block did not."""
        require_sealed()
        self.note_for_hooks()
        terminal = Terminal(self, arguments, cwd or self.project, f"tmux-{next(self._terminals)}")
        try:
            yield terminal
            terminal.leave()
        finally:
            terminal.close()

    def background(self) -> list[int]:
        """Return the processes that live in this box's home: workers and what they started."""
        mark = b"HOME=" + os.fsencode(self.home)
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):  # gone meanwhile, or another person's
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
        return found

    def settle(self) -> None:
        """Wait until no process of the box is left."""
        while running := self.background():
            for pid in running:
                with suppress(ProcessLookupError):
                    handle = os.pidfd_open(pid)
                    try:
                        ended = select.select([handle], [], [], PATIENCE)[0]
                    finally:
                        os.close(handle)
                    assert ended, f"process {pid} still runs: {_command_line(pid)}"

    def end(self) -> None:
        """Kill what is left in the box."""
        for pid in self.background():
            with suppress(ProcessLookupError):
                os.kill(pid, 9)


class Terminal:
    """An interactive session, typed into through tmux."""

    def __init__(self, box: Box, arguments: Sequence[str], cwd: Path, socket_name: str) -> None:
        self._box, self._left = box, False
        self._tmux = ["tmux", "-S", str(box.root / socket_name), "-f", "/dev/null"]
        env = [f"{name}={value}" for name, value in box.env.items()]
        inside = shlex.join(["env", "-i", *env, "claude", *arguments])
        # The shell stays a moment longer than the client, to say that it has gone.
        line = f"{inside}; {shlex.join([*self._tmux, 'wait-for', '-S', 'left'])}"
        self._run("new-session", "-d", "-s", "box", "-x", "160", "-y", "50", "-c", str(cwd), line)
        self.shows("❯")

    def _run(self, *command: str) -> str:
        done = subprocess.run([*self._tmux, *command], capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout.decode("utf-8", "replace")

    def screen(self, *, colours: bool = False) -> str:
        """Return what the terminal shows now; `colours` as escape codes, with the cells that are blank."""
        return self._run("capture-pane", "-p", "-t", "box", *(["-e", "-N"] if colours else []))

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size, in cells."""
        self._run("resize-window", "-t", "box", "-x", str(columns), "-y", str(lines))

    def shows(self, text: str) -> None:
        """Wait until the screen shows `text`; it can't be subscribed to, so it is asked now and then."""
        pause = select.poll()
        for _ in range(int(PATIENCE * 5)):
            if text in self.screen():
                return
            pause.poll(200)
        raise AssertionError(f"{text!r} never showed:\n{self.screen()}")

    def press_until(self, key: str, text: str, *, seconds: float = _ANEW) -> None:
        """Press `key`, anew after so many seconds, until the screen shows `text`."""
        self._press(key, lambda screen: text in screen, f"{text!r} never showed", seconds)

    def press_past(self, key: str, text: str) -> None:
        """Press `key`, anew after `_ANEW` seconds, until the screen no longer shows `text`."""
        self._press(key, lambda screen: text not in screen, f"{text!r} stayed", _ANEW)

    def _press(self, key: str, done: Callable[[str], bool], failed: str, seconds: float) -> None:
        pause = select.poll()
        for _ in range(int(PATIENCE / seconds)):
            self.press(key)
            for _ in range(int(seconds * 5)):
                pause.poll(200)
                if done(self.screen()):
                    return
        raise AssertionError(f"{failed}:\n{self.screen()}")

    def type(self, text: str) -> Noted:
        """Type a prompt and press Enter; returns the request it made, once that arrived.

        Its end must not stand on the screen yet, as Enter is pressed when it shows.
        """
        before = len(self._box.journal.all()) - 1
        self._run("send-keys", "-t", "box", "-l", text)
        self.shows(text[-40:])

        def asks(noted: Noted) -> bool:
            return noted.detail.kind == SESSION and text in noted.detail.said

        # An Enter at an empty prompt does nothing, so one more does no harm where the first was late.
        for _ in range(int(PATIENCE / _ANEW)):
            self.press("Enter")
            if asked := self._box.journal.look("request", asks, after=before, seconds=_ANEW):
                return asked
        raise AssertionError(f"{text!r} was never asked:\n{self.screen()}")

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names, such as Up, Tab, BTab, Escape."""
        self._run("send-keys", "-t", "box", *keys)

    def write(self, text: str) -> None:
        """Type a text, and wait until it shows."""
        self._run("send-keys", "-t", "box", "-l", text)
        self.shows(text)

    def paste(self, text: str) -> None:
        """Paste a text as a terminal does, marked as pasted."""
        self._run("set-buffer", text)
        self._run("paste-buffer", "-p", "-t", "box")

    def command(self, text: str, then: str) -> None:
        """Type a command of the client's own, such as /compact, and press Enter until `then` shows."""
        self.write(text)
        self.press_until("Enter", then)

    def shell(self, text: str, then: str) -> None:
        """Run a shell command from within the client, as a person does with `!`, until `then` shows."""
        self.press_until("!", "! for shell mode")
        self.command(text, then)

    def leave(self) -> Noted:
        """Type /exit and wait until the client has gone; gives the journal line of its exit."""
        if not self._left:
            self.write("/exit")
            gone = subprocess.Popen([*self._tmux, "wait-for", "left"])
            # The list of commands that comes up over what was typed may take an Enter that comes too soon.
            for _ in range(int(PATIENCE / _ANEW)):
                subprocess.run([*self._tmux, "send-keys", "-t", "box", "Enter"], capture_output=True)
                with suppress(subprocess.TimeoutExpired):
                    gone.wait(_ANEW)
                    break
            else:
                gone.kill()
                raise AssertionError(f"the client stayed:\n{self.screen()}")
            self._left = True
            return self._box.journal.note("client-exit", "typed")
        return self._box.journal.all("client-exit")[-1]

    def close(self) -> None:
        """Take the terminal away, whatever runs in it."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, timeout=PATIENCE)


OpenBox = Callable[..., Box]  # the fixture `open_box`: rules of the script in, environment as keywords


@contextmanager
def opened(root: Path, client: Path, script: Script, *, project: str = "work", **extra: str) -> Iterator[Box]:
    """Open a box whose API plays `script`; afterwards nothing of it runs any more."""
    require_sealed()
    for tool in ("git", "tmux"):
        assert shutil.which(tool), f"{tool} is needed for the real client tests"
    journal = Journal(root / "journal.jsonl")
    with serving(script, journal) as base_url:
        box = Box(root, client, base_url, journal, project, extra)
        try:
            yield box
        finally:
            box.end()


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return "gone"


if __name__ == "__main__":
    enter(sys.argv[1:])

"""The worker with `claude -p` behind it: a stand-in program that records how it is called."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.ledger import calls, jobs, outages
from tests.support.hooks import HOOKS
from tests.support.model import HELP, PROGRAM
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop

NOW = "2026-03-02T09:05:00+00:00"
USAGE = {"input_tokens": 3, "output_tokens": 4}
GOOD = json.dumps(
    {"type": "result", "subtype": "success", "is_error": False, "result": "", "usage": USAGE,
     "structured_output": {"memories": []}}
)  # fmt: skip
ANSWERS = f"sys.stdout.write({GOOD!r})"
TRIES_THE_HOOK = f"""
import subprocess
payload = json.dumps({{"session_id": "ours", "transcript_path": "/p/ours.jsonl"}}).encode()
done = subprocess.run(["sh", {str(HOOKS / "run")!r}, "Stop"], input=payload)
open({{seen!r}} + ".hook", "w").write(str(done.returncode))
{ANSWERS}
"""
HANGS = """
import signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"])
open({seen!r} + ".pids", "w").write(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "place", {"REVERIE_MODEL__PROVIDER": "claude-cli", "REVERIE_NOW": NOW})


def install(shop: Workshop, body: str, *, at: str = "bin", named: bool = True) -> Path:
    """Put a claude program that runs `body` into the folder `at`; return where it records its calls."""
    program, seen = shop.place / at / "claude", shop.place / "seen.json"
    program.parent.mkdir(parents=True, exist_ok=True)
    body = body.replace("{seen!r}", repr(str(seen)))
    program.write_text(PROGRAM.format(python=sys.executable, seen=str(seen), help=HELP, body=body), "utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    if named:
        shop.env["REVERIE_MODEL__CLAUDE_PATH"] = str(program)
    return seen


def talk(shop: Workshop) -> Transcript:
    session = shop.session()
    session.user("Shelf 01 holds 17 boxes.")
    session.assistant("Noted.")
    shop.fire(session)
    return session


def record(seen: Path) -> dict[str, Any]:
    return dict(json.loads(seen.read_text("utf-8")))


def outcomes(shop: Workshop) -> list[str]:
    with shop.ledger() as ledger:
        return [call.outcome for call in calls.list_calls(ledger)]


def test_our_own_call_never_feeds_us(shop: Workshop) -> None:
    """The client under the worker fires the very hook that started the worker: nothing comes of it."""
    seen = install(shop, TRIES_THE_HOOK)
    talk(shop)
    assert shop.work() == 0 and outcomes(shop) == ["ok"]
    assert Path(f"{seen}.hook").read_text("utf-8") == "0" and record(seen)["env"]["REVERIE_INSIDE"] == "1"
    assert list((shop.home / "spool").iterdir()) == [] and len(shop.books()["events"]) == 1


def test_bug_072_and_116_the_call_is_nobodys_session_and_nobodys_bill(shop: Workshop) -> None:
    seen = install(shop, ANSWERS)
    (shop.project / ".env").write_text("ANTHROPIC_API_KEY=sk-made-up\nANTHROPIC_BASE_URL=http://nowhere\n")
    talk(shop)
    found = {"ANTHROPIC_API_KEY": "sk-made-up", "ANTHROPIC_BASE_URL": "http://nowhere"}
    before = sorted(shop.projects.rglob("*.jsonl"))
    assert shop.work(**found) == 0 and outcomes(shop) == ["ok"]
    call = record(seen)
    assert not {name for name in call["env"] if name.startswith("ANTHROPIC_")}
    assert Path(call["cwd"]).is_relative_to(shop.home)
    assert sorted(shop.projects.rglob("*.jsonl")) == before
    assert "--no-session-persistence" in call["argv"]


def test_bug_056_a_call_that_never_returns_is_ended_and_tried_again(shop: Workshop) -> None:
    seen = install(shop, HANGS)
    talk(shop)
    assert shop.work(REVERIE_MODEL__TIMEOUT_SECONDS="1") == 0
    pids = Path(f"{seen}.pids").read_text("utf-8").split()
    assert not [pid for pid in pids if _runs(pid)], "both processes are dead"
    with shop.ledger() as ledger:
        (job,) = [job for job in jobs.list_jobs(ledger, state="waiting") if job.kind == "extract_turn"]
        down = outages.known(ledger, "claude-cli")
    assert down is not None and "1 s" in down.reason
    assert job.attempts == 0 and outcomes(shop) == ["timeout"], "the provider's fault, not the turn's"
    install(shop, ANSWERS)
    assert shop.work(REVERIE_NOW="2026-03-02T09:07:00+00:00") == 0
    assert outcomes(shop) == ["ok", "timeout"]


def test_f7_status_tells_one_cause_once_and_counts_no_call_that_went_nowhere(shop: Workshop) -> None:
    logged_out = {"type": "result", "is_error": True, "result": "Not logged in · Please run /login"}
    install(shop, f"sys.stdout.write({json.dumps(logged_out)!r})")
    session = talk(shop)
    shop.env["REVERIE_DREAM__ENABLED"] = "true"
    assert shop.work() == 0
    with shop.ledger() as ledger:
        jobs.enqueue(ledger, "dream", str(shop.store), now=0, run_after=0)
    session.user("Shelf 02 holds 18 boxes.")
    session.assistant("Noted.")
    shop.fire(session)
    assert shop.work(REVERIE_NOW="2026-03-02T10:30:00+00:00") == 0
    said = shop.reverie("status", REVERIE_NOW="2026-03-02T10:31:00+00:00").stdout
    assert said.count("Not logged in") == 1 and said.count("failed:unauthorised") == 2
    assert "! 1 turn and 1 dream wait: claude: Not logged in" in said
    assert "none yet; held, see below" in said and "looked at after" not in said
    assert "0 of 60 this hour" in said and set(outcomes(shop)) == {"unauthorised"}
    # Once it is mended and done, the runs still tell why they failed, but not each of them.
    install(shop, ANSWERS)
    assert shop.work(REVERIE_NOW="2026-03-02T11:40:00+00:00") == 0
    said = shop.reverie("status", REVERIE_NOW="2026-03-02T11:41:00+00:00").stdout
    assert said.count("Not logged in") == 1 and said.count("failed:unauthorised") == 2 and "!" not in said


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_bug_055_under_a_schedulers_environment(shop: Workshop) -> None:
    """The program is found in the home's usual places; when it is gone that is said and nothing is lost."""
    install(shop, ANSWERS, at=".local/bin", named=False)
    talk(shop)
    kept = {name: shop.env[name] for name in ("HOME", "REVERIE_HOME", "CLAUDE_CONFIG_DIR", "REVERIE_NOW")}
    shop.env = {**kept, "PATH": "/nonexistent", "REVERIE_MODEL__PROVIDER": "claude-cli"}
    (shop.place / ".local/bin/claude").rename(shop.place / "moved")
    assert shop.work(REVERIE_WORKER__LINGER_SECONDS="0") == 0
    with shop.ledger() as ledger:
        (job,) = [j for j in jobs.list_jobs(ledger, state="waiting") if j.kind != "dream"]
        down = outages.known(ledger, "claude-cli")
    assert down is not None and "claude" in down.reason
    assert job.attempts == 0 and shop.books()["watermarks"] == []
    assert "claude" in shop.reverie("doctor").stdout
    (shop.place / "moved").rename(shop.place / ".local/bin/claude")
    assert shop.work(REVERIE_WORKER__LINGER_SECONDS="0", REVERIE_NOW="2026-03-02T10:30:00+00:00") == 0
    assert outcomes(shop) == ["ok"]


LISTENS = "0A"
LOOKS_FOR_SOCKETS = f"""
holders = [os.getppid(), os.getpid()]
inodes = {{line.split()[9] for name in ("tcp", "tcp6") for line in open(f"/proc/net/{{name}}").readlines()[1:]
          if line.split()[3] == "{LISTENS}"}}
held = [os.readlink(f"/proc/{{p}}/fd/{{n}}") for p in holders for n in os.listdir(f"/proc/{{p}}/fd")
        if os.path.lexists(f"/proc/{{p}}/fd/{{n}}")]
listening = [name for name in held if name.startswith("socket") and name[8:-1] in inodes]
open({{seen!r}} + ".held", "w").write("\\n".join(listening))
open({{seen!r}} + ".locks", "w").write("\\n".join(
    os.readlink(f"/proc/{{os.getpid()}}/fd/{{n}}") for n in os.listdir("/proc/self/fd")
    if os.path.lexists(f"/proc/self/fd/{{n}}")))
{ANSWERS}
"""


def test_bug_053_nothing_listens_and_the_child_holds_no_lock(shop: Workshop) -> None:
    seen = install(shop, LOOKS_FOR_SOCKETS)
    talk(shop)
    assert shop.work() == 0 and outcomes(shop) == ["ok"]
    assert Path(f"{seen}.held").read_text("utf-8") == ""
    held = {os.path.basename(name) for name in Path(f"{seen}.locks").read_text("utf-8").splitlines()}
    assert held and "worker.lock" not in held

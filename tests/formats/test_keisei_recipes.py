"""The recipes of KeiSeiKit's MEMORY-FORMAT (MIT), run exactly as it prints them, by real jq, awk and pandas.

They know only paths below ``~/.claude``, so each runs in a home of its own. What they must answer for our
sessions was counted by hand; for real transcripts it is counted here by plain JSON, without our reader.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support import traces
from tests.support.traces import CLASSES, OLD, ONE, TWO
from tests.support.warm import shared_workers

PYTHON = os.environ.get("REVERIE_RECIPES_PYTHON", "")
SHARED = Path(os.environ.get("REVERIE_SHARED") or Path(__file__).parents[3] / "shared")
REAL = SHARED / "data" / "transcripts"
SEEDS = SHARED / "seeds"

pytestmark = [
    pytest.mark.recipes,
    pytest.mark.skipif(not PYTHON, reason="`make test-recipes` runs these, with jq, awk and pandas"),
]

BASH_SINCE = """\
cat ~/.claude/memory/traces/*.jsonl \\
| jq -c 'select(.event_class == "tool_use:Bash")
| select((.timestamp // "") >= "2026-04-25")'
"""
MEDIAN_EVENTS = """\
cat ~/.claude/memory/traces/*.jsonl \\
| jq -s 'group_by(.sessionId // .session_id)
| map({s: .[0].sessionId, n: length}) | sort_by(.n) | .[length/2|floor]'
"""
ERRORS = """\
cat ~/.claude/memory/traces/*.jsonl \\
| jq -c 'select(.is_error == true or (.event_class // "" | startswith("tool_error")))
| {session: (.sessionId // .session_id), ts: (.timestamp // .ts)}' \\
| sort | uniq -c
"""
MEDIAN_AUDIT = """\
jq -s '[.[] | select(.kind=="task" and (.name|test("audit"))) | .duration_s]
| sort | .[length/2|floor]' ~/.claude/memory/time-metrics/tasks.jsonl
"""
COSTLY_AGENTS = """\
sqlite3 ~/.claude/agents/ledger.sqlite \\
"SELECT id, COALESCE(tokens_in,0)+COALESCE(tokens_out,0) AS tok
FROM agents WHERE tok > 100000 ORDER BY tok DESC LIMIT 20;"
"""
PANDAS = """\
import pandas as pd, json, pathlib, glob
def load_traces(pattern="~/.claude/memory/traces/*.jsonl"):
rows = [json.loads(l) for f in glob.glob(str(pathlib.Path(pattern).expanduser()))
for l in open(f) if l.strip()]
return pd.DataFrame(rows)
# Recipe 1: event class frequency
print(load_traces()["event_class"].value_counts().head(20))
# Recipe 2: sessions.jsonl duration histogram
sess = pd.read_json("~/.claude/memory/time-metrics/sessions.jsonl", lines=True)
sess[sess.kind == "session"]["duration_s"].hist(bins=30)
# Recipe 3: tasks median duration by name prefix
tasks = pd.read_json("~/.claude/memory/time-metrics/tasks.jsonl", lines=True)
tasks[tasks.kind == "task"].groupby(
tasks["name"].str.split("-").str[0])["duration_s"].median()
"""
BY_CLASS = """\
cat ~/.claude/memory/traces/*.jsonl \\
| awk -F'"event_class":"' 'NF>1 {split($2,a,"\\""); counts[a[1]]++}
END {for (k in counts) print counts[k], k}' \\
| sort -rn | head -20
"""
COMMANDS = """\
cat ~/.claude/memory/traces/*.jsonl \\
| awk -F'"command":"' 'NF>1 {
split($2, a, "\\"")
gsub(/\\\\n/, "\\n", a[1])
print substr(a[1], 1, 120)
}'
"""
PRINTED = [BASH_SINCE, MEDIAN_EVENTS, ERRORS, MEDIAN_AUDIT, COSTLY_AGENTS, PANDAS, BY_CLASS, COMMANDS]

_RUNNER = """
import ast, json, os, sys
os.environ.setdefault("MPLBACKEND", "Agg")
names, last = {}, None
for part in ast.parse(sys.stdin.read()).body:
    if isinstance(part, ast.Expr):
        last = eval(compile(ast.Expression(part.value), "recipe", "eval"), names)
        if type(last).__name__ == "Axes":
            print("HISTOGRAM", json.dumps([int(bar.get_height()) for bar in last.patches]))
        elif last is not None:
            print("VALUE", json.dumps({str(k): v for k, v in last.items()}))
    else:
        exec(compile(ast.Module([part], []), "recipe", "exec"), names)
"""


def indented(printed: str) -> str:
    """Return the Python of the seed with the indentation that its text lost, or was never without."""
    try:
        ast.parse(printed)
    except IndentationError:
        inside = False
        lines = []
        for line in printed.splitlines():
            inside = inside and not line.startswith("#")
            lines.append(("    " if inside else "") + line)
            inside = inside or line.startswith("def ")
        return "\n".join(lines)
    return printed


class Home:
    """A home with exported traces, in which recipes run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.claude = folder / ".claude"
        self.env = {"HOME": str(folder), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def reverie(self, *arguments: str) -> str:
        done = shared_workers().reverie([*arguments], self.env, self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def export(self, *options: str) -> None:
        to = str(self.claude / "memory" / "traces")
        self.reverie("traces", "export", "--all", "--annotated", *options, "--to", to)

    def sh(self, recipe: str) -> str:
        return self._run(["bash", "-c", f"set -euo pipefail\n{recipe}"], None)

    def python(self, recipe: str) -> str:
        return self._run([PYTHON, "-c", _RUNNER], indented(recipe))

    def _run(self, command: list[str], typed: str | None) -> str:
        done = subprocess.run(
            command, env=self.env, cwd=self.folder, input=typed, capture_output=True, text=True, timeout=300
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


def counts(text: str) -> dict[str, str]:
    """Return what the awk recipe printed, by class."""
    return {name: number for number, name in (line.split(" ", 1) for line in text.splitlines())}


def tokens(text: str) -> list[str]:
    return text.split()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("ours"))
    traces.transcripts(home.claude / "projects")
    traces.journals(home.claude)
    home.export()
    return home


def test_all_three_read_what_becomes_of_hostile_lines(tmp_path):
    home = Home(tmp_path)
    call = b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":'
    end = b"}}]}}\n"
    lines = [
        call + b'{"a":' * 400 + b"1" + b"}" * 400 + end,
        call + b"[" * 400 + b"]" * 400 + end,
        call + b'"caf\xe9 \\ud83d \\u0000 \xe2\x80\xa8 x"' + end,
        call + b'123456789012345678901234567890, "n": NaN, "i": 1e999' + end,
        b'{"type":"user","event_class":{"no":"text"},"timestamp":5,"is_error":"yes","message":[1]}\n',
        b'{"type":"user","toolUseResult":{"event_class":"not this one"}}\n',
        call + b'"torn',
    ]
    file = home.claude / "projects" / "-x" / "hostile.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"".join(lines))
    home.export()
    found = {"tool_use:Bash": "4", "user": "1", "tool_result": "1"}
    assert counts(home.sh(BY_CLASS)) == found
    assert json.loads(home.sh(MEDIAN_EVENTS)) == {"s": "hostile", "n": 6}
    printed = home.python(PANDAS.partition("# Recipe 2")[0]).splitlines()
    assert dict(line.split() for line in printed[1:-1]) == found


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home whose journals and ledger of agents Reverie wrote."""
    home = Home(tmp_path_factory.mktemp("written"))
    traces.transcripts(home.claude / "projects")
    traces.with_agent(home.claude / "projects")
    for name, seconds in (("audit-shop", 10), ("audit-rules", 30), ("wave10-audit", 20), ("wave10-split", 6)):
        home.reverie("task", "add", name, "--seconds", str(seconds))
    home.reverie("task", "wrap", "audit-none", "--", "true")
    home.reverie("ingest", "--dir", str(home.claude / "projects"))
    home.reverie("journal", "update")
    home.reverie("agents", "--to", str(home.claude / "agents" / "ledger.sqlite"))
    home.export()
    return home


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Home:
    if not REAL.is_dir():
        pytest.skip(f"no real transcripts at {REAL}")
    home = Home(tmp_path_factory.mktemp("real"))
    projects = home.claude / "projects"
    projects.mkdir(parents=True)
    # In place: only links lead there, and an export writes elsewhere.
    (projects / "-one").symlink_to(REAL, target_is_directory=True)
    (projects / "-two").symlink_to(REAL / "cli", target_is_directory=True)
    home.export()
    return home


def raw_records() -> list[dict[str, Any]]:
    """Return every record of the real transcripts, by the standard library alone; two may share a line."""
    found = []
    decode = json.JSONDecoder(strict=False).raw_decode
    for file in sorted(REAL.rglob("*.jsonl")):
        for line in file.read_text("utf-8").split("\n"):
            at = 0
            while at < len(line):
                try:
                    value, at = decode(line, at)
                except ValueError:
                    break
                found += [value] if isinstance(value, dict) else []
    return found


def tool_blocks(kind: str) -> list[dict[str, Any]]:
    found = []
    for record in raw_records():
        message = record.get("message")
        if isinstance(message, str) and message.startswith("{"):
            message = json.loads(message)
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == kind:
                found.append(block)
    return found


@pytest.mark.skipif(not SEEDS.is_dir(), reason=f"no seeds at {SEEDS}")
def test_the_recipes_are_those_that_the_seed_prints():
    seed = next(SEEDS.glob("000_*")).read_text("utf-8")
    flat = tokens(seed)
    for recipe in PRINTED:
        words = tokens(recipe)
        assert any(flat[at : at + len(words)] == words for at in range(len(flat))), recipe


def test_jq_lists_the_bash_calls_since_a_day(ours):
    found = [json.loads(line) for line in ours.sh(BASH_SINCE).splitlines()]
    assert [(row["sessionId"], row["timestamp"]) for row in found] == [
        (ONE, "2026-04-25T00:00:10.311Z"),
        (ONE, "2026-04-25T00:00:00Z"),
        (TWO, "2026-05-01T08:00:02.000Z"),
    ]
    assert [block["input"]["command"] for block in found[0]["message"]["content"] if "input" in block] == [
        "make test"
    ]


def test_jq_gives_the_median_of_events(ours):
    # 13, 3 and 5 events: the middle one has 5.
    assert json.loads(ours.sh(MEDIAN_EVENTS)) == {"s": OLD, "n": 5}


def test_jq_counts_errors_by_session_and_time(ours):
    counted = [line.split(maxsplit=1) for line in ours.sh(ERRORS).splitlines()]
    assert [(number, json.loads(rest)) for number, rest in counted] == [
        ("1", {"session": ONE, "ts": "2026-04-25T00:00:12.000Z"}),
        ("1", {"session": ONE, "ts": "2026-04-25T00:01:00Z"}),
    ]


def test_jq_gives_the_median_of_the_audits(ours):
    # 10, 20 and 30 seconds; the stop is no task.
    assert ours.sh(MEDIAN_AUDIT) == "20\n"


def test_sqlite_lists_the_costly_agents(ours):
    assert ours.sh(COSTLY_AGENTS) == "one-sided|150000\nlarge|110000\n"


def test_awk_counts_by_class(ours):
    counted = counts(ours.sh(BY_CLASS))
    assert counted == {name: str(number) for name, number in CLASSES.items()}


def test_awk_prints_the_commands(ours):
    # The recipe cuts at the first quote, an escaped one too, and at 120 characters.
    make = "make " + "x" * 200
    assert ours.sh(COMMANDS) == "ls -la\nmake test\n" + f"cd shop\n{make}"[:120] + "\necho \\\n"


def test_pandas_reads_traces_and_journals(ours):
    out = ours.python(PANDAS)
    lines = out.splitlines()
    counted = dict(line.rsplit(None, 1) for line in lines if line.split(" ")[0] in CLASSES)
    assert counted == {name: str(number) for name, number in CLASSES.items()}
    (bars,) = [json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith("HISTOGRAM")]
    # 3 and 4 seconds in the first of thirty bars, 111 in the last.
    assert len(bars) == 30 and (bars[0], bars[-1], sum(bars)) == (2, 1, 3)
    (medians,) = [json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith("VALUE")]
    assert medians == {"audit": 20.0, "wave10": 13.0}


def test_recipes_read_the_journals_and_the_ledger_that_reverie_wrote(written):
    assert written.sh(MEDIAN_AUDIT) == "20\n"
    assert written.sh(COSTLY_AGENTS) == "a1|150000\n"
    lines = written.python(PANDAS).splitlines()
    (bars,) = [json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith("HISTOGRAM")]
    sessions = (written.claude / "memory/time-metrics/sessions.jsonl").read_text("utf-8").splitlines()
    assert (sum(bars), len(sessions)) == (4, 4)
    (medians,) = [json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith("VALUE")]
    assert medians == {"Look around": 5.0, "audit": 20.0, "wave10": 13.0}


def test_labels_of_kei_memory_are_counted_as_its_rules_have_them(ours, tmp_path):
    strict = Home(tmp_path)
    traces.transcripts(strict.claude / "projects")
    strict.export("--strict-compat")
    counted = counts(strict.sh(BY_CLASS))
    assert counted == {
        "user": "4",  # two prompts, two results: of a result it does not know that it is one
        "tool_use:Bash": "4",  # not the flat one, of which it does not know the kind
        "tool_use:Read": "1",
        "tool_error": "1",
        "tool_error:Read": "1",
        "user_correction": "2",
        "retry_loop": "1",  # the assistant's own words
        "summary": "1",
        "other": "3",  # flat lines without a class
        "worktree_error": "1",
        "tool_use:Edit": "1",
    }


def test_on_real_transcripts_jq_and_awk_count_what_stands_in_them(real):
    uses = Counter(block["name"] for block in tool_blocks("tool_use"))
    failed = sum(bool(block.get("is_error")) for block in tool_blocks("tool_result"))
    assert sum(uses.values()) > 900 and failed > 50
    by_class = counts(real.sh(BY_CLASS))
    for tool in ("Bash", "Read", "Edit", "Grep"):
        assert by_class[f"tool_use:{tool}"] == str(uses[tool])
    everything = real.sh(BY_CLASS.replace("| head -20", ""))
    assert len(everything.splitlines()) > 20
    errors = real.sh(ERRORS)
    assert sum(int(line.split()[0]) for line in errors.splitlines()) == failed
    # The newest of them is older than the day that the recipe names, or calls no Bash.
    assert real.sh(BASH_SINCE) == ""
    earlier = real.sh(BASH_SINCE.replace("2026-04-25", "2025-01-01"))
    assert len(earlier.splitlines()) == uses["Bash"]
    assert json.loads(real.sh(MEDIAN_EVENTS))["n"] > 10
    assert len(real.sh(COMMANDS).splitlines()) >= uses["Bash"]


def test_on_real_transcripts_pandas_counts_the_same(real):
    first = PANDAS.partition("# Recipe 2")[0]
    by_awk = counts(real.sh(BY_CLASS))
    lines = [line.rsplit(None, 1) for line in real.python(first).splitlines()]
    by_pandas = dict(pair for pair in lines if len(pair) == 2 and pair[0] in by_awk)
    assert len(by_pandas) >= 19  # those with equal counts may differ in which of them is the twentieth
    assert all(by_awk[name] == number for name, number in by_pandas.items())

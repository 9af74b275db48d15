"""``reverie traces``: sessions listed by what their tools did, shown call by call, written out."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import make_desk
from tests.support import traces
from tests.support.traces import CLASSES, OLD, ONE, TWO, result, rows_of, stamped
from tests.support.transcripts import assistant, encode, tool_use, user, write_lines

SECRET = "hunter2-Xy7q9Lm"


@pytest.fixture
def desk(tmp_path):
    made = make_desk(tmp_path)
    made.env |= {"REVERIE_NOW": "2026-05-02T10:00:00+00:00"}
    for number, file in enumerate(traces.transcripts(projects(made))):
        os.utime(file, (1_777_000_000 + number, 1_777_000_000 + number))
    return made


def projects(desk) -> Path:
    return desk.project.parent / ".claude" / "projects"


def transcript(desk, session) -> Path:
    (found,) = projects(desk).glob(f"*/{session}.jsonl")
    return found


def test_sessions_are_listed_the_last_written_first(desk):
    lines = desk.here("traces").out.splitlines()
    assert [line.split()[0] for line in lines] == ["session", OLD[:8], TWO[:8], ONE[:8]]
    assert [part.strip() for part in lines[3].split("  ")[-2:]] == ["Bash 4, Read 1", "shop"]
    rows = {row["session"]: row for row in desk.here("traces", "list", "--json").json}
    mine = rows[ONE]
    assert (mine["events"], mine["calls"], mine["errors"]) == (13, 5, 2)
    assert mine["project"] == "/home/dev/shop"
    assert (mine["branch"], mine["tools"]) == ("main", {"Bash": 4, "Read": 1})
    assert mine["first_ms"] == 1777073400000 and mine["last_ms"] == 1777075265000


def test_a_long_list_says_what_it_leaves_out(desk):
    done = desk.here("traces", "list", "--limit", "1")
    assert OLD[:8] in done.out and ONE[:8] not in done.out and "2 more" in done.err
    assert ONE[:8] in desk.here("traces", "list", "--all").out


def test_without_sessions_it_says_so(tmp_path):
    assert make_desk(tmp_path).here("traces").out == "no session has been written yet\n"


def test_a_session_is_shown_call_by_call(desk):
    lines = [line.split("  ") for line in desk.here("traces", "show", ONE[:6]).out.splitlines()]
    shown = [[part.strip() for part in line if part.strip()] for line in lines]
    days = [line[0] for line in shown if len(line) == 1]
    assert days[:2] == ["2026-04-24", "2026-04-25"]
    shown = [line for line in shown if len(line) > 1]
    assert shown[:5] == [
        ["time", "tool", "took", "outcome", "what"],
        ["23:59:05", "Bash", "1.5 s", "ok", "ls -la"],
        ["00:00:10", "Bash", "1.7 s", "error", "make test: Permission denied, try again"],
        ["00:00:10", "Read", "1.7 s", "ok", "a.py"],
        ["00:00:00", "Bash", "ok"],
    ]
    assert shown[5][:3] == ["23:30:00", "Bash", "open"] and shown[5][3].startswith("cd shop make xxx")
    assert desk.here("traces", "show", ONE, "--json").json[2]["path"] == "/home/dev/shop/a.py"
    failed = desk.here("traces", "show", ONE, "--errors", "--json").json
    assert [(call["tool"], call["error"]) for call in failed] == [("Bash", "Permission denied, try again")]


def test_what_is_for_terminals_and_servers_is_left_out_of_a_row(desk):
    call = assistant([tool_use("mcp__issues__find", {"query": "open"}, "t1")])
    failed = user([result("t1", "\x1b[31mno\x1b[0m such\nserver", is_error=True)])
    lines = [
        stamped(TWO, f"2026-05-01T08:00:0{at}Z", f"u{at}", each) for at, each in enumerate((call, failed))
    ]
    file = write_lines(desk.project / "mcp.jsonl", lines)
    _, row = desk.here("traces", "show", file).out.splitlines()[1:]
    assert row.split() == ["08:00:00", "find", "1.0", "s", "error", "open:", "no", "such", "server"]


def test_a_beginning_that_several_have_is_refused(desk):
    write_lines(projects(desk) / "-x" / f"{ONE[:8]}-other.jsonl", traces.two())
    refused = desk.here("traces", "show", ONE[:8], code=1).err
    assert "Write more of it: " in refused and ONE in refused
    assert "no such file or session" in desk.here("traces", "show", "nowhere", code=1).err


def test_an_export_goes_to_stdout_or_into_a_folder(desk, tmp_path):
    out = desk.here("traces", "export", ONE, TWO[:5], "--annotated").out
    assert [row["sessionId"] for row in rows_of(out)] == [ONE] * 13 + [TWO] * 3
    plain = desk.here("traces", "export", transcript(desk, TWO)).out
    assert rows_of(plain) == traces.two()
    to = tmp_path / "out" / "traces"
    done = desk.here("traces", "export", "--all", "--annotated", "--to", to, "--json").json
    assert [(row["session"], row["outcome"], row["lines"]) for row in done] == [
        (OLD, "new", 5),
        (TWO, "new", 3),
        (ONE, "new", 13),
    ]
    written = b"".join(file.read_bytes() for file in to.iterdir())
    assert len(rows_of(written)) == sum(CLASSES.values())
    assert {stat.S_IMODE(file.stat().st_mode) for file in to.iterdir()} == {0o600}
    assert sorted(file.name for file in to.iterdir()) == sorted(f"{name}.jsonl" for name in (ONE, TWO, OLD))


def test_nothing_is_overwritten_but_what_it_continues(desk, tmp_path):
    to, source = tmp_path / "traces", transcript(desk, TWO)
    export = ["traces", "export", TWO, "--annotated", "--to", to, "--json"]
    target = to / f"{TWO}.jsonl"

    def outcome(*more, code=0):
        (row,) = desk.here(*export, *more, code=code).json
        return row["outcome"]

    assert outcome() == "new"
    assert outcome() == "same"
    write_lines(source, [stamped(TWO, "2026-05-01T09:00:00Z", "v4", user("More."))], append=True)
    assert outcome() == "grown"
    grown = target.read_bytes()
    target.write_bytes(b"somebody's own\n")
    done = desk.here(*export[:-1], code=1)
    assert target.read_bytes() == b"somebody's own\n"
    assert "another file has that name" in done.out and "--force" in done.out
    assert outcome("--force") == "replaced"
    assert target.read_bytes() == grown
    assert [file.name for file in to.iterdir()] == [target.name]


def test_transcripts_are_only_read(desk):
    before = {file: file.read_bytes() for file in projects(desk).rglob("*.jsonl")}
    folder = transcript(desk, TWO).parent
    done = desk.here("traces", "export", TWO, "--force", "--to", folder, code=1)
    assert "where Claude Code keeps its transcripts" in done.err
    elsewhere = desk.project / f"{TWO}.jsonl"
    elsewhere.write_bytes(before[transcript(desk, TWO)])
    done = desk.here("traces", "export", elsewhere, "--annotated", "--force", "--to", desk.project, code=1)
    assert "can't take the place of its transcript" in done.err
    assert elsewhere.read_bytes() == before[transcript(desk, TWO)]
    desk.here("traces", "export", "--all", "--annotated")
    assert {file: file.read_bytes() for file in projects(desk).rglob("*.jsonl")} == before


def test_secrets_are_taken_out_and_it_says_so(desk):
    call = assistant([tool_use("Bash", {"command": f"x --password={SECRET}"})])
    failed = user([result("toolu_1", f"password: {SECRET}", is_error=True)])
    lines = [
        stamped(TWO, f"2026-05-01T08:00:0{at}Z", f"u{at}", each) for at, each in enumerate((call, failed))
    ]
    file = write_lines(desk.project / "secret.jsonl", lines)
    done = desk.here("traces", "export", file, "--annotated")
    assert SECRET not in done.out + done.err and "[redacted:password]" in done.out
    assert "2 secrets taken out" in done.err and "password" in done.err
    shown = desk.here("traces", "show", file)
    assert SECRET not in shown.out and shown.out.count("[redacted:password]") == 2


def test_what_a_person_tells_is_taken_out_of_all_that_follows(desk, tmp_path):
    value = "Zk4-plum-Tiger9"
    bare = [user([result("toolu_1", f"connected with {value} at once")]), user("Go on.")]
    lines = [stamped(TWO, f"2026-05-01T08:00:0{at}Z", f"u{at}", each) for at, each in enumerate(bare)]
    file, to = write_lines(desk.project / "bare.jsonl", lines), tmp_path / "traces"
    export = ["traces", "export", file, "--to", to, "--json"]
    assert value in desk.here("traces", "export", file).out
    assert desk.here(*export).json[0]["outcome"] == "new"
    # It is told in another session, which the ledger reads; then it is known in this one, too.
    told = stamped(ONE, "2026-05-01T07:00:00Z", "x1", user(f"The database password is {value}."))
    after = stamped(ONE, "2026-05-01T07:00:05Z", "x2", user([result("toolu_1", f"with {value}")]))
    alone = desk.here("traces", "export", write_lines(desk.project / "told.jsonl", [told, after]))
    assert value not in alone.out and "[redacted:known]" in alone.out and "2 secrets" in alone.err
    desk.here("ingest", "--file", desk.project / "told.jsonl")
    assert value not in desk.here("traces", "export", file).out
    assert desk.here(*export).json[0]["outcome"] == "grown"
    assert value not in (to / "bare.jsonl").read_text("utf-8")
    assert desk.here(*export).json[0]["outcome"] == "same"


def test_what_can_not_be_read_is_named_and_the_rest_comes(desk):
    lines = [encode(line) for line in traces.two()]
    file = desk.project / "hostile.jsonl"
    file.write_bytes(lines[0] + b'{"type":"user",\n' + lines[1] + lines[2][:50])
    empty = write_lines(desk.project / "other.jsonl", [b"SQLite format 3\0"])
    done = desk.here("traces", "export", file, empty, TWO, code=1)
    assert len(rows_of(done.out)) == 2 + 3
    assert f"{file}:2: not JSON" in done.err and f"{file}:4: not written to its end" in done.err
    assert f"skipped: {empty}: an SQLite database" in done.err
    assert f"{file}:4: not written to its end" in desk.here("traces", "show", file).err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name sessions, or give --all"),
        (["--all", ONE], "name sessions, or give --all"),
        ([ONE, "--strict-compat"], "--strict-compat is about classes"),
        ([ONE, "--json"], "--json is for --to DIR"),
    ],
)
def test_what_makes_no_sense_is_refused(desk, arguments, words):
    assert words in desk.here("traces", "export", *arguments, code=2).err


def test_strict_classes_are_kei_memorys(desk):
    rows = rows_of(desk.here("traces", "export", ONE, "--annotated", "--strict-compat").out)
    assert [row["event_class"] for row in rows] == [
        "user", "tool_use:Bash", "user", "tool_use:Bash", "tool_use:Read", "tool_error",
        "user_correction", "retry_loop", "other", "tool_error:Read", "summary", "tool_use:Bash",
    ]  # fmt: skip


def test_a_folder_that_can_not_be_written_is_named(desk, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("x", "utf-8")
    done = desk.here("traces", "export", TWO, "--to", blocked, code=1)
    assert f"{blocked}/{TWO}.jsonl: can't be written" in done.err


def test_a_long_export_comes_whole(desk):
    # More than is written at once.
    lines = traces.two() * 200
    file = write_lines(desk.project / "long.jsonl", lines)
    assert rows_of(desk.here("traces", "export", file).out) == lines


def test_a_folder_of_transcripts_can_be_named(desk, tmp_path):
    held = tmp_path / "held"
    held.mkdir()
    shutil.copy(transcript(desk, ONE), held)
    assert [row["session"] for row in desk.here("traces", "list", "--dir", held, "--json").json] == [ONE]
    assert "make te" in desk.here("traces", "show", ONE[:6], "--dir", held).out
    assert "no such session" in desk.here("traces", "show", TWO[:6], "--dir", held, code=1).err
    rows = desk.here("traces", "export", "--all", "--dir", held, "--to", tmp_path / "out", "--json").json
    assert [row["session"] for row in rows] == [ONE]


def test_a_folder_is_no_session_and_nothing_to_export_is_told(desk, tmp_path):
    told = desk.here("traces", "export", projects(desk), code=1).err
    assert "a folder, no session" in told and f"--all --dir {projects(desk)}" in told.replace("\n", "")
    (tmp_path / "none").mkdir()
    done = desk.here("traces", "export", "--all", "--dir", tmp_path / "none")
    assert (done.out, "nothing was exported" in done.err) == ("", True)


def test_an_export_is_private_whatever_was_there(desk, tmp_path):
    to = tmp_path / "traces"
    export = ["traces", "export", TWO, "--annotated", "--force", "--to", to]
    target = to / f"{TWO}.jsonl"
    desk.here(*export)
    whole = target.read_bytes()
    for former in (b"somebody's own\n", whole, whole.splitlines(keepends=True)[0]):
        target.write_bytes(former)
        target.chmod(0o644)
        desk.here(*export)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600 and target.read_bytes() == whole


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_is_no_place_for_an_export(desk, tmp_path, is_there):
    to, theirs = tmp_path / "traces", tmp_path / "theirs"
    to.mkdir()
    if is_there:
        theirs.write_bytes(b"theirs\n")
    (to / f"{TWO}.jsonl").symlink_to(theirs)
    done = desk.here("traces", "export", TWO, "--force", "--to", to, code=1)
    assert "there is a link of that name" in done.err
    assert (to / f"{TWO}.jsonl").is_symlink() and theirs.exists() == is_there

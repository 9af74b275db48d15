"""The bench says what fell short, its page says the same, and both are of the rows that there are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import chosen_rows, line, measure, report
from bench.growth import BASE, exponent, figures
from bench.page import STORED, page
from bench.process import Command, Spent, spend
from bench.registry import groups
from bench.row import GIVEN, Found, Group, Row, Target, missed
from docs import build

ROOT = Path(__file__).resolve().parents[2]
ROW = Row("a row", "the work", "its floor", Target(GIVEN, cpu=1.5, wall=2))
KNOWN = {row.name: row for group in groups() for row in group.rows}


def test_the_page_shows_the_stored_run_of_rows_that_there_are():
    stored = {one["name"] for one in json.loads(STORED.read_text("utf-8"))["rows"]}
    assert stored and stored <= {*KNOWN}
    old, new = build.fresh("performance")
    assert old == new and all(row.work in new for row in KNOWN.values())


def test_every_row_says_what_it_is_judged_by():
    for row in KNOWN.values():
        limits = (row.target.cpu, row.target.wall, row.target.other)
        assert any(limit is not None for limit in limits), row.name
        # What is judged by another number than time has a unit for it, and the other way round.
        assert row.target.other is None or row.unit != "ms", row.name
        assert row.unit in ("ms", "exponent") or row.target.other is not None, row.name
        assert row.work and (row.floor or row.unit == "MB"), row.name


@pytest.mark.parametrize(
    ("found", "short"),
    [
        (Found("a row", cpu=1.5, wall=2.0), ""),
        (Found("a row", cpu=1.504, wall=1.0), ""),
        (Found("a row", cpu=1.51, wall=1.0), "cpu 1.51 > 1.5"),
        (Found("a row", cpu=3.0, wall=3.0), "cpu 3.00 > 1.5, wall 3.00 > 2"),
        (Found("a row", cpu=1.0), "wall not measured"),
        (Found("a row", why="it ended with 1"), "not measured: it ended with 1"),
    ],
)
def test_a_row_falls_short_of_any_of_its_limits(found, short, capsys):
    assert missed(ROW, found) == short
    assert line(ROW, found).endswith(f"SHORT: {short}" if short else "  ok")
    assert report([ROW], {"a row": found}) == (1 if short else 0)
    assert ("Short of it: a row." in capsys.readouterr().out) == bool(short)


def test_the_page_names_what_is_missed_and_what_is_not_there(tmp_path):
    met, fell, *rest = KNOWN.values()
    run = {
        "machine": {**json.loads(STORED.read_text("utf-8"))["machine"], "load_before": 99.0},
        "rounds": 5,
        "rows": [
            Found(met.name, cpu=1.0, wall=1.0, rounds=5).as_json(),
            Found(fell.name, cpu=77.0, wall=1.0, rounds=5).as_json(),
        ],
    }
    (tmp_path / "run.json").write_text(json.dumps(run), "utf-8")
    text = page(tmp_path / "run.json")
    assert "1 of 2 rows meet their target." in text and "machine was busy" in text
    assert f"- {fell.name}: cpu 77.00 > {fell.target.cpu:g}" in text
    assert f"Not measured in this run: {'; '.join(row.name for row in rest)}." in text


def test_rows_are_chosen_by_word_and_the_long_ones_in_a_full_run_only():
    def names(word, *, full=False):
        return {row.name for _, rows in chosen_rows(groups(), word, full=full) for row in rows}

    assert names("") == {name for name, row in KNOWN.items() if not row.full}
    assert names("", full=True) == {*KNOWN}
    assert names("STOP, as a plugin") == {name for name in KNOWN if name.startswith("Stop, as a plugin")}


@pytest.mark.parametrize(
    ("base", "small", "large", "power"),
    [(0.5, 0.6, 1.5, 1.0), (0.5, 0.5, 0.5, 0.0), (0.5, 0.509, 0.499, 0.0), (0.5, 0.51, 1.5, 2.0)],
)
def test_growth_is_told_without_what_a_command_costs_anyhow(base, small, large, power):
    assert exponent(base, (1_000, small), (10_000, large)) == pytest.approx(power)
    spent = {
        count: [Spent(1.0, cpu, 50.0, b"")] for count, cpu in ((BASE, base), (1_000, small), (10_000, large))
    }
    assert figures(ROW, spent, 1_000, 10_000).cpu == pytest.approx(large / small)


def test_what_a_process_waits_for_counts_as_its_own():
    burn = "import time\nwhile time.process_time() < 0.1: pass\nprint(time.process_time())"
    below = Command(["/bin/sh", "-c", 'a=$("$0" -c "$1"); echo "$a"', sys.executable, burn])
    found = spend(below)
    assert found.cpu >= float(found.out)
    with pytest.raises(RuntimeError, match="ended with 3: why"):
        spend(Command(["/bin/sh", "-c", "echo why >&2; exit 3"]))


def test_what_can_not_be_measured_is_said_and_fails(capsys):
    def broken(*_):
        raise RuntimeError("the hook\nended with 2")

    found = measure([(Group("A title", (ROW,), broken), [ROW])], 1)
    assert report([ROW], found) == 1
    assert "SHORT: not measured: the hook ended with 2" in capsys.readouterr().out
    assert found["a row"].as_json() == {"name": "a row", "why": "the hook ended with 2"}


def test_the_commands_that_install_writes_are_measured(tmp_path):
    """Once, in earnest; whether a busy machine meets the target is not asked here."""
    command = [sys.executable, "-m", "bench", "--only", "Stop, as installed, worker", "--rounds", "1"]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "run.json")],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    run = json.loads((tmp_path / "run.json").read_text("utf-8"))
    (stored,) = run["rows"]
    assert stored["cpu"] > 1 and stored["parts"]["cpu_ms"] > stored["parts"]["floor_cpu_ms"]
    short = missed(KNOWN[stored["name"]], Found(**stored))
    assert done.returncode == (1 if short else 0), done.stderr
    assert os.uname().nodename not in json.dumps(run["machine"])

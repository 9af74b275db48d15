"""Which memory folders commands know: those sessions were read for, and those a person wrote to by hand."""

import pytest

from tests.cli.conftest import make_desk
from tests.support.terminals import on_terminals

FACT = "The nightly backup lands in the bucket acme-dumps."


@pytest.fixture
def two(desk, tmp_path):
    """A project with a memory added by hand, and another one of the same person."""
    other = make_desk(tmp_path / "elsewhere")
    other.env["HOME"] = desk.env["HOME"]
    desk.here("add", FACT, "--name", "backup-bucket")
    other.here("add", "Tiles come from a server.", "--name", "tiles")
    return desk, other


def test_a_folder_written_to_by_hand_is_searched_with_all(two):
    _, other = two
    assert other.here("search", "backup bucket", "--json").json == []
    hits = other.here("search", "backup bucket", "--all", "--json").json
    assert [hit["name"] for hit in hits] == ["backup-bucket"]


def test_a_folder_of_another_program_is_not_taken_for_one(two, tmp_path):
    desk, other = two
    foreign = desk.store.parents[1] / "-home-somebody" / "memory"
    foreign.mkdir(parents=True)
    (foreign / "backup.md").write_text(f"---\nname: backup\ndescription: {FACT}\n---\n{FACT}\n", "utf-8")
    hits = other.here("search", "backup bucket", "--all", "--json").json
    assert [hit["name"] for hit in hits] == ["backup-bucket"]


def test_hits_stand_in_two_lines_where_a_terminal_is_narrow(two):
    desk, _ = two
    shown, _ = on_terminals(["search", "backup"], desk.env, desk.project, 80)
    lines = [line.rstrip() for line in shown.splitlines() if line.strip()]
    assert "backup-bucket  (" in lines[0] and FACT in lines[1]
    assert max(map(len, lines)) <= 80

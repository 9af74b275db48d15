"""What commands say and leave of a MEMORY.md that others wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.store.files.memory_index import BEGIN

THEIRS = "# Memory\n\n- [Port](port.md) — the mailer\n"
SAID = (
    "MEMORY.md:1: it is UTF-16, so Reverie leaves it as it is and lists nothing more in it."
    " Save it as UTF-8, then run `reverie reindex`."
)


def lay_out(desk, index: bytes) -> Path:
    """Write two files that nobody is known to have written, and MEMORY.md; returns the latter."""
    desk.store.mkdir(parents=True, exist_ok=True)
    for name in ("port", "tabs"):
        (desk.store / f"{name}.md").write_text(f"---\nname: {name}\n---\nAll about {name}.\n")
    file = desk.store / "MEMORY.md"
    file.write_bytes(index)
    return file


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("command", [("adopt", "--yes"), ("add", "Deploys happen on Tuesdays.")])
def test_undo_leaves_the_index_as_it_was_to_the_byte(desk, command: tuple[str, ...]) -> None:
    file = lay_out(desk, THEIRS.encode())
    desk.here(*command)
    assert BEGIN in file.read_text()
    said = desk.here("undo").out
    assert "as before  MEMORY.md\n" in said
    assert file.read_bytes() == THEIRS.encode()
    desk.here("status")
    desk.here("consolidate", "--force", "--llm", "offline")
    assert file.read_bytes() == THEIRS.encode()


def test_undo_says_that_what_someone_wrote_since_stays(desk) -> None:
    file = lay_out(desk, THEIRS.encode())
    desk.here("adopt", "--yes")
    file.write_text(file.read_text() + "- mine\n")
    said = desk.here("undo").out
    assert "as before  MEMORY.md, but for what came into it since\n" in said
    assert "as before  port.md\n" in said
    assert file.read_text() == THEIRS + "- mine\n"


def test_an_index_in_utf_16_stays_and_each_command_says_so_in_one_line(desk) -> None:
    odd = b"\xff\xfe" + THEIRS.encode("utf-16-le")
    file = lay_out(desk, odd)
    for command in (["adopt", "--dry-run"], ["adopt", "--yes"], ["add", "Use uv."], ["reindex"], ["list"]):
        assert one_line(desk.here(*command).err).count(SAID) == 1, command
    assert SAID in one_line(desk.here("status").out)
    assert f"- {SAID}" in desk.here("consolidate", "--force", "--llm", "offline").out
    doctor = one_line(desk.here("doctor", code=1).out)
    assert SAID.partition(": ")[2].partition(".")[0] in doctor and "Save it as UTF-8" in doctor
    assert "index is not UTF-8" in one_line(desk.here("audit", "--short", code=1).out)
    assert file.read_bytes() == odd
    file.write_text(THEIRS, "utf-8")
    assert "MEMORY.md" in desk.here("reindex").out
    assert SAID not in one_line(desk.here("status").out)


def test_many_broken_files_hide_no_trouble_with_the_index(desk) -> None:
    lay_out(desk, b"\xff\xfe" + THEIRS.encode("utf-16-le"))
    for number in range(5):
        (desk.store / f"broken-{number}.md").write_text("---\nname: 'b' c\n---\nx\n")
    assert one_line(desk.here("list").err).count("MEMORY.md:1:") == 1

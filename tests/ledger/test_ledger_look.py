"""Looking at a ledger where nothing can be written: a limit on file sizes stands in for the full disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.core.errors import LedgerError
from pipeline.ledger import look_at_ledger, open_ledger, read_ledger
from pipeline.ledger.connection import translated
from pipeline.ledger.watermarks import set_watermark, watermark
from tests.support.stores import tree

LOOK = """
import resource, sys
from pathlib import Path
from pipeline.core.errors import LedgerError
from pipeline.ledger import look_at_ledger, open_ledger
from pipeline.ledger.watermarks import set_watermark, watermark
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
path = Path(sys.argv[1])
try:
    open_ledger(path)
except LedgerError as error:
    print("closed:", error.fix)
with look_at_ledger(path) as ledger:
    print("read:", watermark(ledger, "a", "s", "turn"))
    print("note:", ledger.note)
    try:
        set_watermark(ledger, "a", "s", "turn", 9)
    except LedgerError as error:
        print("refused:", error.fix)
"""


def on_a_full_disk(path: Path) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(path)],
        capture_output=True, text=True, timeout=60, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    pairs = (line.partition(": ") for line in done.stdout.splitlines())
    return {name: text for name, _, text in pairs}


def filled(path: Path) -> None:
    with open_ledger(path) as ledger:
        set_watermark(ledger, "a", "s", "turn", 7)


def test_on_a_full_disk_a_ledger_is_shown_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "ledger #1?.sqlite"
    filled(path)
    before = path.read_bytes()
    said = on_a_full_disk(path)
    assert said["closed"].startswith("Make room") and said["read"] == "7"
    assert said["note"].startswith("looked at without writing, the latest changes may be missing:")
    assert said["refused"].startswith("Make the ledger") and path.read_bytes() == before


def test_while_it_is_in_use_the_latest_is_shown_too(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as busy:
        set_watermark(busy, "a", "s", "turn", 8)
        said = on_a_full_disk(path)
    assert said["read"] == "8" and "refused" in said


def test_where_it_can_be_written_looking_is_opening(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    filled(path)
    with look_at_ledger(path) as ledger:
        set_watermark(ledger, "a", "s", "turn", 9)
        assert (ledger.note, watermark(ledger, "a", "s", "turn")) == ("", 9)


@pytest.mark.parametrize("content", [b"", b"no database" * 500])
def test_what_is_no_ledger_stays_an_error_or_becomes_one_as_when_opened(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    if content:
        with pytest.raises(LedgerError, match="not a usable ledger"):
            look_at_ledger(path)
    else:
        look_at_ledger(path).close()
        assert path.stat().st_size > 0


def test_a_full_disk_is_told_as_one(tmp_path: Path) -> None:
    path = tmp_path / "small.sqlite"
    filled(path)
    with open_ledger(path) as ledger:
        ledger.execute("PRAGMA max_page_count = 1")
        with pytest.raises(LedgerError, match="full") as caught, translated(path):
            ledger.execute("CREATE TABLE big AS SELECT randomblob(9000000)")
    assert caught.value.fix.startswith("Make room on the disk")


def test_reading_leaves_no_file_beside_it_and_takes_no_write(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    filled(path)
    before = tree(tmp_path)
    with read_ledger(path) as ledger:
        assert watermark(ledger, "a", "s", "turn") == 7
        with pytest.raises(LedgerError):
            set_watermark(ledger, "a", "s", "turn", 9)
    assert tree(tmp_path) == before


def test_reading_sees_what_another_has_just_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as busy:
        set_watermark(busy, "a", "s", "turn", 8)
        with read_ledger(path) as ledger:
            assert watermark(ledger, "a", "s", "turn") == 8


@pytest.mark.parametrize("content", [None, b"", b"no database" * 500])
def test_reading_makes_no_ledger_of_what_is_none(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "ledger.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LedgerError):
        read_ledger(path)
    assert tree(tmp_path) == ({} if content is None else {path.name: content})

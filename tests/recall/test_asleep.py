"""What sleeps: dormant ones come to a prompt only when asked for, archived ones never."""

from pathlib import Path

import pytest

from pipeline.hooklib.asleep import FILE, asleep_in
from pipeline.recall import Budget, retrieve
from tests.support.recall import MOMENT, Desk

PROMPT = "how do we deploy to staging?"
DEPLOYS = "staging-deploys"


@pytest.fixture
def full(desk: Desk) -> Desk:
    desk.write(DEPLOYS, "Deploy to staging with make ship.", "Needs the vpn. `make ship` asks twice.")
    desk.write("postgres-port", "The local postgres listens on 5433.", "5432 is taken by the other project.")
    desk.index()
    return desk


def sleeping(desk: Desk, text: str) -> Path:
    file = Path(desk.store) / FILE
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def told(desk: Desk, *, dormant: bool = False) -> list[str]:
    found = retrieve(PROMPT, desk.store, Budget(dormant=dormant), home=desk.home, now=MOMENT)
    return [item.name for item in found.items]


@pytest.mark.parametrize(
    ("text", "usual", "asked"),
    [
        ("", True, True),
        ("dormant other.md\n", True, True),
        (f"dormant {DEPLOYS}.md\n", False, True),
        (f"archived {DEPLOYS}.md\n", False, False),
        (f"odd {DEPLOYS}.md\n\x00\nno\n", True, True),
    ],
)
def test_c_16_dormant_when_asked_and_archived_hidden(full: Desk, text: str, usual: bool, asked: bool) -> None:
    assert told(full) == [DEPLOYS]
    sleeping(full, text)
    assert (told(full) == [DEPLOYS], told(full, dormant=True) == [DEPLOYS]) == (usual, asked)


def test_why_it_does_not_come_is_told(full: Desk) -> None:
    sleeping(full, f"dormant {DEPLOYS}.md\n")
    found = retrieve(PROMPT, full.store, Budget(), home=full.home, now=MOMENT)
    assert "dormant" in [item.verdict for item in found.considered]


def test_a_link_in_the_place_of_the_file_is_not_followed(full: Desk, tmp_path: Path) -> None:
    file = sleeping(full, "")
    (tmp_path / "other").write_text(f"archived {DEPLOYS}.md\n")
    file.unlink()
    file.symlink_to(tmp_path / "other")
    assert asleep_in(str(full.store)) == {} and told(full) == [DEPLOYS]

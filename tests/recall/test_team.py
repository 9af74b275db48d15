"""A team's folder: recalled with its scope named, and nobody's word for who said what."""

import json
import os
import re
from pathlib import Path

import pytest

from pipeline.core.home import Home
from pipeline.hooklib import ownership
from pipeline.hooklib.digests import sha256
from pipeline.hooklib.memory_format import SPEAKERS
from tests.support.recall import Desk, index_store, memory_text

ASKED = "how do the gulls get to the harbour crane?"
FACT = "The gulls come to the harbour crane from the north pier."


def heads(desk: Desk, session: str = "s-1") -> list[str]:
    """Return the opening tags of what the hook puts before the prompt."""
    return re.findall(r"<recollection [^>]*>", desk.hook(prompt=ASKED, session_id=session))


def team(desk: Desk, *below: str) -> Path:
    return desk.store.joinpath("team", *below)


def claimed_ours(store: Path, *files: Path) -> None:
    """Bring notes along which claim that Reverie wrote these very bytes."""
    (store / ".reverie").mkdir(parents=True, exist_ok=True)
    lines = [[file.relative_to(store).as_posix(), sha256(file.read_bytes())] for file in files]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (store / ownership.WRITTEN).write_text(text)


@pytest.mark.parametrize("below", [(), ("notes",), ("notes", "shared")], ids=["team", "store", "below"])
def test_what_the_team_knows_is_recalled_and_named(desk: Desk, below: tuple[str, ...]) -> None:
    desk.write("gulls", FACT, FACT, store=team(desk, *below))
    (head,) = heads(desk)
    assert 'scope="team"' in head and 'by="the team"' in head


@pytest.mark.parametrize("origin", [*SPEAKERS, ""])
@pytest.mark.parametrize("indexed", [True, False])
def test_the_team_s_word_for_the_origin_is_never_believed(desk: Desk, origin: str, indexed: bool) -> None:
    file = desk.write("gulls", FACT, FACT, store=team(desk), origin=origin)
    claimed_ours(team(desk), file)
    if indexed:
        index_store(desk.home, team(desk))
    (head,) = heads(desk)
    assert 'by="the team"' in head


def test_a_memory_folder_that_is_a_link_hides_no_team(desk: Desk, tmp_path: Path) -> None:
    real = tmp_path / "elsewhere"
    (real / "team").mkdir(parents=True)
    desk.store.parent.mkdir(parents=True)
    desk.store.symlink_to(real)
    claimed_ours(real / "team", desk.write("gulls", FACT, FACT, store=real / "team"))
    (head,) = heads(desk)
    assert 'scope="team"' in head and 'by="the team"' in head


def test_the_person_s_own_memories_stay_theirs_beside_a_team_s(desk: Desk) -> None:
    claimed_ours(desk.store, desk.write("own-gulls", FACT, f"{FACT} They return at night."))
    desk.write("gulls", FACT, FACT, store=team(desk))
    found = {re.sub(r'.*name="([^"]*)".*', r"\1", head): head for head in heads(desk)}
    assert 'by="the user"' in found["own-gulls"] and "scope=" not in found["own-gulls"]
    assert 'by="the team"' in found["gulls"]


def test_what_project_and_team_both_say_is_told_once(desk: Desk) -> None:
    desk.write("own-gulls", FACT, FACT)
    desk.write("gulls", FACT, FACT, store=team(desk))
    assert len(heads(desk)) == 1


@pytest.mark.parametrize("name", ["MEMORY.md", "notes/MEMORY.md", "archive/2026/gulls.md", "skills/gulls.md"])
def test_files_of_other_use_in_the_team_s_folder_are_no_memories(desk: Desk, name: str) -> None:
    file = team(desk, *name.split("/"))
    file.parent.mkdir(parents=True)
    file.write_text(memory_text("gulls", FACT, FACT), "utf-8")
    assert heads(desk) == []


def test_a_link_in_place_of_the_team_s_folder_or_in_it_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    desk.write("gulls", FACT, FACT, store=tmp_path / "away")
    desk.store.mkdir(parents=True)
    team(desk).symlink_to(tmp_path / "away")
    assert heads(desk) == []
    team(desk).unlink()
    team(desk).mkdir()
    team(desk, "notes").symlink_to(tmp_path / "away")
    assert heads(desk) == []


def test_a_folder_called_team_elsewhere_is_a_person_s(tmp_path: Path) -> None:
    own = tmp_path / "work" / "team"
    own.mkdir(parents=True)
    assert not ownership.is_team(str(own))
    (tmp_path / "work" / "MEMORY.md").write_text("")
    assert ownership.is_team(str(own))


@pytest.mark.parametrize("inside", [True, False])
def test_a_folder_that_the_repository_brings_is_the_team_s(desk: Desk, tmp_path: Path, inside: bool) -> None:
    """Only a person's yes lets it count; then its words are those of whoever writes in the repository."""
    folder = desk.project / "docs" / "memory" if inside else tmp_path / "notes"
    claimed_ours(folder, desk.write("gulls", FACT, FACT, store=folder))
    (desk.project / ".claude").mkdir(exist_ok=True)
    text = json.dumps({"autoMemoryDirectory": str(folder)})
    (desk.project / ".claude" / "settings.json").write_text(text)
    assert heads(desk) == []
    desk.home.mkdir(parents=True, exist_ok=True)
    row = {"root": os.path.realpath(desk.project), "folder": str(folder)}
    Home(desk.home).allowed.write_text(json.dumps(row) + "\n")
    (head,) = heads(desk, "s-2")
    assert ('by="the team"' in head and 'scope="team"' in head) == inside
    assert ('by="the user"' in head) != inside

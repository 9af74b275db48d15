"""Whose a store is, answered alike for hooks, worker and commands."""

import json
import unicodedata
from pathlib import Path

import pytest

from pipeline.core import paths
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import StoreError
from pipeline.core.home import Home
from pipeline.hooklib import ownership
from pipeline.store import Store, require_owner
from pipeline.worker import check_owner

DECOMPOSED = unicodedata.normalize("NFD", "/w/über-é")
OWNERS = [
    ("/w/a.b", "/w/a.b", True),
    ("/w/a-b", "/w/a.b", False),
    ("", "/w/a.b", True),
    (unicodedata.normalize("NFC", DECOMPOSED), DECOMPOSED, True),
    (DECOMPOSED, DECOMPOSED, False),  # written by nobody: what is written is composed
]


def claimed(root: str, owner: str) -> Path:
    """Make the store of the project at `root`, claimed by `owner`."""
    store = paths.project_store(Path(root))
    (store / ".reverie").mkdir(parents=True)
    if owner:
        (store / ownership.OWNER).write_bytes(owner.encode() + b"\n")
    return store


def refuses(ask, *arguments, **more) -> bool:
    try:
        ask(*arguments, **more)
    except StoreError:
        return True
    return False


@pytest.mark.parametrize(("owner", "root", "may"), OWNERS)
def test_all_doors_give_the_same_answer(sealed_environment, owner, root, may):
    store = claimed(root, owner)
    assert ownership.project_of(root) == (root, str(store) if may else "")
    assert refuses(require_owner, store, Path(root), claim=False) is not may
    assert refuses(check_owner, Store.open(store), Path(root)) is not may


def let(project, folder):
    """Note a person's yes."""
    file = Home(paths.home_dir()).allowed
    write_atomic(file, json.dumps({"root": str(project), "folder": str(folder)}).encode())


def test_a_store_chosen_by_a_setting_is_shared_at_all_doors(sealed_environment, tmp_path):
    shared, project = tmp_path / "shared", tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.json").write_text(f'{{"autoMemoryDirectory": "{shared}"}}')
    let(project, shared)
    claimed(str(project), "/w/other")
    assert ownership.project_of(str(project)) == (str(project), str(shared))
    assert not refuses(check_owner, Store.open(shared), project)


def test_an_owner_that_can_not_be_read_stops_who_writes_and_not_who_reads(sealed_environment):
    store = claimed("/w/a", "")
    (store / ownership.OWNER).mkdir()
    assert ownership.project_of("/w/a") == ("/w/a", str(store))
    assert refuses(require_owner, store, Path("/w/a"), claim=False)

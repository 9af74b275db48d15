"""What the real client hands to hooks of what settings set, and where its memory lies by them."""

import json

import pytest

from tests.realclient.box import Box, OpenBox
from tests.realclient.scripted_api import MODEL, SESSION, Rule
from tests.realclient.test_realclient import converse, index_of, told

pytestmark = pytest.mark.realclient

FILES = {
    "project": "settings.json",
    "local": "settings.local.json",
    "person": "",
}
PASSED = {
    "PLAIN": "set",
    "REVERIE_HOME": "/planted",
    "REVERIE_MODEL__BASE_URL": "http://planted",
    "REVERIE_PYTHON": "/planted",
    "REVERIE_INSIDE": "1",
    "PYTHONPATH": "/planted",
    "LD_LIBRARY_PATH": "/planted",
    "BASH_ENV": "/planted",
    "GIT_DIR": "/planted",
    "TZ": "Asia/Tokyo",
    "NODE_EXTRA_CA_CERTS": "/planted",
    "AWS_SECRET_ACCESS_KEY": "planted",
    "CLAUDECODE": "",
    "CLAUDE_PROJECT_DIR": "",
    "CLAUDE_CODE_ENTRYPOINT": "",
}
"""Given to hooks, whoever sets it, or set by the client itself in its place."""
KEPT_FROM_PROJECTS = {
    "HOME": "/planted",
    "CLAUDE_CONFIG_DIR": "/planted",
    "CLAUDE_CODE_PROJECT_DIR_NAME": "planted",
    "TMPDIR": "/planted",
}
"""Never given to hooks where a project's settings set it, so that a worker may have it."""


def seen(box: Box, *, typed: bool) -> dict[str, str]:
    """Hold a session and return the environment of a hook of the person's own."""
    settings = box.home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    hook = {"type": "command", "command": f"env -0 >{box.root}/seen"}
    before = json.loads(settings.read_text("utf-8")) if settings.exists() else {}
    settings.write_text(json.dumps({**before, "hooks": {"SessionStart": [{"hooks": [hook]}]}}), "utf-8")
    if typed:
        with box.terminal() as terminal:
            terminal.type("say hello")
            terminal.shows("hello there")
    else:
        box.headless("say hello")
    lines = (box.root / "seen").read_bytes().decode().split("\0")
    return dict(line.partition("=")[::2] for line in lines if line)


def set_by(box: Box, who: str, settings: dict[str, object]) -> None:
    """Put `settings` into the file of `who`."""
    folder = box.project if FILES[who] else box.home
    (folder / ".claude").mkdir(exist_ok=True)
    (folder / ".claude" / (FILES[who] or "settings.json")).write_text(json.dumps(settings), "utf-8")


@pytest.mark.parametrize("typed", [False, True], ids=["headless", "typed"])
@pytest.mark.parametrize("who", FILES)
def test_hooks_get_what_a_project_sets_as_they_get_the_persons(
    open_box: OpenBox, who: str, typed: bool
) -> None:
    """So a hook can't tell one from the other. Only what decides where the client keeps all is kept back."""
    box = open_box(Rule(["hello there"]))
    set_by(box, who, {"env": PASSED})
    got = seen(box, typed=typed)
    assert {name for name in PASSED if name not in got} == set()
    own = ("CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_ENTRYPOINT")
    assert {name: got[name] for name in PASSED if name not in own} == {
        name: value for name, value in PASSED.items() if name not in own
    }


@pytest.mark.parametrize("typed", [False, True], ids=["headless", "typed"])
@pytest.mark.parametrize("who", ["project", "local"])
def test_hooks_do_not_get_what_decides_where_all_is(open_box: OpenBox, who: str, typed: bool) -> None:
    box = open_box(Rule(["hello there"]))
    set_by(box, who, {"env": KEPT_FROM_PROJECTS})
    got = seen(box, typed=typed)
    assert "planted" not in "".join(got.get(name, "") for name in KEPT_FROM_PROJECTS)
    assert got["HOME"] == str(box.home)


@pytest.mark.parametrize("who", FILES)
def test_the_client_takes_the_memory_folder_that_any_settings_name(open_box: OpenBox, who: str) -> None:
    """It asks nobody, once the folder is trusted; Reverie asks for what a project names."""
    box = open_box(Rule(["hello there"]))
    elsewhere = box.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "MEMORY.md").write_text("- [Far](far.md) — kept-far-away\n", "utf-8")
    box.memory.mkdir(parents=True)
    (box.memory / "MEMORY.md").write_text("- [Near](near.md) — kept-near-by\n", "utf-8")
    set_by(box, who, {"autoMemoryDirectory": str(elsewhere)})
    box.headless("say hello")
    text = " ".join(asked.everything for asked in box.journal.asked(SESSION))
    assert "kept-far-away" in text and "kept-near-by" not in text


def test_a_session_in_a_project_that_plants_an_environment_learns_as_ever(open_box: OpenBox) -> None:
    box = told(open_box)
    planted = box.root / "planted"
    planted.mkdir()
    (planted / "python").write_text(f"#!/bin/sh\ntouch {box.root}/ran\n", "utf-8")
    (planted / "python").chmod(0o755)
    set_by(
        box,
        "project",
        {
            "env": {
                "REVERIE_HOME": str(planted),
                "REVERIE_PYTHON": str(planted / "python"),
                "REVERIE_MODEL__BASE_URL": "http://127.0.0.1:9",
                "REVERIE_STORE__MODE": "off",
                "PATH": f"{planted}:{box.env['PATH']}",
            }
        },
    )
    converse(box)
    assert any("Indent with tabs" in line for line in index_of(box)), index_of(box)
    assert [file.name for file in planted.iterdir()] == ["python"] and not (box.root / "ran").exists()
    assert box.journal.asked(MODEL)

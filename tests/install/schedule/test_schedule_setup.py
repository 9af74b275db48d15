"""Installing, asking and removing, with schedulers that are programs on the search path."""

from __future__ import annotations

import os

import pytest

from pipeline.core.errors import InputError
from pipeline.install.schedule import setup
from pipeline.install.schedule.setup import Kind
from tests.install.schedule.conftest import Machine

DOMAIN = f"gui/{os.getuid()}"
TOOLS: dict[Kind, str] = {"systemd": "systemctl", "launchd": "launchctl", "windows": "schtasks"}
START = {
    "systemd": ["systemctl --user daemon-reload", "systemctl --user enable --now reverie-dream.timer"],
    "launchd": [f"launchctl bootout {DOMAIN}/reverie.dream", f"launchctl bootstrap {DOMAIN} {{0}}"],
    "windows": ["schtasks /Create /TN Reverie\\dream /XML {0} /F"],
}
STOP = {
    "systemd": ["systemctl --user disable --now reverie-dream.timer", "systemctl --user daemon-reload"],
    "launchd": [f"launchctl bootout {DOMAIN}/reverie.dream"],
    "windows": ["schtasks /Delete /TN Reverie\\dream /F"],
}
PLACES = {
    "systemd": [".config/systemd/user/reverie-dream.service", ".config/systemd/user/reverie-dream.timer"],
    "launchd": ["Library/LaunchAgents/reverie.dream.plist"],
    "windows": ["reverie/reverie-dream.xml"],
}
FILED = pytest.mark.parametrize("kind", list(TOOLS))


@FILED
def test_install_status_and_remove(machine: Machine, kind: Kind) -> None:
    machine.have(TOOLS[kind])
    assert not setup.status(machine.reverie, kind).installed
    done = setup.install(machine.reverie, kind)
    files = [machine.home / place for place in PLACES[kind]]
    assert (done.installed, done.current, list(done.files)) == (True, True, files)
    assert machine.told()[: len(START[kind])] == [line.format(files[0]) for line in START[kind]]
    assert "is fine" in done.answer
    assert not setup.remove(machine.reverie, kind).installed
    assert machine.told() == STOP[kind]
    assert not any(file.exists() for file in files)


@FILED
def test_an_install_of_another_home_is_not_current_until_done_again(machine: Machine, kind: Kind) -> None:
    machine.have(TOOLS[kind])
    old = setup.files(machine.reverie, kind)[0]
    setup.install(machine.reverie, kind)
    kept = old.read_bytes()
    old.write_bytes(kept[:-2] + b"\n ")
    found = setup.status(machine.reverie, kind)
    assert (found.installed, found.current) == (True, False)
    assert setup.install(machine.reverie, kind).current
    assert old.read_bytes() == kept


@pytest.mark.parametrize(
    ("kind", "word"), [("systemd", "enable"), ("launchd", "bootstrap"), ("windows", "/Create")]
)
def test_what_the_scheduler_refuses_leaves_nothing_behind(machine: Machine, kind: Kind, word: str) -> None:
    machine.have(TOOLS[kind])
    machine.refuse(word)
    with pytest.raises(InputError, match="not today") as caught:
        setup.install(machine.reverie, kind)
    assert "dream --all" in caught.value.fix
    assert not any(file.exists() for file in setup.files(machine.reverie, kind))


def test_a_refused_update_leaves_the_files_of_before(machine: Machine) -> None:
    machine.have("systemctl")
    service, _ = setup.files(machine.reverie, "systemd")
    service.parent.mkdir(parents=True)
    service.write_text("older")
    machine.refuse("enable")
    with pytest.raises(InputError):
        setup.install(machine.reverie, "systemd")
    assert service.read_text() == "older"


@FILED
def test_removing_what_is_not_there_asks_nothing_of_the_scheduler(machine: Machine, kind: Kind) -> None:
    machine.have(TOOLS[kind])
    assert not setup.remove(machine.reverie, kind).installed
    assert machine.told() == []


def test_a_crontab_gains_and_loses_only_our_block(machine: Machine) -> None:
    machine.have("crontab")
    theirs = "0 5 * * * backup 50\\% \udcff\n"
    machine.crontab.write_text(theirs, "utf-8", "surrogateescape")
    assert not setup.status(machine.reverie, "cron").installed
    done = setup.install(machine.reverie, "cron")
    assert (done.installed, done.current) == (True, True)
    text = machine.crontab.read_text("utf-8", "surrogateescape")
    assert text.startswith(theirs) and text.count("dream --all") == 2
    setup.install(machine.reverie, "cron")
    assert machine.crontab.read_text("utf-8", "surrogateescape") == text
    setup.remove(machine.reverie, "cron")
    assert machine.crontab.read_text("utf-8", "surrogateescape") == theirs


def test_a_crontab_that_held_only_our_block_goes_away(machine: Machine) -> None:
    machine.have("crontab")
    setup.install(machine.reverie, "cron")
    assert machine.crontab.exists()
    assert not setup.remove(machine.reverie, "cron").installed
    assert not machine.crontab.exists()
    assert not setup.remove(machine.reverie, "cron").installed


def test_a_crontab_that_cannot_be_read_is_never_replaced(machine: Machine) -> None:
    machine.have("crontab")
    machine.crontab.write_text("precious\n")
    (machine.home / "broken").touch()
    for do in (setup.install, setup.remove):
        with pytest.raises(InputError, match="you may not use cron"):
            do(machine.reverie, "cron")
    assert machine.crontab.read_text() == "precious\n"


@pytest.mark.parametrize(
    ("tools", "refused", "kind"),
    [
        (("systemctl", "crontab"), "", "systemd"),
        (("systemctl", "crontab"), "show-environment", "cron"),
        (("crontab",), "", "cron"),
    ],
)
def test_the_scheduler_is_the_one_that_answers(
    machine: Machine, tools: tuple[str, ...], refused: str, kind: Kind
) -> None:
    machine.have(*tools)
    if refused:
        machine.refuse(refused)
    assert setup.detect() == kind


def test_without_a_scheduler_nothing_is_installed_and_nothing_wrong(machine: Machine) -> None:
    for ask in (setup.status, setup.remove):
        found = ask(machine.reverie)
        assert (found.kind, found.installed) == ("none", False) and "None is needed" in found.answer


def test_removing_takes_the_folders_that_installing_made_and_no_other(machine: Machine) -> None:
    machine.have("systemctl")
    (machine.home / ".config").mkdir()
    before = {place for place in machine.home.rglob("*") if place.name != "told"}
    setup.install(machine.reverie)
    (machine.home / ".config/systemd/user/timers.target.wants").mkdir()  # as systemctl enable does
    setup.install(machine.reverie)
    setup.remove(machine.reverie)
    after = {place for place in machine.home.rglob("*") if place.name != "told"}
    assert after - before <= {machine.reverie} and before <= after


def test_removing_leaves_a_folder_that_holds_somebody_else_s_unit(machine: Machine) -> None:
    machine.have("systemctl")
    setup.install(machine.reverie)
    theirs = machine.home / ".config/systemd/user/theirs.service"
    theirs.write_text("[Unit]\n")
    setup.remove(machine.reverie)
    assert theirs.exists()


def test_without_a_scheduler_the_hooks_are_enough(machine: Machine) -> None:
    with pytest.raises(InputError, match="no scheduler") as caught:
        setup.install(machine.reverie)
    assert "after each" in caught.value.fix


def test_a_scheduler_that_is_not_there_is_named(machine: Machine) -> None:
    with pytest.raises(InputError, match="systemctl can't be used"):
        setup.install(machine.reverie, "systemd")
    assert not any(file.exists() for file in setup.files(machine.reverie, "systemd"))

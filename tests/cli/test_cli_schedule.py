"""`reverie schedule` against a scheduler that notes what it is told."""

import pytest


@pytest.fixture
def cron(desk, tmp_path):
    """A machine whose only scheduler is cron, kept in a file."""
    tools, tab = tmp_path / "tools", tmp_path / "tab"
    tools.mkdir()
    program = tools / "crontab"
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        f'-l) [ -f {tab} ] && /bin/cat {tab} || {{ echo "no crontab for me" >&2; exit 1; }} ;;\n'
        f"-r) /bin/rm {tab} ;;\n"
        f"-) /bin/cat >{tab} ;;\n"
        "esac\n"
    )
    program.chmod(0o755)
    desk.env["PATH"] = str(tools)
    return tab


def test_a_schedule_is_put_in_place_shown_and_taken_away(desk, cron):
    cron.write_text("0 4 * * * backup\n")
    assert desk.here("schedule", "status", "--json").json["installed"] is False
    assert desk.here("schedule", "install").out == "cron: installed\n"
    assert "pipeline" in cron.read_text() and cron.read_text().startswith("0 4 * * * backup\n")
    assert desk.here("schedule", "status", "--json").json["current"] is True
    assert desk.here("schedule", "remove").out == "cron: not installed\n"
    assert cron.read_text() == "0 4 * * * backup\n"


def test_an_unknown_scheduler_is_told_with_those_there_are(desk):
    told = desk.here("schedule", "status", "--kind", "atd", code=2).err
    assert "no scheduler 'atd'" in told and "systemd, launchd, cron, windows" in told


def test_a_machine_without_a_scheduler_is_told_that_none_is_needed(desk, tmp_path):
    told = desk.here("schedule", "install", code=1, PATH=str(tmp_path)).err
    assert "no scheduler was found" in told and "None is needed" in told

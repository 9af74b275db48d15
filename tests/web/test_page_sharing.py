"""Sharing: what is kept in step with other machines, and that nobody is asked but where a person wants it."""

from __future__ import annotations

import pytest

from pipeline.app import machines, memories
from pipeline.app.application import App


@pytest.fixture
def remote(tmp_path):
    return tmp_path / "remote.git"


@pytest.fixture
def app(project):
    made = App(folder=project)
    memories.add(made, "The <b>mill</b> is looked after by the crew.", name="mill", kind="project")
    return made


def test_what_is_shared_with_nobody_says_how_it_could_be(browse, app):
    browser = browse()
    assert "/shared" not in browser.get("").text, "a page with nothing to tell is not named"
    shown = browser.get("shared").text
    assert "kept in step with nobody" in shown and "<code>reverie sync init REMOTE</code>" in shown


def test_other_machines_are_told_of_as_sync_status_does(browse, app, remote):
    machines.init(app, str(remote))
    browser = browse()
    assert '<a href="/t0ken/shared">Sharing</a>' in browser.get("").text
    shown = browser.get("shared").text
    assert f"<code>{remote}</code>" in shown and "<dt>Last sync</dt>" in shown
    assert "the memories of this project" in shown
    assert '<dt>Waits there</dt>\n  <dd dir="auto">unknown</dd>' in shown, "the remote was not asked"
    memories.add(app, "The tide is low at noon.", name="tide", kind="project")
    shown = browser.get("shared?ask=1").text
    assert '<dd dir="auto">1 memory</dd>' in shown and '<dd dir="auto">0 commits</dd>' in shown


def test_a_remote_that_is_gone_is_told(browse, app, remote):
    machines.init(app, str(remote))
    remote.rename(remote.with_name("elsewhere"))
    shown = browse().get("shared?ask=1")
    assert shown.status == 200 and "<dt>Trouble</dt>" in shown.text


def test_health_leads_there(browse, app, remote):
    assert "/shared" not in browse().get("health/state").text
    machines.init(app, str(remote))
    assert 'href="/t0ken/shared"' in browse().get("health/state").text

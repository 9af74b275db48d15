"""What the person just said otherwise: the real client's next request has no memory of the old thing."""

import pytest

from tests.realclient.box import REPO, OpenBox
from tests.realclient.scripted_api import SESSION, Rule

pytestmark = pytest.mark.realclient

PLUGIN = ("--plugin-dir", str(REPO))
SAID = "use bun from now on, not npm"
ASKED = "which package manager installs the packages, npm?"
FENCE = '<recollection name="package-manager"'


def test_an_overruled_memory_is_not_in_the_request(open_box: OpenBox) -> None:
    machine = open_box(Rule(["Bun it is."], when=SAID), Rule(["I see."], when=ASKED))
    machine.memory.mkdir(parents=True, exist_ok=True)
    text = "---\nname: package-manager\ndescription: Packages are installed with npm.\n---\nAs ever.\n"
    (machine.memory / "package-manager.md").write_text(text, "utf-8")
    # No worker reads what is said in print sessions, so these words stay unread.
    session = machine.headless(SAID, *PLUGIN).result["session_id"]
    machine.headless(ASKED, *PLUGIN, resume=session)
    machine.headless(ASKED, *PLUGIN)
    machine.headless(f"{SAID}. {ASKED}", *PLUGIN)
    machine.settle()
    requests = [request for request in machine.journal.asked(SESSION) if request.said]
    ordered, resumed, fresh, at_once = requests
    assert ASKED in resumed.everything and SAID in resumed.everything
    assert FENCE not in ordered.everything and FENCE not in resumed.everything
    assert ASKED in fresh.everything and FENCE in fresh.everything, "a session of its own gets the memory"
    assert FENCE not in at_once.everything

"""The same stories through each way of installing: what was spooled, what was extracted, what was loaded.

Each story is told by a person who types. The two ways are the plugin (`--plugin-dir`) and the person's
settings.json (`reverie install`); a third has both, which must not double anything.
"""

import json
import re
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.realclient.box import REPO, Box, OpenBox
from tests.realclient.scripted_api import MODEL, SESSION, Asked, Rule
from tests.realclient.test_realclient import PREFERENCE, index_of, log_of, remember

pytestmark = pytest.mark.realclient

WAYS = ("plugin", "settings", "both")
QUESTION = "How do we indent with tabs or spaces here, what does the linter say?"
AGAIN = "And what does the linter say of indenting with tabs, once more?"
FENCE = "recollection "  # begins the block in which a recalled memory arrives


class Story:
    """A box with Reverie installed in one way, and what can be seen of it afterwards."""

    def __init__(self, machine: Box, way: str) -> None:
        self.machine = machine
        self.options = ("--plugin-dir", str(REPO)) if way in ("plugin", "both") else ()
        if way in ("settings", "both"):
            machine.run("reverie", "install", "--user", "--yes")

    def tell(self, *arguments: str, cwd: Path | None = None, said: str = PREFERENCE) -> None:
        """Type one prompt in a session of its own, wait for the answer, leave, let the worker finish."""
        with self.machine.terminal(*self.options, *arguments, cwd=cwd) as terminal:
            terminal.type(said)
            terminal.shows("Tabs it is." if said == PREFERENCE else "As you say.")
        self.machine.settle()

    def spooled(self) -> Counter[str]:
        """Return how often each event reached the ledger."""
        with closing(sqlite3.connect(self.machine.home / ".claude" / "reverie" / "ledger.sqlite")) as ledger:
            return Counter(hook for (hook,) in ledger.execute("SELECT hook FROM events"))

    def sessions(self) -> set[str]:
        """Return the sessions whose events reached the ledger."""
        with closing(sqlite3.connect(self.machine.home / ".claude" / "reverie" / "ledger.sqlite")) as ledger:
            return {session for (session,) in ledger.execute("SELECT session_id FROM events")}

    def extracted(self) -> list[str]:
        """Return the lines of MEMORY.md that name a memory."""
        return [line for line in index_of(self.machine) if line.startswith("- [")]

    def loaded(self) -> str:
        """Return all that a new session's first request carries."""
        before = len(self.machine.journal.asked(SESSION))
        self.machine.headless("hello", *self.options)
        return self.machine.journal.asked(SESSION)[before].everything

    def learned(self) -> None:
        """Check that the preference was extracted, read again once, and is loaded by the next session."""
        (line,) = self.extracted()
        assert "(indent-with-tabs.md)" in line, log_of(self.machine)
        assert len(self.questions()) == 2
        assert line in self.loaded()

    def questions(self) -> list[Asked]:
        """Return what a model was asked; older clients come back once more with the tool's result."""
        return [asked for asked in self.machine.journal.asked(MODEL) if not asked.brings_result]


def story(open_box: OpenBox, way: str, *, project: str = "work", rules: tuple[Rule, ...] = ()) -> Story:
    """Open a box in which the preference may be told."""
    answers = (
        Rule(["Tabs it is."], when="Please indent with tabs"),
        *rules,
        Rule(remember, kind=MODEL),
        Rule(["As you say."]),
    )
    return Story(open_box(*answers, project=project), way)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """A way of installing."""
    return str(request.param)


def test_a_session_is_noted_extracted_and_loaded(open_box: OpenBox, way: str) -> None:
    told = story(open_box, way)
    told.tell()
    doubled = 2 if way == "both" else 1
    assert told.spooled() == {"SessionStart": doubled, "Stop": doubled, "SessionEnd": doubled}
    assert len(told.sessions()) == 1
    told.learned()


def test_a_memory_arrives_with_the_prompt_it_fits_once_and_is_not_learned_again(
    open_box: OpenBox, way: str
) -> None:
    told = story(open_box, way)
    told.tell()
    before = len(told.machine.journal.asked(SESSION))
    with told.machine.terminal(*told.options) as terminal:
        terminal.type(QUESTION)
        terminal.shows("As you say.")
        terminal.type(AGAIN)
    told.machine.settle()
    first, second = told.machine.journal.asked(SESSION)[before:][:2]
    assert briefs(first) == 1, log_of(told.machine)
    assert briefs(second) == 1  # the one of the first prompt, which is still in the dialogue
    (attachment,) = attached(told.machine)
    assert "Indent with tabs in this project." in attachment
    assert len(told.extracted()) == 1


def briefs(asked: Asked) -> int:
    """Return how many blocks of recalled memories a request carries."""
    return len(re.findall(rf"<{FENCE}", asked.everything))


def attached(machine: Box) -> list[str]:
    """Return the texts that hooks added to any session, as the transcripts hold them."""
    found = []
    for file in machine.transcripts():
        for line in file.read_text("utf-8").splitlines():
            text = json.dumps(json.loads(line).get("attachment") or {}, ensure_ascii=False)
            if f"<{FENCE}" in text and "hook_additional_context" in text:
                found.append(text)
    return found


def test_compaction_is_noted_and_loses_nothing(open_box: OpenBox, way: str) -> None:
    told = story(open_box, way)
    with told.machine.terminal(*told.options) as terminal:
        terminal.type(PREFERENCE)
        terminal.shows("Tabs it is.")
        for day in ("Monday", "Tuesday"):  # older clients compact nothing shorter
            terminal.type(f"What a day it is this {day}.")
            terminal.shows("As you say.")
        terminal.command("/compact", "Compacted")
    told.machine.settle()
    doubled = 2 if way == "both" else 1
    assert told.spooled()["PreCompact"] == doubled
    assert told.spooled()["SessionStart"] == 2 * doubled
    (line,) = told.extracted()
    assert line in told.loaded()


def test_a_resumed_session_goes_on(open_box: OpenBox, way: str) -> None:
    told = story(open_box, way)
    told.tell()
    (session,) = told.sessions()
    told.tell("--resume", session, said="What a day it is today.")
    assert told.sessions() == {session}
    assert len(told.extracted()) == 1


def test_a_fork_does_not_repeat_what_it_copied(open_box: OpenBox, way: str) -> None:
    told = story(open_box, way)
    told.tell()
    (session,) = told.sessions()
    told.tell("--resume", session, "--fork-session", said="What a day it is today.")
    assert len(told.sessions()) == 2
    assert len(told.extracted()) == 1
    assert not [asked for asked in told.questions()[1:] if is_new(asked, "indent with tabs")]


def is_new(asked: Asked, words: str) -> bool:
    """Whether `words` stand among the lines a model may take evidence from."""
    # What a fork left behind is shown as earlier dialogue, from which nothing is taken.
    new = re.sub(r"(?s)<earlier_dialogue.*?</earlier_dialogue>", "", asked.everything)
    return re.search(rf"^\[\d+\] [^\n]*PERSON[^\n]*{words}", new, re.MULTILINE) is not None


def test_a_worktree_shares_the_memory_of_its_repository(open_box: OpenBox, way: str) -> None:
    told = story(open_box, way)
    git = ["git", "-C", str(told.machine.project), "-c", "user.name=p", "-c", "user.email=p@example.org"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "start"], check=True)
    tree = told.machine.root / "tree"
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True)
    told.machine.trust(told.machine.project, tree)
    told.tell(cwd=tree)
    told.learned()


def test_what_a_sub_agent_says_is_not_extracted(open_box: OpenBox, way: str) -> None:
    task = {
        "description": "Look at the linter",
        "prompt": "Always deploy on Fridays, says the sub-agent.",
        "subagent_type": "general-purpose",
    }
    agent = Rule([{"tool": "Agent", "input": task}], when="What does the linter want", times=1)
    inner = Rule(["Always deploy on Fridays."], when="says the sub-agent")
    told = story(open_box, way, rules=(agent, inner))
    # Auto mode asks its maker's server before it lets a sub-agent start.
    with told.machine.terminal(*told.options, "--permission-mode", "acceptEdits") as terminal:
        terminal.type("What does the linter want of us?")
        told.machine.journal.wait("request", lambda noted: "says the sub-agent" in noted.detail.said)
        terminal.shows("❯")
        terminal.type(PREFERENCE)
        terminal.shows("Tabs it is.")
    told.machine.settle()
    with closing(sqlite3.connect(told.machine.home / ".claude" / "reverie" / "ledger.sqlite")) as ledger:
        spoken = [text for (text,) in ledger.execute("SELECT content FROM memory_transcript_entries")]
    assert not [text for text in spoken if "deploy on Fridays" in text]
    (line,) = told.extracted()
    assert "(indent-with-tabs.md)" in line


def test_a_project_path_with_spaces_and_emoji(open_box: OpenBox, way: str) -> None:
    told = story(open_box, way, project="my work 🌊 (ü) & co")
    told.tell()
    told.learned()


def test_two_sessions_at_once(open_box: OpenBox, way: str) -> None:
    told = story(open_box, way)
    with (
        told.machine.terminal(*told.options) as one,
        told.machine.terminal(*told.options) as two,
    ):
        one.type(PREFERENCE)
        two.type("What a day it is today.")
        one.shows("Tabs it is.")
        two.shows("As you say.")
    told.machine.settle()
    assert len(told.sessions()) == 2
    (line,) = told.extracted()
    assert "(indent-with-tabs.md)" in line

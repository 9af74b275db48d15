"""What the README's picture shows: a wish, the next session that keeps to it, and where it came from."""

import re

from pipeline.extraction.schema import Verification
from tests.realclient.box import REPO, Box, Terminal
from tests.realclient.scripted_api import MODEL, Asked, Block, Rule, value_reply
from tests.support.model import borne_out, items_of

WISH = "please no mocked server in the tests, use the recorded answers in tests/recorded"
AGREED = "Understood: recorded answers instead of a mock."
ORDER = "write a test for the tide after midnight, mock the tide server"
KEPT = "Not with a mock: you asked for the recorded answers. Two of them span midnight, I'll use those."
NAME = "no-mocked-server-in-tests"
COLUMNS, LINES = 100, 44
PROJECT = "tidepool"

Frame = tuple[str, str]


def learns(asked: Asked) -> list[Block]:
    """Answer as a model would that found the wish in its line, and found it borne out."""
    if items_of(asked.said):
        return value_reply(asked, Verification.model_validate(borne_out(asked.said)).model_dump())
    line = re.search(r"^\[(\d+)\] [^\n]*PERSON[^\n]*no mocked server", asked.everything, re.MULTILINE)
    found = {
        "name": NAME,
        "type": "feedback",
        "statement": "Tests use no mocked server, but the recorded answers in tests/recorded.",
        "importance": 0.8,
        "confidence": 0.9,
        "cues": [],
        "tags": [],
        "evidence": [f"{line[1]}: please no mocked server in the tests"] if line else [],
    }
    return value_reply(asked, {"memories": [found] if line else []})


RULES = (Rule([AGREED], when=WISH), Rule([KEPT], when=ORDER), Rule(learns, kind=MODEL))


def play(machine: Box) -> list[Frame]:
    """Play the scene in a box made with RULES and PROJECT; gives each frame's title and coloured screen."""
    plugin = ("--plugin-dir", str(REPO))
    with machine.terminal(*plugin) as terminal:
        terminal.resize(COLUMNS, LINES)
        terminal.type(WISH)
        terminal.shows(AGREED)
        first = _part(terminal, f"❯ {WISH}", AGREED)
    machine.settle()
    with machine.terminal(*plugin) as terminal:
        terminal.resize(COLUMNS, LINES)
        terminal.shows("Reverie:")
        terminal.type(ORDER)
        terminal.shows(KEPT)
        second = _part(terminal, "Reverie:", KEPT)
        terminal.shell(f"reverie why {NAME}", "quote:")
        third = _part(terminal, f"reverie why {NAME}", "quote:")
    return [
        ("You say something that should last.", first),
        ("The next session knows it.", second),
        ("And you can ask where that comes from.", third),
    ]


def _part(terminal: Terminal, first: str, last: str) -> str:
    """Return the screen from the line with `first` to the one with `last`.

    The client's frame around it is left out, the styles that its lines set come along.
    """
    plain, painted = terminal.screen().splitlines(), terminal.screen(colours=True).splitlines()
    begin = next(at for at, line in enumerate(plain) if first in line)
    end = next(at for at, line in enumerate(plain) if at >= begin and last in line)
    held = "".join(re.findall(r"\x1b\[[\d;:]*m", "".join(painted[:begin])))
    return held + "\n".join(painted[begin : end + 1])

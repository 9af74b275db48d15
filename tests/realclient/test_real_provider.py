"""The claude-cli provider with the real client: it gets its value, and the person's hooks stay silent."""

import json
import sys

import pytest

from tests.realclient.box import OpenBox
from tests.realclient.scripted_api import MODEL, Rule, value_reply

pytestmark = pytest.mark.realclient

SMALL = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
# Too long for a command line: the schema then travels in the prompt, and the reply is text.
LARGE = SMALL | {"description": "One word, in lower case letters. " * 200}

ASK = """
import json, sys
from pathlib import Path
from pipeline import config
from pipeline.core import paths
from pipeline.llm.providers import open_provider
from pipeline.llm.request import Message, Request

home = paths.home_dir()
home.mkdir(parents=True)
request = Request("probe", "claude-haiku-4-5", "Answer.", (Message("user", "Which one?"),), 1000)
reply = open_provider("claude-cli", config.load(home).model, home=home).send(request, json.loads(sys.argv[1]))
print(json.dumps([reply.text, reply.usage.output_tokens > 0]))
"""


def test_a_persons_hooks_do_fire_in_their_own_session(open_box: OpenBox) -> None:
    machine = open_box()
    machine.watch_hooks()
    machine.headless("hello")
    assert '"Stop"' in machine.fired.read_text("utf-8")


@pytest.mark.parametrize("schema", [SMALL, LARGE], ids=["as-argument", "in-prompt"])
def test_provider_gets_its_value_and_leaves_no_trace(open_box: OpenBox, schema: dict[str, object]) -> None:
    machine = open_box(Rule(lambda asked: value_reply(asked, {"word": "tabs"}), kind=MODEL))
    machine.watch_hooks()
    text, counted = json.loads(machine.run(sys.executable, "-c", ASK, json.dumps(schema)))
    assert json.loads(text) == {"word": "tabs"}
    assert counted
    assert [request.kind for request in machine.journal.asked()] == [MODEL]
    assert not machine.fired.exists()
    assert machine.transcripts() == []

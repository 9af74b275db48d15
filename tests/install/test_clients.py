"""The MCP server in other programs' files: put in, used, and taken out again to the byte."""

import json
import tomllib
from pathlib import Path

import pytest

from pipeline.core import paths
from pipeline.core.errors import InputError
from pipeline.install import clients, hooks, jsonc_edit, toml_entry
from pipeline.install.clients import CLIENTS
from pipeline.install.hooks import Edit

JSONC = """// settings of mine
{
  "theme": "dark", // at night
  /* servers */ "%s": {
    // the first
    "other": { "command": "/bin/other", "args": ["a//b", "/* no comment */"] }, // stays
  },
  "last": [1, 2,],
}
"""
TOML = """# mine
model = "x"   # the model

[mcp_servers.other]
command = "/bin/other" # stays

# before the last
[last]
a = 1
"""
BEFORE = {
    "none": lambda client: None,
    "empty": lambda client: "",
    "an object": lambda client: "" if client.key == "mcp_servers" else "{}\n",
    "others": lambda client: TOML if client.key == "mcp_servers" else JSONC % client.key,
    "without others": lambda client: TOML[:33] if client.key == "mcp_servers" else '{"a": 1}',
    "windows": lambda client: (TOML if client.key == "mcp_servers" else JSONC % client.key).replace(
        "\n", "\r\n"
    ),
}


def registered(client, text):
    file = client.file()
    if text is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    found, before, after = clients.plan(client)
    hooks.install(paths.home_dir(), Edit(found, before, after, "x"))
    return file


def removed():
    homes = [paths.home_dir()]
    removal = hooks.plan_removal(homes, [])
    hooks.remove(homes, removal)
    assert not removal.faults
    return removal.edits


def servers(client, file):
    text = file.read_bytes().decode()
    values = tomllib.loads(text) if file.suffix == ".toml" else jsonc_edit.value_of(text)
    return values[client.key]


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("before", BEFORE)
def test_the_server_goes_in_and_comes_out_to_the_byte(name, before):
    client, text = CLIENTS[name], BEFORE[before](CLIENTS[name])
    file = registered(client, text)
    found = servers(client, file)
    assert found["reverie"] == clients.entry(client)
    assert Path(found["reverie"]["command"]).is_file() and found["reverie"]["args"][-1] == "mcp"
    now = file.read_bytes().decode()
    for line in (text or "").splitlines():
        assert line.rstrip("{}") in now  # comments, too
    assert clients.plan(client)[2] == now
    assert [edit.about for edit in removed()] == [f"out of {file}:\n  the server reverie for {client.title}"]
    assert (file.read_bytes().decode() if file.exists() else None) == text


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("before", ["others", "without others"])
def test_after_a_change_of_the_persons_only_our_entry_goes(name, before):
    client, text = CLIENTS[name], BEFORE[before](CLIENTS[name])
    file = registered(client, text)
    mark = "# more\n" if file.suffix == ".toml" else "\n"
    file.write_text(file.read_text("utf-8") + mark, "utf-8")
    removed()
    assert file.read_text("utf-8") == f"{text}{mark}"


def test_an_entry_that_the_person_changed_stays_as_it_is():
    client = CLIENTS["cursor"]
    file = registered(client, None)
    file.write_text(file.read_text("utf-8").replace('"mcp"', '"mcp", "--profile", "all"'), "utf-8")
    assert clients.plan(client)[2] == file.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": {'),
        ("zed", "{ /* open"),
        ("codex", "a = "),
        ("codex", "[[mcp_servers]]\na = 1\n"),
        ("zed", "/* open"),
        ("codex", "mcp_servers = 7\n"),
    ],
)
def test_a_file_that_cant_be_used_is_named_and_left_alone(name, text):
    client = CLIENTS[name]
    client.file().parent.mkdir(parents=True, exist_ok=True)
    client.file().write_text(text, "utf-8")
    with pytest.raises(InputError) as refused:
        clients.plan(client)
    assert refused.value.file == str(client.file()) and refused.value.fix
    assert client.file().read_text("utf-8") == text


ODD = [
    '{"k": {"reverie": {}, }, }',
    '{"k": { "reverie": 1 } /* c */ }',
    '{"k":{"a":1,"reverie":2}}',
    '{"k":{"reverie":2,"a":1,},}',
]


@pytest.mark.parametrize("text", ODD)
def test_what_is_left_without_our_entry_is_still_the_same_object(text):
    for keep in (True, False):
        left = jsonc_edit.value_of(jsonc_edit.without_member(text, "k", "reverie", keep_outer=keep))
        assert left.get("k", {}) == ({"a": "1"} if '"a"' in text else {})
        assert ("k" in left) == (keep or '"a"' in text)


def test_tables_below_ours_go_with_it_and_comments_stay():
    text = toml_entry.with_table(TOML, "mcp_servers", "reverie", {"command": "x", "args": ["mcp"]})
    more = text + "# why\n[mcp_servers.reverie.env]\nA = '1'\n\n[z]\nb = 2\n"
    left = toml_entry.without_table(more, "mcp_servers", "reverie")
    assert left == TOML + "# why\n\n[z]\nb = 2\n" or "# why" in left
    assert tomllib.loads(left) == {**tomllib.loads(TOML), "z": {"b": 2}}
    assert json.dumps(tomllib.loads(text)["mcp_servers"]["reverie"]) == '{"command": "x", "args": ["mcp"]}'

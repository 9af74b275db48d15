"""Other programs' files that are odd: one of them hinders no other, and what a person wrote in it stays."""

import json
import tomllib
from pathlib import Path

import pytest

from pipeline.core import paths
from pipeline.core.errors import InputError
from pipeline.install import claude_settings, clients, hooks, jsonc_edit
from pipeline.install.clients import CLIENTS
from pipeline.install.hooks import Edit
from tests.install.conftest import Machine

BOM = "\ufeff"


def write(client, text):
    file = client.file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def register(client):
    found, before, after = clients.plan(client)
    hooks.install(paths.home_dir(), Edit(found, before, after, "x"))
    return found


def remove():
    removal = hooks.plan_removal([paths.home_dir()], [])
    hooks.remove([paths.home_dir()], removal)
    return removal


def with_cursor(machine: Machine) -> tuple[Path, str]:
    """Install and register; return Cursor's file and its text."""
    file = machine.write('{"mcpServers": {"other": {"command": "x"}}}', machine.home / ".cursor" / "mcp.json")
    machine.reverie("init", "--yes")
    machine.reverie("init", "--client", "cursor", "--yes")
    return file, file.read_text("utf-8")


@pytest.mark.parametrize("purge", [(), ("--purge",)])
def test_a_file_that_is_broken_hinders_no_other_and_is_named_last(
    machine: Machine, purge: tuple[str]
) -> None:
    before = machine.everything()
    file, text = with_cursor(machine)
    file.write_text(text + "}", "utf-8")
    assert str(file) in machine.reverie("uninstall", "--dry-run", *purge, code=1)
    assert machine.commands()
    said = machine.reverie("uninstall", "--yes", *purge, code=1)
    assert not machine.settings.exists() and file.read_text("utf-8") == text + "}"
    assert f"error: {file}:1: " in said and said.rstrip().endswith(claude_settings.MEND)
    assert "not made by Reverie" not in said
    if purge:
        assert {path.name for path in machine.state.iterdir()} == {"installed.json", "backups"}
    file.write_text(text, "utf-8")
    machine.reverie("uninstall", "--yes", "--purge")
    file.unlink()
    file.parent.rmdir()
    assert machine.everything() == before


def test_with_two_broken_files_both_are_named(machine: Machine) -> None:
    file, text = with_cursor(machine)
    machine.reverie("init", "--client", "codex", "--yes")
    codex = machine.home / ".codex" / "config.toml"
    file.write_text(text + "}", "utf-8")
    codex.write_text("a = ", "utf-8")
    said = machine.reverie("uninstall", "--yes", code=1)
    assert f"error: {file}:1: " in said and f"error: {codex}: is no TOML" in said
    assert not machine.settings.exists()


def test_a_file_that_changed_meanwhile_hinders_no_other() -> None:
    one, other = (register(CLIENTS[name]) for name in ("cursor", "gemini"))
    removal = hooks.plan_removal([paths.home_dir()], [])
    one.write_text("{}", "utf-8")
    hooks.remove([paths.home_dir()], removal)
    assert one.read_text("utf-8") == "{}" and not other.exists()
    assert [*removal.faults] == [one] and [edit.file for edit in removal.edits] == [other]
    assert hooks.notes_of(paths.home_dir(), [one]) and not hooks.notes_of(paths.home_dir(), [other])


def test_an_entry_goes_also_where_the_note_of_it_is_lost() -> None:
    file = register(CLIENTS["cursor"])
    (paths.home_dir() / "installed.json").unlink()
    assert [edit.file for edit in remove().edits] == [file]
    assert jsonc_edit.value_of(file.read_text("utf-8")) == {}


STRINGS = {
    "a header in a string": 'a = """\n[mcp_servers.reverie]\nb = 1\n"""\n',
    "a header in a list": "a = [\n[1],\n# [mcp_servers.reverie]\n]\n",
    "quotes at the end": "a = '''\n[x]''''\n# one's\nb = \"\\\"[\"\n",
}
BELOW = {
    "a string": '\n[mcp_servers.reverie.env]\nB = """\n[x]\n# no comment\n"""\n',
    "a list": "\n[mcp_servers.reverie.env]\nB = [\n  ['x'],\n]\n",
    "quoted names": "\n[ \"mcp_servers\" . 'reverie' . env ]\nB = 1\n",
    "several": "\n[[mcp_servers.reverie.env]]\nB = 1\n[[mcp_servers.reverie.env]]\nB = 2\n",
}


@pytest.mark.parametrize("text", STRINGS.values(), ids=STRINGS)
def test_codex_values_of_many_lines_are_no_headers(text: str) -> None:
    file = write(CLIENTS["codex"], text)
    register(CLIENTS["codex"])
    file.write_bytes(file.read_bytes() + b"\n[z]\nc = 1\n")
    assert not remove().faults
    assert file.read_text("utf-8").startswith(text)
    assert tomllib.loads(file.read_text("utf-8")) == {**tomllib.loads(text), "z": {"c": 1}}


@pytest.mark.parametrize("more", BELOW.values(), ids=BELOW)
def test_codex_all_that_stands_below_our_table_goes_with_it(more: str) -> None:
    file = write(CLIENTS["codex"], "a = 1\n")
    register(CLIENTS["codex"])
    file.write_bytes(file.read_bytes() + more.encode() + b"\n# mine\n[z]\nc = 1\n")
    assert not remove().faults
    assert tomllib.loads(file.read_text("utf-8")) == {"a": 1, "z": {"c": 1}}
    assert "# mine\n[z]\n" in file.read_text("utf-8") and "no comment" not in file.read_text("utf-8")


@pytest.mark.parametrize("name", CLIENTS)
def test_a_server_of_the_persons_with_our_name_is_neither_changed_nor_taken_out(name: str) -> None:
    client = CLIENTS[name]
    if client.key == "mcp_servers":
        text = '[mcp_servers.reverie]\nurl = "https://dream.example"\n'
    else:
        text = json.dumps({client.key: {"reverie": {"type": "http", "url": "https://dream.example"}}})
    file = write(client, text)
    with pytest.raises(InputError, match="a server called reverie already, which is not ours") as refused:
        clients.plan(client)
    assert refused.value.file == str(file) and "another name" in refused.value.fix
    file.unlink()
    register(client)
    write(client, text)  # In place of ours, which is noted.
    assert not remove().edits
    assert file.read_text("utf-8") == text


def test_init_refuses_a_server_of_the_persons_and_leaves_it(machine: Machine) -> None:
    text = '{"mcpServers": {"reverie": {"type": "http", "url": "https://dream.example"}}}'
    file = machine.write(text, machine.home / ".claude.json")
    before = machine.everything()
    assert f"{file}: there is a server called reverie already" in machine.reverie(
        "init", "--mcp", "--yes", code=1
    )
    assert machine.everything() == before
    machine.reverie("uninstall", "--yes")
    assert file.read_text("utf-8") == text


CHOSEN = {"startup_timeout_sec": 5, "env": {"A": "1"}}


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_person_set_in_our_entry_stays(name: str, moved: bool) -> None:
    client = CLIENTS[name]
    file = register(client)
    here = clients.entry(client)["command"]
    text = file.read_text("utf-8").replace('"mcp"', '"mcp", "--profile", "all"')
    if file.suffix == ".toml":
        text += "startup_timeout_sec = 5 # slow\n\n[mcp_servers.reverie.env]\nA = '1'\n"
    else:
        text = text.replace('"args"', '"startup_timeout_sec": 5, "env": {"A": "1"},\n      "args"')
    file.write_text(text.replace(here, "/old/bin/reverie") if moved else text, "utf-8")
    register(client)
    assert file.read_text("utf-8") == text or moved
    now = file.read_text("utf-8")
    found = (tomllib.loads if file.suffix == ".toml" else json.loads)(now)[client.key]["reverie"]
    assert found == {**clients.entry(client), "args": ["mcp", "--profile", "all"], **CHOSEN}
    assert "# slow" in now or file.suffix != ".toml"
    remove()
    assert "reverie" not in (file.read_text("utf-8") if file.exists() else "")


@pytest.mark.parametrize("text", ["// nothing yet", "/* nothing */", f"{BOM}// nothing", "// a\r\n// b"])
def test_a_file_of_comments_alone_takes_the_server(text: str) -> None:
    client = CLIENTS["zed"]
    file = write(client, text)
    register(client)
    now = file.read_bytes().decode()
    assert now.startswith(text) and jsonc_edit.value_of(now)[client.key]["reverie"] == clients.entry(client)
    assert clients.plan(client)[2] == now
    assert now.count("\n") == now.count("\r\n") or "\r\n" not in text
    remove()
    assert file.read_bytes().decode() == text


FORMS = {
    "inline": 'mcp_servers = { other = { command = "x" } } # mine\nb = 1\n',
    "empty": "mcp_servers = {}\n",
    "dotted": 'mcp_servers.other.command = "x"\n[z]\na = 1\n',
    "in one table": "[mcp_servers]\nother = { command = 'x' }\n\n[z]\na = 1\n",
    "apart": "[mcp_servers.a]\ncommand = 'x'\n[z]\nc = 1\n[mcp_servers.b]\ncommand = 'y'\n",
    "with a mark": f"{BOM}a = 1\n",
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_codex_servers_in_any_form_of_toml_get_ours_beside_them(text: str, end: str) -> None:
    client, text = CLIENTS["codex"], text.replace("\n", end)
    file = write(client, text)
    before = tomllib.loads(text.removeprefix(BOM))
    register(client)
    now = file.read_bytes().decode()
    found = tomllib.loads(now.removeprefix(BOM))
    assert found["mcp_servers"].pop("reverie") == clients.entry(client)
    assert found == {"mcp_servers": {}, **before}
    assert now.startswith(BOM) == text.startswith(BOM) and ("# mine" in now) == ("# mine" in text)
    assert clients.plan(client)[2] == now
    file.write_bytes((now + f"# more{end}").encode())
    assert not remove().faults
    left = tomllib.loads(file.read_bytes().decode().removeprefix(BOM))
    assert left == before and file.read_bytes().decode().endswith(f"# more{end}")


def test_codex_servers_that_are_no_tables_are_told_as_that() -> None:
    write(CLIENTS["codex"], "mcp_servers = 7\n")
    with pytest.raises(InputError, match="'mcp_servers' must hold tables") as refused:
        clients.plan(CLIENTS["codex"])
    assert "[mcp_servers.NAME]" in refused.value.fix

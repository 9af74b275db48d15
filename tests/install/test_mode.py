"""`reverie mode`: one word in config.toml, and nothing else in it."""

import tomllib

import pytest

from pipeline.hooklib.settings import MODES
from pipeline.install.mode import EFFECT
from tests.install.conftest import Machine

TEXTS = {
    "no file": (None, '[store]\nmode = "off"\n'),
    "empty": ("", '[store]\nmode = "off"\n'),
    "other section": (
        "[spend]\ndollars_per_day = 2.0",
        '[spend]\ndollars_per_day = 2.0\n\n[store]\nmode = "off"\n',
    ),
    "the key": (
        '[store]\nmode = "auto"   # mine\nindex_lines = 100\n',
        '[store]\nmode = "off"   # mine\nindex_lines = 100\n',
    ),
    "single quotes": ("[store]\n  mode='auto'\n", '[store]\n  mode="off"\n'),
    "section without it": (
        '# mine\n[store] # all\nindex_lines = 100\n\n[model]\nprovider = "offline"\n',
        '# mine\n[store] # all\nmode = "off"\nindex_lines = 100\n\n[model]\nprovider = "offline"\n',
    ),
    "section last": ("[store]", '[store]\nmode = "off"\n'),
    "dotted": ('store.mode = "auto"\n[model]\n', 'store.mode = "off"\n[model]\n'),
    "windows": ('[store]\r\nmode = "auto"\r\n', '[store]\r\nmode = "off"\r\n'),
    "windows, without it": (
        "[store]\r\nindex_lines = 1\r\n",
        '[store]\r\nmode = "off"\r\nindex_lines = 1\r\n',
    ),
    "in a comment": ('[store]\n# mode = "auto"\n', '[store]\nmode = "off"\n# mode = "auto"\n'),
    "before the next section's comment": (
        "[store]\nindex_lines = 1\n\n# about model\n[model]\n",
        '[store]\nmode = "off"\nindex_lines = 1\n\n# about model\n[model]\n',
    ),
    "inline": ('store = { mode = "auto" } # mine\n', 'store = { mode = "off" } # mine\n'),
    "a quoted key": ('[store]\n"mode" = "auto"\n', '[store]\n"mode" = "off"\n'),
    "a quoted header": ('["store"]\nmode = "auto"\n', '["store"]\nmode = "off"\n'),
    "in a text": (
        '[model]\nprovider = """\n[store]\nmode = "auto"\n"""\n',
        '[model]\nprovider = """\n[store]\nmode = "auto"\n"""\n\n[store]\nmode = "off"\n',
    ),
    "dotted without it": (
        "store.index_lines = 1\n\n[model]\n",
        'store.index_lines = 1\nstore.mode = "off"\n\n[model]\n',
    ),
    "odd spaces": (
        '[ store ]\n\tmode\t=\t"auto"\t# x\n\n\n[model] \nmodel="a"\n# end',
        '[ store ]\n\tmode\t=\t"off"\t# x\n\n\n[model] \nmodel="a"\n# end',
    ),
}


@pytest.mark.parametrize(("before", "after"), TEXTS.values(), ids=TEXTS)
def test_only_the_mode_changes(machine: Machine, before: str | None, after: str) -> None:
    file = machine.state / "config.toml"
    if before is not None:
        machine.write(before, file)
    assert f"* off      {EFFECT['off']}" in machine.reverie("mode", "off")
    assert file.read_bytes() == after.encode()
    assert "it was so already" in machine.reverie("mode", "off")
    assert file.read_bytes() == after.encode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("store = 5\n", "in a form that can't be changed"),
        ("[[store]]\n", "in a form that can't be changed"),
        ("[store\n", "config.toml"),
    ],
)
def test_what_it_does_not_understand_it_leaves_alone(machine: Machine, text: str, said: str) -> None:
    file = machine.write(text, machine.state / "config.toml")
    told = machine.reverie("mode", "off", code=1)
    assert said in told and str(file) in told
    assert file.read_text() == text


def test_without_a_word_it_shows_all_and_the_one_that_holds(machine: Machine) -> None:
    machine.reverie("mode", "propose")
    shown = machine.reverie("mode").splitlines()
    assert [line[2:10].strip() for line in shown] == list(MODES)
    assert [line[2:10].strip() for line in shown if line.startswith("*")] == ["propose"]


def test_another_word_is_told_with_those_there_are(machine: Machine) -> None:
    assert "off, observe, propose, auto" in machine.reverie("mode", "silent", code=2)
    assert not machine.state.exists()


def test_a_variable_that_stands_above_the_file_is_told(machine: Machine) -> None:
    machine.env["REVERIE_STORE__MODE"] = "observe"
    said = machine.reverie("mode", "off")
    assert "REVERIE_STORE__MODE" in said and "* observe" in said
    assert tomllib.loads((machine.state / "config.toml").read_text())["store"] == {"mode": "off"}


def test_a_linked_config_stays_a_link(machine: Machine) -> None:
    real = machine.write("# mine\n", machine.home / "dotfiles" / "reverie.toml")
    machine.state.mkdir(parents=True)
    (machine.state / "config.toml").symlink_to(real)
    machine.reverie("mode", "off")
    assert (machine.state / "config.toml").is_symlink() and 'mode = "off"' in real.read_text()

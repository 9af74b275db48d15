"""Places as strings, where paths.py's own tests (tests/extraction) do not look."""

import os
from pathlib import Path

import pytest

from pipeline.core import paths
from pipeline.hooklib import ownership, places


def units(path):
    """The host's rule spelled out: NFC, then one `-` for each UTF-16 unit but ASCII letters and digits."""
    import unicodedata

    raw = unicodedata.normalize("NFC", path).encode("utf-16-le", "surrogatepass")
    chars = [chr(low) if high == 0 else "-" for low, high in zip(raw[::2], raw[1::2], strict=True)]
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in chars)


@pytest.mark.parametrize("path", ["/a b/c", "/Jose\u0301’s (x) & co/ü", "/日本/🚀", "/\udcff", "/a-b_c.d"])
def test_names_are_counted_in_utf_16_units(path):
    assert places.sanitise(path) == units(path)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("a-b_C9", True),
        ("--", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("a/b", False),
        ("é", False),
        ("", False),
    ],
)
def test_which_folder_names_a_variable_may_set(monkeypatch, name, counts):
    monkeypatch.setenv("CLAUDE_CODE_PROJECT_DIR_NAME", name)
    assert places.dir_named() == (name if counts else "")


@pytest.mark.parametrize(
    "text", ['{"autoMemoryDirectory": "~/mem"}', '\ufeff{"autoMemoryDirectory": "~/mem"}']
)
def test_a_setting_of_the_person_names_the_store(sealed_environment, tmp_path, text):
    (sealed_environment / ".claude" / "settings.json").write_text(text)
    assert ownership.project_store(str(tmp_path)) == os.path.expanduser("~/mem")
    assert paths.named_root(tmp_path) is None


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"autoMemoryDirectory": "mem"}', '{"autoMemoryDirectory": 5}', "[" * 99_999]
)
def test_a_setting_that_names_nothing_is_passed_over(tmp_path, text):
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(text)
    assert ownership.project_store(str(tmp_path)).endswith("/memory")
    assert paths.named_root(tmp_path) == tmp_path


def test_paths_and_strings_are_the_same_places(tmp_path):
    for cwd in (tmp_path, tmp_path / "gone" / "deeper"):
        assert paths.project_store(cwd) == Path(ownership.project_store(str(cwd)))
    assert str(paths.home_dir()) == places.home_dir()

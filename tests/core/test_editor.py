"""A person's own editor on a text of ours."""

import pytest

from pipeline.core.errors import InputError
from pipeline.core.tools import edit_text


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Make an editor of a shell script, which gets the file as its second argument."""

    def make(script):
        file = tmp_path / "ed itor"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", f"'{file}' --wait")

    return make


def test_what_the_editor_leaves_is_the_text(editor):
    editor('tr a-z A-Z <"$2" >"$2.new" && mv "$2.new" "$2"')
    assert edit_text("naïve tea\n") == "NAïVE TEA\n"


def test_an_editor_that_fails_or_is_not_there_changes_nothing(editor, monkeypatch):
    editor("exit 3")
    with pytest.raises(InputError, match="ended with 3"):
        edit_text("x")
    monkeypatch.setenv("EDITOR", "/nonexistent/editor")
    with pytest.raises(InputError, match="can't be started") as refused:
        edit_text("x")
    assert "EDITOR" in refused.value.fix

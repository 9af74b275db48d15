"""What is said of the files a memory is about."""

import pytest

from pipeline.recall.live import anchors


@pytest.fixture
def root(tmp_path):
    for name in ("src/x.py", "docs/a b/é.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    return str(tmp_path)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ([], ""),
        (["src/x.py"], "all there"),
        (["src/x.py:12", "./docs/a b/é.md", "src/"], "all there"),
        (["src/gone.py"], "src/gone.py is gone"),
        (["src/x.py", "src/a.py", "src/b.py"], "src/a.py, src/b.py are gone"),
        (["src/a", "src/b", "src/c", "src/d"], "src/a, src/b and 2 more are gone"),
    ],
)
def test_paths_below_the_project_are_checked(root, named, told):
    assert anchors.freshness(named, root) == told
    assert anchors.freshness(named, "") == ""


PLACES = ["~/.config/tool/x.toml", "/opt/y", "other-repo/z.py", "../src/x", "src/../../etc/passwd", "fts.py"]
OTHERS = ["", "https://example.org/src/x", "src/*.py", "Parser.parse", "src/a\nb", "src/\0", "make test"]


@pytest.mark.parametrize("named", [*PLACES, *OTHERS])
def test_bug_103_what_can_not_be_told_is_not_said(root, named):
    assert anchors.freshness([named], root) == ""


def test_only_so_many_are_looked_at(root):
    assert anchors.freshness(["https://example.org"] * anchors.MOST + ["src/gone.py"], root) == ""

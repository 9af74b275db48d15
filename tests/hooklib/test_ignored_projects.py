"""Which projects are left alone, by settings and by a file."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.hooklib.projects import IGNORE_FILE, why_ignored
from tests.support.repositories import make_repository, make_worktree


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("clients/acme/api/src", "own/shop", "scratch-1"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("~/clients", ["clients/acme/api", "clients/acme/api/src"]),
        ("~/clients/", ["clients/acme/api"]),
        ("~/clients/*", ["clients/acme/api"]),
        ("{home}/own/shop", ["own/shop"]),
        ("shop", ["own/shop"]),
        ("own/shop", ["own/shop"]),
        ("scratch*", ["scratch-1"]),
        ("/", ["own/shop", "scratch-1", "clients/acme/api"]),
    ],
)
def test_f1_a_pattern_holds_for_what_it_names_and_all_below(
    work: Path, pattern: str, left: list[str]
) -> None:
    pattern = pattern.format(home=work)
    for name in ("clients/acme/api", "clients/acme/api/src", "own/shop", "scratch-1"):
        folder = str(work / name)
        named = any(name == one or name.startswith(one + "/") for one in left)
        ignored = why_ignored(folder, [], [pattern])
        assert bool(ignored) is named, name
        assert ignored in ("", f"projects.ignore in config.toml has {pattern!r}")
        assert (why_ignored(folder, [pattern], []) == "") is named
    assert (
        why_ignored(str(work / "own"), ["~/nowhere"], []) == "projects.only in config.toml does not name it"
    )


@pytest.mark.parametrize(
    "pattern", ["~/client", "cli", "~/clients/acme/api/src/deeper", "hop", "~/own/shop/*"]
)
def test_a_part_of_a_name_or_what_is_below_is_not_it(work: Path, pattern: str) -> None:
    for name in ("clients/acme/api", "own/shop"):
        assert why_ignored(str(work / name), [], [pattern]) == ""


def test_a_link_is_no_way_around(work: Path) -> None:
    link = work / "way"
    link.symlink_to(work / "clients")
    assert why_ignored(str(link / "acme"), [], ["~/clients"])
    assert why_ignored(str(link / "acme"), [], ["~/way"])


def test_a_sub_folder_of_a_repository_is_ignored_with_it(work: Path) -> None:
    top = work / "clients" / "acme" / "api"
    make_repository(top)
    tree = make_worktree(top, work / "tree")
    assert why_ignored(str(tree), [], ["~/clients"]), "a worktree elsewhere is the same project"


@pytest.mark.parametrize(
    ("text", "ignored", "not_ignored"),
    [
        ("", ["clients/acme", "clients/acme/api/src"], ["own/shop"]),
        ("# why\n\n", ["clients/acme/api"], ["own/shop"]),
        ("api\n", ["clients/acme/api", "clients/acme/api/src"], ["clients/acme"]),
        ("acme/api/\n", ["clients/acme/api/src"], ["clients/acme"]),
        ("./acme\n", ["clients/acme"], ["clients"]),
        ("*\n", ["clients", "clients/acme"], ["own/shop"]),
        ("other\n", [], ["clients/acme/api/src"]),
    ],
)
def test_f1_a_file_in_a_folder_leaves_out_what_is_below(
    work: Path, text: str, ignored: list[str], not_ignored: list[str]
) -> None:
    file = work / "clients" / IGNORE_FILE
    file.write_text(text, "utf-8")
    for name in ignored:
        assert why_ignored(str(work / name), [], []) == f"{file} is there"
    for name in not_ignored:
        assert why_ignored(str(work / name), [], []) == ""


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_keeps_us_out(work: Path) -> None:
    file = work / "clients" / IGNORE_FILE
    file.write_text("other\n", "utf-8")
    file.chmod(0)
    assert why_ignored(str(work / "clients"), [], [])


@pytest.mark.parametrize("cwd", ["", "\0", "relative", "/no/such/place"])
def test_an_odd_folder_is_no_error(work: Path, cwd: str) -> None:
    assert why_ignored(cwd, [], ["~/clients"]) == ""


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("clients/[acme]", "~/clients/[acme]"),
        ("clients/[acme]", "[acme]"),
        ("clients/[acme]/x1", "~/clients/[acme]/x*"),
        ("clients/acme", "~/way/acme"),
        ("clients/acme", "~/way/a*"),
        ("clients/acme", "~/own/../clients"),
        ("clients/acme", "~/./clients//acme"),
        ("clients/acme", "./clients"),
        ("cafe\N{COMBINING ACUTE ACCENT}", "~/caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("cafe\N{COMBINING ACUTE ACCENT}/a", "caf\N{LATIN SMALL LETTER E WITH ACUTE}*"),
        ("b\udcff", "~/b\udcff"),
    ],
)
def test_a_folder_is_named_by_any_path_that_leads_to_it(work: Path, folder: str, pattern: str) -> None:
    (work / "way").symlink_to(work / "clients")
    (work / folder).mkdir(parents=True, exist_ok=True)
    assert why_ignored(str(work / folder), [], [pattern])
    assert why_ignored(str(work / folder), [pattern], []) == ""
    assert why_ignored(str(work / "own" / "shop"), [], [pattern]) == ""


def as_folder(file: Path) -> None:
    file.mkdir()


def as_pipe(file: Path) -> None:
    os.mkfifo(file)


def as_link_to_nothing(file: Path) -> None:
    file.symlink_to("nowhere")


@pytest.mark.parametrize("make", [as_folder, as_pipe, as_link_to_nothing])
def test_what_is_called_so_and_is_no_file_keeps_us_out(work: Path, make: Callable[[Path], None]) -> None:
    make(work / "clients" / IGNORE_FILE)
    assert why_ignored(str(work / "clients" / "acme"), [], [])
    assert not why_ignored(str(work / "own"), [], [])


@pytest.mark.parametrize(
    ("raw", "acme"),
    [
        (b"\xef\xbb\xbf", True),
        (b"\xef\xbb\xbfacme\r\n", True),
        ("\ufeffacme\r\n".encode("utf-16-le"), True),
        ("\ufeffother\r\n".encode("utf-16-le"), False),
        ("\ufeff\r\n".encode("utf-16-le"), True),
        (b"x\0y\n", True),
        (b"no\n" * 400_000, True),
        (b"b\xff\n", False),
    ],
)
def test_a_list_from_any_editor_is_read(work: Path, raw: bytes, acme: bool) -> None:
    (work / "clients" / IGNORE_FILE).write_bytes(raw)
    assert bool(why_ignored(str(work / "clients" / "acme"), [], [])) is acme
    (work / "clients" / "b\udcff").mkdir()
    if raw.startswith(b"b"):
        assert why_ignored(str(work / "clients" / "b\udcff"), [], [])


def test_a_line_holds_in_a_folder_with_brackets_in_its_name(work: Path) -> None:
    top = work / "[x]*"
    (top / "api" / "src").mkdir(parents=True)
    (top / IGNORE_FILE).write_text("api/s*\n")
    assert why_ignored(str(top / "api" / "src"), [], [])
    assert not why_ignored(str(top / "api"), [], [])

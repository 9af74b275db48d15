"""What must stand once: the names of files under the home, how a store is opened, the limits of its index."""

import ast
import re

import pytest

from pipeline.core.home import NAMES
from tests.architecture.source import PACKAGE, ROOT, modules, walked

SOURCE = [module for module in modules(PACKAGE) if module.path != "pipeline/hooklib/home_files.py"]
UNMISTAKABLE = {name for name in NAMES if re.search(r"[./-]", name)}
"""The others (``memory``, ``recall``) are plain words too, which settings, tables and messages may use."""
PATHLIKE = re.compile(rf"/(?:{'|'.join(map(re.escape, NAMES))})(?:/|$)")


def names_written(nodes):
    """Yield every literal among `nodes`, all of a tree, that names a file under the home."""
    parents = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}
    for node in nodes:
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        parent = parents[id(node)]
        joined = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and node is parent.right
        alone = isinstance(parent, ast.Assign | ast.AnnAssign) and node is parent.value
        plain = " " not in node.value
        if (
            (plain and node.value in UNMISTAKABLE)
            or ((joined or alone) and node.value in NAMES)
            or (plain and not isinstance(parent, ast.Expr) and PATHLIKE.match(node.value))
        ):
            yield node.value


def test_no_name_of_a_file_under_the_home_is_written_twice():
    found = [(module.path, name) for module in SOURCE for name in names_written(module.nodes)]
    # Claude Code's own name for a project's folder, which is the same word.
    assert found == [("pipeline/hooklib/places.py", "memory")]


@pytest.mark.parametrize(
    "line",
    [
        'path = home / "ledger.sqlite"',
        'place = home / "memory"',
        'folder = home + "/recall/seen"',
        'file = f"{home}/search/{digest}.sqlite"',
        'FOLDER = "reports"',
        'log("worker.lock")',
    ],
)
def test_such_a_name_would_be_found(line):
    assert list(names_written(walked(line)))


def test_words_that_are_no_names_are_left_alone():
    assert not list(names_written(walked('section = given["recall"]; tell("See logs/worker.log.")')))


ALONE = ("spooling.py", "start_worker.py", "prepare_worker.py", "pythons", "run")


def test_the_hooks_that_stand_alone_use_the_same_names():
    text = "".join((ROOT / "hooks" / name).read_text() for name in ALONE)
    written = set(re.findall(r'(?:\bhome \+ "|\$home)/([a-z./-]+)', text))
    written = {name.rstrip("/") for name in written}
    assert {"spool", "worker.lock", "logs/hook.log", "logs/worker.log", "python", "environment"} <= written
    assert {"setup", "setup.lock", "logs/setup.log", "told-python"} <= written
    known = {*NAMES, "logs"}
    assert {name for name in written if not any(name.startswith((f"{own}/", own)) for own in known)} == set()


def test_a_store_is_opened_by_one_function():
    found = {
        module.path
        for module in SOURCE
        for node in module.nodes
        if isinstance(node, ast.Attribute) and node.attr == "open" and ast.unparse(node) == "Store.open"
    }
    # Opened elsewhere, it would not have the limits that the settings give.
    assert found == {"pipeline/context.py"}


@pytest.mark.parametrize("limit", [200, 25_000])
def test_a_limit_of_the_index_is_written_once(limit):
    names = re.compile(r"index|max_lines|max_bytes", re.IGNORECASE)
    found = [
        (module.path, node.lineno)
        for module in SOURCE
        for node in module.nodes
        if isinstance(node, ast.Constant)
        and node.value == limit
        and names.search(module.text.splitlines()[node.lineno - 1])
    ]
    assert [path for path, _ in found] == ["pipeline/hooklib/memory_format.py"]


BREAKS_EVERYWHERE = {
    "pipeline/domain/sentences.py": "a sentence ends at any break that is seen as one",
    "pipeline/cli/output.py": "a text shown on one line has no break of any kind",
    "pipeline/evaluation/demo.py": "bytes, which break at LF and CR alone",
    "pipeline/evaluation/reading.py": "bytes, too",
    "pipeline/hooklib/plain.py": "bytes, too",
    "pipeline/store/ownership/host_lock.py": "a file of the kernel's",
}


def test_lines_of_content_end_at_line_feeds_alone():
    found = {module.path for module in modules(PACKAGE, "hooks") if ".splitlines(" in module.text}
    assert found == set(BREAKS_EVERYWHERE)

"""Sizes, broad excepts, and what must not stand in the source."""

import ast
import re
import subprocess

from tests.architecture.source import PACKAGE, ROOT, functions, imports, modules, strings

LONGEST_MODULE = 300
LONGEST_FUNCTION = 50
LONGEST_PROSE = 60
"""Words in one string literal with sentences; a longer one is a prompt, which belongs into prompts/."""
SOURCE = modules(PACKAGE, "hooks")
BOUNDARIES = {
    "pipeline/transcript/reader.py",
    "pipeline/intake/drain.py",
    "pipeline/worker/jobs.py",
    "pipeline/cli/main.py",
    "hooks/capture.py",
    "hooks/recall.py",
    "hooks/statusline.py",
}
# A letter in brackets each, so that this file, too, can be searched for what it forbids.
MACHINE = re.compile(
    r"/roo[t]/|/wor[k]/(?:main|shared|spec)|(?<![\w.~-])/wor[k]/\w|\.pyen[v]/versions/\d|/tm[p]/(?:pip|bash)"
    r"|(?:inde[x]|extra-inde[x])-url|pyp[i]\.org|python[h]osted|registry\.np[m]js"
)
SQL = re.compile(r"\s*(?:--|SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA)\s")


def test_modules_are_short():
    lines = {module.path: module.text.count("\n") for module in SOURCE}
    assert not {path: count for path, count in lines.items() if count > LONGEST_MODULE}


def test_functions_are_short():
    lines = {f"{module.path} {name}": count for module in SOURCE for name, count in functions(module)}
    assert not {name: count for name, count in lines.items() if count > LONGEST_FUNCTION}


def test_every_module_says_what_it_is():
    assert not [module.path for module in SOURCE if not ast.get_docstring(module.tree)]


def test_broad_excepts_stand_at_the_named_boundaries_only():
    found = {
        module.path
        for module in SOURCE
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
        and not any(isinstance(inner, ast.Raise) and inner.exc is None for inner in node.body)
    }
    assert found == BOUNDARIES


def test_no_prompt_is_a_string_literal():
    literals = [(module.path, text) for module in SOURCE for text in strings(module)]
    long = [(path, text) for path, text in literals if len(text.split()) > LONGEST_PROSE]
    assert not [(path, text) for path, text in long if "." in text and not SQL.match(text)]


def test_sql_stands_in_the_ledger_and_the_search_index_only():
    found = {module.path for module in SOURCE for text in strings(module) if SQL.match(text)}
    assert not {path for path in found if not path.startswith(("pipeline/ledger/", "pipeline/search/"))}


def test_nothing_is_mocked():
    assert not [m.path for m in modules("tests") if {"mock", "unittest.mock"} & set(imports(m))]


def test_no_machine_path_and_no_registry_host_stands_in_the_project():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = []
    for name in listed.stdout.splitlines():
        file = ROOT / name
        if file.is_file() and "cassettes" not in name:
            found += [
                f"{name}: {match.group()}" for match in MACHINE.finditer(file.read_text("utf-8", "replace"))
            ]
    assert not found


def test_files_are_opened_as_every_system_needs_it():
    flags = [
        (module.path, line)
        for module in modules(PACKAGE)
        for line in module.text.splitlines()
        if "os.O_" in line and module.path not in ("pipeline/core/system.py", "pipeline/hooklib/places.py")
    ]
    assert flags
    assert not [(path, line) for path, line in flags if "OPEN" not in line and "devnull" not in line]


def test_what_only_some_systems_have_is_asked_for_in_one_place():
    only = re.compile(r"\bos\.(?:kill|killpg|fork|setsid|fchmod)\b")
    found = {module.path for module in modules(PACKAGE) if only.search(module.text)}
    # The second one ends its own process in tests of crashes.
    assert found <= {"pipeline/core/system.py", "pipeline/core/faults.py"}

"""Sizes, broad excepts, and what must not stand in the source."""

import ast
import re
import subprocess

from tests.architecture.source import PACKAGE, ROOT, Module, functions, imports, modules, strings

LONGEST_MODULE = 450
"""Lines; a module that needs more gives its reason in the review that raises this."""
LONGEST_FUNCTION = 50
LONGEST_PROSE = 60
"""Words in one string literal with sentences; a longer one is a prompt, which belongs into prompts/."""
SOURCE = modules(PACKAGE, "hooks")
BOUNDARIES = {
    "hooks/spooling.py": "a hook, whichever",
    "pipeline/worker/jobs.py": "a job",
    "pipeline/cli/main.py": "a command",
    "pipeline/server/requests.py": "a request of an MCP client",
    "pipeline/web/site.py": "a request of the page",
}
"""Where any exception at all is caught, one handler each; there may be five in the whole project."""
# A letter in brackets each, so that this file, too, can be searched for what it forbids.
MACHINE = re.compile(
    r"/roo[t]/|/wor[k]/(?:main|shared|spec)|(?<![\w.~-])/wor[k]/\w|\.pyen[v]/versions/\d|/tm[p]/(?:pip|bash)"
    r"|(?:inde[x]|extra-inde[x])-url|pyp[i]\.org|python[h]osted|registry\.np[m]js"
)
PRIVATE_OF_OTHERS = {"_exit", "_replace", "_parser", "_constants"}
"""`os._exit`, by which a hook ends at once; `_replace` of a named tuple, private by its name only; and those
of `re` that say what a pattern is made of, whose public names are deprecated."""
BROAD = re.compile(r"\b(?:Base)?Exception\b")
SQL = re.compile(r"\s*(?:--|SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA)\s")


def test_modules_are_short():
    lines = {module.path: module.text.count("\n") for module in SOURCE}
    assert not {path: count for path, count in lines.items() if count > LONGEST_MODULE}


def test_functions_are_short():
    lines = {f"{module.path} {name}": count for module in SOURCE for name, count in functions(module)}
    assert not {name: count for name, count in lines.items() if count > LONGEST_FUNCTION}


def test_every_module_says_what_it_is():
    assert not [module.path for module in SOURCE if not ast.get_docstring(module.tree)]


def broad_excepts(module):
    """Return how many handlers of `module` catch everything and keep it."""
    handlers = [node for node in module.nodes if isinstance(node, ast.ExceptHandler)]
    keeping = [
        node
        for node in handlers
        if not any(isinstance(part, ast.Raise) and not part.exc for part in node.body)
    ]
    return sum(node.type is None or bool(BROAD.search(ast.unparse(node.type))) for node in keeping)


def test_broad_excepts_stand_at_the_named_boundaries_only():
    found = {module.path: count for module in SOURCE if (count := broad_excepts(module))}
    assert found == dict.fromkeys(BOUNDARIES, 1)
    assert len(BOUNDARIES) <= 5


def test_a_broad_except_would_be_found():
    caught = "try:\n    x\nexcept (OSError, Exception):\n    pass\n"
    assert broad_excepts(Module("x", "x.py", caught)) == 1
    assert not broad_excepts(Module("x", "x.py", caught.replace("pass", "raise")))


def private_reaches(module):
    """Yield each private name of another module that `module` uses: imported, or asked of a value."""
    own = {node.attr for node in module.nodes if isinstance(node, ast.Attribute) and own_value(node)}
    own |= {node.name for node in module.nodes if isinstance(node, ast.FunctionDef)}
    own |= {
        node.target.id
        for node in module.nodes
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for node in module.nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        names += [node.attr] if isinstance(node, ast.Attribute) and node.attr not in own else []
        yield from (name for name in names if name.startswith("_") and not name.startswith("__"))


def own_value(node):
    """Whether the attribute `node` is asked of ``self`` or ``cls``."""
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def test_no_module_reaches_for_private_names_of_another():
    found = {(module.path, name) for module in SOURCE for name in private_reaches(module)}
    assert not {(path, name) for path, name in found if name not in PRIVATE_OF_OTHERS}
    assert "_b" in private_reaches(Module("x", "x.py", "from a import _b"))
    assert "_b" in private_reaches(Module("x", "x.py", "class C:\n    def f(self):\n        self.a._b()"))


def test_no_prompt_is_a_string_literal():
    literals = [(module.path, text) for module in SOURCE for text in strings(module)]
    long = [(path, text) for path, text in literals if len(text.split()) > LONGEST_PROSE]
    assert not [(path, text) for path, text in long if "." in text and not SQL.match(text)]


def test_sql_stands_in_the_ledger_the_search_index_the_catalogue_and_files_of_others_only():
    found = {module.path for module in SOURCE for text in strings(module) if SQL.match(text)}
    homes = (
        *("pipeline/ledger/", "pipeline/search/", "pipeline/store/catalogue/", "pipeline/team/"),
        *("pipeline/formats/claude_mem_database.py", "pipeline/formats/keisei/agents_file.py"),
    )
    assert not {path for path in found if not path.startswith(homes)}


def test_nothing_is_mocked():
    assert not [
        m.path for m in modules("tests") if "mock" in m.text and {"mock", "unittest.mock"} & set(imports(m))
    ]


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

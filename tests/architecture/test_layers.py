"""Who may import whom, and which single file owns which outside package."""

import pytest

from tests.architecture.source import PACKAGE, ROOT, imports, modules, table

LAYERS = (
    ("L0", "errors ids clock paths atomic faults machine system lean words"),
    ("L1", "domain config redact redact_rules dates guard spend slugs locks live"),
    ("L2", "capture transcript ledger llm prompts store search embeddings"),
    ("L3", "desk indexing semantic ingestion extraction consolidation recall"),
    ("L4", "worker schedule schedule_units schedule_setup"),
    ("L5", "finding overview app by_hand embed care recollect install doctor audit evaluation demo"),
    ("L6", "cli"),
)
LEVEL = {unit: level for level, (_, units) in enumerate(LAYERS) for unit in units.split()}
APART = ("L2", "L3")
"""Layers whose units never import each other."""
SHARED = {"desk", "indexing"}
"""What the phases have in common: their siblings may import it, and it imports none of them."""
OWNERS = {
    "anthropic": {"pipeline/llm/anthropic_client.py"},
    "tenacity": {"pipeline/llm/retry.py"},
    "portalocker": {"pipeline/locks.py"},
    "frontmatter": {"pipeline/store/document.py", "pipeline/prompts.py"},
    "sqlite3": {"pipeline/ledger/connection.py", "pipeline/search/fts.py", "pipeline/search/ask.py"},
    "_sqlite3": {"pipeline/search/ask.py"},
    "subprocess": {"pipeline/schedule.py", "pipeline/llm/claude_cli.py", "pipeline/demo.py"},
    "detect_secrets": {"pipeline/redact.py"},
    "anyascii": {"pipeline/slugs.py"},
    "wordllama": {"pipeline/embeddings/embedded.py"},
    "numpy": {"pipeline/embeddings/nearest.py"},
    "typer": {"pipeline/cli"},
    "rich": {"pipeline/cli/output.py"},
}
TYPES_ONLY = {"sqlite3": "pipeline/ledger/"}
"""Packages whose types may be named elsewhere, in annotations."""
ENVIRONMENT = {
    *("pipeline/paths.py", "pipeline/config.py", "pipeline/clock.py", "pipeline/faults.py"),
    *(
        "pipeline/lean/places.py",
        "pipeline/lean/settings.py",
        "pipeline/lean/times.py",
        "pipeline/recall/hook.py",
    ),
    *(
        "pipeline/llm/cassette.py",
        "pipeline/llm/claude_call.py",
        "pipeline/live.py",
        "pipeline/llm/auto.py",
    ),
    *("pipeline/schedule.py", "pipeline/demo.py", "pipeline/cli/main.py", "pipeline/embeddings/http.py"),
}
SOURCE = modules(PACKAGE)


def own_imports(module):
    names = (
        name.partition(".")[2].partition(".")[0] for name in imports(module) if name.split(".")[0] == PACKAGE
    )
    return {name for name in names if name in LEVEL and name != module.unit}


def test_every_unit_has_a_layer():
    assert {module.unit for module in SOURCE} - {""} == set(LEVEL)


def test_the_readme_has_the_same_table():
    rows = table((ROOT / "pipeline" / "README.md").read_text("utf-8"), "## Layers")
    assert [(layer, units) for layer, units, *_ in rows] == list(LAYERS)


def test_imports_go_down_only():
    pairs = {(module.unit or "errors", name) for module in SOURCE for name in own_imports(module)}
    assert not {(unit, name) for unit, name in pairs if LEVEL[name] > LEVEL[unit]}


def test_siblings_among_adapters_and_phases_never_import_each_other():
    pairs = {(module.unit or "errors", name) for module in SOURCE for name in own_imports(module)}
    beside = {(unit, name) for unit, name in pairs if LEVEL[name] == LEVEL[unit] and name not in SHARED}
    assert not {(unit, name) for unit, name in beside if LAYERS[LEVEL[unit]][0] in APART}


def test_the_foundation_is_standard_library_and_knows_nothing_else_of_ours():
    for module in SOURCE:
        if LEVEL.get(module.unit) == 0:
            assert not {name for name in own_imports(module) if LEVEL[name] > 0}
            assert not {name.split(".")[0] for name in imports(module)} & {
                "pydantic",
                "orjson",
                "yaml",
                "rich",
            }


@pytest.mark.parametrize("package", OWNERS)
def test_an_outside_package_has_one_owner(package):
    found = {module.path for module in SOURCE if package in {name.split(".")[0] for name in imports(module)}}
    allowed = TYPES_ONLY.get(package, "\0")
    strangers = {path for path in found if not path.startswith((allowed, *OWNERS[package]))}
    assert not strangers
    assert found


def test_only_the_clock_asks_for_the_time_of_day():
    calls = ("datetime.now(", "datetime.utcnow(", "date.today(", "time.time(", "time.time_ns(")
    found = {module.path for module in SOURCE if any(call in module.text for call in calls)}
    # The process compares with the times of files and waits in real time.
    assert found <= {"pipeline/clock.py", "pipeline/lean/times.py", "pipeline/worker/__main__.py"}


def test_the_environment_is_read_in_named_places_only():
    assert {
        module.path for module in SOURCE if "os.environ" in module.text or "getenv" in module.text
    } == ENVIRONMENT


def test_hooks_stand_alone():
    found = {name.split(".")[0] for module in modules("hooks") for name in imports(module)}
    assert found <= {
        "__future__",
        "_signal",
        "os",
        "sys",
        "time",
        "select",
        "fcntl",
        "start_worker",
        "capture",
        "pipeline",
        *("msvcrt", "queue", "subprocess", "threading"),  # for Windows, imported there only
        "collections",  # for types only
    }


def test_two_hooks_use_the_package_and_only_its_lean_parts():
    found = {(m.path, name) for m in modules("hooks") for name in imports(m) if name.startswith(PACKAGE)}
    assert found == {("hooks/recall.py", "pipeline.recall"), ("hooks/statusline.py", "pipeline.lean")}


def test_the_lean_part_needs_nothing_else_of_ours():
    for module in SOURCE:
        if module.unit == "lean":
            assert not own_imports(module)

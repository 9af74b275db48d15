"""Who may import whom, and which single file owns which outside package."""

import re
import sys

import pytest

from tests.architecture.layers import LEVEL, readme_table
from tests.architecture.source import PACKAGE, ROOT, cycles, graph, imports, modules

OWNERS = {
    "anthropic": {"pipeline/llm/anthropic_client.py"},
    "tenacity": {"pipeline/llm/retry.py"},
    "portalocker": {"pipeline/core/locks.py"},
    "frontmatter": {"pipeline/store/files/yaml_text.py"},
    "sqlite3": {
        "pipeline/ledger/connection.py",
        "pipeline/ledger/recovery.py",
        "pipeline/store/catalogue/database.py",
        "pipeline/store/catalogue/asking.py",
        "pipeline/store/catalogue/damage.py",
        "pipeline/store/catalogue/one_connection.py",
        "pipeline/search/derived_file.py",
        "pipeline/search/fts.py",
        "pipeline/search/dialogue_index.py",
        "pipeline/search/vectors/word_table.py",
        "pipeline/search/index_reader.py",
        "pipeline/formats/keisei/agents_file.py",
        "pipeline/formats/claude_mem_database.py",
    },
    "_sqlite3": {"pipeline/search/index_reader.py"},
    "subprocess": {
        "pipeline/core/tools.py",
        "pipeline/llm/claude_cli.py",
        "pipeline/evaluation/demo.py",
    },
    "anyascii": {"pipeline/text/slugs.py"},
    "msgspec": {"pipeline/transcript/quick.py"},
    "wordllama": {"pipeline/search/vectors/embedded.py"},
    "numpy": {"pipeline/search/vectors/nearest.py"},
    "matplotlib": {"pipeline/formats/keisei/plots.py"},
    "tomlkit": {"pipeline/install/config_edit.py", "pipeline/install/toml_entry.py"},
    "mcp": {"pipeline/server/http.py"},
    "uvicorn": {"pipeline/server/http.py", "pipeline/web/serving.py", "pipeline/web/wire.py"},
    "starlette": {"pipeline/server/http.py", "pipeline/web"},
    "jinja2": {"pipeline/web/rendering.py"},
    "psycopg": {"pipeline/team/connecting.py"},
    "watchfiles": {"pipeline/formats/watch/changes.py"},
    "typer": {"pipeline/cli"},
    "rich": {"pipeline/cli/cells.py", "pipeline/cli/progress.py"},
}
TYPES_ONLY = {"sqlite3": "pipeline/ledger/", "psycopg": "pipeline/team/"}
"""Packages whose types may be named elsewhere, in annotations."""
ENVIRONMENT = {
    *(
        "pipeline/core/paths.py",
        "pipeline/config/given.py",
        "pipeline/core/faults.py",
        "pipeline/core/zone.py",
    ),
    *("pipeline/core/network.py", "pipeline/core/tools.py", "pipeline/cli/streams.py"),
    *(
        "pipeline/hooklib/places.py",
        "pipeline/hooklib/claude_settings.py",
        "pipeline/hooklib/settings.py",
        "pipeline/recall/live/hook.py",
        "pipeline/worker/compiled.py",
    ),
    *(
        "pipeline/llm/claude_call.py",
        "pipeline/llm/live_guard.py",
        "pipeline/llm/logins.py",
        "pipeline/llm/providers.py",
    ),
    *(
        "pipeline/evaluation/demo.py",
        "pipeline/diagnostics/doctor/machine.py",
        "pipeline/search/vectors/http.py",
    ),
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
    assert readme_table() in (ROOT / "pipeline" / "README.md").read_text("utf-8")


def test_imports_go_down_only():
    pairs = {(module.path, name) for module in SOURCE if module.unit for name in own_imports(module)}
    assert not {
        (path, name) for path, name in pairs if LEVEL[name] >= LEVEL[path.split("/")[1].removesuffix(".py")]
    }


def test_no_module_is_in_a_cycle():
    assert not cycles(graph(SOURCE))


def test_no_package_is_in_a_cycle():
    folders = {module.name for module in SOURCE if module.path.endswith("__init__.py")}

    def package(name):
        return name if name in folders else name.rpartition(".")[0]

    arrows: dict[str, set[str]] = {package(name): set() for name in graph(SOURCE)}
    for name, found in graph(SOURCE).items():
        # A package imports its own parts, and they may import what stands beside them in it.
        own = package(name)
        arrows[own] |= {
            other
            for other in map(package, found)
            if other != own
            and not f"{own}.".startswith(f"{other}.")
            and not f"{other}.".startswith(f"{own}.")
        }
    assert not cycles(arrows)


def test_a_cycle_would_be_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [{"a", "b", "c"}]


def test_hooklib_and_core_start_with_the_standard_library_alone():
    # Every hook, or every command, pays for what they import.
    found = {name.split(".")[0] for m in SOURCE if m.unit in ("hooklib", "core") for name in imports(m)}
    assert not {name for name in found if name not in sys.stdlib_module_names} - {PACKAGE, "portalocker"}


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
    assert found <= {"pipeline/core/clock.py", "pipeline/hooklib/times.py", "pipeline/worker/__main__.py"}


def test_a_moment_becomes_a_day_for_readers_in_one_place():
    # “.date()” of what is not yet local would be the day in UTC, another than the person's.
    days = re.compile(
        r"\.date\(\)\.isoformat|%Y-%m-%d|\.at\b[^\n]{0,20}\[:1[06]\]|iso\([^\n]*\)\[:1[06]\]|gmtime"
    )
    found = {module.path for module in SOURCE if days.search(module.text)}
    assert found == {"pipeline/core/zone.py", "pipeline/hooklib/zone.py", "pipeline/text/dates.py"}


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
        "spooling",
        "pipeline",
        *("msvcrt", "queue", "threading"),  # for Windows, imported there only
        *("re", "shutil", "subprocess"),  # prepare_worker.py, which nobody waits for
        *("collections", "typing"),  # for types only
    }

"""All property tests run under the one profile of `tests/conftest.py`."""

import ast

from hypothesis import settings

from tests.architecture.source import called, modules

PROFILE_ONLY = {"deadline", "database", "suppress_health_check", "print_blob"}


def test_no_property_fails_because_the_machine_is_busy():
    assert settings().deadline is None


def test_no_test_sets_for_itself_what_the_profile_decides():
    found = [
        f"{module.path}:{node.lineno} {keyword.arg}"
        for module in modules("tests")
        if module.path != "tests/conftest.py" and any(name in module.text for name in PROFILE_ONLY)
        for node in module.nodes
        if isinstance(node, ast.Call) and called(node) == "settings"
        for keyword in node.keywords
        if keyword.arg in PROFILE_ONLY
    ]
    assert found == []

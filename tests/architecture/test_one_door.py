"""Memories change through one door: nobody else builds a change set, or has a store apply one."""

import ast

import pytest

from tests.architecture.source import PACKAGE, Module, called, modules

HOME = ("pipeline/revision/", "pipeline/store/")


def past_the_door(module: Module) -> list[int]:
    """Return the lines of `module` that make a change set or apply one."""
    return [
        node.lineno
        for node in module.nodes
        if isinstance(node, ast.Call)
        and (
            called(node) == "ChangeSet"
            or (isinstance(node.func, ast.Attribute) and node.func.attr == "apply")
        )
    ]


def test_only_the_door_and_the_store_apply_changes():
    found = {module.path for module in modules(PACKAGE) if past_the_door(module)}
    assert [path for path in sorted(found) if not path.startswith(HOME)] == []


@pytest.mark.parametrize("line", ["store.ChangeSet(a, b, c)", "ChangeSet(id=a)", "phase.store.apply(it)"])
def test_such_a_line_would_be_found(line):
    assert past_the_door(Module("m", "m.py", line)) == [1]

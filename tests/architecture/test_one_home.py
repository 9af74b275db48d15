"""A constant has one home: no two modules give the same name the same value."""

import ast
from collections import defaultdict

from tests.architecture.source import PACKAGE, Module, modules

IDIOMS = {"LOG", "TYPE_CHECKING", "__all__"}
"""They decide nothing: an area's logger, what saves a hook the import of `typing`, a list of exports."""


def constants(module: Module) -> dict[str, str]:
    """Return name → value, as code, of what is assigned at the top of `module`."""
    found: dict[str, str] = {}
    for node in module.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and value is not None:
            found |= {target.id: ast.unparse(value) for target in targets if isinstance(target, ast.Name)}
    return found


def with_two_homes(found: list[Module]) -> dict[str, list[str]]:
    homes = defaultdict(list)
    for module in found:
        for name, value in constants(module).items():
            if name not in IDIOMS:
                homes[name, value].append(module.path)
    return {name: paths for (name, _), paths in homes.items() if len(paths) > 1}


def test_a_constant_has_one_home():
    assert not with_two_homes(modules(PACKAGE))


def test_a_second_home_would_be_found():
    one, other = (Module(f"m{n}", f"m{n}.py", f"BAR = {n % 2}\nSAME: float = 0.8\n") for n in (0, 1))
    assert with_two_homes([one, other]) == {"SAME": ["m0.py", "m1.py"]}

"""Names say what they hold: everyday words that tell nothing are not used for parameters and variables."""

import ast

from tests.architecture.source import Module, modules

VAGUE = {"one", "told", "said", "mark", "place", "led", "desk"}
"""They stood for an id, a message, a time, a digest and a path: see the glossary for the words instead."""


def vague(module: Module) -> list[str]:
    """Return where `module` names a parameter, variable or function by one of the vague words.

    Fields of classes are left out: they may be what is stored or printed.
    """
    fields = {id(n.target) for c in module.nodes if isinstance(c, ast.ClassDef)
              for n in c.body if isinstance(n, ast.AnnAssign)}  # fmt: skip
    found = []
    for node in module.nodes:
        if isinstance(node, ast.arg):
            name, line = node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            name, line = node.id, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            name, line = node.name, node.lineno
        else:
            continue
        if name.strip("_") in VAGUE:
            found.append(f"{module.path}:{line} {name}")
    return found


def test_no_name_is_vague():
    assert not [where for module in modules("pipeline") for where in vague(module)]


def test_a_vague_name_would_be_found():
    text = "def read(place):\n    for one in place:\n        told = one\n"
    assert len(vague(Module("pipeline.x", "pipeline/x.py", text))) == 3

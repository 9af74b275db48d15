"""The project's own source as data: modules, what they import, how long they and their functions are."""

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "pipeline"


@dataclass(frozen=True)
class Module:
    """One file: its dotted name, its path from the root, its text."""

    name: str
    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        return parse(self.text)

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of its tree."""
        return walked(self.text)

    @property
    def unit(self) -> str:
        """The name in the layer table: `store`, `app`, `worker`."""
        return self.name.partition(".")[2].partition(".")[0]


@contextmanager
def _kept() -> Iterator[None]:
    """Look for no garbage among what is made inside, now or ever: a million nodes that stay till the end."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()


@cache
def parse(text: str) -> ast.Module:
    """Return the syntax tree of `text`, made once."""
    with _kept():
        return ast.parse(text)


@cache
def walked(text: str) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of `text`, found once: walking takes longer than what is asked."""
    with _kept():
        return tuple(ast.walk(parse(text)))


def called(node: ast.Call) -> str:
    """Return the last name of what `node` calls: ``load`` of ``tools.load()``."""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def modules(*folders: str) -> list[Module]:
    """Every Python file below `folders`."""
    files = sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    return [
        Module(
            ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"),
            file.relative_to(ROOT).as_posix(),
            file.read_text("utf-8"),
        )
        for file in files
        if "_bundled" not in file.parts
    ]


def docstring(file: Path) -> str:
    """Return the docstring of the module in `file`."""
    return ast.get_docstring(parse(file.read_text("utf-8"))) or ""


@cache
def imports(module: Module) -> tuple[str, ...]:
    """Every dotted name `module` imports, wherever in it; of `from pipeline import x` it is `pipeline.x`."""
    return tuple(_imports(module))


def _imports(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            whole = node.module or ""
            yield from (f"{whole}.{a.name}" for a in node.names) if whole == PACKAGE else (whole,)
        elif isinstance(node, ast.Call) and called(node).endswith("import_module"):
            first = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
            yield str(first.value) if isinstance(first, ast.Constant) else ast.unparse(first)


def functions(module: Module) -> Iterator[tuple[str, int]]:
    """Name and length of each function, its docstring and decorators left out."""
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body
            told = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
            doc = (body[0].end_lineno or 0) - body[0].lineno + 1 if told else 0
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - doc


def strings(module: Module) -> Iterator[str]:
    """Every string literal that is no docstring; the parts of an f-string one by one."""
    loose = {
        id(node.value)
        for node in module.nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in loose:
            yield node.value


def graph(found: list[Module]) -> dict[str, set[str]]:
    """Return for each module the modules of ours it imports, wherever in it, also for types only.

    A package stands for its ``__init__``; `from package import module` counts as the module.
    """
    names = {module.name for module in found}
    arrows: dict[str, set[str]] = {name: set() for name in names}
    for module in found:
        for node in module.nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == PACKAGE:
                whole = node.module or ""
                arrows[module.name] |= {
                    f"{whole}.{alias.name}" if f"{whole}.{alias.name}" in names else whole
                    for alias in node.names
                }
            elif isinstance(node, ast.Import):
                arrows[module.name] |= {alias.name for alias in node.names} & names
    return {name: found - {name} for name, found in arrows.items()}


def cycles(arrows: dict[str, set[str]]) -> list[set[str]]:
    """Return the groups of nodes that reach each other along `arrows`."""
    reached = {node: _reached(arrows, node) for node in arrows}
    groups = {frozenset(o for o in reached[n] if n in reached.get(o, ())) for n in arrows if n in reached[n]}
    return [set(group) for group in groups]


def _reached(arrows: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        fresh = arrows.get(waiting.pop(), set()) - found
        found |= fresh
        waiting.extend(fresh)
    return found

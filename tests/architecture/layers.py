"""The layers, lowest first: the one list behind the tests of imports and the table in the package README."""

from tests.architecture.source import PACKAGE, ROOT, docstring

LAYERS = (
    "record",
    "hooklib safety domain",
    "core",
    "config text transcript",
    "llm store verify",
    "ledger revision",
    "context intake search team",
    "extraction consolidation formats recall install sharing",
    "worker",
    "app evaluation",
    "diagnostics server",
    "web",
    "cli",
)
"""Units of `pipeline/` by level. A unit imports from lower levels only, never from its own."""

LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units.split()}


def readme_table() -> str:
    """Return the layers as a Markdown table; what a unit is for is the first sentence of its docstring."""
    rows = [
        f"| {level} | `{unit}` | {purpose(unit)} |"
        for level, units in enumerate(LAYERS)
        for unit in units.split()
    ]
    return "\n".join(["| level | unit | what it is for |", "| ---: | --- | --- |", *rows])


def purpose(unit: str) -> str:
    """Return the first sentence of the docstring of `unit`, a package or a module."""
    folder = ROOT / PACKAGE / unit
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    first = docstring(file).split("\n\n", 1)[0]
    return " ".join(first.split())

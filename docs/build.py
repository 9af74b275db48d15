"""Fills the generated parts of the documentation: ``python docs/build.py``; ``--check`` only compares.

A generated part stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. What differs from run to
run (ids, the temporary directory) does not count as a difference.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from pipeline.cli import output
from pipeline.config import Settings
from pipeline.domain.memory import TYPES
from pipeline.evaluation.reading import read_session
from pipeline.evaluation.report import Table, tables
from pipeline.evaluation.scoring import Score
from pipeline.evaluation.suite_run import Choice, Reader, evaluate
from pipeline.formats import carried, registry
from pipeline.server import tools

ROOT = Path(__file__).resolve().parents[1]
_RANDOM = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=-)[0-9a-f]{6}(?=\.md)|(?<=reverie-demo-)\w+"
    r"|(?<=reverie undo )[0-9a-f]{8}"
)


@cache
def reverie(*arguments: str) -> str:
    """Return what ``reverie ARGUMENTS`` prints, asked once for all parts that show it."""
    command = [sys.executable, "-m", "pipeline.cli.main", *arguments]
    # The demo shows where its home is: the same place on every machine.
    env = {**os.environ, "TMPDIR": "/tmp"} if Path("/tmp").is_dir() else None
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=env).stdout.decode("utf-8")


def demo_short() -> str:
    """Return what the demo made and the first source of one memory, for the first screen of the README."""
    made, _index, _shown, source, _recalled = reverie("demo").rstrip().split("\n$ ")
    first = source.split("\n\nsource 2", 1)[0]
    return f"```text\n$ make demo\n{made}\n$ {first}\n```"


def demo() -> str:
    """Return the demo's output as a console block."""
    return f"```text\n$ make demo\n{reverie('demo').rstrip()}\n```"


def commands() -> str:
    """Return a table for each heading of ``--help``: its commands, and those of a group behind it."""
    parts = [_commands_below(reverie("--help"), "reverie")]
    for name in ("inbox", "config", "schedule", "dialogue"):
        parts.append(_commands_below(reverie(name, "--help"), f"reverie {name}"))
    return "\n\n".join(parts)


def _commands_below(text: str, program: str) -> str:
    found: list[str] = []
    for section in text.split("\n\n")[1:]:
        heading, _, listed = section.strip("\n").partition(":\n")
        if "\n" in heading or heading in ("Options", "Arguments") or not listed:
            continue
        title = heading if heading != "Commands" else f"`{program}`"
        rows = [line.split(maxsplit=1) for line in listed.splitlines()]
        found += ["", f"**{title}**", "", "| command | what it does |", "| --- | --- |"]
        found += [f"| `{program} {name}` | {line} |" for name, line in rows]
    return "\n".join(found).strip("\n")


def configuration() -> str:
    """Return every setting, grouped by section."""
    lines: list[str] = []
    for name, section in Settings.model_fields.items():
        kind = section.annotation
        assert kind is not None
        lines += [f"## [{name}]", "", " ".join((kind.__doc__ or "").split()), ""]
        lines += ["| key | default | meaning |", "| --- | --- | --- |"]
        for key, field in kind.model_fields.items():
            default = f"`{output.shown(field.default)}`" if field.default != "" else "empty"
            lines.append(f"| `{key}` | {default} | {field.description} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def evaluation(read: Reader = read_session) -> str:
    """Return the tables of ``reverie eval`` as Markdown, and which sessions have no score."""
    scores, lines = [], []
    for found in evaluate(ROOT / "fixtures" / "eval", Choice(), read):
        if isinstance(found, Score):
            scores.append(found)
        else:
            lines.append(f"- {found.session}{f' ({found.manner})' if found.manner else ''}: {found.reason}")
    parts = [f"{table.title.capitalize()}:\n\n{_markdown(table)}" for table in tables(scores)]
    return "\n\n".join([*parts, *(["Not scored:\n\n" + "\n".join(lines)] if lines else [])])


def _markdown(table: Table) -> str:
    rule = ["---", *("---:" for _ in table.columns[1:])]
    rows = (table.columns, rule, *table.rows)
    return "\n".join(f"| {' | '.join(cell.strip() for cell in row)} |" for row in rows)


def dream() -> str:
    """Return the report of a dream over one of the test stores, with recorded replies."""
    with tempfile.TemporaryDirectory() as scratch:
        sys.path[:0] = [str(ROOT / "tests")]
        lay_out = importlib.import_module("support.dream_cases").lay_out
        lay_out("stale", Path(scratch) / "memory")
        replies = ROOT / "fixtures" / "dream" / "cassettes" / "stale"
        env = {**os.environ, "TZ": "UTC", "REVERIE_HOME": scratch, "REVERIE_NOW": "2026-11-27T12:00:00Z",
               "REVERIE_DREAM__CUES": "false"}  # fmt: skip
        command = [
            *(sys.executable, "-m", "pipeline.cli.main", "consolidate", "--force"),
            *("--store", str(Path(scratch) / "memory"), "--llm", f"replay:{replies}"),
        ]
        done = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)
    return "```text\n" + done.stdout.decode("utf-8").rstrip() + "\n```"


def layers() -> str:
    """Return the table of layers, from the list that the tests hold the imports to."""
    sys.path[:0] = [str(ROOT)]
    table: str = importlib.import_module("tests.architecture.layers").readme_table()
    return table


def profiles() -> str:
    """Return what the list of tools of each profile of the MCP server costs a model's context."""
    rows = [
        "| profile | tools offered | characters of the list | tokens, estimated |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name in (tools.LEAN, tools.COGNITIVE, tools.AGENT_MEMORY, tools.ALL):
        listed = [tool.listed for tool in tools.of_profile(name).values() if tool.run]
        size = len(json.dumps(listed, separators=(",", ":"), ensure_ascii=False))
        rows.append(f"| `{name}` | {len(listed)} | {size:,} | {round(size / 4):,} |")
    return "\n".join(rows)


def formats() -> str:
    """Return what each format of another program can't carry, in words."""
    rows = ["| format | what it can't carry |", "| --- | --- |"]
    for name in registry.NAMES:
        missing = _lost(registry.format_named(name), None)
        rows.append(f"| `{name}` | {missing or 'nothing'} |")
    return "\n".join(rows)


def _lost(second: carried.Format, first: carried.Format | None) -> str:
    """Return what `second` can't carry of memories that have everything, as far as `first` carries it."""
    found: dict[str, None] = {}
    for kind in TYPES:
        memory = replace(carried.SAMPLE, type=kind)
        gone = carried.lost(first, memory) if first else ()
        found |= dict.fromkeys(name for name in carried.lost(second, memory) if name not in gone)
    return carried.in_words([name for name in carried.WORDS if name in found])


def format_pairs() -> str:
    """Return what is lost between each two formats."""
    named = {name: registry.format_named(name) for name in registry.NAMES}
    rows = [f"| from, to | {' | '.join(f'`{name}`' for name in named)} |"]
    rows.append("| --- |" + " --- |" * len(named))
    for name, first in named.items():
        whole = not _lost(first, None)
        cells = [_lost(second, first) or "–" for second in named.values()]
        cells = ["see above" if whole and cell != "–" else cell for cell in cells]
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def performance() -> str:
    """Return the tables of what was measured, from `docs/performance.json`: nothing is measured anew."""
    sys.path[:0] = [str(ROOT)]
    text: str = importlib.import_module("bench.page").page()
    return text


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "demo-short": ("README.md", demo_short),
    "demo": ("docs/tour.md", demo),
    "commands": ("docs/commands.md", commands),
    "dream": ("docs/dream.md", dream),
    "configuration": ("docs/configuration.md", configuration),
    "evaluation": ("docs/evaluation.md", evaluation),
    "layers": ("pipeline/README.md", layers),
    "performance": ("docs/performance.md", performance),
    "profiles": ("docs/cognitive.md", profiles),
    "formats": ("docs/formats.md", formats),
    "format-pairs": ("docs/formats.md", format_pairs),
}


def part(text: str, name: str) -> str:
    """Return what stands between the marks of `name` in `text`."""
    return text.partition(f"<!-- begin {name} -->\n")[2].partition(f"\n<!-- end {name} -->")[0]


def fresh(name: str) -> tuple[str, str]:
    """Return the generated part `name` as it stands in its file, and as it would be made now."""
    file, make = PARTS[name]
    return part((ROOT / file).read_text("utf-8"), name), make()


def same(one: str, other: str) -> bool:
    """Whether two texts differ at most in what is random."""
    return _RANDOM.sub("…", one) == _RANDOM.sub("…", other)


def main(arguments: list[str]) -> int:
    """Fill, or with ``--check`` compare, all parts or those named."""
    names = [name for name in arguments if name != "--check"] or list(PARTS)
    outdated = 0
    for name in names:
        old, new = fresh(name)
        if same(old, new):
            continue
        outdated += 1
        file = ROOT / PARTS[name][0]
        if "--check" in arguments:
            sys.stdout.write(f"{PARTS[name][0]}: {name} is outdated; python docs/build.py {name}\n")
        else:
            text = file.read_text("utf-8")
            begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
            before, _, rest = text.partition(begin)
            file.write_text(before + begin + new + "\n" + end + rest.partition(end)[2], "utf-8")
    return 1 if outdated and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

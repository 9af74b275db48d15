"""The glossary: each term is defined once, and code and documents use it."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from pipeline.cli.tree import cli
from tests.architecture.source import modules

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(
    r"^\| (?P<term>[^|]+?) \| (?P<meaning>[^|]+?) \| [^|]+ \| (?P<names>`[^|]+`) \|$", re.MULTILINE
)
ROWS = list(ROW.finditer((ROOT / "docs" / "glossary.md").read_text("utf-8")))
SOURCE = modules("pipeline")


@cache
def identifiers():
    """Every name the code gives: modules, classes, functions, parameters, attributes, variables."""
    found = {part for module in SOURCE for part in module.name.split(".")}
    for module in SOURCE:
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
    return found


@cache
def prose():
    """The documents but the glossary itself, in one text."""
    pages = [ROOT / "README.md", ROOT / "pipeline" / "README.md", *ROOT.glob("docs/*.md")]
    return "\n".join(page.read_text("utf-8") for page in pages if page.name != "glossary.md").lower()


def test_every_row_of_the_table_is_read():
    lines = (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines()
    assert len(ROWS) == sum(line.startswith("| ") for line in lines) - 2
    assert len(ROWS) >= 15


def test_a_term_is_defined_once():
    terms = [row["term"] for row in ROWS]
    assert len(set(terms)) == len(terms)
    assert len({row["meaning"] for row in ROWS}) == len(terms)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["term"])
def test_a_term_is_used_in_the_code_and_in_the_documents(row):
    names = re.findall(r"`([^`]+)`", row["names"])
    assert not set(names) - identifiers()
    assert re.search(rf"\b{re.escape(row['term'])}", prose())


def helps():
    """What ``--help`` says of every command and of its options, in one text."""
    program: Any = typer.main.get_command(cli)
    found = []
    for command in program.commands.values():
        for item in (command, *getattr(command, "commands", {}).values()):
            found += [item.help or "", *(getattr(option, "help", None) or "" for option in item.params)]
    return "\n".join(found)


@pytest.mark.parametrize("text", [prose(), helps()], ids=["documents", "help"])
def test_what_left_the_live_store_is_retired_and_only_the_folder_an_archive(text):
    # A conversation's status has that word in the format that it comes from.
    told = text.replace("active, ready, queued, processing, archived, skipped or review", "")
    told = told.replace("ready, queued, skipped or archived", "")
    for page in ROOT.glob("docs/formats-*.md"):
        # Words of other programs' formats mean what they mean there.
        told = told.replace(page.read_text("utf-8").lower(), "")
    # And so is the lowest band of decay called.
    told = told.replace("| below 0.05 | archived |", "")
    assert "retired" in told and "archive" in told
    assert re.findall(r".*\barchiv(?:ed|es|ing)\b.*", told, re.IGNORECASE) == []

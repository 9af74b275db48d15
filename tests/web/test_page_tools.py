"""Tools in the browser: failed calls by session and by tool, files used together, from the transcripts."""

import re

import pytest

from pipeline.core import paths
from tests.support.traces import ONE, result, stamped, transcripts
from tests.support.transcripts import assistant, tool_use, user, write_lines

HOSTILE = "<img src=x onerror=alert(1)>"


def rows(page, name):
    """Return the text of the cells of a table, row by row."""
    (table,) = re.findall(rf'<table class="{name}">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    found = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    return [
        [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in found
    ]


def test_before_any_session_the_page_says_where_it_looks(browse):
    page = browse().get("tools")
    assert page.status == 200 and "No session has called a tool yet." in page.text
    assert browse().get("tools?newest=7").status == 400 == browse().get("tools?newest=x").status


def test_failed_calls_are_drawn_and_listed_by_session_and_by_tool(browse):
    transcripts(paths.projects_dir())
    page = browse().get("tools?newest=30").text
    sessions = {row[0]: row for row in rows(page, "figures-of")}
    tools = {row[0]: row[1:3] for row in rows(page, "by-tool")}
    calls = sum(int(row[2]) for row in sessions.values())
    assert ONE[:8] in sessions and calls == sum(int(row[0]) for row in tools.values()) > 0
    assert sum(int(row[3]) for row in sessions.values()) == sum(int(row[1]) for row in tools.values())
    assert page.count('class="bar-calls"') == len(sessions) and "<title>" in page.partition("<svg")[2]
    assert f"<strong>{calls}</strong> calls" in page


@pytest.fixture
def pair():
    """Write a session in which two files are used together, and one call fails."""
    lines = []
    for number in range(3):
        for name in ("a.py", f"{HOSTILE}.py"):
            at, key = f"2026-04-25T10:0{number}:00.000Z", f"{name[0]}{number}"
            call = tool_use("Read", {"file_path": f"/home/dev/shop/{name}"}, key)
            lines.append(stamped("pair-1", at, f"u{key}", assistant([call])))
            bad = number == 2 and name == "a.py"
            answer = result(key, "no such file" if bad else "text", is_error=bad)
            lines.append(stamped("pair-1", at, f"r{key}", user([answer])))
    write_lines(paths.projects_dir() / "-home-dev-shop" / "pair-1.jsonl", lines)


def test_files_used_together_stand_in_a_field_and_names_are_texts(browse, pair):
    page = browse().get("tools").text
    (first, second) = rows(page, "together")
    assert first[0] == "1" and {first[1], second[1]} == {"a.py", "&lt;img src=x onerror=alert(1)&gt;.py"}
    assert first[3] == second[2] != "" and "shade-4" in page and "/home/dev/shop/" in page
    assert HOSTILE not in page
    assert rows(page, "by-tool") == [["Read", "6", "1", ""]]

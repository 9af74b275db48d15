"""CORE.md: every type has its place, the best come first, and what is left out is said."""

from datetime import timedelta

import pytest

from pipeline.domain.memory import TYPES
from pipeline.store.derived.core_page import core_text
from tests.support.stores import NOW, memory


def made(name, kind, **values):
    return memory(name, type=kind, title=name.capitalize(), path=f"{name}.md", **values)


def sections(text):
    return {part.partition("\n")[0]: part.splitlines()[1:] for part in text.split("\n## ")[1:]}


def test_the_seed_s_page_is_made_line_by_line():
    found = [
        made("drops", "solution", tags=("redis", "timeout")),
        made("tabs", "decision"),
        made("leak", "fix", tags=("python",)),
        made("keys", "configuration"),
        made("retry", "code_pattern"),
        made("deploy", "procedure"),
    ]
    assert core_text(found, {}, NOW) == (
        "# Memory Core (auto-generated)\n"
        "> Last updated: 2026-11-27 | Active memories: 6/6 (score 0.2 or more) | Next refresh: daily\n"
        "\n## Critical Solutions\n- [Drops](drops.md) (redis, timeout)\n"
        "\n## Active Decisions\n- [Tabs](tabs.md)\n"
        "\n## Key Fixes\n- [Leak](leak.md) (python)\n"
        "\n## Configurations\n- [Keys](keys.md)\n"
        "\n## Patterns & Workflows\n- [Deploy](deploy.md)\n- [Retry](retry.md)\n"
    )


def test_the_best_come_first_and_those_beyond_fifteen_are_counted():
    found = [made(f"s{n:02}", "solution", importance=n / 20) for n in range(24)]
    lines = sections(core_text(found, {}, NOW))["Critical Solutions"]
    assert [line[3:6] for line in lines[:-1]] == [f"S{n:02}" for n in range(23, 8, -1)]
    assert lines[-1] == "- … and 2 more, not shown here"
    assert "Active memories: 17/24 (" in core_text(found, {}, NOW)


def test_every_type_has_a_section():
    found = [made(f"m-{name.replace('_', '-')}", name, importance=1.0) for name in TYPES]
    told = sections(core_text(found, {}, NOW))
    lines = [line for part in told.values() for line in part]
    assert len(lines) == len(TYPES) and all(told.values())
    assert told["How to Work"] == ["- [M-feedback](m-feedback.md)"]


@pytest.mark.parametrize(("kind", "shown"), [("user", True), ("feedback", True), ("project", False)])
def test_what_a_person_said_of_themselves_never_fades_from_it(kind, shown):
    old = made("old", kind, created=NOW - timedelta(days=400), updated=None)
    assert ("[Old]" in core_text([old], {}, NOW)) == shown


@pytest.mark.parametrize("values", [{"status": "done"}, {"completed_at": NOW}])
def test_a_finished_task_is_none_of_the_open_ones(values):
    old = {"created": NOW - timedelta(days=400), "updated": None}
    found = [made("open", "task", **old), made("over", "task", importance=1.0, **values)]
    text = core_text(found, {}, NOW)
    assert sections(text)["Open Tasks"] == ["- [Open](open.md)"] and "memories: 1/2 " in text


def test_all_of_it_stays_within_its_characters_and_no_section_starves():
    found = [
        made(f"{kind.replace('_', '-')}-{n:02}-{'t' * 130}", kind, importance=1.0, tags=("tag" * 20,))
        for kind in TYPES
        for n in range(20)
    ]
    text = core_text(found, {}, NOW)
    told = sections(text)
    assert 11_500 < len(text) <= 12_000
    assert all(len(lines) > 2 for lines in told.values())
    counted = sum(int(lines[-1].split()[3]) for lines in told.values())
    assert counted + sum(len(lines) - 1 for lines in told.values()) == len(found)


def test_one_long_title_takes_no_room_of_others():
    text = core_text([memory("a", type="fix", title="t" * 2000, path="a.md")], {}, NOW)
    assert len(text) < 600 and "t…](a.md)" in text

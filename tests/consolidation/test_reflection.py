"""REFLECTION.md after dreams: themes, uses, insights, and what the dreams did, each from its own source."""

from dataclasses import replace

import orjson

from pipeline.store import fsck
from tests.support.dreaming import note, op, planned

TABS = note("tabs-please", "Indent the shop with tabs. It is a house rule.", type="feedback")
TABS_TOO = note("shop-tabs", "The shop indents with tabs.", "2026-03-02", type="feedback")
MERGE = op(
    "merge", "tabs-please", "shop-tabs", into="tabs-please",
    description="The shop is indented with tabs.", statement="Indent the shop with tabs. It is a house rule.",
)  # fmt: skip
CLOCK = note("clock-report", "The report lost an hour because of local time.", type="insight")
HEAD = (
    "# Reflection Summary (auto-generated)\n"
    "> Last updated: {0} | Last reflection: {0} | Total reflections: {1}\n\n## Themes\n"
)


def section(text: str, title: str) -> list[str]:
    return text.partition(f"## {title}\n")[2].partition("\n\n## ")[0].strip().splitlines()


def test_it_says_what_the_memories_are_about_and_what_dreams_did(bench):
    tagged = [replace(TABS, tags=("style", "shop")), replace(CLOCK, tags=("shop", "style", "time"))]
    bench.keep(*tagged, TABS_TOO)
    (bench.store.root / "_state.json").write_bytes(
        orjson.dumps({"version": 1, "entries": {CLOCK.id: {"access_count": 4}}})
    )
    bench.model(planned(MERGE))
    assert bench.dream().word == "done"
    text = (bench.store.root / "REFLECTION.md").read_text("utf-8")
    day = bench.clock.at.date().isoformat()
    assert text.startswith(HEAD.format(day, 1))
    clock = f"[{CLOCK.shown_title}]({bench.documents()['clock-report'].path})"
    themes = section(text, "Themes")
    assert themes[2:] == [
        f'- **shop + style**: 2 memories ("{CLOCK.shown_title}", "{TABS.shown_title}")',
        f'- **shop + time + style**: 1 memory ("{CLOCK.shown_title}")',
    ]
    assert section(text, "Most Accessed")[2:] == [f"1. {clock} - 4 accesses"]
    assert section(text, "Recent Insights")[2:] == [f"- {clock} - {CLOCK.body.strip()}"]
    assert section(text, "Consolidation History") == ["- Total merges performed: 1"]
    page = (bench.store.root / "episodes" / f"{day}.md").read_text("utf-8")
    assert "- Merged shop-tabs into tabs-please\n- **Type:** merge\n- **Tags:** style, shop\n" in page
    assert "- **Type:** reflection\n- **Summary:** merge: tabs-please, shop-tabs, into tabs-please\n" in page
    assert fsck(bench.store) == [] and "REFLECTION" not in bench.names()


def test_a_dream_that_found_nothing_to_do_has_a_report_and_counts_not(bench):
    bench.keep(note("lone-rule", "Ship on Mondays."))
    assert bench.dream().word == "nothing"
    assert len([*(bench.home / "reports").glob("*.json")]) == 1
    bench.later(hours=25)
    bench.keep(TABS, TABS_TOO)
    bench.model(planned(MERGE))
    assert bench.dream().word == "done"
    text = (bench.store.root / "REFLECTION.md").read_text("utf-8")
    assert text.startswith(HEAD.format(bench.clock.at.date().isoformat(), 1))
    assert section(text, "Consolidation History") == ["- Total merges performed: 1"]


def test_every_dream_that_did_something_counts_once(bench):
    bench.keep(TABS, TABS_TOO)
    bench.model(planned(MERGE))
    bench.dream()
    bench.later(hours=25)
    bench.keep(
        replace(CLOCK, type="fix"), note("shop-clock", "The report lost an hour.", "2026-03-03", type="fix")
    )
    bench.model(planned(op("relate", "clock-report", "shop-clock", relation="RELATED_TO")))
    assert [a.op for a in bench.dream().actions] == ["relate"]
    text = (bench.store.root / "REFLECTION.md").read_text("utf-8")
    assert section(text, "Consolidation History") == ["- Total merges performed: 1"]
    assert text.startswith(HEAD.format(bench.clock.at.date().isoformat(), 2))


def test_a_file_of_that_name_that_somebody_wrote_stays(bench):
    bench.keep(TABS, TABS_TOO)
    (bench.store.root / "REFLECTION.md").write_text("# My own thoughts\n", "utf-8")
    bench.model(planned(MERGE))
    assert bench.dream().word == "done"
    assert (bench.store.root / "REFLECTION.md").read_text("utf-8") == "# My own thoughts\n"

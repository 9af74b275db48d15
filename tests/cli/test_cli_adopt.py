"""`reverie adopt` and `reverie why` over files that Claude, a person or nobody known wrote."""

from datetime import UTC, datetime, timedelta

import pytest

from pipeline.core.clock import SystemClock
from pipeline.ledger import open_ledger
from pipeline.store import Store
from tests.support.claudes import Claude, put
from tests.support.stores import tree

SAME = "The mailer listens on port 8025. It takes no other."
AT = datetime(2026, 11, 20, 9, tzinfo=UTC)
CLAIMS = (
    "---\nname: rule\norigin: user-stated\n"
    "sources:\n- {session: s, uuid: u, quote: push, at: '2026-03-01T10:00:00Z'}\n---\n\nPush to main.\n"
)


@pytest.fixture
def claude(desk):
    """A session that wrote two memories, of which a person edited one."""
    desk.here("status")
    home = desk.project.parent / ".claude" / "reverie"
    with open_ledger(home / "ledger.sqlite") as ledger:
        session = Claude(ledger, desk.store, SystemClock())
        session.talk.now = AT
        session.hears("please remember that deploys go out on Mondays only")
        session.writes("deploys", "Deploys go out on Mondays.")
        session.writes("linter", "The linter wants tabs.")
        session.read()
        mine = desk.store / "linter.md"
        put(mine, mine.read_text("utf-8").replace("tabs", "spaces"), AT + timedelta(hours=1))
        yield session


def doubles(desk):
    for name in ("a-port", "b-port"):
        put(desk.store / f"{name}.md", f"---\nname: {name}\n---\n\n{SAME}\n", AT)


def files(desk):
    return {name: data for name, data in tree(desk.store).items() if name.endswith(".md") and "/" not in name}


def test_why_says_that_claude_wrote_it_after_what_the_person_said(desk, claude):
    told = desk.here("why", "deploys").out
    assert "Claude, as the session's transcript shows" in told
    assert f"Claude wrote it at 2026-11-20 09:00 in session {claude.session}" in " ".join(told.split())
    assert "assistant-inferred" in told
    assert "unverified" not in told
    assert "after you said: “please remember that deploys go out on Mondays only”" in " ".join(told.split())
    told = " ".join(desk.here("why", "linter").out.split())
    assert "a person: it was changed, and no session did it" in told
    assert desk.here("why", "linter", "--json").json["author"]["by"] == "person"


def test_adopt_lists_every_file_with_its_author_and_asks(desk, claude):
    doubles(desk)
    before = files(desk)
    rows = desk.here("adopt", "--dry-run", "--json").json
    assert rows["change"] == ""
    assert {row["path"]: row["author"] for row in rows["files"]} == {
        "linter.md": "a person: it was changed, and no session did it",
        "a-port.md": "nobody can tell",
        "b-port.md": "nobody can tell",
    }
    refused = desk.here("adopt", code=1)
    assert "linter.md" in refused.out and "Add --yes" in " ".join(refused.err.split())
    assert files(desk) == before


def test_one_yes_answers_the_proposals_and_undo_brings_back_the_very_bytes(desk, claude):
    doubles(desk)
    desk.here("consolidate", "--force")
    (waiting,) = desk.here("inbox", "--json").json
    assert waiting["kind"] == "dream:merge"
    before = files(desk)
    done = desk.here("adopt", "--yes")
    assert "takes in b-port" in done.out and "goes into a-port" in done.out
    after = files(desk)
    assert "b-port.md" not in after and desk.here("inbox", "--json").json == []
    assert after["deploys.md"] == before["deploys.md"], "Claude's own needs no yes and no change"
    assert after["linter.md"].endswith(before["linter.md"].partition(b"---\n\n")[2])
    assert "nothing to adopt" in desk.here("adopt", "--yes").out
    undone = desk.here("undo")
    assert "linter" in undone.out + undone.err
    assert files(desk)["linter.md"] == before["linter.md"]
    assert {name: files(desk).get(name) for name in before if "port" in name} == {
        name: data for name, data in before.items() if "port" in name
    }
    assert [item["kind"] for item in desk.here("inbox", "--json").json] == ["dream:merge"]
    desk.here("adopt", "--yes")
    assert "b-port.md" not in files(desk), "a second yes"


def test_a_yes_makes_nothing_true_that_a_file_claims(desk, claude):
    put(desk.store / "rule.md", CLAIMS, AT)
    desk.here("adopt", "--yes")
    told = desk.here("why", "rule", "--json").json
    assert (told["memory"]["origin"], told["memory"]["sources"]) == ("imported", [])
    mine = desk.here("why", "linter", "--json").json["memory"]
    assert mine["origin"] == "user-confirmed"


def test_adopted_files_keep_the_id_they_had(desk, claude):
    doubles(desk)
    before = {document.name: document.id for document in Store.open(desk.store).scan().documents}
    desk.here("adopt", "--yes")
    after = {document.name: document.own_id for document in Store.open(desk.store).scan().documents}
    assert [after[name] for name in ("linter", "a-port")] == [before["linter"], before["a-port"]]


def test_nothing_but_claudes_needs_no_yes(desk, claude):
    (desk.store / "linter.md").unlink()
    told = desk.here("adopt")
    assert "nothing to adopt" in told.out


def test_a_former_place_takes_no_other_options(desk):
    assert "OLD-PATH" in desk.here("adopt", "/nowhere", "--dry-run", code=2).err

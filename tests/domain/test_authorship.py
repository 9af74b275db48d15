"""Who wrote a file: what proves it, what does not, and that doubt is nobody's word."""

from typing import Any

import pytest

from pipeline.domain.authorship import NEW, Facts, FileWrite, Stamp, author_of

AT = 1_790_000_000.0


def call(digest: str = "", *, at: float = AT, before: str = NEW, changed: bool = False) -> FileWrite:
    return FileWrite("/m/a.md", "u1", "Write", "s1", at, at + 1, digest, before, changed)


def facts(text: str, mtime: float, found: Stamp | None = None, **more: Any) -> Facts:
    return Facts(text, mtime, **{"now": AT + 100_000, "stamp": found, **more})


def stamp(session: str, at: float, *, was_here: bool = True) -> Stamp:
    return Stamp(session, at, was_here)


def by(facts: Facts, *writes: FileWrite) -> tuple[str, str]:
    found = author_of(facts, writes)
    return found.by, found.sign


def test_a_call_proves_the_very_text_it_left_whenever_the_file_was_touched() -> None:
    assert by(facts("d1", AT + 9_999), call("d1")) == ("claude", "call")
    assert by(facts("d1", AT + 9_999), call("d1"), call("d2", at=AT + 50)) == ("claude", "call")
    assert by(facts("d3", AT), call("d1")) == ("person", "changed")


@pytest.mark.parametrize(
    ("mtime", "expected"),
    [(AT, "claude"), (AT - 2, "claude"), (AT + 4, "claude"), (AT - 3, "unknown"), (AT + 5, "unknown")],
)
def test_a_call_whose_text_is_unknown_counts_within_its_seconds(mtime: float, expected: str) -> None:
    assert by(facts("d1", mtime), call())[0] == expected


def test_only_the_last_call_counts_by_its_time() -> None:
    assert by(facts("d9", AT), call(), call("d2", at=AT + 100))[0] == "person"


def test_a_call_without_a_known_time_proves_nothing_by_it() -> None:
    assert by(facts("d1", AT), FileWrite("/m/a.md", "u", "Write", "s", None, None)) == ("unknown", "none")


def test_what_a_person_changed_in_the_clients_dialog_is_theirs() -> None:
    changed = call("d1", changed=True)
    assert by(facts("d1", AT, stamp("s1", AT)), changed) == ("person", "dialog")
    # Its text can't be told, and the stamp is that of the same call.
    assert by(facts("d1", AT, stamp("s1", AT)), call("", changed=True))[0] == "unknown"


@pytest.mark.parametrize(
    ("away", "expected"),
    [(0.01, "claude"), (-2.0, "claude"), (-2.1, "unknown"), (1.1, "unknown"), (86_400.0, "unknown")],
)
def test_the_stamp_counts_at_the_moment_it_names_only(away: float, expected: str) -> None:
    assert by(facts("d1", AT + away, stamp("s1", AT)))[0] == expected


def test_a_stamp_counts_only_for_a_session_that_was_here() -> None:
    assert by(facts("d1", AT, stamp("s1", AT))) == ("claude", "stamp")
    assert by(facts("d1", AT, stamp("s1", AT, was_here=False))) == ("unknown", "none")


def test_a_time_ahead_of_the_clock_never_counts() -> None:
    assert by(facts("d1", AT, stamp("s1", AT), now=AT)) == ("claude", "stamp")
    assert by(facts("d1", AT, stamp("s1", AT), now=AT - 0.01)) == ("unknown", "none")
    assert by(facts("d1", AT - 1, stamp("s1", AT), now=AT - 0.5)) == ("unknown", "none"), "the stamp is ahead"
    assert by(facts("d1", AT, stamp("s1", AT - 1), now=AT - 0.5)) == ("unknown", "none"), "the file is ahead"


def test_what_was_known_and_has_other_bytes_is_looked_at_before_the_stamp() -> None:
    assert by(facts("d1", AT, stamp("s1", AT), was_seen=True, was_known=True)) == ("person", "changed")


def test_an_edit_in_the_very_second_is_not_claudes_where_the_transcript_has_the_text() -> None:
    assert by(facts("d2", AT + 0.5, stamp("s1", AT)), call("d1")) == ("person", "changed")
    later = stamp("s2", AT + 600)
    assert by(facts("d2", AT + 600, later), call("d1")) == ("claude", "stamp"), "a later session wrote it"


def test_bytes_nobody_explains_are_a_persons_where_somebody_known_wrote_before() -> None:
    assert by(facts("d1", AT, was_known=True)) == ("person", "changed")
    assert by(facts("d1", AT)) == ("unknown", "none")


def test_what_goes_on_from_claudes_own_text_is_claudes_alone() -> None:
    calls = call("d1"), call("d2", at=AT + 9, before="d1"), call("d3", at=AT + 18, before="d2")
    assert by(facts("d3", AT + 18), *calls) == ("claude", "call")
    assert author_of(facts("d3", AT + 18), calls).alone
    # Reverie had merged it meanwhile, and noted that it was still nobody else's.
    assert by(facts("d3", AT + 18, tended="r1"), call("d3", before="r1")) == ("claude", "call")


def test_an_edit_of_a_text_that_nobody_vouches_for_is_mixed() -> None:
    by_hand = call("d1"), call("d3", at=AT + 9, before="by hand")
    assert by(facts("d3", AT + 9), *by_hand) == ("claude", "mixed")
    assert by(facts("d4", AT), *by_hand, call("d4", before="d3")) == ("claude", "mixed"), "and stays so"
    assert by(facts("d3", AT), call("d3", before="")) == ("claude", "mixed")
    assert not author_of(facts("d3", AT + 9), by_hand).alone


def test_a_stamp_or_a_time_goes_on_from_what_was_seen_last() -> None:
    found = stamp("s2", AT)
    assert by(facts("d1", AT, found, was_seen=True)) == ("claude", "mixed")
    assert by(facts("d1", AT, found, was_seen=True, tended="d0")) == ("claude", "stamp")
    assert by(facts("d1", AT, was_seen=True), call()) == ("claude", "mixed")

"""One table of characters that nobody sees, and what each door makes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.cli import output
from pipeline.extraction.known_memories import Known, in_full
from pipeline.recall.live import fence
from pipeline.safety import guard, invisible
from pipeline.store.files import memory_index
from pipeline.text.quotes import quoted_in
from pipeline.verify.barred import bar
from tests.safety import unicode_table
from tests.support.hidden import HIDDEN, ORDINARY, SECRET_ORDER, in_selectors
from tests.support.stores import memory

REMOVING = {
    "visible": invisible.visible,
    "visible_line": invisible.visible_line,
    "the fence": fence.neutralise,
    "an attribute of the fence": fence.label,
    "a line of MEMORY.md": memory_index.inert,
    "a memory shown to a model": lambda text: in_full(Known(memory("m", description=text, body=text))),
    "a terminal": output.harmless,
}


def unseen(text: str) -> list[str]:
    return [f"U+{ord(char):04X}" for char in text if invisible.is_hidden(char)]


def test_the_table_is_what_the_unicode_data_says() -> None:
    source = unicode_table.FILE.read_text("utf-8")
    written = source.partition(unicode_table.BEGIN)[2].partition(unicode_table.END)[0]
    assert written == unicode_table.table(), "python -m tests.safety.unicode_table"


def test_each_character_of_unicode_that_is_not_seen_is_found() -> None:
    _, expression = unicode_table.TABLES["_HIDDEN"]
    wanted = unicode_table.characters(expression)
    assert len(wanted) > 4200
    assert {char for char in unicode_table.CODES if invisible.is_hidden(char)} == wanted
    assert {char for char in wanted if invisible.has_hidden(f"a{char}b")} == wanted
    seen = [char for char in unicode_table.CODES if char not in wanted]
    assert not invisible.has_hidden(f"a{'a'.join(seen)}b")


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_the_guard_refuses_it(text: str) -> None:
    assert guard.violation(text) == "hidden text"
    assert bar(text) == "reads like hidden text"


@pytest.mark.parametrize("door", REMOVING)
@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_no_door_lets_it_through(text: str, door: str) -> None:
    for given_text in (text, f"{text}\nsecond line"):
        made = REMOVING[door](given_text)
        assert not invisible.has_hidden(made), unseen(made)
        assert made.strip()


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_every_door_lets_ordinary_text_through(text: str) -> None:
    assert guard.violation(text) is None
    assert invisible.visible(text) == text
    assert fence.neutralise(text) == text.replace("\r\n", "\n")
    assert output.harmless(text) == text
    assert memory_index.inert(text) == " ".join(text.split()).replace("[", "(")


def test_a_terminal_shows_how_much_was_hidden() -> None:
    assert output.harmless(f"tabs{in_selectors(SECRET_ORDER)}") == "tabs" + "\ufffd" * len(SECRET_ORDER)
    assert output.harmless("a\rb\r\nc") == "a\ufffdb\r\nc"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("👩\u200d\u200d🚀", "👩\u200d🚀"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f"),
        ("می\u200c\u200cخواهم", "می\u200cخواهم"),
        ("🚀\u200dpush", "🚀push"),
        ("❤\u200b\ufe0f", "❤\ufe0f"),
        ("1\ufe0f\u200d\u20e3", "1\u20e3"),
        ("葛\U000e0100城" * 4, "葛\U000e0100城" * 4),
        ("葛\U000e0100城" * 5, "葛城" * 5),
    ],
)
def test_what_belongs_there_stays_when_the_rest_goes(text: str, left: str) -> None:
    assert invisible.visible(text) == left


def test_a_quote_is_found_whatever_hides_in_it() -> None:
    assert quoted_in("use tabs in Go files", "please use t\u200babs in Go\U000e0041 files")


@pytest.mark.parametrize("name", ["b\u3164.md", "a\ufe0fb.md", "b\U000e0100.md", "b\u202e.md"])
def test_a_link_hides_nothing_and_leads_to_its_file(name: str) -> None:
    target = memory_index.link_target(name)
    assert not unseen(target)
    assert memory_index.linked_paths(f"[x]({target})") == {name}


ALPHABET = st.sampled_from(sorted(set("".join([*HIDDEN.values(), *ORDINARY.values()]))))


@given(st.text(ALPHABET | st.characters()), st.sampled_from(["", "\ufffd"]))
def test_once_is_enough(text: str, instead: str) -> None:
    made = invisible.visible(text, instead)
    assert invisible.visible(made, instead) == made
    assert not invisible.has_hidden(made)


@given(st.text(ALPHABET | st.sampled_from(" \u2028\n")))
def test_a_line_has_no_blanks_where_something_hidden_was(text: str) -> None:
    made = invisible.visible_line(text)
    assert invisible.visible_line(made) == made == made.strip() and "  " not in made


@given(st.text(ALPHABET))
def test_nothing_that_can_be_seen_is_lost(text: str) -> None:
    seen = [char for char in text if not invisible.is_hidden(char)]
    assert [char for char in invisible.visible(text) if not invisible.is_hidden(char)] == seen


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a.md", "a.md"),
        ("graph/Ärger 日本\u3000x.md", "graph/Ärger 日本\u3000x.md"),
        ("a\nb\tc\r.md", "a\\nb\\tc\\r.md"),
        ("e\x1b[31m.md", "e\\x1b[31m.md"),
        ("caf\udce9.md", "caf\\xe9.md"),
        ("a\u202eb\u200bc\u2028d\x85.md", "a\\u202eb\\u200bc\\u2028d\\x85.md"),
        ("tag\U000e0041.md", "tag\\U000e0041.md"),
        ("lone\ud800.md", "lone\\ud800.md"),
    ],
)
def test_a_files_name_stands_on_one_line_and_all_of_it_is_seen(name: str, shown: str) -> None:
    assert invisible.visible_name(name) == shown
    assert len(shown.splitlines()) == 1 and not invisible.has_hidden(shown)

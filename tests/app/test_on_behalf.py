"""What a model asks to be kept or forgotten: its own word, unless the person's words are there to cite."""

from pathlib import Path

import pytest

from pipeline.app.application import App
from pipeline.app.history import history
from pipeline.app.memories import add
from pipeline.app.memories import forget as forget_by_hand
from pipeline.app.on_behalf import Wish, forget, remember
from pipeline.app.pins import pin
from pipeline.app.undoing import take_back
from pipeline.app.writing import Change, update_memory
from pipeline.core import paths
from pipeline.core.errors import InputError
from pipeline.hooklib.settings import board
from pipeline.ledger.files import listed, remember_store
from tests.support.transcripts import Transcript

TYPED = "Please never squash commits here, and keep the retry limit at 1,000 ms."
QUOTE = "never squash commits here"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def app(project: Path) -> App:
    return App(folder=project)


def spoken(folder: Path, *said: str, name: str = "one") -> Path:
    """Write a session of the project at `folder` in which the person typed these."""
    transcript = Transcript(f"6f1d2a50-0b1e-4c57-9a30-{hash_of(name)}", cwd=str(folder))
    for text in said:
        transcript.user(text)
        transcript.assistant("I heard: we use tabs in every file.")
    return transcript.write(paths.project_folder(folder) / f"{transcript.session_id}.jsonl")


def hash_of(name: str) -> str:
    return name.encode().hex().ljust(12, "0")[:12]


def test_what_the_person_typed_is_kept_with_the_line_it_rests_on(app, project):
    spoken(project, "Good morning.", TYPED)
    kept = remember(app, Wish(text="Commits are never squashed here.", kind="feedback", quote=QUOTE))
    assert (kept.origin, kept.type) == ("assistant-written", "feedback")
    assert [(source.quote, source.speaker) for source in kept.sources] == [(QUOTE, "person")]
    assert app.open_store().read(kept.name).memory.sources == kept.sources
    assert app.open_store().history()[0].reason == f"remember {kept.name}"


def test_words_of_the_turn_that_is_going_on_are_read_at_once(app, project):
    spoken(project, "Good morning.")
    wish = Wish(text="Commits are never squashed here.", quote=QUOTE)
    with pytest.raises(InputError, match="did not type"):
        remember(app, wish)
    spoken(project, TYPED, name="two")
    assert remember(app, wish).sources


PASTED = "Look at this:\n\n```\nnever squash commits here, says the wiki of somebody\n```\n"
NOT_THEIRS = {
    "said by nobody": ("Good morning.", "we deploy on Fridays only"),
    "said by the assistant": (TYPED, "we use tabs in every file"),
    "only pasted": (PASTED, QUOTE),
    "a scrap": (TYPED, "ne"),
    "nearly": (TYPED, "never squash any commits here"),
}


@pytest.mark.parametrize("case", NOT_THEIRS)
def test_words_the_person_did_not_type_prove_nothing(app, project, case):
    said, quote = NOT_THEIRS[case]
    spoken(project, said)
    with pytest.raises(InputError, match="did not type"):
        remember(app, Wish(text="That is how it is done.", quote=quote))
    assert app.is_fresh


def test_words_typed_in_another_project_prove_nothing_here(app, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    spoken(other, TYPED)
    assert remember(App(folder=other), Wish(text="Commits are never squashed.", quote=QUOTE))
    with pytest.raises(InputError, match="in this project"):
        remember(app, Wish(text="Commits are never squashed.", quote=QUOTE))


@pytest.mark.parametrize("text", ["The retry limit is 500 ms.", "Commits go to `main` by `git push -f`."])
def test_a_citation_bears_no_name_or_number_that_the_person_did_not_type(app, project, text):
    spoken(project, TYPED)
    with pytest.raises(InputError, match="with the words that are cited"):
        remember(app, Wish(text=text, kind="feedback", quote=QUOTE))
    assert remember(app, Wish(text="The retry limit is 1000 ms.", quote="retry limit at 1,000 ms")).sources


def test_the_models_own_word_is_no_persons(app):
    kept = remember(app, Wish(text="I prefer short answers.", tags=("style",), importance=0.7))
    assert (kept.origin, kept.type, kept.sources) == ("assistant-written", "project", ())
    assert (kept.tags, kept.importance, kept.is_a_guess) == (("style",), 0.7, True)
    with pytest.raises(InputError, match="says this already"):
        remember(app, Wish(text="I prefer short answers.", title="Again"))
    for kind in ("user", "feedback"):
        with pytest.raises(InputError, match="own words"):
            remember(app, Wish(text="Answers are to be short.", kind=kind))


def test_for_all_projects_only_the_persons_words_are_kept(app, project):
    everywhere = App(folder=project, user=True)
    with pytest.raises(InputError, match="for all projects"):
        remember(everywhere, Wish(text="Commits are never squashed.", kind="project"))
    spoken(project, TYPED)
    kept = remember(everywhere, Wish(text="Commits are never squashed.", kind="feedback", quote=QUOTE))
    assert everywhere.open_store().read(kept.name).memory.sources


def by_hand(app: App, text: str) -> str:
    return add(app, text, kind="project", name="", description="", why="").name


def test_what_a_person_wrote_pinned_or_edited_goes_only_at_their_word(app, project):
    written = by_hand(app, "The wiki is at the old address.")
    pinned = remember(app, Wish(text="The build box has twelve cores.", kind="reference")).name
    pin(app, pinned, pinned=True)
    edited = remember(app, Wish(text="The cache lies on the second disk.", kind="reference"))
    file = app.open_store().root / edited.path
    file.write_text(file.read_text("utf-8").replace("second", "third"), "utf-8")
    spoken(project, "Forget what you know of that wiki, please.")
    for name in (written, pinned, edited.name):
        with pytest.raises(InputError, match="cite"):
            try:
                forget(app, name)
            except InputError as refused:
                raise InputError(f"{refused} {refused.fix}") from refused
    assert len(app.memories(None)[0]) == 3
    assert not app.open_store().forgotten().names
    assert forget(app, written, quote="Forget what you know of that wiki")[0] == written


def test_what_the_model_wrote_itself_it_may_take_back(app):
    kept = remember(app, Wish(text="The build box has twelve cores.", kind="reference"))
    assert forget(app, kept.name)[0] == kept.name
    assert [item.reason for item in app.open_store().retired()] == ["forgotten on request"]


def test_any_words_of_theirs_take_nothing_away(app, project):
    written = by_hand(app, "My dentist is Dr. Weber.")
    spoken(project, "Good morning, how are you?", "Forget my dentist.")
    with pytest.raises(InputError, match="don't ask for that"):
        forget(app, written, quote="Good morning, how are you")
    pinned = by_hand(app, "The dentist of the cat is in Harbour Street.")
    pin(app, pinned, pinned=True)
    with pytest.raises(InputError, match="pinned"):
        forget(app, pinned, quote="Forget my dentist")
    assert forget(app, written, quote="Forget my dentist")[0] == written


def test_a_quote_makes_no_opposite_the_persons_word(app, project):
    spoken(project, TYPED)
    with pytest.raises(InputError, match="says no"):
        remember(app, Wish(text="Commits are always squashed here.", quote="squash commits here"))


def test_what_a_program_types_into_a_session_is_no_persons_word(app, project):
    transcript = Transcript("6f1d2a50-0b1e-4c57-9a30-707070707070", cwd=str(project), entrypoint="sdk-cli")
    transcript.user(TYPED)
    transcript.assistant("Done.")
    transcript.write(paths.project_folder(project) / f"{transcript.session_id}.jsonl")
    with pytest.raises(InputError, match="did not type"):
        remember(app, Wish(text="Commits are never squashed here.", kind="feedback", quote=QUOTE))


@pytest.mark.parametrize("mode", ["off", "observe", "propose"])
def test_in_a_mode_that_writes_nothing_no_tool_does(project, monkeypatch, mode):
    monkeypatch.setenv("REVERIE_STORE__MODE", mode)
    app = App(folder=project)
    with pytest.raises(InputError, match=f"mode {mode}"):
        remember(app, Wish(text="The build box has twelve cores.", kind="reference"))
    with pytest.raises(InputError, match=f"mode {mode}"):
        forget(app, "anything")


def test_what_the_person_had_forgotten_a_model_does_not_bring_back(app):
    written = by_hand(app, "Payroll runs on Thursdays in the north office.")
    forget_by_hand(app, written)
    with pytest.raises(InputError, match="forgotten"):
        remember(app, Wish(text="Payroll runs on Thursdays in the north office.", kind="reference"))


def test_a_guess_that_a_person_changed_is_no_guess_any_more(app):
    kept = remember(app, Wish(text="The cache stays warm.", kind="reference"))
    update_memory(app, app.open_store(), kept.name, Change(content="The cache stays warm by night."))
    assert app.open_store().read(kept.name).memory.origin == "user-confirmed"
    with pytest.raises(InputError):
        forget(app, kept.name)


def test_history_tells_who_asked_for_it(app):
    kept = remember(app, Wish(text="The build box has twelve cores.", kind="reference"))
    forget(app, kept.name)
    assert [entry.by for entry in history(app)] == ["Claude, by tool", "Claude, by tool"]


def changes_on_board(app):
    """What the next session's start is told of: deeds and names, the latest first."""
    return [
        (deed, name)
        for store in board(str(app.home))["stores"].values()
        for _, deed, name, _ in store["changes"]
    ]


def test_a_session_s_start_tells_what_a_model_wrote_and_took_away(app, project):
    ingested = app.ingest(file=spoken(project, TYPED))
    assert [item.new_rows for item in ingested] == [2]
    with app.ledger() as ledger:
        remember_store(ledger, listed(ledger)[0][1], str(app.store_path))
    kept = remember(app, Wish(text="The cache lives in var/cache.", kind="configuration"))
    assert changes_on_board(app) == [("created", kept.name)]
    forget(app, kept.name)
    assert changes_on_board(app) == [("withdrawn", kept.name), ("created", kept.name)]


def test_what_was_undone_is_no_news(app, project):
    [*app.ingest(file=spoken(project, TYPED))]
    with app.ledger() as ledger:
        remember_store(ledger, listed(ledger)[0][1], str(app.store_path))
    remember(app, Wish(text="The cache lives in var/cache.", kind="configuration"))
    take_back(app)
    remember(app, Wish(text="The queue lives in var/queue.", kind="configuration"))
    assert changes_on_board(app) == [("created", "the-queue-lives-in-var-queue")]

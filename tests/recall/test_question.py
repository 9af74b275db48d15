"""What of a prompt is a question, and what is a command, a paste, or a thank-you."""

import pytest

from pipeline.recall.live import question

PASTE = "\n".join(f"2026-11-27 10:00:{at:02d} INFO worker lease renewed" for at in range(40))


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "   \n",
        "ok",
        "yes please, go ahead",
        "thanks, that looks great!",
        "ja bitte weiter",
        "merci !",
        "谢谢",
        "continue",
        "what do you think about it?",
        "/compact",
        "/review staging deploy",
        "/plugin:skill deploy",
        "!git push origin staging",
        "<task-notification>deploy of staging done</task-notification>",
        "<command-name>/deploy</command-name>",
        "[Request interrupted by user]",
        "This session is being continued from a previous conversation about deploys.",
        "```\ndeploy staging\n```",
        "> deploy staging",
        "<system-reminder>deploy staging</system-reminder>",
        "👍",
    ],
)
def test_most_prompts_ask_for_no_memory(prompt):
    assert question.parse_question(prompt, "we were talking about the deploy to staging").own == []


@pytest.mark.parametrize(
    ("prompt", "own"),
    [
        ("how do we deploy to staging", ["deploy", "stag"]),
        ("/etc/hosts on staging is wrong", ["etc", "host", "stag", "wrong"]),
        ("/tmp is full on staging", ["tmp", "full", "stag"]),
        ("deploy\n```\nsecret paste\n```\nto staging", ["deploy", "stag"]),
        ("deploy it [Image #1] [Pasted text #2 +20 lines]", ["deploy"]),
        ("<ide_opened_file>The user opened x.py</ide_opened_file>deploy", ["deploy"]),
        ("staging のデータベース", ["stag", "のデ", "デー", "ータ", "タベ", "ベー", "ース"]),
    ],
)
def test_the_persons_own_words_are_what_counts(prompt, own):
    assert question.parse_question(prompt).own == own


def test_only_a_name_the_host_has_is_a_command(tmp_path):
    prompt = "/ship-it deploy to staging"
    assert question.parse_question(prompt, cwd=str(tmp_path / "src")).own
    command = tmp_path / ".claude" / "commands" / "ship-it.md"
    command.parent.mkdir(parents=True)
    command.write_text("Ship it.", "utf-8")
    assert question.parse_question(prompt, cwd=str(tmp_path / "src")).own == []


def test_of_a_paste_nothing_is_looked_up():
    text = question.own_words(f"why does the deploy hang?\n{PASTE}\nsee the last line")
    assert text == "why does the deploy hang?\nsee the last line"


def test_of_many_lines_the_ends_are_kept():
    lines = "\n".join(f"and then the {at}th of the boats" for at in range(40))
    text = question.own_words(f"why does the deploy hang?\n{lines}\nsee the last line")
    assert text.startswith("why does the deploy hang?") and text.endswith("see the last line")
    assert len(text.splitlines()) == 2 * question.KEPT_LINES


def test_only_the_start_of_an_endless_prompt_is_looked_at():
    assert len(question.own_words("word " * 1_000_000)) <= question.LONGEST


def test_context_adds_words_and_repeats_none():
    asked = question.parse_question("and the staging one?", "the deploy to staging uses make ship")
    assert asked.own == ["stag"]
    assert asked.context == ["deploy", "make", "ship"] or asked.context == ["deploy", "ship"]


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("run it with --no-verify, please", ["--no-verify"]),
        ("look at src/app/main.py: line 12", ["src/app/main.py"]),
        ("~/.config/tool/x.toml and /etc/hosts", ["~/.config/tool/x.toml", "/etc/hosts"]),
        ("`readLine` or read_line or a::b?", ["readline", "read_line", "a::b"]),
        ("port 5433 since v2.1.197", ["5433", "v2.1.197"]),
        ("Error E1234 in pyproject.toml.", ["e1234", "pyproject.toml"]),
        ("just some plain words, Twice. and 12 or so", []),
    ],
)
def test_specifics_are_found_as_they_are_typed(text, exact):
    assert question.exact_in(text) == exact


@pytest.mark.parametrize("piece", ["a_", "a.", "a/", "-a", "aA", "a1-", "<a-hook", "`" * 3, "~/"])
@pytest.mark.parametrize("end", ["", "!", "\n", "ä-"])
def test_no_prompt_is_too_tangled_to_be_read(piece, end):
    """A pattern that tries every way to split these would not come back."""
    assert isinstance(question.parse_question(piece * 1_500 + end).exact, list)


def test_terms_are_shown_as_they_were_typed():
    assert question.surface("We're deploying to *Staging*, are we?", ["stag", "deploy", "other"]) == [
        "Staging",
        "deploying",
        "other",
    ]


@pytest.mark.parametrize(
    ("prompt", "found", "apart"),
    [
        ("エラーメッセージの意味", ["セー", "エラ", "ラー", "ーメ", "メッ", "ッセ"], ["セー"]),
        ("部署到预发布环境", ["部署", "发布", "环境"], ["部署", "发布", "环境"]),
        ("部署到预发布环境 deploy", ["deploy", "发布", "布环"], ["deploy", "发布"]),
        ("deploy staging", ["staging", "deploy"], ["staging", "deploy"]),
    ],
)
def test_pairs_of_characters_that_overlap_count_once(prompt, found, apart):
    assert question.parse_question(prompt).apart(found) == apart


def test_only_a_prompt_of_few_words_is_looked_up_by_what_was_said_before():
    before = "the staging server refuses the key"
    assert question.parse_question("restart the payment queue worker", before).context == []
    assert question.parse_question("restart it", before).context != []

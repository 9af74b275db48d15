from pathlib import Path

import pytest

from pipeline.core.errors import PromptError
from pipeline.llm import prompts

HEAD = "---\ntitle: T\npurpose: p\nvariables: [one, two]\n---\n"


def made(folder: Path, text: str) -> prompts.Prompt:
    (folder / "try.user.md").write_text(text, "utf-8")
    return prompts.load("try.user", folder)


def test_values_go_in_verbatim_and_only_once(tmp_path: Path) -> None:
    prompt = made(tmp_path, HEAD + "A {{ one }} and {{two}}, {{ one }}.\n")
    assert prompt.render(one="{{ two }} \\1", two=2) == "A {{ two }} \\1 and 2, {{ two }} \\1."
    assert (prompt.title, prompt.purpose, prompt.variables) == ("T", "p", {"one", "two"})


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"one": 1}, "two is missing"),
        ({"one": 1, "two": 2, "three": 3}, "three is not a variable"),
        ({}, "one is missing; two is missing"),
    ],
)
def test_missing_and_extra_values_are_errors(tmp_path: Path, values: dict[str, int], told: str) -> None:
    prompt = made(tmp_path, HEAD + "{{ one }}{{ two }}")
    with pytest.raises(PromptError, match=rf"try\.user\.md.*{told}"):
        prompt.render(**values)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (HEAD + "{{ one }}\n{{ two }} {{ three }}", 7, "three is not in variables"),
        (HEAD + "{{ one }} {{ two }}\n\n{{ Three }}", 8, "stray braces"),
        (HEAD + "{{ one }} {{ two }} }}", 6, "stray braces"),
        (HEAD + "{{ one }}", 1, "two is listed but never used"),
        ("no front matter", 1, "purpose, title, variables"),
        (HEAD.replace("title", "titel") + "{{ one }}{{ two }}", 1, "titel"),
        (HEAD.replace("[one, two]", "one"), None, "list of names"),
        (HEAD.replace("[one, two]", "[one"), None, "not YAML"),
    ],
)
def test_a_prompt_file_that_is_off_is_named(tmp_path: Path, text: str, line: int | None, told: str) -> None:
    with pytest.raises(PromptError) as caught:
        made(tmp_path, text)
    assert told in str(caught.value) and caught.value.line == line
    assert (caught.value.file or "").endswith("try.user.md")


def test_the_digest_follows_the_wording_alone(tmp_path: Path) -> None:
    one = made(tmp_path, HEAD + "{{ one }}{{ two }}").digest
    assert made(tmp_path, HEAD.replace("title: T", "title: U") + "{{ one }}{{ two }}").digest == one
    assert made(tmp_path, HEAD + "{{ one }}{{ two }}!").digest != one


@pytest.mark.parametrize("name", ["nothing", "../secrets", "Try", "a/b", ""])
def test_a_name_without_a_file_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(PromptError):
        prompts.load(name, tmp_path)


def test_every_prompt_we_ship_loads_and_renders() -> None:
    names = prompts.names()
    assert names
    for name in names:
        prompt = prompts.load(name)
        text = prompt.render(**{variable: f"({variable})" for variable in prompt.variables})
        assert all(f"({variable})" in text for variable in prompt.variables)

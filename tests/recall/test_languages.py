"""A prompt in another language finds the memory whose words it inflects, from the index and from a file."""

import pytest

from tests.support.recall import Desk

CASES = [
    ("ru", "Пароли сотрудников проходят ротацию зимой.", "когда нужна ротация паролей сотрудника?"),
    ("pl", "Kopie zapasowe bazy danych trzymamy w Gdańsku.", "gdzie jest kopia zapasowa baz danych?"),
    ("fi", "Varmuuskopiot tallennetaan palvelimelle.", "millä palvelimella varmuuskopio on?"),
    (
        "de",
        "Die Übersetzungsdienste laufen auf Servern.",
        "welcher Server hat den Uebersetzungsdienst?",
    ),
    ("he", "הגיבויים נשמרים בשרת בחיפה.", "איזה גיבוי נמצא על השרתים?"),
    ("ar", "الفواتير ترسل إلى العملاء.", "هل وصلت فواتير عملاء المتجر؟"),
]


@pytest.mark.parametrize(("code", "fact", "prompt"), CASES)
@pytest.mark.parametrize("indexed", [True, False])
def test_the_hook_finds_an_inflected_memory(
    desk: Desk, code: str, fact: str, prompt: str, indexed: bool
) -> None:
    desk.write(f"note-{code}", fact, "")
    desk.write("staging", "Deploy to staging with make ship.", "")
    if indexed:
        desk.index()
    if not indexed and prompt.isascii():
        # It is taken for English while no memory is known in another language, so one is.
        desk.write("other", "Der Drucker steht im Keller und nicht im Büro.", "")
        desk.index()
        desk.write(f"note-{code}", f"{fact} ", "")
    assert fact in desk.hook(prompt=prompt)


def test_small_words_of_another_language_find_nothing(desk: Desk) -> None:
    desk.write("rule", "Мы всегда проверяем это перед выпуском.", "")
    desk.index()
    assert desk.hook(prompt="а мы это что, всегда так?") == ""

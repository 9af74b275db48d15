"""What counts as a specific, and of which kind it is."""

import pytest

from pipeline.text.specifics import kind_of, specifics


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wait 30 seconds, then 30s, then 30 s.", {"30 s"}),
        ("a 5-minute cache of 1,000 rows", {"5 min", "1000"}),
        ("keep 3.5 GB or 50% free", {"3.5 gb", "50 %"}),
        ("it costs $5", {"5 usd"}),
        ("freeze from 2026-03-04 at 14:30", {"2026-03-04", "14:30"}),
        ("-5 at night", {"-5"}),
        ("run `make test -j4`", {"make test -j4"}),
        ("pass --dry-run or -v", {"--dry-run", "-v"}),
        ("see src/app.py, ~/.netrc and /etc/hosts.", {"src/app.py", "~/.netrc", "/etc/hosts"}),
        (r"on C:\Temp\x.log", {r"c:\temp\x.log"}),
        ("https://a.example/x?y=1.", {"https://a.example/x?y=1"}),
        ("على https://a.example/x؛ وفيه", {"https://a.example/x"}),
        ("見る：https://a.example/削除。", {"https://a.example/削除"}),
        ("«https://a.example/x»", {"https://a.example/x"}),
        ("https://a.example/wiki/Käse", {"https://a.example/wiki/käse"}),
        ("--level=3، ثم", {"--level=3"}),
        (r"在 C:\文档\x.log。", {r"c:\文档\x.log"}),
        ("ask ops@shop.example on localhost:8080", {"ops@shop.example", "localhost:8080"}),
        ("db.shop.internal answers", {"db.shop.internal"}),
        ("the FooBar in snake_case with API_TOKEN", {"foobar", "snake_case", "api_token"}),
        ("needs v1.2.3 and python3.11", {"1.2.3", "python3.11"}),
        ("fixed in #123 by deadbeef12", {"#123", "deadbeef12"}),
        ("the release belongs to Maria Lopez", {"maria", "lopez"}),
        ("リリースはMariaが担当 Ada も", {"maria", "ada"}),
        ("서버는 Jenkins를 쓴다", {"jenkins"}),
        ("เราใช้Jenkinsทุกวัน", {"jenkins"}),
        ('the button says "Save as draft"', {"save as draft"}),
        ("ポートは５４３２、上限は30秒、画面は「設定」", {"5432", "30 s", "設定"}),
        ("tests and/or linters, co-workers", set()),
        ("**Why:** it helps\n\n**How to apply:** always", set()),
        ("Der Server liegt im Keller und die Daten liegen im Schrank auf dem Band", set()),
        ("All files are saved as UTF-8.", {"utf", "8"}),
    ],
)
def test_specifics_of(text, expected):
    assert specifics(text) == expected


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("time", ("wait 30 s", "5-minute", "2 weeks")),
        ("size", ("10 MB", "1.5 gib", "300 bytes")),
        ("money", ("$5", "20 euros", "¥300")),
        ("date", ("on 2026-03-04",)),
        ("clock", ("at 14:30", "at 14:30:05")),
        ("%", ("50 percent",)),
        ("number", ("port 8443", "v1.2.3", "-5")),
        ("path", ("see src/app.py", "https://a.example/x")),
        ("word", ("pass --dry-run", "localhost:8080", "the FooBar")),
    ],
)
def test_a_specific_is_of_one_kind(kind, texts):
    assert {kind_of(specific) for text in texts for specific in specifics(text)} == {kind}


@pytest.mark.parametrize("text", ["x", "a.", "/", "-", "`", '"', "_", "1,", "$1", "A a ", "日本"])
def test_a_hostile_length_is_one_specific_or_few(text):
    assert len(specifics(text * 20_000)) <= 1

"""What a cover must show before anybody is asked: the digits, code, addresses and flags of what it covers."""

from datetime import date

import pytest

from pipeline.verify.cover import misses, names_day

COVERED = [
    ("Wait 30 s.", "Wait 30 s before a retry.", ""),
    ("Wait 30 s.", "Wait half a minute.", "30"),
    ("Python 3.11 runs it.", "Python 3.12 runs it.", "11"),
    ("Keep 3 nodes.", "Keep 13 nodes.", "3"),
    ("ポート８０２５で待つ。", "ポート8025で待ち受ける。", ""),
    ("端口是8025。", "端口是 8026。", "8025"),
    ("المنفذ ٨٠٢٥", "المنفذ ٨٠٢٦", "٨٠٢٥"),
    ("Run `make all` first.", "First run `make all`.", ""),
    ("Run `make all` first.", "First run `make any`.", "make all"),
    ("Use --force.", "Use --Force.", "--force"),
    ("Use -f.", "Use -F.", "-f"),
    ("Use -f.", "Use `-f` there.", ""),
    ("See https://a.example/x.", "See https://a.example/y.", "https://a.example/x"),
    ("It is in src/app.py, too.", "It is in src/app.py.", ""),
    ("It is in src/app.py.", "It is in src/api.py.", "src/app.py"),
    ("It is in C:\\temp\\x.", "It is in C:\\temp\\y.", "C:\\temp\\x"),
    ("A well-known rule.", "A known rule.", ""),
    ("Never push to main.", "Push to main.", ""),
]


@pytest.mark.parametrize(("sentence", "cover", "missing"), COVERED)
def test_a_cover_has_each_number_code_and_address_of_what_it_covers(sentence, cover, missing):
    assert misses(sentence, cover) == missing


DAYS = [
    ("until 2026-05-20", True),
    ("bis zum 20.5.2026", True),
    ("bis zum 20. Mai 2026", True),
    ("until May 20, 2026", True),
    ("2026年5月20日まで", True),
    ("２０２６年５月２０日まで", True),
    ("until 2026-06-20", False),
    ("until 2026-05-21", False),
    ("until 2025-05-20", False),
    ("until May 2026", False),
    ("until May", False),
    ("", False),
]


@pytest.mark.parametrize(("quote", "named"), DAYS)
def test_a_quote_names_a_day_by_its_numbers(quote, named):
    assert names_day(quote, date(2026, 5, 20)) is named

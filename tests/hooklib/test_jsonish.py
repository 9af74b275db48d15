"""JSON without the json package: the same values, the same text, the same refusals."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.hooklib import jsonish

ROOT = __file__.rsplit("/tests/", 1)[0]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_it_agrees_with_the_json_package_both_ways(value):
    assert json.loads(jsonish.dumps(value)) == value == jsonish.loads(json.dumps(value))


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", "1 2", "{} x", "nul", '"\\ud8', "[" * 100_000, '{"a"}', "'a'"]
)
def test_bad_input_is_a_value_error(text):
    with pytest.raises(ValueError):
        jsonish.loads(text)


def test_control_characters_pass_unless_it_is_to_be_strict():
    assert jsonish.loads(' "a\nb" ') == "a\nb"
    with pytest.raises(ValueError):
        jsonish.loads('"a\nb"', strict=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-32-be"])
def test_bytes_of_any_unicode_encoding_are_text(encoding):
    assert jsonish.loads(jsonish.decode('{"é": "日本"}'.encode(encoding))) == {"é": "日本"}


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_what_json_can_not_hold_is_refused(value):
    with pytest.raises(ValueError, match="has no JSON"):
        jsonish.dumps([value])


@pytest.mark.parametrize("value", [{1: 2}, b"x", {"a"}])
def test_types_json_does_not_know_are_refused(value):
    with pytest.raises(TypeError):
        jsonish.dumps(value)


def test_an_interpreter_without_the_c_part_gives_the_same():
    code = (
        "import sys; sys.modules['_json'] = None; from pipeline.hooklib import jsonish;"
        'print(jsonish.dumps(jsonish.loads(\'{"a": [1, "é", null]}\')))'
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == '{"a":[1,"\\u00e9",null]}\n'


@pytest.mark.parametrize(
    "text", ["{", '{"a"', '{"a":', "[1,", '"', "nul", '{"a": 1,}', '"\\x"', "[" * 100_000]
)
def test_what_is_broken_is_a_value_error_without_the_json_package_too(text: str) -> None:
    code = (
        f"import sys; sys.path.append({str(ROOT)!r}); from pipeline.hooklib import jsonish\n"
        "try:\n    jsonish.loads(sys.stdin.read())\nexcept ValueError:\n    print('refused')"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], input=text.encode(), capture_output=True, check=True
    )
    assert done.stdout.strip() == b"refused"

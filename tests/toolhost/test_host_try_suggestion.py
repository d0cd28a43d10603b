"""`try_suggestion`: applied in memory, parsed, and nothing written."""

import pytest

from tests.toolhost.conftest import Bench


@pytest.mark.parametrize(
    ("name", "content", "lines", "text", "suggestion", "parsed"),
    [
        ("a.py", "x = 1\ny = (\n", (1, 1), "x = 1", "x = 2", ""),
        ("a.py", "x = 1\ny = 2\n", (2, 2), "y = 2", "y = 3", "Python"),
        ("a.py", "x = 1\ny = 2\nz = 3\n", (1, 2), "x = 1\ny = 2", "", "Python"),
        ("a.py", "x = 1\r\ny = 2\r\n", (2, 2), "y = 2", "if x:\n    y = 2", "Python"),
        ("a.py", "x = 1", (1, 1), "x = 1  ", "x = 2", "Python"),
        ("a.json", '{"a": 1}\n', (1, 1), '{"a": 1}', '{"a": 2}', "JSON"),
        ("a.toml", "a = 1\n", (1, 1), "a = 1", "a = 2", "TOML"),
        ("a.toml", "a = \n", (1, 1), "a = ", "b", ""),
        ("a.rb", "x = (\n", (1, 1), "x = (", "x = ((", ""),
        ("a.yaml", "a: 1\n", (1, 1), "a: 1", "a: 2", ""),
    ],
)
def test_what_applies_and_parses_is_taken(
    bench: Bench, name: str, content: str, lines: tuple[int, int], text: str, suggestion: str, parsed: str
):
    file = bench.write(name, content)
    outcome = bench.call(
        "try_suggestion", path=name, first=lines[0], last=lines[1], text=text, suggestion=suggestion
    )
    assert (outcome.is_error, outcome.metadata["parsed"]) == (False, parsed)
    assert file.read_bytes() == content.encode()
    assert bench.questions == []


@pytest.mark.parametrize(
    ("name", "content", "text", "suggestion", "said"),
    [
        (
            "a.py",
            "x = 1\n",
            "x = 1",
            "x = (",
            "With the suggestion a.py is no valid Python any more: line 1: ",
        ),
        ("a.json", "[1]\n", "[1]", "[1", "a.json is no valid JSON any more: Expecting"),
        ("a.toml", "a = 1\n", "a = 1", "a = ", "a.toml is no valid TOML any more: Invalid value"),
        ("a.json", "[1]\n", "[1]", "[" * 200_000 + "]" * 200_000, "it is nested too deeply"),
        ("a.py", "x = 1\n", "x = 1", "x = " + "-" * 200_000 + "1", "a.py is no valid Python any more"),
        ("a.py", "x = 1\n", "x = 2", "x = 3", "The lines 1-1 of a.py say something else"),
        ("a.py", "x = 1\n", "x = 1\n", "x = 3", "The lines 1-1 of a.py say something else"),
        ("a.bin", b"\0\1", "x", "y", "is not text: it is a binary file"),
    ],
)
def test_what_does_not_is_refused_with_the_reason(
    bench: Bench, name: str, content: str | bytes, text: str, suggestion: str, said: str
):
    bench.write(name, content)
    refusal = bench.refusal("try_suggestion", path=name, first=1, last=1, text=text, suggestion=suggestion)
    assert said in refusal
    assert len(refusal) < 400


def test_lines_beyond_the_end_are_other_lines(bench: Bench):
    bench.write("a.py", "x = 1\n")
    assert "say something else" in bench.refusal(
        "try_suggestion", path="a.py", first=2, last=2, text="", suggestion="y"
    )


def test_a_link_out_of_the_tree_is_not_followed(bench: Bench):
    (bench.root / "a.py").symlink_to("/etc/passwd")
    assert "leads out" in bench.refusal(
        "try_suggestion", path="a.py", first=1, last=1, text="", suggestion="y"
    )

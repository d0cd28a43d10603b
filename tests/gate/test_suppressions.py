"""What a reviewer is told of a change that silences a checker, language by language."""

import time

import pytest

from bot.gate.suspicious_additions import brings_in_unseen, suppressed, unseen
from bot.gate.weaker_tests import Line
from tests.support.changed_lines import changed_lines


def note(path: str, before: str, after: str) -> str:
    return suppressed(path, *changed_lines(before, after))


MARKS = [
    ("a.py", "import os  # noqa: F401", "# noqa"),
    ("a.py", "import os  #NOQA", "#NOQA"),
    ("a.py", "# ruff: noqa", "# ruff: noqa"),
    ("a.py", "x: int = f()  # type: ignore[assignment]", "# type: ignore"),
    ("a.pyi", "# pyright: ignore[reportCall]", "# pyright: ignore"),
    ("a.py", "# pyright: basic", "# pyright: basic"),
    ("a.py", "# mypy: ignore-errors", "# mypy: ignore-errors"),
    ("a.py", "x = 1  # ty: ignore[invalid]", "# ty: ignore"),
    ("a.py", "# pylint: disable=no-member", "# pylint: disable"),
    ("a.py", "if x:  # pragma: no cover", "# pragma: no cover"),
    ("a.py", "run(x)  # nosec B602", "# nosec"),
    ("a.ts", "// @ts-nocheck", "@ts-nocheck"),
    ("a.tsx", "// @ts-ignore", "@ts-ignore"),
    ("a.mts", "/* @ts-expect-error */", "@ts-expect-error"),
    ("a.js", "/* eslint-disable */", "eslint-disable"),
    ("a.vue", "// eslint-disable-next-line no-eval", "eslint-disable-next-line"),
    ("a.js", "// biome-ignore lint/a: b", "biome-ignore"),
    ("a.js", "/* istanbul ignore next */", "istanbul ignore"),
    ("a.go", "x() //nolint:errcheck", "//nolint"),
    ("a.go", "//lint:ignore SA1019 later", "//lint:ignore"),
    ("a.rs", "#[allow(dead_code)]", "#[allow("),
    ("a.rs", "#![allow(clippy::all)]", "#![allow("),
    ("a.rs", "#[cfg_attr(test, allow(unused))]", "cfg_attr(test, allow("),
    ("a.sh", "# shellcheck disable=SC2086", "shellcheck disable"),
    ("A.java", '@SuppressWarnings("unchecked")', "@SuppressWarnings"),
    ("A.kt", '@file:Suppress("UNUSED")', "@file:Suppress"),
    ("A.cs", "#pragma warning disable CS0168", "#pragma warning disable"),
    ("a.cc", "f();  // NOLINT(bugprone)", "NOLINT"),
    ("a.c", '#pragma GCC diagnostic ignored "-Wall"', "#pragma GCC diagnostic ignored"),
    ("a.rb", "x # rubocop:disable Metrics", "# rubocop:disable"),
    ("a.php", "/** @phpstan-ignore-next-line */", "@phpstan-ignore-next-line"),
    ("a.swift", "// swiftlint:disable all", "// swiftlint:disable"),
    ("a.yml", "a: b # yamllint disable-line", "yamllint disable"),
    ("Dockerfile", "# hadolint ignore=DL3008", "hadolint ignore"),
]


@pytest.mark.parametrize(("path", "line", "mark"), MARKS)
def test_a_new_mark_is_named_with_its_line(path: str, line: str, mark: str):
    assert note(f"src/{path}", "one\ntwo", f"one\n{line}\ntwo") == f"adds a suppression: {mark} (line 2)"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "import os  # noqa\nx\ny", "x\ny\nif z:\n    import os  # noqa"),
        ("a.py", "a = f(1)  # type: ignore", "a = f(2)  # type: ignore[call]"),
        ("a.py", "x  # noqa\ny", "y"),
        ("a.py", "x", "noqa = 1\nnose = 'nosec'"),
        ("a.md", "x", "write `# noqa` beside it"),
        ("a.rs", "x", "#[derive(Debug)]"),
        ("a.ts", "x", "// tslint and eslint are at odds"),
    ],
)
def test_what_silences_no_more_than_before_is_not_named(path: str, before: str, after: str):
    assert note(path, before, after) == ""


def test_those_that_only_moved_are_not_among_the_lines():
    before = "a  # noqa: 1\nb\nc"
    after = "b\nnew  # noqa: 2\nc\na  # noqa: 1"
    assert note("a.py", before, after) == "adds a suppression: # noqa (line 2)"


def test_several_kinds_and_many_lines_are_capped():
    marks = ("# noqa", "# type: ignore", "# nosec", "# ty: ignore", "# pragma: no cover", "# pylint: disable")
    lines = "\n".join(f"x{number}  {mark}" for number in range(8) for mark in marks)
    assert note("a.py", "", lines) == (
        "adds 48 suppressions: # noqa (lines 1, 7, 13, 19, 25 and 3 more), "
        "# type: ignore (lines 2, 8, 14, 20, 26 and 3 more), # nosec (lines 3, 9, 15, 21, 27 and 3 more), "
        "# ty: ignore (lines 4, 10, 16, 22, 28 and 3 more) and 2 more"
    )


@pytest.mark.parametrize("name", ["a.py", "a.ts", "a.rs", "A.kt", "a.cs", "a.cc", "a.yml"])
@pytest.mark.parametrize("piece", ["# ", "#[", "@", "cfg_attr(", "cfg_attr((", " ", "#pragma ", "[a:"])
def test_a_long_line_costs_no_more_than_its_length(name: str, piece: str):
    began = time.process_time()
    note(name, "", piece * (2_000_000 // len(piece)))
    assert time.process_time() - began < 5


def test_a_mark_at_the_end_of_a_long_line_is_seen():
    assert note("a.py", "", f"{'x' * 9_000}  # noqa") == "adds a suppression: # noqa (line 1)"


# Characters that nobody sees


def unseen_note(before: str, after: str) -> str:
    return unseen(*changed_lines(before, after))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("if admin: # \u202e check \u2066", "U+202E (line 2), U+2066 (line 2)"),
        ("const { a,\u3164 } = body", "U+3164 (line 2)"),
        ("x = '\ufe00\ufe01'", "U+FE00 (line 2), U+FE01 (line 2)"),
        ("x = '\U000e0141'", "U+E0141 (line 2)"),
        ("x = '\U000e0041'", "U+E0041 (line 2)"),
        ("ad\u200dmin = 1", "U+200D (line 2)"),
        ("ad\u200bmin = 1", "U+200B (line 2)"),
        ("x = '\U0001f600\ufe0f\u200d\ufe0f\u200d'", "U+200D (line 2), U+FE0F (line 2)"),
        ("echo a\rb", "U+000D (line 2)"),
        ("x = '\x1b[2K'", "U+001B (line 2)"),
    ],
)
def test_a55_what_nobody_sees_is_named_with_its_line(text: str, name: str):
    assert unseen_note("one\nthree", f"one\n{text}\nthree") == f"adds characters that do not show: {name}"
    assert brings_in_unseen("one", text)


@pytest.mark.parametrize(
    "text",
    [
        "Привет, мир",
        "می\u200cخواهم",  # a joiner between letters that it belongs to
        "क्\u200dष",
        "👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3",
        "a\tb\r",
        "\f",
        "日本語",
        "caf\u0065\u0301",
    ],
)
def test_what_shows_is_not(text: str):
    assert unseen_note("one", f"one\n{text}") == ""
    assert not brings_in_unseen("one", text)


def test_what_was_there_and_only_moved_is_not():
    assert unseen_note("a\u200bb\nc", "c\na\u200bb") == ""
    assert unseen_note("a\u200bb", "a\u200bb\u200b").endswith("U+200B (line 1)")
    assert unseen_note("", "\ufeffa = 1") == ""  # which many an editor begins a file with
    assert unseen_note("", "a\n\ufeffb").endswith("U+FEFF (line 2)")


def test_many_are_counted():
    lines = "\n".join("\u200b\u202a\u202b\u202c\u202d\u202e" for _ in range(7))
    assert unseen_note("", lines).endswith("U+202C (lines 1, 2, 3, 4, 5 and 2 more) and 2 more")


def test_bytes_that_are_no_text_are_no_reason_to_fail():
    assert unseen([], [Line(1, b"caf\xe9 \xff\xfe")]) == ""


def test_long_lines_take_no_time_that_anybody_notices():
    began = time.perf_counter()
    unseen([], [Line(1, "\u3042\u200b".encode() * 400_000), Line(2, b"x" * 2_000_000)])
    assert time.perf_counter() - began < 5

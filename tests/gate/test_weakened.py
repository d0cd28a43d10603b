"""What a reviewer is told of a change that makes tests prove less, language by language (A-55)."""

from __future__ import annotations

import difflib
import time

import pytest

from bot.gate.weakened import Line, weakened


def told(path: str, before: str, after: str) -> str:
    old, new = before.split("\n"), after.split("\n")
    removed: list[Line] = []
    added: list[Line] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            removed += [Line(number + 1, old[number].encode()) for number in range(a, b)]
            added += [Line(number + 1, new[number].encode()) for number in range(c, d)]
    return weakened(path, removed, added, deleted=False)


GONE = [
    ("tests/test_x.py", "def test_a():\n    assert f() == 1\n    g()", "def test_a():\n    g()", 2),
    ("test_x.py", "self.assertEqual(a, b)\nx", "x", 1),
    ("tests/test_x.py", "with pytest.raises(E):\n    f()", "f()", 1),
    ("tests/test_x.py", "mock.assert_called_once()\nx", "x", 1),
    ("src/a.test.ts", "a\nexpect(a).toBe(1)", "a", 2),
    ("__tests__/a.js", "assert.equal(a, 1)\nx", "x", 1),
    ("a_test.go", "\tt.Errorf(\"got %d\", n)\nx", "x", 1),
    ("a_test.go", "\trequire.NoError(t, err)\nx", "x", 1),
    ("src/lib.rs", "assert_eq!(f(), 1);\nx", "x", 1),
    ("tests/it.rs", "#[should_panic]\nx", "x", 1),
    ("src/test/java/ATest.java", "assertThat(a).isEqualTo(1);\nx", "x", 1),
    ("src/test/ATest.kt", "verify(a).run()\nx", "x", 1),
    ("spec/a_spec.rb", "expect(a).to eq(1)\nx", "x", 1),
    ("test/a_test.rb", "assert_equal 1, a\nx", "x", 1),
    ("tests/a.cc", "EXPECT_EQ(a, 1);\nx", "x", 1),
]  # fmt: skip


@pytest.mark.parametrize(("path", "before", "after", "line"), GONE)
def test_an_assertion_that_is_gone_is_named_with_its_line(
    path: str, before: str, after: str, line: int
) -> None:
    assert told(path, before, after) == f"removes 1 assertion (line {line} before)"


SKIPPED = [
    ("tests/test_x.py", "@pytest.mark.xfail\n"),
    ("tests/test_x.py", "@unittest.skipIf(True, 'x')\n"),
    ("tests/test_x.py", "    pytest.skip('later')\n"),
    ("a.spec.ts", "describe.skip('x', () => {\n"),
    ("a.spec.ts", "test.only('x', () => {\n"),
    ("a.spec.ts", "xit('x', () => {\n"),
    ("a_test.go", "\tt.Skip(\"later\")\n"),
    ("src/lib.rs", "#[ignore = \"slow\"]\n"),
    ("src/test/ATest.java", "@Disabled\n"),
    ("src/test/ATest.java", "    assumeTrue(false);\n"),
    ("tests/A.cs", "[Fact(Skip = \"later\")]\n"),
    ("spec/a_spec.rb", "  skip 'later'\n"),
    ("spec/a_spec.rb", "xit 'adds' do\n"),
    ("tests/a.cc", "GTEST_SKIP();\n"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "mark"), SKIPPED)
def test_a_test_that_is_passed_over_is_named_with_its_line(path: str, mark: str) -> None:
    assert told(path, "one\ntwo", f"one\n{mark}two") == "skips a test (line 2)"


TESTS = [
    ("tests/test_x.py", "def test_a():\n    f()\n"),
    ("a.spec.ts", "it('adds', () => {\n"),
    ("a_test.go", "func TestA(t *testing.T) {\n"),
    ("src/lib.rs", "#[tokio::test]\n"),
    ("src/test/ATest.java", "@Test\n"),
    ("spec/a_spec.rb", "it 'adds' do\n"),
]


@pytest.mark.parametrize(("path", "text"), TESTS)
def test_a_test_that_is_gone_is_named_with_its_line(path: str, text: str) -> None:
    assert told(path, f"one\n{text}two", "one\ntwo") == "removes 1 test (line 2 before)"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/test_x.py", "assert a == 1", "# assert a == 1"),
        ("a.test.js", "expect(a).toBe(1)", "// expect(a).toBe(1)"),
        ("tests/test_x.py", "assert f(x)", "assert True"),
        ("tests/test_x.py", "self.assertEqual(f(), 1)", "self.assertTrue(True)"),
        ("a.test.js", "expect(f()).toBe(true)", "expect(true).toBe(true)"),
        ("src/lib.rs", "assert_eq!(f(), 1);", "assert_eq!(1, 1);"),
    ],
)
def test_an_assertion_that_was_made_empty_counts_as_gone(path: str, before: str, after: str) -> None:
    assert told(path, before, after) == "removes 1 assertion (line 1 before)"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/test_x.py", "assert a == 1", "assert a == 2"),
        ("tests/test_x.py", "def test_a():\n    assert x", "def test_b():\n    assert x\n    assert y"),
        ("src/app.py", "assert a", ""),
        ("src/lib.rs", "let a = 1;", ""),
        ("a.test.js", "describe('x', () => {", "describe('y', () => {"),
        ("tests/test_x.py", "# assert nothing", ""),
    ],
)
def test_what_proves_as_much_as_before_is_not_named(path: str, before: str, after: str) -> None:
    assert told(path, before, after) == ""


def test_many_lines_are_named_up_to_five() -> None:
    before = "\n".join("assert x" for _ in range(8))
    expected = "removes 8 assertions (lines 1, 2, 3, 4, 5 and 3 more before)"
    assert told("tests/test_x.py", before, "") == expected


def test_a_deleted_test_file_is_named() -> None:
    assert weakened("tests/test_x.py", [], [], deleted=True) == "deletes a test file"
    assert weakened("src/lib.rs", [], [], deleted=True) == ""


@pytest.mark.parametrize("piece", ["assert ", "expect(", " ", "@Test(", "assert", "it.x", "1", "skip "])
@pytest.mark.parametrize(
    "name", ["test_x.py", "x.test.ts", "x_test.go", "x.rs", "XTest.java", "x_spec.rb", "x_test.c"]
)
def test_a_long_line_costs_no_more_than_its_length(name: str, piece: str) -> None:
    line = Line(1, piece.encode() * (1_000_000 // len(piece)))
    started = time.process_time()
    weakened(name, [line], [], deleted=False)
    assert time.process_time() - started < 1

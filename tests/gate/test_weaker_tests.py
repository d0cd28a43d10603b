"""The notes on a change that weakens tests, language by language (A-55)."""

import pytest

from bot.gate.weaker_tests import weaker_tests

PYTHON = "tests/test_x.py"
BODY = "def test_a():\n    assert f() == 1\n    g()\n"
SCRIPT = """import x
it('adds', async () => {
  const text = `a${f('expect(x)')}`;
  expect(await f(1)).toBe(2);
  expect(g('x')).to.be.true;
});
"""
GO = """package a

func TestA(t *testing.T) {
	if got := f(); got != 1 {
		t.Errorf("got %d", got)
	}
	require.Equal(t, 1, f())
}
"""
RUST = """fn f<'a>(x: &'a str) -> u8 { assert!(x != ""); 1 }
#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        let s = r#"assert!(x)"#;
        assert_eq!(f("a"), 1);
    }
}
"""


def told(path: str, before: str | None, after: str | None) -> str:
    old, new = (side.encode() if side is not None else None for side in (before, after))
    return weaker_tests({path: (old, new)}).get(path, "")


GONE = "removes 1 assertion (line 2 before)"
BARE = "has 1 test without an assertion"


@pytest.mark.parametrize(
    ("after", "note"),
    [
        ("def test_a():\n    g()\n", f"{GONE}, {BARE} (line 1)"),
        ("def test_a():\n    # assert f() == 1\n    pass\n", f"{GONE}, {BARE} (line 1)"),
        ("def test_a():\n    pass  # assert f() == 1\n", f"{GONE}, {BARE} (line 1)"),
        ("def check(x):\n    return x == 1\ndef test_a():\n    check(f())\n", GONE),
        ("def test_a():\n    pass\ndef test_b():\n    assert h() == 3\n", f"{BARE} (line 1)"),
        ("def test_b():\n    pass\n", GONE),
        ("", "removes all of a test file"),
        ("\n\n", "removes all of a test file"),
    ],
)
def test_an_assertion_that_is_gone_is_named(after: str, note: str):
    assert note in told(PYTHON, BODY, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.assertEqual(f(), 1)", "f()"),
        ("mock.assert_called_once()", "mock.called"),
        ("pytest.raises(E)", "f()"),
        ("raise AssertionError(x)", "f(x)"),
    ],
)
def test_assertions_without_the_word_count_as_well(before: str, after: str):
    sides = [f"class TestA(Base):\n    def test_a(self):\n        {one}\n" for one in (before, after)]
    assert told(PYTHON, *sides).startswith("removes 1 assertion (line 3 before)")


@pytest.mark.parametrize(
    ("after", "line"),
    [
        (f"@pytest.mark.xfail\n{BODY}", 1),
        (f"from pytest import mark\n@mark.skipif(True)\n{BODY}", 2),
        (f"import pytest as p\n{BODY}    p.skip('later')\n", 5),
        (f"{BODY}    self.skipTest('later')\n", 4),
        (f"{BODY}test_a.__test__ = False\n", 4),
        (f"__test__ = False\n{BODY}", 1),
        (f"collect_ignore = ['x']\n{BODY}", 1),
    ],
)
def test_a_test_that_is_skipped_is_named_with_its_line(after: str, line: int):
    assert told(PYTHON, BODY, after) == f"skips a test (line {line})"


def test_a_test_that_is_not_collected_any_more_is_named():
    assert "removes 1 test (line 1 before)" in told(PYTHON, BODY, BODY.replace("test_a", "_test_a"))


@pytest.mark.parametrize(
    ("path", "source", "old", "new", "note"),
    [
        ("a.test.ts", SCRIPT, "expect(g('x')).to.be.true;", "// expect(g('x')).to.be.true;", "removes 1 assertion"),
        ("a.test.ts", SCRIPT, "it('adds'", "it.skip('adds'", "skips a test (line 2)"),
        ("a.test.ts", SCRIPT, "it('adds'", "test.only('adds'", "skips a test (line 2)"),
        ("a.test.ts", SCRIPT, "it('adds'", "xit('adds'", "skips a test (line 2)"),
        ("a.test.ts", SCRIPT, "it('adds'", "it.each([])('adds'", "skips a test (line 2)"),
        ("a.test.ts", SCRIPT, "it('adds'", "later('adds'", "removes 1 test (line 2 before)"),
        ("a_test.go", GO, "\tif got", "\tt.Skip(\"later\")\n\tif got", "skips a test (line 4)"),
        ("a_test.go", GO, "func TestA", "func testA", "removes 1 test (line 3 before)"),
        ("src/lib.rs", RUST, "    #[test]\n", "    #[test]\n    #[ignore]\n", "skips a test (line 5)"),
        ("src/lib.rs", RUST, "    #[test]\n", "", "removes 1 test (line 4 before)"),
    ],
)  # fmt: skip
def test_other_languages_are_read_by_their_lines(path: str, source: str, old: str, new: str, note: str):
    assert source.count(old) == 1
    assert note in told(path, source, source.replace(old, new))


@pytest.mark.parametrize(
    ("path", "line", "note"),
    [
        ("src/test/java/ATest.java", "assertThat(a).isEqualTo(1);", ""),
        ("src/test/ATest.kt", "verify(a).run()", ""),
        ("spec/a_spec.rb", "expect(a).to eq(1)", ""),
        ("test/a_test.rb", "assert_equal 1, a", ""),
        ("tests/a.cc", "EXPECT_EQ(a, 1);", ""),
        ("__tests__/a.js", "assert.equal(a, 1)", ""),
        ("src/test/ATest.java", "@Disabled", "skips a test (line 2)"),
        ("src/test/ATest.java", "    assumeTrue(false);", "skips a test (line 2)"),
        ("tests/A.cs", '[Fact(Skip = "later")]', "skips a test (line 2)"),
        ("spec/a_spec.rb", "  skip 'later'", "skips a test (line 2)"),
        ("spec/a_spec.rb", "xit 'adds' do", "skips a test (line 2)"),
        ("tests/a.cc", "GTEST_SKIP();", "skips a test (line 2)"),
    ],
)
def test_assertions_and_skips_are_known_in_any_language(path: str, line: str, note: str):
    without, with_it = "one\ntwo\n", f"one\n{line}\ntwo\n"
    if note:
        assert note in told(path, without, with_it)
    else:
        assert told(path, with_it, without) == "removes 1 assertion (line 2 before)"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (PYTHON, BODY, BODY.replace("== 1", "== 2")),
        (PYTHON, BODY, BODY.replace("test_a", "test_b") + "\n\ndef test_c():\n    assert h()\n"),
        (PYTHON, BODY + "# assert nothing\n", BODY),
        ("src/app.py", "assert a\n", ""),
        ("src/lib.rs", RUST, RUST.replace('assert!(x != "");', "")),
        ("a.test.ts", SCRIPT, SCRIPT.replace("  expect(await", "  if (x) return;\n  expect(await")),
        ("a.test.ts", SCRIPT, SCRIPT.replace("toBe(2)", "resolves.toEqual(2)")),
        ("a_test.go", GO, GO.replace("\tif got", "\tif x {\n\t\treturn\n\t}\n\tif got")),
        ("a_test.go", GO, GO.replace("require.Equal(t, 1, f())", "checkOne(t, f())")),
        ("tests/data.json", '{"assert": 1}', "{}"),
    ],
)
def test_what_proves_as_much_as_before_is_not_named(path: str, before: str, after: str):
    assert weaker_tests({path: (before.encode(), after.encode())}) == {}


def test_many_lines_are_named_up_to_five():
    before = "def test_a():\n" + "".join(f"    assert x == {number}\n" for number in range(9))
    expected = f"removes 9 assertions (lines 2, 3, 4, 5, 6 and 4 more before), {BARE} (line 1)"
    assert told(PYTHON, before, "def test_a(): check()\n") == expected


def test_tests_that_moved_to_another_file_are_not_gone():
    files = {"tests/test_a.py": (BODY.encode(), None), "tests/test_b.py": (None, BODY.encode())}
    assert weaker_tests(files) == {}
    nowhere = {"tests/test_a.py": (BODY.encode(), None), "tests/b.py": (None, BODY.encode())}
    assert weaker_tests(nowhere) == {"tests/test_a.py": "deletes a test file"}


def test_a_deleted_test_file_is_named():
    files = dict.fromkeys(
        ("tests/test_x.py", "tests/data.bin", "src/lib.rs", ".github/workflows/Test.yml"), (b"x", None)
    )
    assert weaker_tests(files) == {
        "tests/test_x.py": "deletes a test file",
        "tests/data.bin": "deletes a test file",
    }


@pytest.mark.parametrize("size", [2 << 20, 5 << 20])
def test_what_is_too_long_to_read_is_named(size: int):
    part = b"# " + b"x" * 100 + b"\n"
    files = {f"tests/test_{number}.py": (b"", part * 3_000) for number in range(size >> 18)}
    files[PYTHON] = (BODY.encode(), part * (size // len(part)))
    assert weaker_tests(files)[PYTHON].startswith("could not be read")


def test_hostile_lines_end_in_a_note_or_none():
    names = ("test_x.py", "x.test.ts", "x_test.go", "tests/x.rs", "XTest.java", "x_spec.rb")
    pieces = ["assert ", "expect(", " ", "@Test(", "return;", "it.x", "1", "{", "`${"]
    files = {
        f"{number}/{name}": (b"", piece.encode() * (2_000 // len(piece)))
        for number, piece in enumerate(pieces)
        for name in names
    }
    assert set(weaker_tests(files)) <= set(files)

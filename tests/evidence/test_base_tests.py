"""The base's tests on the changed source, compared by name, and the files of tests by their paths (A-98)."""

from collections.abc import Mapping

import pytest

from bot.contracts.outcome import CheckRun, CheckState
from bot.ecosystems.test_files import Role, inner_tests, role_of
from bot.evidence.base_tests import ChangedSuite, changed_suite, compare, confirmed_tests
from bot.evidence.labels import as_they_were, confirms
from bot.evidence.reruns import CheckExecution
from bot.evidence.tests import SuiteResult, count_names

STATES = {"p": "passed", "f": "failed", "s": "skipped"}


def ran(tests: Mapping[str, str], state: CheckState = CheckState.FAILED, **more: bool) -> CheckExecution:
    """A run of tests: `p` passed, `f` failed, `s` skipped."""
    names = {word: [name for name, letter in tests.items() if letter == key] for key, word in STATES.items()}
    return CheckExecution(CheckRun(state, 1, 1.0), SuiteResult("report", count_names(names), None, **more))


def kinds(
    before: Mapping[str, str], after: Mapping[str, str], run: Mapping[str, str], suite: ChangedSuite
) -> dict[str, tuple[str, ...]]:
    result = compare(ran(before), ran(after), ran(run), suite)
    fields = ("failed", "expectation_changed", "unconfirmed", "not_comparable")
    return {field: names for field in fields if (names := getattr(result, field))}


NONE = ChangedSuite(put_back=("x",))


@pytest.mark.parametrize(
    ("before", "after", "run", "expected"),
    [
        ("p", "p", "p", {}), ("f", "p", "p", {}), ("f", "f", "f", {}),
        ("p", "p", "f", {"failed": ("a.b",)}), ("p", "", "f", {"failed": ("a.b",)}),
        ("s", "p", "f", {"failed": ("a.b",)}), ("f", "p", "f", {"unconfirmed": ("a.b",)}),
        ("p", "p", "", {"not_comparable": ("a.b",)}), ("p", "p", "s", {"not_comparable": ("a.b",)}),
        ("f", "p", "", {"not_comparable": ("a.b",)}), ("", "p", "f", {}),
    ],
)  # fmt: skip
def test_a98_each_test_is_of_one_kind(
    before: str, after: str, run: str, expected: dict[str, tuple[str, ...]]
):
    old, now, new = ({"other": "p", **({"a.b": side} if side else {})} for side in (before, after, run))
    assert kinds(old, now, new, NONE) == expected


@pytest.mark.parametrize(
    ("name", "edited", "data", "others", "changed"),
    [
        ("tests.test_a.T.test_x", {"tests/test_a.py": ""}, (), (), True),
        ("tests.test_a.T.test_x", {"tests/test_b.py": ""}, (), ("tests/test_a.py",), False),
        ("tests.test_a.T.test_x", {"tests/helper.py": "test_x"}, (), ("tests/test_a.py",), False),
        ("tests.test_a.T.test_x", {}, ("tests/golden/a.txt",), ("tests/test_a.py",), True),
        ("tests.test_a.T.test_x", {}, ("other/golden/a.txt",), ("tests/test_a.py",), False),
        ("src/a.test.ts > adds", {}, ("src/__snapshots__/a.test.ts.snap",), ("src/a.test.ts",), True),
        ("example.com/app/pkg.TestA", {"pkg/a_test.go": ""}, (), (), True),
        ("example.com/app/pkg.TestA", {}, ("pkg/testdata/a.json",), ("pkg/a_test.go",), True),
        # These runners do not name the file.
        ("math adds numbers", {"test/math.js": "it('adds numbers', ...)"}, (), (), True),
        ("math adds numbers", {"test/text.js": "it('joins words', ...)"}, (), (), False),
        ("App\\Tests\\FooTest::testX", {"tests/FooTest.php": "function testX()"}, (), (), True),
        ("adds", {}, ("tests/data.json",), (), True),
    ],
)
def test_the_expectation_of_a_test_is_in_its_file_or_in_data_beside_it(
    name: str, edited: dict[str, str], data: tuple[str, ...], others: tuple[str, ...], changed: bool
):
    suite = ChangedSuite(put_back=("x",), edited=edited, data=data, others=others)
    kind = "expectation_changed" if changed else "failed"
    assert kinds({name: "p"}, {name: "p"}, {name: "f"}, suite) == {kind: (name,)}


def test_a98_a_run_without_tests_is_not_comparable_and_confirms_nothing():
    """Base's tests that do not compile with the new source: no test is named."""
    before = ran({"a": "f", "b": "p"})
    built = CheckExecution(CheckRun(CheckState.FAILED, 101, 1.0, "error[E0425]: cannot find function"))
    result = compare(before, ran({"a": "p", "b": "p"}), built, NONE)
    assert (
        as_they_were(result)
        == "with the tests as they were: not comparable, no tests could be read of the run"
    )
    assert not confirms(result)
    assert confirmed_tests(built, result) == frozenset()


def test_a_runner_that_names_only_failing_tests_is_compared_by_them():
    before = ran({"a": "f"}, whole=False)
    result = compare(
        before, ran({}, CheckState.PASSED, whole=False), ran({"a": "f", "b": "f"}, whole=False), NONE
    )
    assert (result.failed, result.not_comparable) == (("b",), ())


def test_files_of_tests_are_sorted_by_their_roles():
    base = {
        "tests/test_a.py": "1",
        "tests/test_gone.py": "2",
        "tests/test_old.py": "3",
        "app.py": ">>> f()\n1",
    }
    head = {
        "tests/test_a.py": "9",
        "app.py": ">>> f()\n2",
        "tests/test_new.py": "4",
        "tests/test_moved.py": "3",
    }
    changed = [
        *dict.fromkeys([*base, *head]),
        "conftest.py",
        "tests/golden/a.txt",
        "pyproject.toml",
        "src/b.py",
    ]
    suite = changed_suite(changed, {"tests/test_old.py"}, base, head, [*base, "tests/test_c.py"])
    assert set(suite.put_back) == {*(path for path in changed if path.startswith("tests/")), "conftest.py"}
    assert suite.mixed == ("pyproject.toml",)
    assert set(suite.edited) == {"tests/test_a.py", "tests/test_old.py"}
    assert set(suite.others) == {"tests/test_gone.py", "tests/test_c.py"}
    assert (suite.data, suite.inside) == (("tests/golden/a.txt",), ("app.py",))


ROLES = {
    Role.TEST: (
        "test_a.py src/a_test.py app/tests.py tests/helper.py src/a.test.ts src/a.spec.jsx a/__tests__/b.js test/b.mjs"
        " pkg/a_test.go tests/it.rs src/parser/tests.rs src/test/java/A.java src/ATest.kt spec/a_spec.rb lib/a_test.rb"
        " tests/ATest.php App.Tests/A.cs src/FooTests.cs src/a_test.cc lib/test_a.cpp test/a.exs t/a.t a.bats"
    ),
    Role.DATA: (
        "tests/data.json testdata/a.go src/__snapshots__/a.snap a/golden/x.txt fixtures/a.py snapshots/a.json a.snap"
        " src/Api.approved.txt src/test/resources/a.xml tests test/__fixtures__/a.js tests/package.json"
    ),
    Role.SETTINGS: (
        "conftest.py tests/conftest.py pytest.ini jest.config.ts vitest.config.mts .mocharc.yml .rspec phpunit.xml"
        " sitecustomize.py a/x.pth cypress.config.js .config/nextest.toml"
    ),
    Role.MIXED: "pyproject.toml setup.cfg tox.ini package.json Cargo.toml pom.xml a/Gemfile CMakeLists.txt Makefile",
}


@pytest.mark.parametrize(("role", "paths"), ROLES.items())
def test_the_role_of_a_file_is_known_by_its_path(role: Role, paths: str):
    assert {path: role_of(path) for path in paths.split()} == dict.fromkeys(paths.split(), role)


def test_other_files_have_no_role():
    paths = "app.py src/contest.py src/Latest.java lib/attest.rb src/latest/a.py README.md .github/workflows/test.yml"
    assert [path for path in paths.split() if role_of(path)] == []


@pytest.mark.parametrize(
    ("path", "text", "inside"),
    [
        ("src/lib.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    x\n}\n", "#[cfg(test)]\nmod tests {\n    x\n}\n"),
        ("src/lib.rs", "fn f() {}\n#[cfg(test)]\nmod tests;\nfn g() {}\n", "#[cfg(test)]\nmod tests;"),
        ("src/lib.rs", "/// ```\n/// f()\n/// ```\nfn f() {}\n", "/// ```\n/// f()\n/// ```"),
        ("src/lib.rs", "fn a() {}\n#[tokio::test]\nfn f() {}\n", "#[tokio::test]\nfn f() {}\n"),
        ("a.py", "def f():\n    '''\n    >>> f()\n    1\n\n    more\n    '''\n", "    >>> f()\n    1"),
        ("a.ts", "f()\nif (import.meta.vitest) { x }\n", "import.meta.vitest) { x }\n"),
        ("a.go", "func f() {}", ""),
    ],
)  # fmt: skip
def test_tests_inside_a_source_file_are_found(path: str, text: str, inside: str):
    assert inner_tests(path, text) == [inside] * bool(inside)

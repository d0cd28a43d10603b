import os
import re
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.contracts.request import FOLLOW_UP_FILE
from bot.doctor.init_files import (
    ACTIONLINT,
    KEPT,
    MAINTENANCE,
    REVIEW,
    WORKFLOW,
    policy_text,
    propose,
    workflow_text,
)
from bot.ecosystems.record import Use
from bot.environment.detect import detect
from bot.environment.detection_result import DetectedCheck, Detection, Omission
from bot.maintenance.task import read_task
from bot.policy.check_settings import SetupStep
from bot.policy.follow_up import FollowUpPolicy
from bot.policy.load import load_policy
from tests.support import warm
from tests.support.repositories import commit_all, make_repository
from tests.support.runner import ROOT
from tests.support.stage import CommandResult, command
from tests.support.templates import two_jobs, without_preparation
from tests.support.terminals import Terminal

BIN = Path(sys.executable).parent


def init(repo: Path, *args: str, stdin: str = "") -> CommandResult:
    """Without trying the checks: what they need would be downloaded."""
    done = warm.run(command("init", "--repo", repo, "--no-try", *args), input=stdin)
    return CommandResult(done.returncode, done.stdout, done.stderr)


def linted(repo: Path, file: str) -> None:
    for argv in ([BIN / "actionlint"], [BIN / "zizmor", "--offline", "--persona", "pedantic"]):
        done = subprocess.run([*argv, file], cwd=repo, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-q"\n',
        "tests/test_a.py": "import pytest\n",
    }
    return make_repository(tmp_path / "project", files)


def test_it_writes_a_policy_with_the_checks_that_were_found(repo: Path):
    assert init(repo, "--yes").code == 0
    policy = load_policy((repo / ".github" / "agent.yml").read_text())
    assert [check.command for check in policy.checks] == ["python3 -m pytest -q"]


@settings(max_examples=30)
@example([r"a\b", 'say "it"', "# x", "{x: 1}"])
@given(st.lists(st.text(min_size=1).filter(str.strip), max_size=3, unique=True))
def test_any_command_survives_being_written_down(commands: list[str]):
    printable = [command for command in commands if command.isprintable()]
    checks = tuple(DetectedCheck(f"{n}", one, Use.TESTS, "a file") for n, one in enumerate(printable))
    policy = load_policy(policy_text(Detection(checks=checks, setup=tuple(map(SetupStep, printable)))))
    assert [check.command for check in policy.checks] == printable
    assert [step.command for step in policy.setup] == printable


TEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self): pass\n"


def tried(folder: Path, steps: str, files: dict[str, str]) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A repository whose CI runs `steps`, and what `init` says of it, the checks tried."""
    ci = f"on: [push]\njobs: {{test: {{runs-on: ubuntu-latest, steps: {steps}}}}}\n"
    repo = make_repository(folder / "project", {"test_a.py": TEST, ".github/workflows/test.yml": ci, **files})
    return repo, warm.run(command("init", "--repo", repo, "--yes"))


@pytest.mark.bubblewrap
def test_each_check_is_tried_once_and_what_cannot_run_becomes_a_comment(tmp_path: Path):
    steps = "[{run: python -m unittest}, {run: nose2}, {run: make lint}, {run: 'pytest --absent ${{ inputs.x }}'}]"
    repo, done = tried(tmp_path, steps, {"Makefile": "lint:\n\tno-such-linter .\n", "requirements.txt": ""})
    assert "Once more, with the install" not in done.stdout, "the tests run here"
    assert done.returncode == 0, done.stdout + done.stderr
    assert "taken     python -m unittest  (.github/workflows/test.yml, job test)" in done.stdout
    assert "! 3 files written, 1 of 3 checks pass\n" in done.stdout
    assert "  check     python -m unittest: passed, 1 test, " in done.stdout
    assert "  check     make lint: could not run here: " in done.stdout
    assert "no-such-linter: No such file or directory\n" in done.stdout
    text = (repo / ".github" / "agent.yml").read_text()
    assert [check.name for check in load_policy(text).checks] == ["python -m unittest"]
    assert "#    command: make lint\n" in text
    assert "add .github/agent.yml .github/workflows/agent.yml .github/actionlint.yaml && git" in done.stdout
    assert "note      .github/agent.yml has these as comments: nose2, make lint." in done.stdout


@pytest.mark.bubblewrap
def test_of_two_usual_commands_for_the_same_tests_one_is_written(tmp_path: Path):
    makefile = "test:\n\tpython3 -m unittest\n"
    repo, _ = tried(tmp_path, "[{run: python3 -m pytest --absent}]", {"Makefile": makefile})
    checks = load_policy((repo / ".github" / "agent.yml").read_text()).checks
    assert [one.fallback for one in checks if one.name == "python3 -m unittest"] == [True], "CI's come first"
    assert "make test" not in [one.name for one in checks]


@pytest.mark.slow
@pytest.mark.parametrize(("program", "is_needed"), [("python3", False), (".venv/bin/python", True)])
def test_setup_is_written_only_if_a_check_needs_it_here(tmp_path: Path, program: str, is_needed: bool):
    steps = f"[{{run: pip install -r requirements.txt}}, {{run: {program} -m unittest}}]"
    repo, done = tried(tmp_path, steps, {"requirements.txt": "", ".gitignore": ".venv\n"})
    assert f"  check     {program} -m unittest: " in done.stdout
    assert ": passed, 1 test, " in done.stdout
    setup = load_policy((repo / ".github" / "agent.yml").read_text()).setup
    assert bool(setup) is is_needed, done.stdout


@pytest.mark.parametrize("columns", [50, 80])
def test_the_result_fits_the_terminal_and_is_plain_if_no_colour_is_wanted(repo: Path, columns: int):
    argv = command("init", "--repo", repo, "--yes", "--no-try")
    with Terminal(argv, {**os.environ, "NO_COLOR": "1"}, columns=columns) as terminal:
        assert terminal.end() == 0
        assert b"\x1b" not in terminal.raw
        lines = terminal.text.splitlines()
    place = lines.index("✔ 3 files written, 1 check found, not tried")
    assert lines[place + 2].startswith("  commit    git -C ")
    wrapped = [line for line in lines if line.startswith((" " * 12, "  check"))]
    assert max(map(len, wrapped)) < columns


def test_twice_writes_nothing_over(repo: Path):
    init(repo, "--yes")
    (repo / ".github" / "agent.yml").write_text("version: 1\n")
    ran = init(repo, "--yes")
    assert ran.code == 0
    assert "\n✔ Nothing to write, all files are there\n" in ran.out
    assert "there     .github/agent.yml" in ran.out
    assert (repo / ".github" / "agent.yml").read_text() == "version: 1\n"


def test_it_prints_what_the_repository_demands_of_contributions(repo: Path):
    (repo / ".github/workflows").mkdir(parents=True, exist_ok=True)
    (repo / ".github/dco.yml").write_text("require: {members: false}\n")
    (repo / ".github/workflows/actions.lock").write_text("version: 'v0.0.2'\nworkflows: {}\n")
    ran = init(repo, "--yes", "--no-try")
    assert ran.code == 0
    lines = " ".join(ran.out.split())
    assert "found DCO: A sign-off of each commit is demanded here: .github/dco.yml." in lines
    assert "fix set `pull_request: { sign_off: true }` in .github/agent.yml" in lines
    assert "actions.lock does not list .github/workflows/agent.yml: its actions are not locked." in lines
    assert "fix gh actions-lock" in lines


def test_a_dry_run_prints_the_files_and_writes_none(repo: Path):
    ran = init(repo, "--dry-run")
    assert (ran.code, (repo / ".github").exists()) == (0, False)
    assert "--- .github/workflows/agent.yml" in ran.out


def test_with_nobody_to_ask_nothing_is_written(repo: Path):
    ran = init(repo, stdin="y\n")
    assert (ran.code, (repo / ".github").exists()) == (2, False)
    assert "use --yes" in ran.err


@pytest.mark.parametrize(("keys", "files"), [("n\ny\n", 3), ("\n\n", 0), ("y\ny\n", 4)])
def test_at_a_terminal_it_asks(repo: Path, keys: str, files: int):
    ours, theirs = os.openpty()
    with subprocess.Popen(
        warm.client_command(command("init", "--repo", repo, "--no-try")),
        stdin=theirs,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(theirs)
        os.write(ours, keys.encode())
        out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert "Follow the bot's pull requests: fix their CI, answer reviews? [y/N]" in out
    assert f"Write {files or 3} files? [y/N]" in out
    assert (repo / ".github").exists() is bool(files)
    assert (repo / FOLLOW_UP_FILE).exists() is (files == 4)


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path):
    assert init(tmp_path, "--yes").code == 2


def test_a_link_out_of_the_repository_is_not_followed(repo: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / ".github").symlink_to(outside)
    ran = init(repo, "--yes")
    assert ran.code == 2
    assert list(outside.iterdir()) == []


def test_the_tasks_it_writes_load(repo: Path):
    init(repo, "--yes", "--tasks")
    files = sorted((repo / ".github" / "agent").iterdir())
    assert len(files) == 6
    for file in files:
        read_task(file.read_text(), f".github/agent/{file.name}")


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_the_workflow_is_clean_to_the_linters(tmp_path: Path, provider: str):
    text = workflow_text(provider)
    assert "$" not in text.replace("${{", "")
    files = {one.path: one.text for one in propose(Detection(), provider, tasks=False, follow_up=True)}
    repo = make_repository(tmp_path / "linted", {**files, ".github/workflows/agent.yml": text})
    commit_all(repo)
    linted(repo, ".github/workflows/agent.yml")
    linted(repo, FOLLOW_UP_FILE)


def test_the_workflows_with_cis_steps_are_clean_to_the_linters_and_following_waits_for_ci(tmp_path: Path):
    ci = "name: 'CI: \"all\"'\non: push\njobs: {t: {runs-on: x, steps: [{run: pip install x}, {run: pytest}]}}\n"
    files = {".github/workflows/ci.yml": ci, "test_a.py": ""}
    written = propose(detect(files, files.get), "anthropic", tasks=False, follow_up=True)
    proposed = {one.path: one.text for one in written}
    repo = make_repository(tmp_path / "linted", proposed)
    commit_all(repo)
    linted(repo, KEPT)
    linted(repo, FOLLOW_UP_FILE)
    follows = yaml.safe_load(proposed[FOLLOW_UP_FILE])
    assert follows[True]["workflow_run"]["workflows"] == ['CI: "all"']  # YAML 1.1 reads `on` as true
    assert "prepare" in follows["jobs"]
    assert "if" not in yaml.safe_load(proposed[KEPT])["jobs"]["keep"]["steps"][2]


def test_following_is_written_only_if_it_is_wanted_and_switched_on_in_the_policy(repo: Path):
    assert init(repo, "--yes").code == 0
    assert not (repo / FOLLOW_UP_FILE).exists()
    policy = repo / ".github" / "agent.yml"
    assert load_policy(policy.read_text()).follow_up is None
    assert (
        "Pull requests are not followed unless .github/agent.yml has"
        in init(repo, "--yes", "--follow-up").out
    )
    assert (repo / FOLLOW_UP_FILE).exists()
    policy.unlink()
    init(repo, "--yes", "--follow-up")
    assert load_policy(policy.read_text()).follow_up == FollowUpPolicy()


def test_reviews_and_tasks_bring_the_workflows_that_run_them():
    paths = [file.path for file in propose(Detection(), "openai", tasks=True, reviews=True)]
    assert paths[:5] == [".github/agent.yml", WORKFLOW, ACTIONLINT, REVIEW, MAINTENANCE]
    assert all(path.startswith(".github/agent/") for path in paths[5:])
    assert len(paths) > 5


def test_the_key_is_the_providers():
    texts = {file.path: file.text for file in propose(Detection(), "openai", tasks=False)}
    assert "secrets.OPENAI_API_KEY" in texts[".github/workflows/agent.yml"]
    assert "ANTHROPIC" not in texts[".github/workflows/agent.yml"]


def test_the_workflow_to_copy_is_our_own_written_out():
    """`tests.support.templates` makes it: write it anew where ours has changed."""
    ours = (ROOT / ".github" / "workflows" / "agent.yml").read_text()
    filled = jinja2.Template(
        two_jobs(ours), "<%", "%>", "<<", ">>", trim_blocks=True, keep_trailing_newline=True
    )
    shown = filled.render(prepare="", input="anthropic-api-key", key="ANTHROPIC_API_KEY")
    assert (ROOT / "docs" / "workflows" / "two-jobs.yml").read_text().endswith(shown)


def test_the_workflow_with_a_preparation_is_our_own_written_out():
    ours = (ROOT / ".github" / "workflows" / "agent.yml").read_text()
    template = (ROOT / "bot" / "doctor" / "templates" / "prepared.yml").read_text()
    assert without_preparation(template) == two_jobs(ours) != template


TOX = "[tox]\nenvlist = py311,lint\n[testenv]\ndeps = -rrequirements/test.txt\ncommands = pytest {posargs}\n"
PNPM = (
    "npx --yes pnpm@8 install --frozen-lockfile && "
    "npm install --silent --global --prefix node_modules/.manager pnpm@8 && "
    "mkdir -p node_modules/.bin && ln -sf ../.manager/bin/pnpm node_modules/.bin/pnpm"
)
VENV = "python3 -m venv .venv && . .venv/bin/activate && python -m pip install -q"
SHAPES: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    "python with requirements": (
        {"tox.ini": TOX, "requirements/test.txt": "pytest\n", "tests/unit/test_x.py": "", "setup.py": ""},
        ["python3 -m pytest -q"],
        [f"[ -d .venv ] || ({VENV} -r requirements/test.txt && python -m pip install -q -e .)"],
    ),
    "python without anything to install": ({"stats.py": "", "test_stats.py": "import unittest\n"},
        ["python3 -m unittest"], []),
    "node with pnpm": (
        {"package.json": '{"scripts": {"test": "vitest run", "lint": "x"}, "devDependencies": {"vitest": "1"}}',
         "pnpm-lock.yaml": "lockfileVersion: '6.0'"},
        ["pnpm test", "pnpm run lint"],
        [("[ -d node_modules ] || (if command -v pnpm >/dev/null; then pnpm install --frozen-lockfile; "
          f"else {PNPM}; fi)")],
    ),
    "node with its own lock": (
        {"package.json": '{"scripts": {"test": "jest"}, "dependencies": {"jest": "1"}}', "package-lock.json": "{}"},
        ["npm test"], ["[ -d node_modules ] || (npm ci)"],
    ),
    "go": ({"go.mod": "module x\n\nrequire a.b/c v1.0.0\n", "main_test.go": ""}, ["go test ./..."],
           ["[ -d vendor ] || (go mod vendor)"]),
    "go that is vendored": ({"go.mod": "module x\nrequire a.b/c v1\n", "vendor/modules.txt": ""}, ["go test ./..."],
                            []),
    "rust": ({"Cargo.toml": "[workspace]\nmembers = ['a']\n", "a/Cargo.toml": "", "a/src/lib.rs": ""},
             ["cargo test --workspace"], ["cargo fetch"]),
    "projects in folders": ({"web/package.json": '{"scripts": {"test": "jest"}}', "README.md": ""}, [], []),
    "nothing that is known": ({"main.zig": "", "package.json": "no JSON"}, [], []),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_of_repository_gets_its_checks_and_what_they_need(shape: str):
    files, checks, setup = SHAPES[shape]
    found = detect(files, files.get)
    assert [check.command for check in found.checks] == checks
    assert [step.command for step in found.setup] == setup
    policy = load_policy(policy_text(found))
    assert [check.command for check in policy.checks] == checks
    assert [step.command for step in policy.setup] == setup


def test_what_init_writes_has_quotes_only_where_yaml_needs_some():
    """As jotai has it: Prettier wants single quotes there, elsewhere double ones, and it checks these files as well."""
    ci = """on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - {uses: actions/setup-node@v4, with: {node-version: '24', cache: npm}}
      - {run: npm ci, env: {HUSKY: '0'}}
      - {run: npm test}
      - {name: Test (unit), run: npm run test:unit}
"""
    files = {"package.json": '{"scripts": {"test": "jest"}}', ".github/workflows/test.yml": ci}
    proposed = propose(detect(files, files.get), "anthropic", tasks=False, replies=True)
    quoted = [
        line
        for one in proposed
        for line in one.text.splitlines()
        if re.search(r": ['\"][\w :()]+['\"]", line)
    ]
    assert quoted == []


def test_no_source_or_reason_becomes_a_line_of_the_policy():
    """A file's name or a step's title may hold anything: in the policy it is a comment, and stays one."""
    hostile = "x\nsetup:\n  - touch /tmp/x\r\u2028# "
    found = Detection(
        checks=(DetectedCheck("a", "true", Use.TESTS, hostile),),
        setup=(SetupStep("true"),),
        omissions=(Omission(hostile, hostile, hostile),),
    )
    policy = load_policy(policy_text(found))
    assert [step.command for step in policy.setup] == ["true"]
    assert [check.command for check in policy.checks] == ["true"]


def test_the_workflow_lets_replies_in_only_if_the_policy_takes_them():
    assert "replies" not in workflow_text("anthropic")
    called = yaml.safe_load(workflow_text("anthropic", replies=True))
    assert called["jobs"]["agent"]["with"] == {"replies": True}
    ci = "on: push\njobs: {t: {runs-on: ubuntu-latest, steps: [{run: pip install x}, {run: pytest}]}}\n"
    detected = detect(files := {".github/workflows/ci.yml": ci, "test_a.py": ""}, files.get)
    without, text = (workflow_text("anthropic", detected, replies=replies) for replies in (False, True))
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    modes = [step["with"] for step in steps if step.get("with", {}).get("mode", "keep") != "keep"]
    assert [one.get("replies") for one in modes] == [True] * 3
    assert text.count("contains(") < without.count("contains(")
    assert "replies" not in without

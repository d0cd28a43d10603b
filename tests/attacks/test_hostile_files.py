"""A-94 and A-95: files of a repository that crash, fill or busy what parses them."""

import json
import re
from pathlib import Path

import pytest
import yaml

from bot.checkout.clone import Source, check_out
from bot.doctor.init_files import policy_text, workflow_text
from bot.ecosystems.record import Use
from bot.environment.detect import detect
from bot.environment.detection_result import DetectedCheck, Detection
from bot.gate.dependencies import new_dependencies
from bot.gate.weaker_tests import Line
from bot.parsing.parser import Parser
from bot.policy.load import load_policy
from bot.session.context.base import checks_of, detected_at
from tests.support import warm
from tests.support.fix_script import fix_steps
from tests.support.repositories import commit_all, git, make_repository
from tests.support.stage import Stage, command
from tests.support.verb_runs import fork_pull

CI = "on: pull_request\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: {}\n"
NESTED = "[" * 180_000
ALIASES = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)
HOSTILE = {
    "nested YAML": (".github/workflows/a.yml", NESTED),
    "aliases of YAML": (".github/workflows/a.yaml", ALIASES),
    "nested JSON": ("package.json", NESTED),
    "nested TOML": ("pyproject.toml", f"a = {NESTED}"),
    "one key of TOML": ("pyproject.toml", "a." * 90_000 + "a=1"),
}


SLOW = {"nested YAML", "one key of TOML"}  # each takes its parser a second or two


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in SLOW else kind for kind in HOSTILE]
)
def test_a94_a_file_that_breaks_its_parser_is_left_out_and_the_others_are_read(kind: str):
    path, text = HOSTILE[kind]
    files = {".github/workflows/ci.yml": CI.format("pytest -q"), "test_a.py": "", path: text}
    detected = detect(files, files.get)
    assert [one.what for one in detected.unread] == [path]
    assert detected.unread[0].reason.startswith("it could not be parsed, and was left out: it")
    assert [check.command for check in detected.checks] == ["pytest -q", "python3 -m unittest"]


def test_a94_the_head_of_a_pull_request_names_no_check(tmp_path: Path):
    repo = make_repository(tmp_path / "repo", {".github/workflows/ci.yml": CI.format("pytest -q")})
    base = git(repo, "rev-parse", "HEAD")
    (repo / ".github/workflows/ci.yml").write_text(CI.format("pytest -q --co"))
    commit_all(repo)
    checkout = check_out(Source(str(repo), "HEAD"), tmp_path / "run", history="full")._replace(
        policy_sha=base
    )
    policy = load_policy("version: 1\n")
    [check] = checks_of(policy, None, detected_at(checkout))
    assert check.command == "pytest -q"


@pytest.mark.slow
@pytest.mark.bubblewrap
@pytest.mark.checks
def test_a94_nothing_is_detected_where_nothing_of_a_fork_runs(stage: Stage):
    files = {".github/workflows/evil.yml": NESTED, "pyproject.toml": "a." * 90_000 + "a=1"}
    base = {".github/agent.yml": "version: 1\n", ".github/workflows/ci.yml": CI.format("pytest -q")}
    stage.forge.commit(stage.repo, base)
    number = fork_pull(stage, files)
    permissions = {"contents": "read", "issues": "write", "pull_requests": "read"}
    token = stage.forge.token(permissions=permissions, repo=stage.repo)
    event = stage.ask("/agent fix the rounding", number=number)
    result = stage.run(model=fix_steps(), event=event, token=token)
    assert result.code == 0, result.output
    assert stage.outcome()["checks"] == []


@pytest.mark.slow
def test_a94_init_and_doctor_survive_a_clone_of_somebody_else(tmp_path: Path):
    files = dict(HOSTILE.values())
    repo = make_repository(tmp_path / "repo", {**files, ".github/workflows/ci.yml": CI.format("pytest -q")})
    made = warm.run(command("init", "--repo", repo, "--dry-run"))
    assert made.returncode == 0, made.stdout + made.stderr
    assert "pytest -q" in made.stdout
    assert re.search(r"# +\.github/workflows/a\.yaml .*: it could not be parsed", made.stdout)
    told = warm.run(command("doctor", "--repo", repo, "--no-try"))
    assert ".github/workflows/a.yaml: it could not be parsed, and was left out: " in told.stdout
    assert "Traceback" not in told.stderr


def test_a95_the_time_for_all_manifests_of_a_change_is_limited(monkeypatch: pytest.MonkeyPatch):
    """With a clock of its own: the first file takes all the time there is."""
    times = iter([0.0, 100.0])
    with Parser() as parser:
        monkeypatch.setattr("bot.parsing.parser.time.monotonic", lambda: next(times))
        notes = [_note("pyproject.toml", parser) for _ in range(300)]
    assert notes[0] == "adds the dependency evil"
    assert set(notes[1:]) == {
        "may add dependencies, which are not known: it was not read, since the files before it took over 10 s"
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", ["pyproject.toml", "Cargo.toml", "Pipfile"])
def test_a95_a_manifest_that_takes_long_is_said_to_be_unread(path: str):
    with Parser() as parser:
        note = _note(path, parser, "a." * 90_000 + "a=1")
    assert note == "may add dependencies, which are not known: it takes its parser too long"


def _note(path: str, parser: Parser, text: str = '[project]\ndependencies = ["evil"]\n') -> str:
    return new_dependencies(path, [], [Line(1, text.encode())], text.encode(), parser)


# Names in what init writes


EVIL = "x\nsetup:\n  - touch pwned\n#"
TITLE = 'y"\x1b]0;pwned\x07\u2028${{ secrets.KEY }} *a &b !!python/name:os.system'
STEPS = [
    {"run": 'python -m pytest -k \'a" or b\\\\\' -p "c: #d"'},
    {"run": "mypy '${{ steps.x.outputs.pwned }}'"},
    {"run": "ruff check . --config 'a\nsetup: [touch pwned]'"},
    {"run": "npm test"},
    {"run": "npm run 'lint; touch pwned'"},
    {"name": TITLE, "run": "pytest --token ${{ secrets.KEY }}"},
]
PACKAGE = {
    "name": EVIL,
    "packageManager": "pnpm@9;touch pwned",
    "scripts": {"test": "jest", "lint; touch pwned": "eslint .", "lint\ntouch pwned": "eslint ."},
    "devDependencies": {"jest": "1", EVIL: "1"},
}
PROJECT = f"[project]\nname = {json.dumps(EVIL)}\n[dependency-groups]\ntest = [{json.dumps(EVIL)}]\n"
COMMANDS = [f"set -e\n{STEPS[0]['run']}", "npm test", STEPS[2]["run"]]


def test_a07_no_name_becomes_a_line_or_a_command_of_what_init_writes(tmp_path: Path):
    ci = {"on": ["push"], "jobs": {EVIL: {"runs-on": "ubuntu-latest", "steps": STEPS}}}
    files = {
        ".github/workflows/ci.yml": yaml.safe_dump(ci),
        "package.json": json.dumps(PACKAGE),
        "pyproject.toml": PROJECT,
        "tests/test_a.py": "import pytest\n",
        "$(touch pwned)/Cargo.toml": "",
        'a"\n- touch pwned/go.mod': "module x\n",
    }
    repo = make_repository(tmp_path / "project", files)
    completed = warm.run(command("init", "--repo", repo, "--yes", "--no-try"))
    assert completed.returncode == 0, completed.stdout + completed.stderr
    text = (repo / ".github" / "agent.yml").read_text()
    policy = load_policy(text)
    assert [check.command for check in policy.checks] == COMMANDS
    assert set(yaml.safe_load(text)) == {"version", "checks", "setup"}
    assert not [step.command for step in policy.setup if "pwned" in step.command]
    assert "${{" not in str(policy) and "\x1b" not in text
    assert (repo / ".github" / "workflows" / "agent.yml").read_text() == workflow_text("anthropic")
    assert "\x1b" not in completed.stdout


@pytest.mark.parametrize("end", ["\r", "\x85", "\u2028", "\u2029"])
def test_a150_a_command_that_cannot_run_here_stays_a_comment(end: str):
    check = DetectedCheck("n", f"make test{end}dangerous: {{}} #", Use.TESTS, "ci.yml")
    text = policy_text(Detection((), (check,)), {"n": "a tool is missing"})
    assert list(yaml.safe_load(text)) == ["version"]

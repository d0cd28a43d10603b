"""`init` turns names of a repository into lines of a policy: none of them may become a key, a step or a command."""

import json
from pathlib import Path

import pytest
import yaml

from bot.doctor.init_files import policy_text, workflow_text
from bot.ecosystems.record import Use
from bot.environment.detection_result import DetectedCheck, Detection
from bot.policy.load import load_policy
from tests.support import warm
from tests.support.repositories import make_repository
from tests.support.stage import command

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

"""The recipes of docs/extend.md, carried out with its own examples in a copy of the tree. That of a verb is in
`tests/verbs/test_recipe.py`."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.files import write_file, write_files
from tests.support.fix_script import fix_steps
from tests.support.model_script import Call, Say, Step
from tests.support.model_server import ModelServer
from tests.support.programs import run_program
from tests.support.repositories import commit_all, git, sample_repository

ROOT = Path(__file__).parents[2]
EXAMPLES = dict(
    re.findall(
        r'^```python title="(.+?)"\n(.*?)^```$',
        (ROOT / "docs" / "extend.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
)

MIX = """#!/bin/sh
grep -q broken lib/hello.ex && echo "3 tests, 1 failure" && exit 1
echo "3 tests, 0 failures"
"""


class Tree:
    """A copy of the source tree, to which a recipe is applied."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("bot", ".ci"):
            shutil.copytree(ROOT / name, root / name)  # with the bytecode, or each run compiles all of it

    def write(self, path: str) -> None:
        """Write the example with this title."""
        assert not (self.root / path).exists()
        (self.root / path).write_text(EXAMPLES[path])

    def change(self, path: str, before: str, text: str, *, pattern: bool = False) -> None:
        """Insert `text` in front of the only match of `before`."""
        file = self.root / path
        expression = before if pattern else re.escape(before)
        changed, number = re.subn(
            expression, lambda match: text + match[0], file.read_text(), flags=re.MULTILINE
        )
        assert number == 1, f"{path}: {number} times {before}"
        file.write_text(changed)

    def run(self, *arguments: str, path: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `slash-agent` of the copy."""
        home = self.root.parent / "home"
        home.mkdir(exist_ok=True)
        variables = {
            "PATH": path + os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(self.root),
            **environment,
        }
        return run_program([sys.executable, *arguments], cwd=self.root, env=variables)

    def fix(self, repo: Path, steps: list[Step], *options: str, path: str = "") -> dict[str, object]:
        """Return the outcome of `slash-agent fix` with a model that takes these steps."""
        with ModelServer(steps) as server:
            address = server.environment() | {"ACME_API_KEY": "k", "ACME_BASE_URL": f"{server.url}/v1"}
            words = ("-m", "bot", "fix", "--repo", str(repo), "--json", *options, "Mend it.")
            ran = self.run(*words, path=path, **address)
        assert ran.returncode == 0, ran.stderr
        outcome = json.loads(ran.stdout)["outcome"]
        assert isinstance(outcome, dict)
        return outcome


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return sample_repository(tmp_path / "sample", checks=False)


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a_language_is_a_file_and_its_tests_run_before_and_after(tree: Tree, tmp_path: Path):
    tree.write("bot/ecosystems/elixir.py")
    tree.change("bot/ecosystems/registry.py", r'(?<=^NAMES = listed\(")', "elixir; ", pattern=True)
    repo, tools = tmp_path / "hello", tmp_path / "tools"
    write_files(repo, {"mix.exs": "# project\n", "lib/hello.ex": "# broken\n"})
    git(repo, "init", "-q", "-b", "main")
    commit_all(repo, "First")
    write_file(tools / "mix", MIX, 0o755)
    steps = [
        Call("view", {"path": "lib/hello.ex"}),
        Call("edit", {"path": "lib/hello.ex", "old": "broken", "new": "whole"}),
        Say("Mended."),
    ]
    outcome = tree.fix(repo, steps, path=f"{tools}:")
    (check,) = outcome["checks"]
    assert check["command"] == "mix test"
    assert (check["before"]["exit_code"], check["after"]["exit_code"]) == (1, 0)


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a_tool_is_a_description_and_a_file_and_rules_can_name_it(tree: Tree, sample: Path):
    tree.change(
        "bot/contracts/tool_descriptions.py",
        "READING_SPECS = (",
        EXAMPLES["bot/contracts/tool_descriptions.py"],
    )
    tree.change("bot/contracts/tool_descriptions.py", r"(?<=^READING_SPECS = \()", "COUNT, ", pattern=True)
    tree.write("bot/toolhost/tools/count.py")
    call = ("-m", "bot", "tool", "count", '{"path": "README.md"}', "--root", str(sample))
    lines = len((sample / "README.md").read_text().splitlines())
    assert json.loads(tree.run(*call).stdout)["content"] == f"{lines} lines"
    rule = sample.parent / "rule.yml"
    rule.write_text('version: 1\nrules:\n  - {effect: deny, paths: ["README.md"], tools: [count]}\n')
    refused = json.loads(tree.run(*call, "--policy", str(rule)).stdout)
    assert refused["is_error"]
    assert "rules[0]" in refused["content"]


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a_provider_is_a_row(tree: Tree, sample: Path):
    tree.change("bot/providers/vendors.py", '    "openrouter": Vendor(', EXAMPLES["bot/providers/vendors.py"])
    outcome = tree.fix(sample, fix_steps(), "--model", "acme/large")
    assert outcome["status"] == "changed"
    assert outcome["model"] == "large"


def test_an_event_is_a_reader(tree: Tree, tmp_path: Path):
    module = "bot/events/read_event.py"
    tree.change(module, "READERS: Mapping", EXAMPLES[module] + "\n\n")
    tree.change(module, '    "workflow_run": _from_run,', EXAMPLES["READERS"])
    payload = {
        "action": "requested_action",
        "requested_action": {"identifier": "fix the linter"},
        "check_run": {"pull_requests": [{"number": 7}]},
        "repository": {
            "full_name": "octo/hello",
            "default_branch": "main",
            "private": False,
            "clone_url": "https://github.com/octo/hello.git",
        },
        "sender": {"login": "ann", "id": 1, "type": "User"},
    }
    file = tmp_path / "event.json"
    file.write_text(json.dumps(payload))
    program = (
        "import pathlib, sys; from bot.events.read_event import read_event; "
        "found = read_event('check_run', pathlib.Path(sys.argv[1])); "
        "print(found.command.verb, found.command.instruction, found.number, found.actor.login)"
    )
    ran = tree.run("-c", program, str(file))
    assert ran.stdout == "fix the linter 7 ann\n", ran.stderr


@pytest.mark.slow
def test_a_policy_key_is_a_field(tree: Tree, tmp_path: Path):
    tree.change(
        "bot/policy/publish_settings.py",
        '    keyword: Literal["Fixes", "Refs"]',
        EXAMPLES["PullRequestPolicy"],
    )
    policy = tmp_path / "agent.yml"
    policy.write_text("version: 1\npull_request:\n  greeting: Thank you for reading.\n")
    assert tree.run("-m", "bot", "policy", "check", str(policy)).returncode == 0
    policy.write_text("version: 1\npull_request:\n  greeting: [1]\n")
    wrong = tree.run("-m", "bot", "policy", "check", str(policy))
    assert wrong.returncode == 2
    assert "agent.yml:3" in wrong.stderr + wrong.stdout
    shutil.copytree(ROOT / "docs", tree.root / "docs")
    assert tree.run(".ci/write_schema.py").returncode == 0
    assert "| `pull_request.greeting` |" in (tree.root / "docs" / "policy.md").read_text()
    assert "The first line of the description." in (tree.root / "docs" / "agent.schema.json").read_text()

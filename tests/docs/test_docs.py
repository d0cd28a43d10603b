"""Every command and every snippet in the README and in `docs/` is run here, so they cannot drift; and the recipes of
docs/extend.md, with its own examples in a copy of the tree. That of a verb is in `tests/verbs/test_recipe.py`."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bot.policy.load import load_policy
from slash_forge.bundled import set_up
from slash_forge.forge import Forge
from tests.session.conftest import command
from tests.support import warm
from tests.support.files import write_file, write_files
from tests.support.fix_script import fix_steps, shell
from tests.support.model_script import Call, Say, ScriptRequest, Step
from tests.support.model_server import ModelServer
from tests.support.programs import run_program
from tests.support.repositories import commit_all, git, sample_repository

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BLOB = "https://github.com/slash-agent/slash-agent/blob/main/"
_LINK = re.compile(rf"\]\(({_BLOB}[^)#]+|[^)#:]+)[)#]")


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in _BLOCK.findall(page.read_text()) if kind == language]


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    assert all(line.startswith("$ ") for line in lines), f"{page.name}: a console block holds commands only"
    return [line.removeprefix("$ ") for line in lines]


def test_every_block_is_of_a_kind_that_is_tested_and_every_link_leads_somewhere():
    for page in PAGES:
        kinds = re.findall(r"^```(\w*)$", page.read_text(), re.MULTILINE)[::2]
        assert set(kinds) <= {"console", "yaml", "toml", ""}, page.name
        links = [link.replace(_BLOB, f"{ROOT}/") for link in _LINK.findall(page.read_text())]
        assert [link for link in links if not (page.parent / link).exists()] == [], page.name


def test_every_make_command_is_a_target():
    for line in {line for page in PAGES for line in commands(page) if line.startswith("make ")}:
        argv = ["make", "--dry-run", *shlex.split(line)[1:]]
        subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if page.name == "README.md" else pytest.mark.slow)
        for page in PAGES
        if commands(page)
    ],
    ids=lambda page: page.name,
)
def test_every_slash_agent_command_works(page: Path, tmp_path: Path):
    lines = [line for line in commands(page) if not line.startswith("make ")]
    assert {line.split()[0] for line in lines} <= {"slash-agent", "git"}
    repo = sample_repository(tmp_path / "tidytime")
    git(repo, "update-ref", "refs/remotes/origin/main", "HEAD")
    (repo / "NOTES.md").write_text("Something to review.\n")
    commit_all(repo, "Add notes")
    with Forge() as forge, ModelServer(_mend_each_time) as model:
        sample = set_up(forge)
        (repo / "event.json").write_text(json.dumps(sample.event))
        git(repo, "config", "remote.origin.url", forge.clone_url(sample.repository))
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            **model.environment(),
            "GITHUB_TOKEN": sample.publish_token,
            "GITHUB_SERVER_URL": forge.url,
            "GITHUB_API_URL": forge.api_url,
            "GH_HOST": forge.url.partition("://")[2],
            "GH_ENTERPRISE_TOKEN": sample.maintainer_token,
        }
        for line in lines:
            if "salvage" in line:
                _die_half_way(repo, environment, model)
            program, *arguments = shlex.split(line)
            if program == "git":
                assert git(repo, *arguments) or arguments[0] == "add", f"{line} prints nothing"
                continue
            completed = warm.run(command(*arguments), environment, repo)
            assert completed.returncode == 0, f"{line}\n{completed.stdout}\n{completed.stderr}"


def test_every_policy_snippet_loads():
    for name in ("policy.md", "review.md", "checks.md", "follow-up.md"):
        for text in blocks(ROOT / "docs" / name, "yaml"):
            load_policy(text, f"docs/{name}")


def test_every_recipe_is_a_policy_a_workflow_or_a_task():
    from bot.maintenance.task import read_task

    recipes = blocks(ROOT / "docs" / "recipes.md", "yaml")
    assert len(recipes) > 10
    for text in recipes:
        if text.startswith("version: 1\n"):
            load_policy(text, "docs/recipes.md")
        elif "jobs:" not in text:
            read_task(f"---\n{text}---\nDo it.\n", ".github/agent/links.md")


def test_what_a_run_costs_is_what_the_recording_costs_at_the_prices_of_the_table():
    from bot.agent.journal import read_journal
    from bot.providers.models import DEFAULTS, model_info
    from bot.session.demo.demo import RECORDING

    page = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| `(\w+)/(\S+)`(.*?) \| (.*?) \|$", page, re.MULTILINE)
    answers = read_journal(RECORDING).responses()
    for provider, name, note, said in rows:
        usd = sum(model_info(name).cost(answer.usage) for answer in answers)
        assert said == ("under $0.01" if usd < 0.005 else f"${usd:.2f}"), name
        assert ("the default" in note) == (DEFAULTS[provider] == name)
    assert len(rows) == 5
    cached = sum(answer.usage.cache_read for answer in answers)
    total = sum(answer.usage.total for answer in answers)
    told = f"{len(answers)} requests and {total:,} tokens, of which {cached:,} are read"
    assert told in " ".join(page.split())


def test_every_workflow_snippet_is_lint_clean(tmp_path: Path):
    pages = ("README.md", "docs/action.md", "docs/recipes.md")
    workflows = [text for page in pages for text in blocks(ROOT / page, "yaml")]
    for number, text in enumerate(text for text in workflows if "jobs:" in text):
        workflow = tmp_path / f"{number}.yml"
        workflow.write_text(text)
        program = Path(sys.executable).parent / "actionlint"
        completed = subprocess.run([program, workflow], capture_output=True, text=True, check=False)
        assert completed.returncode == 0, completed.stdout


def test_every_verb_is_on_the_command_line_page():
    from bot.cli.main import VERBS

    page = (ROOT / "docs" / "cli.md").read_text()
    assert [verb for verb in VERBS if f"slash-agent {verb}" not in page and verb != "demo"] == []


def _mend_each_time(asked: ScriptRequest) -> Step:
    """The mending session again for each run, however many there are: told apart by the results sent back."""
    if "sleep here" in json.dumps(asked.body.get("messages", [])[:1]):
        return shell("sleep 60") if asked.results else fix_steps()[0]
    if asked.results and any(tool["name"] == "submit_plan" for tool in asked.body.get("tools", [])):
        return Call("submit_plan", {"title": "Round first", "steps": [{"text": "Round before splitting."}]})
    steps = fix_steps()
    completed = {0: 0, 1: 1, 3: 2}.get(len(asked.results), 3)
    return steps[completed]


def _die_half_way(repo: Path, environment: dict[str, str], model: ModelServer) -> None:
    """A run that is killed while its command runs."""
    process = subprocess.Popen(
        command("fix", "--repo", ".", "sleep here"), cwd=repo, env=environment, stderr=subprocess.DEVNULL
    )
    while sum(b"sleep here" in request.body for request in model.requests) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()


def test_every_key_of_the_policy_is_on_its_page():
    from bot.policy.schema import schema

    page, *_ = blocks(ROOT / "docs" / "policy.md", "yaml")
    entries = [schema()["$defs"][f"{kind}Rule"] for kind in ("Path", "Command", "Opaque")]
    keys = {key for owner in (schema(), *entries) for key in owner["properties"]}
    missing = [key for key in keys if not re.search(rf"^[ -]*{key}:", page, re.MULTILINE)]
    assert missing == []


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

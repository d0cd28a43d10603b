"""Every command and every snippet in the README and in `docs/` is run here, so they cannot drift."""

import json
import os
import re
import shlex
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
from tests.support.fix_script import fix_steps, shell
from tests.support.model_script import Call, ScriptRequest, Step
from tests.support.model_server import ModelServer
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
    for name in ("policy.md", "review.md", "checks.md"):
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

"""The workflow that `init` writes from CI's own steps: no text of theirs becomes a key, a job or another step, and
nothing that installs, caches or holds a secret gets into the job with the model's key."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.doctor.init_files import ACTIONLINT, WORKFLOW, propose
from bot.doctor.prepare_job import TOOLS
from bot.environment.detect import detect
from tests.support.repositories import commit_all, make_repository

BIN = Path(sys.executable).parent
NODE = {
    "uses": "actions/setup-node@v6",
    "with": {
        "node-version": "22",
        "cache": "npm",
        "registry-url": "https://packages.example",
        "scope": "@own",
        "always-auth": "true",
    },
}
EVIL = "x\n      - run: touch pwned\n"


def written(*steps: dict[str, Any], job: dict[str, Any] | None = None, **files: str) -> str:
    own = {"runs-on": "ubuntu-latest", "steps": [*steps, {"run": "npm test"}], **(job or {})}
    every = {
        "package.json": '{"devDependencies": {"jest": "1"}, "scripts": {"test": "jest"}}',
        ".github/workflows/ci.yml": yaml.safe_dump({"on": ["pull_request"], "jobs": {"test": own}}),
        **{name.replace("__", "/"): text for name, text in files.items()},
    }
    texts = {file.path: file.text for file in propose(detect(every, every.get), "anthropic", tasks=False)}
    return texts[WORKFLOW]


NAMED = "slash-agent-name"


def steps_of(text: str, job: str) -> list[dict[str, Any]]:
    """Those of CI alone, without the commit, which has its own tests. An action gets each input as a text."""
    steps = yaml.load(text, yaml.BaseLoader)["jobs"].get(job, {"steps": []})["steps"]
    ours = ("slash-agent/", "actions/checkout@", "actions/cache/restore@")
    of_ci = [step for step in steps if not step.get("uses", "").startswith(ours) and step.get("id") != NAMED]
    return [{key: value for key, value in step.items() if key != "if"} for step in of_ci]


def test_steps_are_copied_as_they_stand_with_their_place():
    text = written(NODE, {"name": "Install", "run": "npm ci"})
    assert steps_of(text, "prepare") == [NODE, {"name": "Install", "run": "npm ci"}]
    assert text.count("# .github/workflows/ci.yml, job test\n") == 2


def test_a_cache_of_ci_is_restored_and_not_saved():
    """Else the job that keeps the environment would save the packages of several jobs under the key of one."""
    cache = {"uses": "actions/cache@v6", "with": {"path": "node_modules", "key": "x"}}
    text = written(cache, {"run": "npm ci"})
    assert "uses: actions/cache/restore@v6 # " in text and "uses: actions/cache@" not in text


def test_a124_the_agents_job_repeats_only_what_chooses_a_version(tmp_path: Path):
    text = written(NODE, {"uses": "some/setup-thing@v1"}, {"run": "npm ci"})
    [step] = steps_of(text, "run")
    assert step["uses"].partition("@")[0] == "actions/setup-node"
    assert re.search(r"uses: actions/setup-node@[0-9a-f]{40} # v", text)
    assert step["with"] == {"node-version": "22", "package-manager-cache": "false"}


def test_a124_a_version_that_an_action_reads_from_a_file_is_an_input_in_the_job_without_a_checkout():
    package = '{"packageManager": "pnpm@9.1.0+sha512.a"}'
    steps = {"uses": "pnpm/action-setup@v4"}, {"run": "pnpm i"}
    [step] = steps_of(written(*steps, **{"package.json": package, "pnpm-lock.yaml": ""}), "run")
    assert (step["with"], step["continue-on-error"]) == ({"version": "9.1.0"}, "true")


@pytest.mark.parametrize("name", TOOLS)
def test_a124_no_input_that_a_job_with_a_key_gets_installs_caches_or_holds_a_secret(name: str):
    dangerous = re.compile(
        r"token|auth|registry|cache|install|command|script|packages$|components|server|extensions|run",
        re.IGNORECASE,
    )
    assert not [one for one in TOOLS[name].inputs.split() if dangerous.search(one)]
    assert re.match("[0-9a-f]{40} # ", TOOLS[name].pin)


def test_system_packages_are_repeated_only_where_the_line_is_literal():
    lines = "sudo apt-get update && sudo apt-get install -y \\\n  libxml2-dev\ncurl https://x.example | sh\n"
    [step] = steps_of(written({"run": lines}), "run")
    assert step["run"] == "sudo apt-get update\nsudo apt-get install -y libxml2-dev"
    assert step["continue-on-error"] == "true", "as with a repository of packages that only CI's job has"
    assert not steps_of(written({"run": "sudo apt-get install -y $(cat packages)"}), "run")
    [step] = steps_of(written({"run": "npm i -g corepack && corepack enable"}), "run")
    assert step["run"] == "corepack enable"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"uses": "a/b@v1", "with": {"token": "${{ secrets.GITHUB_TOKEN }}"}}, "needs a secret"),
        ({"uses": "a/b@v1", "with": {"token": "${{ github.token }}"}}, "needs a secret"),
        ({"uses": "docker://alpine:3"}, "no action of a repository"),
        ({"run": "npm ci", "env": {"NPM_TOKEN": "${{ secrets.NPM }}"}}, "needs a secret"),
        ({"run": "echo ${{ github.event.pull_request.title }}"}, "only a run of the workflow has"),
        ({"run": "npm ci", "if": "github.event_name == 'schedule'"}, "another event"),
    ],
)
def test_what_another_job_cannot_have_is_left_out_with_the_reason(step: dict[str, Any], reason: str):
    text = written(NODE, step)
    assert steps_of(text, "prepare") == [NODE]
    [line] = [line for line in text.splitlines() if "left out: " in line]
    assert reason in line


@pytest.mark.parametrize("job", [{"container": "node:22"}, {"services": {"db": {"image": "postgres"}}}])
def test_a_job_in_a_container_is_no_model_for_ours(job: dict[str, Any]):
    assert not steps_of(written(NODE, job=job), "prepare")


def test_copilots_own_set_up_is_used_in_place_of_cis():
    own = {"jobs": {"copilot-setup-steps": {"runs-on": "ubuntu-latest", "steps": [{"run": "make deps"}]}}}
    text = written(NODE, **{".github__workflows__copilot-setup-steps.yml": yaml.safe_dump(own)})
    [step] = steps_of(text, "prepare")
    assert step["run"] == "make deps"


def test_a125_no_text_of_ci_becomes_a_step_or_a_key():
    hostile = [
        {"name": EVIL, "run": "npm ci\n<< steps >> << prepare >>"},
        {"uses": "actions/setup-python@v5", "with": {"python-version": "<< steps >>", "x: y\n#": EVIL}},
        {"uses": f"actions/setup-go@{EVIL}"},
        {"uses": "actions/setup-java@v4", "with": {"java-version": "21\u2028jobs: {}", "distribution": EVIL}},
        {"run": "npm install \x1b[31m"},
    ]
    text = written(*hostile)
    workflow = yaml.safe_load(text)
    assert list(workflow["jobs"]) == ["instant", "gate", "prepare", "run", "publish"]
    steps = steps_of(text, "prepare")
    assert [set(step) for step in steps] == [{"name", "run"}, {"uses", "with"}]
    assert steps[0]["run"] == hostile[0]["run"]
    assert steps[1]["with"] == hostile[1]["with"]
    assert [step["with"] for step in steps_of(text, "run")] == [{"python-version": "<< steps >>"}]
    assert not [
        step for job in workflow["jobs"].values() for step in job["steps"] if step.get("run") == "touch pwned"
    ]


def test_the_job_without_secrets_has_none_and_follows_the_gate():
    text = written(NODE, {"run": "npm ci"})
    job = yaml.safe_load(text)["jobs"]["prepare"]
    assert job["permissions"] == {"contents": "read"}
    assert (job["needs"], job["if"]) == ("gate", "needs.gate.outputs.commit != ''")
    assert job["cache-mode"] == "read"
    assert job["steps"][0]["with"] == {
        "ref": "${{ needs.gate.outputs.commit }}",
        "persist-credentials": False,
    }
    assert "secrets." not in yaml.safe_dump(job)


@pytest.mark.slow
def test_what_is_written_is_clean_to_the_linters(tmp_path: Path):
    rust = {"uses": "dtolnay/rust-toolchain@1.80", "with": {"components": "clippy"}}
    node = {"uses": NODE["uses"], "with": {"node-version": "22", "cache": "npm"}}
    files = {
        WORKFLOW: written(
            node,
            rust,
            {"run": "npm ci"},
            {"run": "gem install x-*.gem"},
            {"run": "gem install x\nnpm i -g y\n"},
        ),
        ACTIONLINT: "paths: {}\n",
    }
    repo = make_repository(tmp_path / "linted", files)
    commit_all(repo)
    for argv in ([BIN / "actionlint"], [BIN / "zizmor", "--offline", "--persona", "pedantic"]):
        done = subprocess.run([*argv, WORKFLOW], cwd=repo, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

"""`action.yml` and the workflows: clean to the linters, and nothing in them that nobody sets, uses or explains."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.doctor.init_files import workflow_text
from tests.support.npm import installed
from tests.support.programs import run_program
from tests.support.runner import ACTION, ROOT, WORKFLOW

BIN = Path(sys.executable).parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TO_COPY = sorted((ROOT / "docs" / "workflows").glob("*.yml"))
FIRST = ROOT / ".github" / "action" / "admission.py"
INSIDE = ("model", "openai-base-url", "budget-usd", "extras")
DESCRIBED: dict[str, Any] = yaml.safe_load(ACTION.read_text())


def test_the_workflows_are_clean_to_actionlint():
    completed = run_program([BIN / "actionlint", *WORKFLOWS, *TO_COPY], cwd=ROOT)
    assert completed.returncode == 0, completed.stdout


def test_action_and_workflows_are_clean_to_zizmor():
    completed = run_program(
        [BIN / "zizmor", "--offline", "--persona", "pedantic", ACTION, *WORKFLOWS, *TO_COPY], cwd=ROOT
    )
    assert completed.returncode == 0, completed.stdout


@pytest.mark.node
def test_githubs_own_checker_finds_nothing_in_action_and_workflows(tmp_path: Path):
    """From npm. Its published modules run in Node.js only when bundled."""
    modules = installed("@actions/languageservice", "0.3.61").parents[1]
    bundler, bundle = installed("esbuild", "0.28.2") / "bin" / "esbuild", tmp_path / "service.cjs"
    how = ["--bundle", "--platform=node", "--format=cjs", "--log-level=error", f"--outfile={bundle}"]
    script = Path(__file__).with_name("language_service.mjs")
    path = {"NODE_PATH": str(modules), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    subprocess.run([bundler, script, *how], env=path, check=True)
    argv = ["node", bundle, ACTION, *WORKFLOWS]
    completed = run_program(argv, check=True)
    found = {one["path"]: one["found"] for one in map(json.loads, completed.stdout.splitlines())}
    assert found == {str(file): [] for file in (ACTION, *WORKFLOWS)}


@pytest.mark.parametrize("name", DESCRIBED["inputs"])
def test_each_input_is_used_and_documented(name: str):
    used = re.compile(rf"\binputs\.{re.escape(name)}(?![\w-])")
    assert used.search(yaml.safe_dump(DESCRIBED["runs"], width=10_000))
    assert f"`{name}`" in (ROOT / "docs" / "action.md").read_text()


@pytest.mark.parametrize("name", DESCRIBED["outputs"])
def test_each_output_is_set_by_the_program_and_documented(name: str):
    value = DESCRIBED["outputs"][name]["value"]
    sources = re.findall(r"steps\.([a-z]+)\.outputs\.([a-z-]+)", value)
    assert sources
    for step, output in sources:
        [described] = [one for one in DESCRIBED["runs"]["steps"] if one.get("id") == step]
        if "uses" in described:
            assert output in ("artifact-id", "artifact-url")
            continue
        verb = re.search(r"-m bot ([a-z]+)", described["run"])
        script = FIRST.with_name("keep.py") if step == "keep" else FIRST
        program = (ROOT / "bot" / "cli" / f"{verb.group(1)}.py" if verb else script).read_text()
        assert f'"{output}"' in program or f' {output} "$' in described["run"], f"nothing sets {output}"
    assert f"`{name}`" in (ROOT / "docs" / "action.md").read_text()


def scripts() -> list[str]:
    matches = [step["run"] for step in DESCRIBED["runs"]["steps"] if "run" in step]
    for workflow in WORKFLOWS:
        for job in yaml.safe_load(workflow.read_text())["jobs"].values():
            matches += [step["run"] for step in job.get("steps", ()) if "run" in step]
    return matches


def test_no_script_holds_an_expression():
    assert scripts()
    assert not [script for script in scripts() if "${{" in script]


def test_every_action_of_others_is_pinned_to_a_commit():
    text = "\n".join(file.read_text() for file in (ACTION, *WORKFLOWS))
    used = re.findall(r"^ +(?:- )?uses: (\S+)", text, re.MULTILINE)
    others = [one for one in used if not one.startswith("./")]
    assert others
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one) for one in others)


def test_the_job_that_runs_the_agent_has_no_token_that_can_push():
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    assert {what for what, how in jobs["run"]["permissions"].items() if how == "write"} == {"issues"}
    assert set(re.findall(r"secrets\.(\w+)", yaml.safe_dump(jobs["publish"], width=10_000))) == {
        "APP_PRIVATE_KEY"
    }


def test_what_a_run_had_is_kept_also_when_it_failed_or_was_cancelled():
    """A step of a composite action is run after a cancelled one only if its condition says `always()`."""
    steps = {step.get("id"): step for step in DESCRIBED["runs"]["steps"]}
    after = [steps[name] for name in ("salvage", "artifact", "kept", "page", "publish")]
    assert all(step["if"].startswith("always() &&") for step in after)
    order = list(steps)
    assert order.index("salvage") < order.index("kept") < order.index("page") < order.index("publish")


def test_the_page_has_each_jobs_permissions():
    page = (ROOT / "docs" / "action.md").read_text()
    documented = re.findall(r"^\| `([\w-]+\.yml)` \| `([\w-]+)` \| (.*) \|$", page, re.MULTILINE)
    expected = []
    for workflow in WORKFLOWS:
        described = yaml.safe_load(workflow.read_text())
        for name, job in described["jobs"].items():
            given = job.get("permissions", described["permissions"])
            expected.append(
                (workflow.name, name, ", ".join(f"`{what}: {how}`" for what, how in given.items()))
            )
    assert sorted(documented) == sorted(expected)


def test_each_workflow_to_call_takes_the_same_inputs_and_hands_them_to_every_job():
    """A policy of another name that only one of two jobs knew would let the other judge by the wrong one."""
    for name in ("agent.yml", "maintenance.yml", "one-job.yml", "review.yml", "task.yml"):
        described = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())
        inputs = described[True]["workflow_call"]["inputs"]  # YAML 1.1 reads `on` as true
        assert inputs.keys() >= {"model", "openai-base-url", "budget-usd", "policy", "extras", "app-id"}
        for job in described["jobs"].values():
            steps = job.get("steps", [job])  # a job that calls another workflow is its own step
            for given in (step["with"] for step in steps if str(step.get("uses")).startswith("./")):
                if given.get("mode") == "salvage":
                    continue
                assert given["policy"] == "${{ inputs.policy }}"
                if given.get("mode") != "gate":
                    assert "inputs.app-id" in given["app-id"]
                if "model" in given:
                    assert all(f"inputs.{what} " in given[what] for what in inputs if what in INSIDE)


def shown() -> dict[str, str]:
    """The workflows that call ours: the page's, and the one that `init` writes."""
    [page] = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "action.md").read_text(), re.DOTALL)
    return {"docs/action.md": page, "init": workflow_text("anthropic")}


@pytest.mark.parametrize("place", shown())
def test_a_call_gives_each_job_of_ours_what_it_asks_for(place: str):
    """GitHub starts nothing of a workflow that is called where one of its jobs may have less than it asks for."""
    [call] = yaml.safe_load(shown()[place])["jobs"].values()
    called = ROOT / ".github" / "workflows" / call["uses"].partition("@")[0].rpartition("/")[2]
    expected = {
        (what, how)
        for job in yaml.safe_load(called.read_text())["jobs"].values()
        for what, how in job["permissions"].items()
    }
    most = {what: "write" if (what, "write") in expected else "read" for what, _ in expected}
    assert call["permissions"] == most


def test_the_workflows_in_one_job_that_the_pages_show_have_what_ours_has():
    """Without `actions: read` a private repository's runs cannot be counted, and a scheduled one is refused."""
    [text] = re.findall(r"```yaml\n(name: .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    ours = yaml.safe_load((ROOT / ".github" / "workflows" / "one-job.yml").read_text())["jobs"]["agent"]
    assert yaml.safe_load(text)["permissions"] == ours["permissions"]
    page = (ROOT / "docs" / "maintenance.md").read_text()
    [text] = re.findall(r"```yaml\n(name: update.*?)```", page, re.DOTALL)
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "task.yml").read_text())["jobs"]
    both = {**jobs["run"]["permissions"], **jobs["publish"]["permissions"]}
    assert yaml.safe_load(text)["jobs"]["agent"]["permissions"] == both
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "maintenance.yml").read_text())["jobs"]
    assert jobs["task"]["permissions"] == both


def test_only_the_job_that_stops_runs_may_cancel_them():
    may = [
        (workflow.name, name)
        for workflow in WORKFLOWS
        for name, job in yaml.safe_load(workflow.read_text())["jobs"].items()
        if job.get("permissions", {}).get("actions") == "write"
    ]
    assert may == [("agent.yml", "instant")]


def test_nothing_is_installed_with_a_secret_in_the_environment_and_no_key_is_there_before_the_sandbox():
    steps = DESCRIBED["runs"]["steps"]
    secret = {
        step["name"]: re.findall(r"\{\{ inputs\.(\S*(?:api-key|token|private-key)) \}\}", str(step))
        for step in steps
    }
    names = list(secret)
    sandbox = names.index("Install Slash Agent") + 1
    assert names[:sandbox] == [
        "Pack what the steps before this left", "Keep it", "See which artifact is to be fetched",
        "Look at the event and at who asks", "Install the sandbox", "Install Slash Agent",
    ]  # fmt: skip
    assert [secret[name] for name in names[:sandbox]] == [[], [], [], ["github-token"], [], []]
    before = {one for name in names[sandbox : names.index("Run the agent")] for one in secret[name]}
    assert not before

"""A runner for our workflow: each job gets a token with its permissions, and the action's steps are run as scripts.
Artifacts are folders; other actions are replaced by name."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bot.environment.expressions import UNKNOWN, evaluate, substitute, to_text
from tests.support.stage import Stage

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
WORKFLOWS = ROOT / ".github" / "workflows"
WORKFLOW = WORKFLOWS / "agent.yml"

_OUTPUT = re.compile(r"([\w-]+)<<(\S+)\n(.*?)\n\2\n", re.DOTALL)
_STATUS = re.compile(r"\b(always|success|failure|cancelled)\(\)")


class _Context(dict[str, Any]):
    """The contexts of expressions, with dotted names. A name that is not there is null, as GitHub has it."""

    def __contains__(self, name: object) -> bool:
        return name not in ("true", "false", "null")

    def __missing__(self, path: str) -> Any:
        value: Any = self
        for step in path.split("."):
            value = dict.get(value, step) if isinstance(value, dict) else None
        return value


def fill(text: object, context: Mapping[str, Any]) -> str:
    """`text` with the value of each expression in it."""
    values, whole = _Context(context), to_text(text)
    assert UNKNOWN not in [evaluate(one, values) for one in re.findall(r"\$\{\{.*?\}\}", whole, re.DOTALL)], (
        whole
    )
    return substitute(whole, values)


def holds(condition: str | None, context: Mapping[str, Any], *, failed: bool) -> bool:
    """Whether a step or job with this `if:` is run."""
    states = {"always": True, "success": not failed, "failure": failed, "cancelled": False}
    text = condition or "success()"
    value = evaluate(_STATUS.sub(lambda match: to_text(states[match[1]]), text), _Context(context))
    assert value is not UNKNOWN, text
    return bool(value) and (not failed or bool(_STATUS.search(text)))


@dataclass
class Step:
    """`outcome` is success, failure or skipped."""

    outcome: str
    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""


@dataclass
class Job:
    result: str
    outputs: dict[str, str]
    steps: dict[str, Step]
    summary: str = ""

    @property
    def log(self) -> str:
        """As the runner shows it, with what the steps ask to mask."""
        text = "".join(step.log for step in self.steps.values())
        for value in re.findall("^::add-mask::(.+)$", text, re.MULTILINE):
            text = text.replace(value, "***")
        return text


@dataclass
class Runner:
    """Runs jobs on a stage. `venv` is where the program is installed already, which saves each job its minute."""

    stage: Stage
    venv: Path
    secrets: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    """The repository's variables (`vars`)."""
    artifacts: dict[str, Path] = field(default_factory=dict)
    """Those of the last workflow, by name and by number."""

    def workflow(
        self, event: Mapping[str, Any], text: str = "", name: str = "issue_comment"
    ) -> dict[str, Job]:
        """Every job of a workflow, our own without `text`, in order, for the event `name`."""
        self.artifacts = {}
        return self._jobs(
            text or WORKFLOW.read_text(), event, name, {"secrets": dict(self.secrets), "inputs": {}}
        )

    def _jobs(
        self, text: str, event: Mapping[str, Any], name: str, given: Mapping[str, Any], prefix: str = ""
    ) -> dict[str, Job]:
        definition = yaml.safe_load(text)
        jobs: dict[str, Job] = {}
        for id, job in definition["jobs"].items():
            job.setdefault("permissions", definition.get("permissions") or {})
            needed = job.get("needs", [])
            needs = {one: jobs[one] for one in ([needed] if isinstance(needed, str) else needed)}
            jobs[id] = self._job(f"{prefix}{id}", job, event, needs, name, given)
        return jobs

    def _called(
        self, id: str, job: Mapping[str, Any], event: Mapping[str, Any], name: str, context: Mapping[str, Any]
    ) -> Job:
        """The jobs of a workflow of ours that `job` calls, once for each entry of its matrix, as one."""
        jobs: dict[str, Job] = {}
        for number, entry in enumerate(evaluate(job["strategy"]["matrix"], _Context(context))["include"]):
            own = {**context, "matrix": entry}
            given = {
                into: {key: fill(value, own) for key, value in job[key].items()}
                for into, key in (("inputs", "with"), ("secrets", "secrets"))
            }
            called = self._jobs((ROOT / job["uses"]).read_text(), event, name, given, f"{id}-{number}-")
            jobs |= {f"{number}-{one}": result for one, result in called.items()}
        failed = any(one.result == "failure" for one in jobs.values())
        steps = {f"{one}-{step}": result for one in jobs for step, result in jobs[one].steps.items()}
        return Job("failure" if failed else "success", {}, steps)

    def action(self, event: Mapping[str, Any], token: str, name: str = "issue_comment", **inputs: str) -> Job:
        """The action alone, as one step of a job, for the event `name`. `inputs` with underscores."""
        machine = _Machine(self, event, token, self.stage.folder / "runner-job", name)
        inputs = {key.replace("_", "-"): value for key, value in inputs.items()}
        return machine.composite(inputs, {})

    def _job(
        self, id: str, job: Mapping[str, Any], event: Mapping[str, Any], needs: Mapping[str, Job], name: str,
        given: Mapping[str, Any],
    ) -> Job:  # fmt: skip
        context: dict[str, Any] = {
            "needs": {
                one: {"outputs": step_result.outputs, "result": step_result.result}
                for one, step_result in needs.items()
            },
            "github": {
                "event": event,
                "event_name": name,
                "repository": self.stage.repo,
                "job": id,
                "run_attempt": 1,
            },
            "strategy": {"job-index": 0},
            "vars": dict(self.settings),
            **given,
            "job": {"workflow_repository": self.stage.repo},
        }
        if not holds(
            job.get("if"),
            context,
            failed=any(step_result.result != "success" for step_result in needs.values()),
        ):
            return Job("skipped", {}, {})
        if "uses" in job:
            return self._called(id, job, event, name, context)
        token = self.stage.forge.token(permissions=permissions_of(job), repo=self.stage.repo)
        machine = _Machine(self, event, token, self.stage.folder / f"runner-{id}", name)
        context |= {"runner": machine.facts, "steps": {}}
        context["github"]["token"] = token
        steps: dict[str, Step] = {}
        failed = False
        for number, step in enumerate(job["steps"]):
            runs_step = holds(step.get("if"), context, failed=failed)
            step_result = machine.use(step, context) if runs_step else Step("skipped")
            failed = failed or step_result.outcome == "failure"
            steps[step.get("id", f"step-{number}")] = step_result
            context["steps"] = {
                key: {"outputs": one.outputs, "outcome": one.outcome} for key, one in steps.items()
            }
        outputs = {key: fill(value, context) for key, value in job.get("outputs", {}).items()}
        return Job("failure" if failed else "success", outputs, steps, machine.summary)


def permissions_of(job: Mapping[str, Any]) -> dict[str, str]:
    """What a job's token may do, as the forge names it."""
    return {key.replace("-", "_"): value for key, value in job["permissions"].items()}


class _Machine:
    """One fresh virtual machine."""

    def __init__(self, runner: Runner, event: Mapping[str, Any], token: str, folder: Path, name: str) -> None:
        self._runner = runner
        self._artifacts = runner.artifacts
        self._name = name
        self._token = token
        self._event = event
        self.temp = folder / "_temp"
        self.temp.mkdir(parents=True)
        self._event_file = runner.stage.event_file(event, f"{folder.name}-event.json")
        (folder / "workspace").mkdir()
        self._workspace = folder / "workspace"
        (self.temp / "slash-agent-venv").symlink_to(runner.venv)
        self.facts = {"temp": str(self.temp), "os": "Linux"}

    def use(self, step: Mapping[str, Any], context: Mapping[str, Any]) -> Step:
        inputs = {key: fill(value, context) for key, value in step.get("with", {}).items()}
        action = step["uses"].partition("@")[0]
        if action == "actions/checkout":
            return Step("success")
        if action == "actions/upload-artifact":
            return self._upload(Path(inputs["path"]), inputs)
        if action == "actions/download-artifact":
            artifact = self._artifacts[inputs.get("artifact-ids") or inputs["name"]]
            if artifact.is_dir():
                shutil.copytree(artifact, inputs["path"])
            else:
                Path(inputs["path"]).mkdir()
                shutil.copy2(artifact, inputs["path"])
            return Step("success")
        assert action in ("./", "slash-agent/slash-agent"), action
        step_result = self.composite(inputs, context)
        return Step(step_result.result, step_result.outputs, step_result.log)

    def _upload(self, path: Path, inputs: Mapping[str, str]) -> Step:
        unpacked = inputs.get("archive") == "false"
        assert path.is_file() == unpacked
        number = len(self._artifacts) // 2 + 1
        self._artifacts |= dict.fromkeys((path.name if unpacked else inputs["name"], str(number)), path)
        stage = self._runner.stage
        url = f"{stage.forge.url}/{stage.repo}/actions/runs/4711/artifacts/{number}"
        return Step("success", {"artifact-id": str(number), "artifact-url": url})

    def composite(self, inputs: Mapping[str, str], outer: Mapping[str, Any]) -> Job:
        """The steps of `action.yml`."""
        definition = yaml.safe_load(ACTION.read_text())
        github = {**outer.get("github", {}), "token": self._token, "event": self._event}
        context: dict[str, Any] = {**outer, "github": github, "runner": self.facts, "steps": {}}
        unknown = set(inputs) - set(definition["inputs"])
        assert not unknown, f"the action has no input {unknown}"
        # Installing what checks need would take half a minute, most of which pip tries again without a network.
        given = {"prepare": "off", **inputs}
        context["inputs"] = {
            name: given.get(name, fill(settings.get("default", ""), context))
            for name, settings in definition["inputs"].items()
        }
        steps: dict[str, Step] = {}
        failed = False
        for number, step in enumerate(definition["runs"]["steps"]):
            name = step.get("id", f"step-{number}")
            if not holds(step.get("if"), context, failed=failed):
                steps[name] = Step("skipped")
            elif name == "install":
                steps[name] = Step("success")
            elif "uses" in step:
                steps[name] = self.use(step, context)
            else:
                steps[name] = self._script(step, context)
            goes_on = fill(step.get("continue-on-error", "false"), context) == "true"
            failed = failed or (steps[name].outcome == "failure" and not goes_on)
            context["steps"] = {
                key: {"outputs": one.outputs, "outcome": one.outcome} for key, one in steps.items()
            }
        outputs = {name: fill(value["value"], context) for name, value in definition["outputs"].items()}
        return Job("failure" if failed else "success", outputs, steps, self.summary)

    @property
    def summary(self) -> str:
        """The job summary."""
        file = self.temp / "summary"
        return file.read_text() if file.exists() else ""

    def _script(self, step: Mapping[str, Any], context: Mapping[str, Any]) -> Step:
        """One `run:` as the runner starts it: the script in a file, values by environment alone."""
        assert step["shell"] == "bash"
        script, outputs = self.temp / "script.sh", self.temp / "outputs"
        script.write_text(fill(step["run"], context))
        outputs.write_text("")
        environment = self._environment() | {
            name: fill(value, context) for name, value in step.get("env", {}).items()
        }
        step_result = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            env={**environment, "GITHUB_OUTPUT": str(outputs)},
            cwd=self._workspace,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
            check=False,
        )
        script.unlink()
        return Step(
            "failure" if step_result.returncode else "success",
            read_outputs(outputs.read_text()),
            step_result.stdout,
        )

    def _environment(self) -> dict[str, str]:
        stage = self._runner.stage
        return {
            **stage.environment(),
            "PATH": os.environ["PATH"],
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_EVENT_NAME": self._name,
            "GITHUB_EVENT_PATH": str(self._event_file),
            "GITHUB_RUN_ID": "4711",
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary"),
            "GITHUB_WORKSPACE": str(self._workspace),
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": str(self.temp),
            **self._runner.variables,
        }


def read_outputs(text: str) -> dict[str, str]:
    """A step's outputs file as the runner reads it; anything in it that is no output is an error."""
    rest = _OUTPUT.sub("", text)
    assert rest == "", f"no output: {rest}"
    return {name: value for name, _, value in _OUTPUT.findall(text)}

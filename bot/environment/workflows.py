"""Read the steps of GitHub workflows that check a change on Linux.

Workflows are untrusted: they are limited in number and size, and nothing in them is run.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bot.ecosystems.checker import Table, table
from bot.ecosystems.record import Files
from bot.ecosystems.services import Service, service_for
from bot.environment.detection_result import CIStep, Omission, source_of
from bot.environment.expressions import UNKNOWN, evaluate, substitute
from bot.environment.matrix import legs_of, list_of
from bot.parsing.child import yaml_texts

_FOLDER = ".github/workflows/"
_COPILOT = f"{_FOLDER}copilot-setup-steps.yml"
_CALL = "workflow_call"
_MOST_FILES, _MOST_JOBS, _MOST_STEPS, _MOST_VARIABLES = 40, 100, 80, 100
_LONGEST_SCRIPT = 20_000
_MOST_LEVELS = 10  # of workflows that call each other, as GitHub has it
_SUBMODULES = "git -c url.https://github.com/.insteadOf=git@github.com: submodule update --init --depth 1"
_EVENTS = ("pull_request", "push", "merge_group", _CALL, "pull_request_target")
_OTHER_JOB = re.compile(
    r"(?i)(?<![a-z])(?:(?:pre)?release|deploy|publish|docker|image|wheels|changelog|label|stale|scorecard|codeql|nightly"
    r"|pages\b|backport|dependabot|preview|miri|sanitizer|wasm|cross|downstream|windows|macos|upload|nix|(?:home)?brew)"
    r"|fuzz|benchmark|redistribut|e2e"
)
_IGNORED_VARIABLES = re.compile(
    r"(?i)^(FORCE_COLOR|PY_COLORS|CLICOLOR.*|CARGO_TERM_COLOR|.*TOKEN.*|.*CODECOV.*|COLUMNS|TERM|CI|(NODE|GRADLE|MAVEN)_OPT.*|LD_.*"
    r"|BASH_.*|GIT_.*|PATH|HOME|TMPDIR|GITHUB_.*|RUNNER_.*|ACTIONS_.*|PIP_.*|UV_(?!NO_).*)$"
)
# Contexts that another job has not, or that hold a token.
_OF_ITS_JOB = re.compile(
    r"(?i)\$\{\{[^}]*\b(matrix|needs|inputs|secrets|vars|strategy|github\.(token|event))\b"
)


class CIJob(NamedTuple):
    """The steps of a job with one value of its matrix, and the servers that they need."""

    steps: list[CIStep]
    services: list[Service]


@dataclass
class Workflows:
    """The jobs, the steps of `copilot-setup-steps.yml`, and what of the workflows cannot be taken, with the reason.
    `sockets`: commands can open some, so that servers can run; `servers` are those of all jobs, by port."""

    files: Files
    sockets: bool = True
    omissions: list[Omission] = field(default_factory=list)
    jobs: list[CIJob] = field(default_factory=list)
    copilot: list[CIStep] = field(default_factory=list)
    servers: dict[int, Service] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)
    """Names of the workflows that a push or a pull request starts."""

    def read_all(self) -> Workflows:
        pattern = rf"{re.escape(_FOLDER)}[^/]+\.ya?ml"
        matching = (path for path in self.files.paths if re.fullmatch(pattern, path))
        files = sorted(matching, key=posixpath.splitext)  # `ci.yml` before `ci-nightly.yml`
        if _COPILOT in files:
            own = Workflows(self.files, omissions=self.omissions)
            event = {"github.event_name": "pull_request"}
            own.read_file(_COPILOT, source_of(_COPILOT), event, "copilot-setup-steps")
            self.copilot = own.jobs[0].steps if own.jobs else []
            files.remove(_COPILOT)
        events = {path: _event(self.content(path).get("on")) for path in files[:_MOST_FILES]}
        of_changes = (path for path in events if events[path] in _EVENTS[:2])
        self.names = [str(self.content(path).get("name") or path) for path in of_changes]
        # A workflow that another one calls is read with that one's inputs.
        for path in sorted(events, key=lambda one: events[one] == _CALL):
            if events[path] and path not in self.called and not _is_other_work(path):
                self.read_file(path, source_of(path), {"github.event_name": events[path]})
        return self

    def content(self, path: str) -> Table:
        return table(self.files.parsed(path, yaml_texts))

    def read_file(self, path: str, source: str, given: Table, only: str = "", level: int = 1) -> None:
        """Add the jobs of a workflow. It is started with the values `given`: the event, and the inputs of a call."""
        content = self.content(path)
        used = frozenset(re.findall(r"env\.\w+", self.files.text(path) or ""))
        jobs = table(content, "jobs")
        for name in [only] if only else itertools.islice(jobs, max(_MOST_JOBS - len(self.jobs), 0)):
            job = _Job(str(name), source_of(source, f"job {name}"), content, table(jobs, name), used, self)
            values = job.values(given)
            if values and "uses" in job.job:
                self._call(job, values, level)
            elif values:
                job.collect(values)

    def _call(self, job: _Job, values: Table, level: int) -> None:
        """Read the workflow of this repository that a job calls, with the inputs of the call."""
        match = re.fullmatch(r"\./(\.github/workflows/[\w.-]+\.ya?ml)", str(job.job["uses"]))
        path = match[1] if match else ""
        content = self.content(path)
        if not path:
            job.leave_out("it calls a workflow of another repository")
        elif not _event(content.get("on"), (_CALL,)):
            job.leave_out(f"it calls {path}, which is not there or cannot be called")
        elif level >= _MOST_LEVELS:
            reason = f"it calls another workflow at level {level}, and GitHub allows {level}"
            job.leave_out(reason)
        elif not _is_other_work(path):
            self.called.add(path)
            inputs = dict(_inputs(content, table(job.job, "with"), values))
            self.read_file(path, source_of(job.source, posixpath.basename(path)), inputs, level=level + 1)


def _is_other_work(path: str) -> bool:
    name = posixpath.basename(path)
    return bool(_OTHER_JOB.search(name)) and not re.search(r"(?i)test|ci\b|build|check|lint", name)


def _event(events: Any, wanted: Sequence[str] = _EVENTS) -> str:
    """Return the event by which a change to the code starts a workflow, empty if none of those `wanted` does."""
    push = table(events, "push")
    names = list(events) if isinstance(events, dict | list) else [events]
    if "tags" in push and "branches" not in push:
        names.remove("push")
    return next((event for event in wanted if event in names), "")


def _inputs(workflow: Table, given: Table, values: Table) -> Iterator[tuple[str, Any]]:
    """Yield the values with which a called workflow starts: the event, and the inputs that it declares."""
    yield "github.event_name", values["github.event_name"]
    for name, described in table(workflow, "on", _CALL, "inputs").items():
        own = table(described)
        kind, text = own.get("type"), substitute(str(given.get(name, own.get("default", ""))), values)
        is_set = text not in (("", "0") if kind == "number" else ("", "false") if kind == "boolean" else ())
        yield f"inputs.{name}", UNKNOWN if "${{" in text else text if is_set else ""


def _condition(where: Table, values: Table) -> str:
    """Return why a job or step does not run for a change, empty if it does or nothing says that it does not."""
    condition = str(where.get("if", "")).strip()
    if re.search(r"refs/tags|secrets\.|'schedule'|'release'|'workflow_dispatch'", condition):
        return "it is for another event"
    if condition and evaluate(condition, values) in (False, None, "", "0", "false"):
        here = "this value of its matrix" if "matrix." in condition else "a pull request"
        return f"its condition is false for {here}"
    return ""


@dataclass
class _Job:
    name: str
    source: str
    workflow: Table
    job: Table
    used: frozenset[str]
    """What the expressions of the workflow name, such as `env.VERSION`."""
    workflows: Workflows
    services: list[Service] = field(default_factory=list)
    actions_read: set[str] = field(default_factory=set)

    def values(self, given: Table) -> Table:
        """Return the values of the first leg of the matrix on Linux, and note how many others there are; none, with
        the reason noted, if the job is left out."""
        legs: list[Table] = []
        for leg in legs_of(self.job, given):
            values = {**given, **leg, **dict(_ports(self.job))}
            for level in (self.workflow, self.job):
                values |= _env_values(level, values)
            legs += [values] if self._is_on_linux(values) else []
        if reason := self._reason(legs[0]) if legs else "it runs on another system":
            self.leave_out(reason)
            return {}
        if len(legs) > 1:
            self.leave_out(f"of its matrix one value is taken, and {len(legs) - 1:,} are not")
        return legs[0]

    def collect(self, values: Table) -> None:
        """Add the steps of the job."""
        steps = list(self._steps(self.job, values))
        self.workflows.jobs.append(CIJob(steps, self.services))
        for step in steps:
            if step.raw.get("uses"):
                self.leave_out("an action; what is installed here is used", step.name)
            elif step.reason:
                self.leave_out(step.reason, step.name)

    def leave_out(self, reason: str, step: str = "") -> None:
        """Note why a step is not taken, or the whole job."""
        what = source_of(step or f"job {self.name}")
        self.workflows.omissions.append(Omission(what, reason, self.source))

    def _reason(self, values: Table) -> str:
        if self.job.get("container"):
            return "it runs in a container"
        if _OTHER_JOB.search(self.name):
            return "by its name it checks no change"
        if any("repository" in table(step, "with") for step in self._using("checkout")):
            return "it checks out another repository"
        if any(not _condition(step, values) for step in self._using("download-artifact")):
            return "it needs files of another job"
        return _condition(self.job, values) or self._serve(values)

    def _serve(self, values: Table) -> str:
        """Take the services of the job; return why not all of them can be run."""
        for name, described in table(self.job, "services").items():
            container = table(described)
            texts = ((key, substitute(str(one), values)) for key, one in table(container, "env").items())
            variables = {key: text for key, text in texts if "${{" not in text}
            image = source_of(substitute(str(container.get("image", "")), values))
            service = service_for(source_of(str(name)), image, _port(container, values), variables)
            if not self.workflows.sockets:
                service = "in this sandbox commands cannot open sockets"
            elif not isinstance(service, str) and (
                self.workflows.servers.setdefault(service.port, service)[1:] != service[1:]
            ):
                service = f"another job has a different one at port {service.port}"
            if isinstance(service, str):
                return f"it needs the service {name}: {service}"
            self.services.append(service)
        return ""

    def _using(self, action: str) -> Iterator[Table]:
        steps = map(table, list_of(self.job.get("steps")))
        return (step for step in steps if action in str(step.get("uses")))

    def _is_on_linux(self, leg: Table) -> bool:
        machine = self.job.get("runs-on")
        names = machine if isinstance(machine, list) else [machine]
        labels = " ".join(substitute(str(name), leg) for name in names).lower()
        return "windows" not in labels and "macos" not in labels and "arm" not in labels.split("-")

    def _steps(self, described: Table, values: Table) -> Iterator[CIStep]:
        """Yield the steps of the job, and in place of a composite action of this repository, once, its own steps."""
        for step in map(table, list_of(described.get("steps"))[:_MOST_STEPS]):
            match = re.fullmatch(r"\./([\w./-]*\w)/?", str(step.get("uses")))
            names = [f"{match[1]}/action.{suffix}" for suffix in ("yml", "yaml")] if match else []
            action = next(filter(None, map(self.workflows.content, names)), {})
            runs = table(action, "runs")
            is_read = len(self.actions_read) >= _MOST_LEVELS or not self.actions_read.isdisjoint(names)
            if runs.get("steps") and not is_read and not _condition(step, values):
                self.actions_read.update(names[:1])
                inputs = dict(_inputs({"on": {_CALL: action}}, table(step, "with"), values))
                yield from self._steps(runs, {**values, **_env_values(step, values), **inputs})
            elif one := self._step(step, values):
                yield one

    def _step(self, step: Table, values: Table) -> CIStep | None:
        """Return a step with the values of its job; for a checkout, what fetches its submodules, or `None`."""
        step = {**table(self.workflow, "defaults", "run"), **table(self.job, "defaults", "run"), **step}
        script = step.get("run")
        named = str(step.get("name") or step.get("uses") or script or "").strip().partition("\n")[0]
        reason = _condition(step, values)
        named = " ".join(re.sub(r"\$\{\{.*?\}\}", "", substitute(named, values)).split())
        values = {**values, **_env_values(step, values)}
        if not isinstance(script, str):
            if "checkout" not in str(step.get("uses")):
                return self._action(named, step, values, reason)
            deep = substitute(str(table(step, "with").get("submodules")), values).lower()
            # The job `prepare` has a checkout of its own. A runner has no key for SSH.
            fetch = {"run": _SUBMODULES + (" --recursive" if deep == "recursive" else "")}
            taken = deep in ("true", "recursive") and not reason
            return CIStep("Fetch the submodules", self.source, raw=fetch) if taken else None
        if reason:
            pass  # it is for something else
        elif "secrets." in script or any("secrets." in str(value) for value in _environment(step).values()):
            reason = "it needs a secret"
        elif len(script) > _LONGEST_SCRIPT or step.get("shell", "bash").split()[0] not in ("bash", "sh"):
            reason = f"its shell is {step.get('shell')}" if "shell" in step else "it is too long"
        elif str(step.get("continue-on-error", "")).strip() == "true":
            reason = "CI does not mind if it fails"
        elif any(
            value is UNKNOWN and re.search(rf"\$\{{?{re.escape(name.removeprefix('env.'))}\b(?!:-)", script)
            for name, value in values.items()
        ):
            reason = "it depends on values that only a run of the workflow has"
        else:
            environment = self._environment(step, values)
            text, folder = substitute(script, values), self._folder(step, values)
            raw = {"env": environment, "working-directory": folder, "shell": step.get("shell"), "run": text}
            raw["id"] = step.get("id")  # an action may need its output
            varies = "matrix." in f"{step.get('if')} {script}"
            return CIStep(named, self.source, text, folder, environment, raw, varies=varies)
        return CIStep(named, self.source, reason=reason)

    def _action(self, named: str, step: Table, values: Table, reason: str) -> CIStep:
        """Return a step that uses an action, which another job can take as it is."""
        raw = {key: step[key] for key in ("id", "if", "uses") if key in step}
        for key in ("env", "with"):
            entries = table(step.get(key)).items()
            raw[key] = {str(name): substitute(str(value), values) for name, value in entries}
        raw["env"] = self._environment(step, values) | raw["env"]
        if "steps." not in str(raw.get("if", "")):
            raw.pop("if", None)  # it was judged
        if not re.fullmatch(r"(\./|[\w.-]+/)[\w./-]+(@[\w./-]+)?", str(step.get("uses"))):
            reason = reason or "it is no action of a repository"
        elif _OF_ITS_JOB.search(str(raw)):
            reason = reason or "it needs a secret or another job"
        return CIStep(named, self.source, raw=raw, reason=reason)

    def _environment(self, step: Table, values: Table) -> dict[str, str]:
        """Return the variables of a step. Those that expressions of the workflow use are for the workflow."""
        levels = (*_environment(self.workflow), *_environment(self.job))
        names = [name for name in levels if f"env.{name}" not in self.used]
        return {
            str(key): text
            for key in dict.fromkeys((*names, *_environment(step)))
            if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", str(key))
            and not _IGNORED_VARIABLES.match(str(key))
            and isinstance(text := values.get(f"env.{key}"), str)
            and text.isprintable()
        }

    def _folder(self, step: Table, values: Table) -> str:
        folder = substitute(str(step.get("working-directory") or ""), values)
        for checkout in self._using("checkout"):
            if isinstance(path := table(checkout, "with").get("path"), str):
                folder = posixpath.normpath(folder).removeprefix(posixpath.normpath(substitute(path, values)))
        normal = posixpath.normpath(folder.lstrip("/") or ".")
        if normal == ".":
            return ""
        # Outside of the repository nothing runs.
        return normal if re.fullmatch(r"[\w][\w./-]*", normal) and ".." not in normal.split("/") else "?"


def _ports(job: Table) -> Iterator[tuple[str, Any]]:
    """Yield the ports of services as steps name them."""
    for name, container in table(job, "services").items():
        for port in list_of(table(container).get("ports")):
            own = str(port).partition("/")[0].rpartition(":")[2]
            number = str(_port(table(container), {}) or own)
            yield from ((f"job.services.{name}.ports{form}", number) for form in (f"['{own}']", f"[{own}]"))


def _port(container: Table, values: Table) -> int:
    """Return the port at which CI's steps reach a container; 0 for its own."""
    first = next(iter(list_of(container.get("ports"))), "")
    host = substitute(str(first), values).partition("/")[0].rpartition(":")[0].rpartition(":")[2]
    return int(host) if host.isdecimal() and 1024 <= int(host) < 65536 else 0


def _environment(level: Table) -> Table:
    return dict(itertools.islice(table(level, "env").items(), _MOST_VARIABLES))


def _env_values(level: Table, values: Table) -> Table:
    """Return the variables of a level as values of `env.*`; what only a run has is unknown."""
    texts = {f"env.{key}": substitute(str(value), values) for key, value in _environment(level).items()}
    return {key: UNKNOWN if "${{" in text else text for key, text in texts.items()}

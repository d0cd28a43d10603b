"""Read the steps of GitHub workflows that check a change on Linux.

Workflows are untrusted: they are limited in number and size, and nothing in them is run.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.environment.detection import CIStep, Omission, Read, source_of
from bot.environment.expressions import UNKNOWN, evaluate, substitute
from bot.parsing.child import yaml_texts

_FOLDER = ".github/workflows/"
_COPILOT = f"{_FOLDER}copilot-setup-steps.yml"
_MOST_FILES, _MOST_JOBS, _MOST_STEPS, _MOST_COMBINATIONS, _MOST_VARIABLES = 40, 100, 80, 64, 100
_LONGEST_SCRIPT = 20_000
_EVENTS = ("pull_request", "push", "merge_group", "workflow_call", "pull_request_target")
_OTHER_JOB = re.compile(
    r"(?i)release|deploy|publish|docker|image|wheels|changelog|label|stale|scorecard|codeql|fuzz|benchmark|nightly"
    r"|\bpages\b|backport|dependabot|preview|miri|sanitizer|wasm|cross|downstream|windows|macos|upload|nix|brew"
)
_NEEDS_EVENT = re.compile(r"refs/tags|secrets\.|'schedule'|'release'|'workflow_dispatch'")
_IGNORED_VARIABLES = re.compile(
    r"(?i)^(FORCE_COLOR|PY_COLORS|CLICOLOR.*|CARGO_TERM_COLOR|.*TOKEN.*|.*CODECOV.*|COLUMNS|TERM|CI|NODE_OPTIONS|LD_.*"
    r"|BASH_.*|GIT_.*|PATH|HOME|TMPDIR|GITHUB_.*|RUNNER_.*|ACTIONS_.*|PIP_.*|UV_(?!NO_).*)$"
)
_ACTION = re.compile(r"(\./|[\w.-]+/)[\w./-]+(@[\w./-]+)?")
# Contexts that another job has not, or that hold a token.
_OF_ITS_JOB = re.compile(
    r"(?i)\$\{\{[^}]*\b(matrix|needs|inputs|secrets|vars|strategy|github\.(token|event))\b"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class Workflows:
    """The steps of each job, those of `copilot-setup-steps.yml`, and what of the workflows cannot be taken, with the
    reason."""

    jobs: list[list[CIStep]] = field(default_factory=list)
    copilot: list[CIStep] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)


def read_workflows(read: Read) -> Workflows:
    workflows = Workflows()
    files = sorted(
        path
        for path in read.paths
        if path.startswith(_FOLDER) and path.endswith((".yml", ".yaml")) and path.count("/") == 2
    )
    if _COPILOT in files:
        content = _mapping(read.parsed(_COPILOT, yaml_texts))
        job = _mapping(_mapping(content.get("jobs")).get("copilot-setup-steps"))
        own = Workflows(omissions=workflows.omissions)
        _Job(source_of(_COPILOT), content, job, "pull_request", frozenset(), own).collect(
            "copilot-setup-steps"
        )
        workflows.copilot = own.jobs[0] if own.jobs else []
        files.remove(_COPILOT)
    for path in files[:_MOST_FILES]:
        content = _mapping(read.parsed(path, yaml_texts))
        event = _event(content.get("on"))
        if content and event and not _is_other_work(path.rpartition("/")[2]):
            jobs = _mapping(content.get("jobs")).items()
            used = frozenset(re.findall(r"env\.\w+", read.text(path) or ""))
            for name, job in itertools.islice(jobs, _MOST_JOBS - len(workflows.jobs)):
                source = source_of(path, f"job {name}")
                _Job(source, content, _mapping(job), event, used, workflows).collect(str(name))
    return workflows


def _is_other_work(name: str) -> bool:
    return bool(_OTHER_JOB.search(name)) and not re.search(r"(?i)test|ci\b|build|check|lint", name)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _event(events: Any) -> str:
    """Return the event by which a change to the code starts a workflow, empty if none does."""
    if isinstance(events, dict):
        push = _mapping(events.get("push"))
        only_tags = "tags" in push and "branches" not in push
        names = [name for name in events if not (name == "push" and only_tags)]
    else:
        names = events if isinstance(events, list) else [events]
    return next((event for event in _EVENTS if event in names), "")


@dataclass(slots=True)
class _Job:
    source: str
    workflow: Mapping[str, Any]
    job: Mapping[str, Any]
    event: str
    used: frozenset[str]
    """What the expressions of the workflow name, such as `env.VERSION`."""
    workflows: Workflows

    def collect(self, name: str) -> None:
        """Add the steps of the job, or the reason why it is left out."""
        legs = [leg for leg in map(self._values, _legs(self.job)) if self._is_on_linux(leg)]
        reason = self._reason(name, legs[0]) if legs else "it runs on another system"
        if reason:
            self._leave_out(f"job {name}", reason)
            return
        steps: list[CIStep] = []
        for step in _list(self.job.get("steps"))[:_MOST_STEPS]:
            self._step(_mapping(step), legs, steps)
        self.workflows.jobs.append(steps)

    def _leave_out(self, what: str, reason: str) -> None:
        self.workflows.omissions.append(Omission(source_of(what), reason, self.source))

    def _reason(self, name: str, values: Mapping[str, Any]) -> str:
        if self.job.get("services"):
            return "it needs services such as a database"
        if "uses" in self.job:
            return "it calls another workflow"
        if self.job.get("container"):
            return "it runs in a container"
        if _OTHER_JOB.search(name):
            return "by its name it checks no change"
        if any("repository" in _mapping(_mapping(step).get("with")) for step in self._checkouts()):
            return "it checks out another repository"
        return self._condition(self.job, values)

    def _condition(self, where: Mapping[str, Any], values: Mapping[str, Any]) -> str:
        """Return why a job or step does not run for a change, empty if it does or nothing says that it does not."""
        condition = str(where.get("if", "")).strip()
        if _NEEDS_EVENT.search(condition):
            return "it is for another event"
        if condition and evaluate(condition, values) in (False, None, "", "0", "false"):
            return "its condition is false for a pull request"
        return ""

    def _checkouts(self) -> Iterator[Mapping[str, Any]]:
        steps = map(_mapping, _list(self.job.get("steps")))
        return (step for step in steps if "checkout" in str(step.get("uses")))

    def _values(self, leg: Mapping[str, Any]) -> dict[str, Any]:
        values = {**leg, "github.event_name": self.event}
        for level in (self.workflow, self.job):
            values |= _env_values(level, values)
        return values

    def _is_on_linux(self, leg: Mapping[str, Any]) -> bool:
        machine = self.job.get("runs-on")
        names = machine if isinstance(machine, list) else [machine]
        labels = " ".join(substitute(str(name), leg) for name in names).lower()
        return "windows" not in labels and "macos" not in labels and "arm" not in labels.split("-")

    def _step(self, step: Mapping[str, Any], legs: list[dict[str, Any]], steps: list[CIStep]) -> None:
        script = step.get("run")
        named = str(step.get("name") or step.get("uses") or script or "").strip().partition("\n")[0]
        running = [leg for leg in legs if not self._condition(step, leg)]
        values = {**(running or legs)[0]}
        named = " ".join(re.sub(r"\$\{\{.*?\}\}", "", substitute(named, values)).split())
        values |= _env_values(step, values)
        reason = "" if running else self._condition(step, legs[0])
        if not isinstance(script, str):
            if "checkout" not in str(step.get("uses")):
                steps.append(self._action(named, step, values, reason))
            self._leave_out(named, "an action; what is installed here is used")
            return
        if reason:
            pass  # it is for something else
        elif "secrets." in script or any("secrets." in str(value) for value in _environment(step).values()):
            reason = "it needs a secret"
        elif len(script) > _LONGEST_SCRIPT or step.get("shell", "bash").split()[0] not in ("bash", "sh"):
            reason = f"its shell is {step.get('shell')}" if "shell" in step else "it is too long"
        elif str(step.get("continue-on-error", "")).strip() == "true":
            reason = "CI does not mind if it fails"
        else:
            environment = self._environment(step, values)
            text, folder = substitute(script, values), self._folder(step, values)
            raw = {"env": environment, "working-directory": folder, "shell": step.get("shell"), "run": text}
            steps.append(CIStep(named, self.source, text, folder, environment, raw))
            return
        steps.append(CIStep(named, self.source, reason=reason))
        self._leave_out(named, reason)

    def _action(self, named: str, step: Mapping[str, Any], values: Mapping[str, Any], reason: str) -> CIStep:
        """Return a step that uses an action, which another job can take as it is."""
        raw = {key: step[key] for key in ("id", "if", "uses") if key in step}
        raw |= {
            key: {
                str(name): substitute(str(value), values) for name, value in _mapping(step.get(key)).items()
            }
            for key in ("env", "with")
        }
        if not _ACTION.fullmatch(str(step.get("uses"))):
            reason = reason or "it is no action of a repository"
        elif _OF_ITS_JOB.search(str(raw)):
            reason = reason or "it needs a secret or another job"
        if "steps." not in str(raw.get("if", "")):
            raw.pop("if", None)
        return CIStep(named, self.source, raw=raw, reason=reason)

    def _environment(self, step: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str]:
        """Return the variables of a step. Those that expressions of the workflow use are for the workflow."""
        levels = (*_environment(self.workflow), *_environment(self.job))
        names = [name for name in levels if f"env.{name}" not in self.used]
        return {
            str(key): text
            for key in dict.fromkeys((*names, *_environment(step)))
            if _VARIABLE.fullmatch(str(key))
            and not _IGNORED_VARIABLES.match(str(key))
            and isinstance(text := values.get(f"env.{key}"), str)
            and text.isprintable()
        }

    def _folder(self, step: Mapping[str, Any], values: Mapping[str, Any]) -> str:
        levels = (self.workflow, self.job)
        defaults = [
            _mapping(_mapping(level.get("defaults")).get("run")).get("working-directory") for level in levels
        ]
        chosen = step.get("working-directory") or defaults[1] or defaults[0] or ""
        folder = substitute(str(chosen), values)
        for checkout in self._checkouts():
            if isinstance(path := _mapping(checkout.get("with")).get("path"), str):
                folder = posixpath.normpath(folder).removeprefix(posixpath.normpath(substitute(path, values)))
        return _folder(folder.lstrip("/"))


def _environment(level: Mapping[str, Any]) -> dict[str, Any]:
    return dict(itertools.islice(_mapping(level.get("env")).items(), _MOST_VARIABLES))


def _env_values(level: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of a level as values of `env.*`; what only a run has is unknown."""
    texts = {f"env.{key}": substitute(str(value), values) for key, value in _environment(level).items()}
    return {key: UNKNOWN if "${{" in text else text for key, text in texts.items()}


def _legs(job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the combinations of the job's matrix as values of `matrix.*`, Linux and the newest versions first."""
    matrix = _mapping(_mapping(job.get("strategy")).get("matrix"))
    axes = {
        str(key): sorted(value, key=_rank)
        for key, value in matrix.items()
        if isinstance(value, list) and value and key not in ("include", "exclude")
    }
    include = [one for one in _list(matrix.get("include")) if isinstance(one, dict)]
    plain = itertools.islice(itertools.product(*axes.values()), _MOST_COMBINATIONS) if axes else ()
    legs = [dict(zip(axes, values, strict=True)) for values in plain]
    for leg in legs:
        for one in include:
            if all(leg[key] == value for key, value in one.items() if key in axes):
                leg.update({key: value for key, value in one.items() if key not in leg})
    if not axes:
        legs = sorted(
            include[:_MOST_COMBINATIONS], key=lambda one: sum(_rank(value)[0] for value in one.values())
        )
    for leg in legs or [{}]:
        yield dict(_flat("matrix", leg))


def _flat(prefix: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and depth < 4:
        for key, inner in itertools.islice(value.items(), 40):
            yield from _flat(f"{prefix}.{key}", inner, depth + 1)
    else:
        yield prefix, value


def _rank(value: Any) -> tuple[int, tuple[int, ...]]:
    """Sort key: Linux before other systems, final versions before others, newer before older ones."""
    text = str(value.get("os", value.get("name", "")) if isinstance(value, dict) else value).lower()
    if re.search(
        r"windows|macos|mac-|clang|valgrind|sanitize|asan|pypy|nightly|beta|alpha|dev|rc|[0-9]t$|arm|musl|i686|aarch",
        text,
    ):
        return 2, ()
    if re.fullmatch(r"v?\d+(\.(\d+|x))*", text):
        return 0, tuple(-int(part) for part in re.findall(r"\d+", text))
    return (0 if re.search(r"ubuntu|linux|stable|latest|lts", text) else 1), ()


def _folder(text: str) -> str:
    """Return a folder of the repository, or `?` for a path outside of it, where nothing runs."""
    normal = posixpath.normpath(text) if text else ""
    if normal in ("", "."):
        return ""
    return normal if re.fullmatch(r"[\w][\w./-]*", normal) and ".." not in normal.split("/") else "?"

"""Read the jobs of GitHub workflows that install, test and lint a repository on Linux.

Workflows are untrusted: they are limited in number and size, and nothing in them is run.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.environment.detection import Omission, Read, source_of
from bot.environment.expressions import UNKNOWN, evaluate, substitute, to_text
from bot.parsing.child import yaml_values

_FOLDER = ".github/workflows/"
_MOST_FILES, _MOST_JOBS, _MOST_STEPS, _MOST_COMBINATIONS, _MOST_VARIABLES = 40, 100, 80, 64, 100
_MOST_STEPS_OF_ALL, _LONGEST_SCRIPT = 1_000, 20_000
_EVENTS = {"push", "pull_request", "merge_group", "workflow_call", "pull_request_target"}
# Jobs that do not check a change.
_UNRELATED_JOB = re.compile(
    r"(?i)release|deploy|publish|docker|image|wheels|changelog|label|stale|scorecard|codeql|fuzz|benchmark|nightly"
    r"|\bpages\b|backport|dependabot|preview|miri|sanitizer|wasm|cross|downstream|windows|macos|upload|nix|brew"
)
_NEEDS_EVENT = re.compile(r"refs/tags|secrets\.|'schedule'|'release'|'workflow_dispatch'")
_IGNORED_VARIABLES = re.compile(
    r"(?i)^(FORCE_COLOR|PY_COLORS|CLICOLOR.*|CARGO_TERM_COLOR|CARGO_INCREMENTAL|PIP_.*|UV_.*|TOX_.*|.*TOKEN.*|.*CODECOV.*"
    r"|COLUMNS|TERM|CI|NODE_OPTIONS|LD_.*|BASH_.*|GIT_.*|PATH|HOME|TMPDIR|GITHUB_.*|RUNNER_.*|ACTIONS_.*|CARGO_NET.*"
    r"|.*PYTHON.?VERSION|NODE_VERSION|GO_?VERSION)$"
)
_REFERENCED_VARIABLE = re.compile(r"\$(?:\{(?:\{\s*env\.)?)?([A-Za-z_]\w*)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Script:
    """The `run` of one step, with known expressions substituted. `folder` is relative to the root."""

    text: str
    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)
    """Variables with known values, which are substituted in the script."""


@dataclass(frozen=True, slots=True)
class Job:
    source: str
    name: str
    scripts: tuple[Script, ...]
    actions: Mapping[str, Mapping[str, Any]]
    """The actions of the job, without their versions, and the inputs of each."""


@dataclass(slots=True)
class Workflows:
    jobs: list[Job] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)
    steps: int = 0


def read_workflows(paths: Collection[str], read: Read) -> Workflows:
    workflows = Workflows()
    files = sorted(
        path
        for path in paths
        if path.startswith(_FOLDER) and path.endswith((".yml", ".yaml")) and path.count("/") == 2
    )
    for path in files[:_MOST_FILES]:
        content = _mapping(read.parsed(path, yaml_values))
        if content and _runs_for_changes(content) and not _is_other_work(path.rpartition("/")[2]):
            _Reader(path, content, read, workflows).collect()
    return workflows


def _is_other_work(name: str) -> bool:
    return bool(_UNRELATED_JOB.search(name)) and not re.search(r"(?i)test|ci\b|build|check|lint", name)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _environment(level: Mapping[str, Any]) -> dict[str, Any]:
    return dict(itertools.islice(_mapping(level.get("env")).items(), _MOST_VARIABLES))


def _checks_out_another(job: Mapping[str, Any]) -> bool:
    """Whether the job checks out another repository."""
    return any(
        "checkout" in str(_mapping(step).get("uses")) and "repository" in _mapping(_mapping(step).get("with"))
        for step in _list(job.get("steps"))
    )


def _runs_for_changes(workflow: Mapping[Any, Any]) -> bool:
    """Whether pushes to branches or pull requests start it. YAML 1.1 reads the key `on` as true."""
    events = workflow.get("on", workflow.get("True"))
    if isinstance(events, str):
        return events in _EVENTS
    if isinstance(events, list):
        return any(isinstance(event, str) and event in _EVENTS for event in events)
    push = _mapping(_mapping(events).get("push"))
    if "tags" in push and "branches" not in push and not (_EVENTS - {"push"}).intersection(_mapping(events)):
        return False
    return bool(_EVENTS.intersection(key for key in _mapping(events) if isinstance(key, str)))


@dataclass(slots=True)
class _Reader:
    path: str
    content: Mapping[str, Any]
    read: Read
    workflows: Workflows
    named: frozenset[str] = frozenset()

    def collect(self) -> None:
        jobs = _mapping(self.content.get("jobs"))
        self.named = frozenset(_REFERENCED_VARIABLE.findall(self.read(self.path) or ""))
        for name, job in itertools.islice(jobs.items(), _MOST_JOBS - len(self.workflows.jobs)):
            if isinstance(job, dict) and not _checks_out_another(job):
                self._job(str(name), job)

    def _job(self, name: str, job: Mapping[str, Any]) -> None:
        source = source_of(self.path, f"job {name}")
        if _UNRELATED_JOB.search(name):
            return
        if job.get("services"):
            self.workflows.omissions.append(
                Omission(f"job {source_of(name)}", "it needs services such as a database", source)
            )
            return
        legs = [self._values(job, leg) for leg in _legs(job) if self._is_on_linux(job, leg)]
        condition = str(job.get("if", ""))
        if not legs or _NEEDS_EVENT.search(condition):
            return
        if condition and evaluate(condition, legs[0]) is False:
            return
        scripts: list[Script] = []
        actions: dict[str, Mapping[str, Any]] = {}
        left = min(_MOST_STEPS, _MOST_STEPS_OF_ALL - self.workflows.steps)
        for step in _list(job.get("steps"))[:left]:
            self.workflows.steps += 1
            self._step(_mapping(step), job, legs, source=source, scripts=scripts, actions=actions)
        self.workflows.jobs.append(Job(source, name, tuple(scripts), actions))

    def _values(self, job: Mapping[str, Any], leg: Mapping[str, Any]) -> dict[str, Any]:
        values = dict(leg)
        for level in (self.content, job):
            for key, value in _environment(level).items():
                text = substitute(to_text(value), values)
                values[f"env.{key}"] = UNKNOWN if "${{" in text else text
        return values

    def _is_on_linux(self, job: Mapping[str, Any], leg: Mapping[str, Any]) -> bool:
        machine = job.get("runs-on")
        names = machine if isinstance(machine, list) else [machine]
        labels = " ".join(substitute(str(name), leg) for name in names).lower()
        return "windows" not in labels and "macos" not in labels and "arm" not in labels.split("-")

    def _step(
        self,
        step: Mapping[str, Any],
        job: Mapping[str, Any],
        legs: list[dict[str, Any]],
        *,
        source: str,
        scripts: list[Script],
        actions: dict[str, Mapping[str, Any]],
    ) -> None:
        condition = str(step.get("if", ""))
        values = next((leg for leg in legs if not condition or evaluate(condition, leg) is not False), None)
        if values is None or _NEEDS_EVENT.search(condition):
            return
        if isinstance(step.get("uses"), str):
            self._action(
                step["uses"],
                _mapping(step.get("with")),
                values,
                scripts=scripts,
                actions=actions,
            )
        script = step.get("run")
        if (
            not isinstance(script, str)
            or len(script) > _LONGEST_SCRIPT
            or step.get("shell") in ("pwsh", "powershell", "cmd")
        ):
            return
        env = {**_environment(self.content), **_environment(job)}
        step_env = _environment(step)
        if "secrets." in script or any("secrets." in str(value) for value in step_env.values()):
            title = str(step.get("name") or script.strip().partition("\n")[0])
            self.workflows.omissions.append(Omission(source_of(title), "it needs a secret", source))
            return
        defaults = [_mapping(_mapping(level.get("defaults")).get("run")) for level in (self.content, job)]
        folder = substitute(
            str(
                step.get("working-directory")
                or next(
                    (
                        level["working-directory"]
                        for level in reversed(defaults)
                        if level.get("working-directory")
                    ),
                    "",
                )
            ),
            values,
        )
        if checkout_path := _checkout_path(job, values):
            folder = posixpath.normpath(folder).removeprefix(checkout_path).lstrip("/")
        # A variable that steps reference is substituted and not passed to the programs.
        passed = {name: value for name, value in env.items() if name not in self.named}
        scripts.append(
            Script(
                _resolve_branches(substitute(script, {**values, **_env_values(step_env, values)})),
                _folder(folder),
                _variables({**passed, **step_env}, values),
                _variables(env, values, empty=True),
            )
        )

    def _action(
        self,
        uses: str,
        inputs: Mapping[str, Any],
        values: Mapping[str, Any],
        *,
        scripts: list[Script],
        actions: dict[str, Mapping[str, Any]],
    ) -> None:
        name = uses.partition("@")[0]
        actions[name] = inputs
        if uses.startswith("./") and not uses.startswith("./.github/workflows"):
            for ending in ("action.yml", "action.yaml"):
                inner = _mapping(
                    self.read.parsed(posixpath.join(posixpath.normpath(name), ending), yaml_values)
                )
                for step in _list(_mapping(inner.get("runs")).get("steps"))[:_MOST_STEPS]:
                    script = _mapping(step).get("run")
                    if (
                        isinstance(script, str)
                        and len(script) <= _LONGEST_SCRIPT
                        and "secrets." not in script
                    ):
                        folder = _folder(str(_mapping(step).get("working-directory") or ""))
                        scripts.append(Script(substitute(script, values), folder))


def _checkout_path(job: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Return the `path` of the job's checkout, which is the root here; empty for the working folder."""
    for step in _list(job.get("steps")):
        path = _mapping(_mapping(step).get("with")).get("path")
        if "actions/checkout" in str(_mapping(step).get("uses")) and isinstance(path, str):
            return posixpath.normpath(substitute(path, values))
    return ""


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


def _variables(env: Mapping[str, Any], values: Mapping[str, Any], *, empty: bool = False) -> dict[str, str]:
    variables = {}
    for key, value in env.items():
        text = substitute(to_text(value), values)
        name = str(key)
        if (
            _VARIABLE.fullmatch(name)
            and not _IGNORED_VARIABLES.match(name)
            and "${{" not in text
            and (empty or text.strip())
            and text.isprintable()
        ):
            variables[name] = text
    return variables


def _env_values(env: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"env.{key}": substitute(to_text(value), values) for key, value in env.items()}


_CONDITION = re.compile(r"^\s*(if|elif)\s+\[\[?\s+(.*?)\s+(==|=|!=)\s+(.*?)\s+\]\]?\s*;\s*then\s*$")


def _resolve_branches(script: str) -> str:
    """Return the script without the branches of `if` that constants rule out."""
    kept_lines: list[str] = []
    lines = script.splitlines()
    branch: list[bool] = []  # whether a branch of each open `if` was taken
    active: list[bool] = []
    for line in lines:
        word = line.strip()
        if match := _CONDITION.match(line):
            left, right = (text.strip("\"'") for text in (match[2], match[4]))
            if "$" in left + right:
                return script
            is_true = (left == right) is (match[3] != "!=")
            if match[1] == "if":
                branch.append(is_true)
                active.append(is_true)
            elif branch:
                active[-1] = is_true and not branch[-1]
                branch[-1] = branch[-1] or is_true
        elif word == "else" and branch:
            active[-1], branch[-1] = not branch[-1], True
        elif word == "fi" and branch:
            branch.pop()
            active.pop()
        elif re.match(r"(if|elif)\b", word):
            return script
        elif all(active):
            kept_lines.append(line)
    return "\n".join(kept_lines) if not branch else script

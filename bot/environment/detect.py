"""Detect checks of a repository, CI's own commands as they stand, and what they need where nothing is installed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from bot.ecosystems.registry import ecosystem_of, ecosystems, use_of
from bot.ecosystems.uses import Use, use_of_name
from bot.environment.detection import (
    CIStep,
    DetectedCheck,
    Detection,
    Omission,
    Read,
    Step,
    is_writable,
    source_of,
)
from bot.environment.scripts import Statement, statements
from bot.environment.workflows import Workflows, read_workflows
from bot.parsing.parser import Parser

_LARGEST = 400_000
_OF_RUNNER = {
    "GITHUB_WORKSPACE": "$PWD",
    "RUNNER_TEMP": "$TMPDIR",
    "RUNNER_OS": "Linux",
    "RUNNER_ARCH": "X64",
}
"""Variables of every runner, set where a script names them."""
_MOST = {Use.TESTS: 3, Use.TYPES: 3, Use.LINT: 5}
_TITLE = re.compile(
    r"(run )?((the|all|unit|our|full|python|js|backend|frontend) )*"
    r"(?P<name>tests?|lint(?=ers?$|ing$|$)|type-?check(?=s$|ing$|$))(ers?|ing|s)?( suite)?"
)
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")  # a folder's name gets into a command
_MOST_FOLDERS = 6
_NO_PROJECT = re.compile(
    r"(?i)(test|example|fixture|sample|doc|bench|fuzz|demo|script|tool|third_?party|vendor)"
)
_VERSION = r"\A\s*v?(\d[\w./*-]*)\s*\Z|^{}(?:js|lang)?\s+(\d[\w.]*)$"
_INSTALLS = "it installs, and what is installed here is used"
_UNKNOWN = "nothing in it is known to test, check or build"
_MIXED = "it installs and checks in one command that cannot be taken apart"


def detect(paths: Collection[str], text: Callable[[str], str | None]) -> Detection:
    """Detect checks and setup from the files of one commit. `paths` are all files, relative to the root; `text` returns
    the text of one. Nothing is run. Text of the repository is used only in commands and their sources."""
    names = frozenset(paths)

    @cache
    def bounded(path: str) -> str | None:
        content = text(path) if path in names else None
        return content if content is not None and len(content) <= _LARGEST else None

    with Parser() as parser:
        read = Read(names, bounded, parser)
        return _Detector(read, read_workflows(read)).detected()


def files_read(paths: Collection[str]) -> list[str]:
    """Return the files that detection may read, for callers that fetch them all at once."""
    named = {
        name
        for one in ecosystems()
        for name in (*one.manifests, *one.also_read, *(pin.file for pin in one.pins))
    }
    return [
        path
        for path in paths
        if (path.count("/") <= 1 and path.rpartition("/")[2] in named) or path.startswith(".github/")
    ][:300]


@dataclass(slots=True)
class _Detector:
    read: Read
    workflows: Workflows
    checks: list[DetectedCheck] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)
    prepare: list[CIStep] = field(default_factory=list)

    def detected(self) -> Detection:
        for steps in self.workflows.jobs:
            self._job(steps)
        of_jobs = bool(self.checks)
        if self.workflows.copilot:
            self.prepare.clear()
            self._prepare(self.workflows.copilot)
        of_ci = any(check.use is Use.TESTS for check in self.checks)
        folders = self._project_folders()
        root = self.read.without(folders)
        self._suggest("", root, fallback=of_ci)
        for folder in folders:
            self._suggest(folder, self.read.below(folder), fallback=of_ci)
        self.checks.sort(key=lambda check: (-check.use, check.fallback))
        setup = [
            *self._setup("", root),
            *(step for one in folders for step in self._setup(one, self.read.below(one))),
        ]
        # What compiles also downloads in its tests, so CI need not install.
        self.prepare += [
            CIStep("Download what the tests need", step.source, raw={"run": step.command})
            for step in setup
            if of_jobs and step.compiles and not self.workflows.copilot
        ]
        installed = {preset for step in setup for preset in step.egress}
        versions = [
            tool
            for one in ecosystems()
            if one.egress in installed
            for tool in one.version_tools(lambda name: self.read.text(name) or "")
        ]
        return Detection(
            tuple(dict.fromkeys(setup)),
            tuple(self.checks),
            tuple(
                {(one.what, one.reason): one for one in (*self.omissions, *self.workflows.omissions)}.values()
            ),
            tuple(self.read.unread.values()),
            tuple(self.prepare),
            next(iter(versions), ""),
        )

    def _job(self, steps: Sequence[CIStep]) -> None:
        """Take the checks of a job. Steps that only build are part of the checks that come after them."""
        builds: list[str] = []
        prepare: list[CIStep] = []
        before, last = len(self.checks), 0
        for step in steps:
            if not step.script:
                prepare.append(step)
                continue
            parts = statements(step.script)
            uses = {use for part in parts for use in part.uses} or _uses_of_title(step.name)
            use = max(uses, default=None)
            kept = [part for part in parts if not part.installs]
            checks = use is not None and use > Use.BUILD
            alone = "\n".join(part.text for part in parts if part.installs)
            mixed = any(part.uses & {Use.INSTALL, Use.SYSTEM} for part in kept)
            if checks and mixed:
                prepare.append(replace(step, reason=_MIXED))
            elif checks and alone:
                prepare.append(replace(step, raw={**step.raw, "run": alone}))
            elif not checks:
                # What it does is not known, or it is a build of the base: it may fail.
                sure = {} if use is not None and use <= Use.INSTALL else {"continue-on-error": True}
                prepare.append(replace(step, raw={**step.raw, **sure}))
            last = len(prepare) if checks else last
            if use is None:
                self._leave_out(step, _UNKNOWN)
            elif use <= Use.INSTALL:
                self._leave_out(step, _INSTALLS)
            elif mixed:
                self._leave_out(step, _MIXED)
            elif use is Use.BUILD:
                builds.append(_rendered(step, kept))
            else:
                self._check(step, use, kept, builds)
                for part in parts:
                    if part.installs:
                        self.omissions.append(Omission(source_of(part.text), _INSTALLS, step.source))
        if len(self.checks) > before:
            self._prepare(prepare[:last])

    def _prepare(self, steps: Iterable[CIStep]) -> None:
        """Take set-up steps that are not there yet."""
        for step in steps:
            key = _key(step)
            if key not in map(_key, self.prepare):
                reason = step.reason or _unfit_elsewhere(step)
                self.prepare.append(replace(step, reason=reason, versions=self._versions(step)))

    def _versions(self, step: CIStep) -> dict[str, str]:
        """Return, by input, the versions in files that an action reads, which the agent's job has not."""
        given = step.raw.get("with") or {}
        found: dict[str, str] = {}
        for name, path in given.items():
            tool, _, rest = name.partition("-version-")
            pattern = _VERSION.format(re.escape(tool))
            if rest == "file" and (match := re.search(pattern, self.read.text(path) or "", re.MULTILINE)):
                found[name] = match[1] or match[2]
        return found

    def _leave_out(self, step: CIStep, reason: str) -> None:
        self.omissions.append(Omission(source_of(step.name), reason, step.source))

    def _check(self, step: CIStep, use: Use, kept: Sequence[Statement], builds: Sequence[str]) -> None:
        own = _rendered(step, kept)
        compiles = {one.name for one in ecosystems() if one.compiles}
        needs_build = use >= Use.TYPES and not any(
            part.words and ecosystem_of(part.words) in compiles for part in kept
        )
        command = "\n".join((*builds, f"({own})" if builds and step.folder else own)) if needs_build else own
        if step.folder == "?":
            self._leave_out(step, "it runs outside of the repository")
        elif not is_writable(command):
            self._leave_out(step, "it depends on values that only a run of the workflow has")
        elif any(_alike(check.command) == _alike(own) for check in self.checks):
            # Of jobs that run the same, the plainest is taken: another version, other variables, another build.
            self.checks = [
                replace(check, command=min(check.command, command, key=len))
                if _alike(check.command) == _alike(own)
                else check
                for check in self.checks
            ]
        elif sum(check.use is use for check in self.checks) >= _MOST[use]:
            self._leave_out(step, f"there are {_MOST[use]} of its kind already")
        else:
            self.checks.append(DetectedCheck(self._name(step.name), command, use, step.source))

    def _suggest(self, folder: str, read: Read, *, fallback: bool) -> None:
        """Add the commands that the manifests of a folder suggest; as a `fallback`, only tests."""
        for ecosystem in ecosystems():
            has_tests = any(check.use is Use.TESTS for check in self.checks)
            if not ecosystem.is_in(read) and (folder or ecosystem.name != "python"):
                continue  # a test file is enough for Python
            for line in (
                ecosystem.checks(read) if not has_tests or fallback or ecosystem.name != "general" else ()
            ):
                use = use_of(shlex.split(line.rpartition(" && ")[2])) or Use.TESTS
                command = f"cd {folder} && {line}" if folder else line
                if (use is Use.TESTS or not fallback) and all(
                    check.command != command for check in self.checks
                ):
                    name = self._name(f"{folder}: {line}" if folder else line.rpartition(" && ")[2])
                    source = source_of(folder or "the files")
                    self.checks.append(DetectedCheck(name, command, use, source, fallback))

    def _setup(self, folder: str, read: Read) -> Iterator[Step]:
        for ecosystem in ecosystems():
            commands = [check.command for check in self.checks]
            if not ecosystem.is_in(read) or not self._is_used(ecosystem.name, commands):
                continue
            if setup := ecosystem.setup(read, commands):
                inside = f"{folder}/" if folder else ""
                command = f"cd {folder} && {setup.command}" if folder else setup.command
                makes = f"{inside}{setup.makes}" if setup.makes else ""
                source = source_of(f"{inside}{ecosystem.name}")
                yield Step(command, source, setup.egress, makes, ecosystem.compiles)

    def _is_used(self, name: str, commands: Sequence[str]) -> bool:
        """Whether a check belongs to the ecosystem, or to none by its words."""
        named = {
            ecosystem_of(part.words) for command in commands for part in statements(command) if part.words
        }
        return bool(commands) and (name in named or bool(named & {"", "general"}))

    def _project_folders(self) -> list[str]:
        """Return folders below the root with a manifest whose kind the root does not have."""
        names = {name for one in ecosystems() if one.name != "general" for name in one.manifests}
        folders = {
            folder
            for folder, _, name in (path.partition("/") for path in self.read.paths)
            if name in names - set(self.read.paths)
            and _FOLDER.fullmatch(folder)
            and not _NO_PROJECT.match(folder)
        }
        return sorted(folders)[:_MOST_FOLDERS]

    def _name(self, title: str) -> str:
        """Return a short name that no other check has."""
        short = " ".join(source_of(title).split())[:60] or "check"
        taken = {check.name for check in self.checks}
        return next(
            name for name in (short, *(f"{short} ({number})" for number in range(2, 99))) if name not in taken
        )


def _key(step: CIStep) -> str:
    """Return what two steps have in common that do the same; of an action two versions do."""
    return str(step.raw.get("uses", step.raw.get("run", step.name))).partition("@")[0]


def _unfit_elsewhere(step: CIStep) -> str:
    """Return why another job cannot take a step. A script with expressions would be open to injection."""
    if "${{" in str(step.raw.get("run", "")):
        return "it depends on values that only a run of the workflow has"
    parts = (value.values() if isinstance(value, Mapping) else (value,) for value in step.raw.values())
    texts = (str(text).replace("\n", "").replace("\t", "") for part in parts for text in part)
    return "" if all(map(str.isprintable, texts)) else "it has characters that cannot be written down"


def _uses_of_title(name: str) -> set[Use]:
    """Classify a step by its name, for programs of the repository's own."""
    match = _TITLE.fullmatch(name.lower())
    use = use_of_name(match["name"]) if match else None
    return {use} if use else set()


def _rendered(step: CIStep, kept: Sequence[Statement]) -> str:
    """Return a script as CI runs it: it ends with the first command that fails."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in step.environment.items()]
    lines = [part.text for part in kept]
    text = "\n".join((*variables, *lines))
    variables += [
        f'{name}="{value}"'
        for name, value in _OF_RUNNER.items()
        if f"${name}" in text or f"${{{name}}}" in text
    ]
    if len(lines) == 1 and kept[0].words is not None:
        line = " ".join((*variables, lines[0]))
        return f"cd {shlex.quote(step.folder)} && {line}" if step.folder else line
    folder = [f"cd {shlex.quote(step.folder)}"] if step.folder else []
    return "\n".join(("set -e", *(f"export {one}" for one in variables), *folder, *lines))


def _alike(command: str) -> str:
    """Return what two checks have in common that differ in versions, variables, builds, or in what they print."""
    line = command.rpartition("\n")[2]
    line = re.sub(r" (-[vqs]+|--verbose|--color\S*|-rA)(?= |$)", "", f" {line}")
    return re.sub(r"\d+", "N", re.sub(r"^(\s*[A-Za-z_]\w*=('[^']*'|\S*))*\s+", "", line))

"""Detect checks of a repository, CI's own commands as they stand, and what they need where nothing is installed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from bot.ecosystems.python import version_tool
from bot.ecosystems.record import Use, use_of_name
from bot.ecosystems.registry import ecosystem_of, ecosystems, use_of
from bot.environment.detection import DetectedCheck, Detection, Omission, Read, Step, is_writable, source_of
from bot.environment.scripts import Statement, statements
from bot.environment.workflows import CIStep, Workflows, read_workflows
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
_ALWAYS_READ = {"pnpm-lock.yaml", "requirements.txt", "requirements-dev.txt", "go.work"}
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
    named = _ALWAYS_READ | {name for one in ecosystems() for name in one.manifests}
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
    installs: dict[str, list[str]] = field(default_factory=dict)
    """CI's installs by ecosystem."""

    def detected(self) -> Detection:
        for steps in self.workflows.jobs:
            self._job(steps)
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
        return Detection(
            tuple(dict.fromkeys(setup)),
            tuple(self.checks),
            tuple(
                {(one.what, one.reason): one for one in (*self.omissions, *self.workflows.omissions)}.values()
            ),
            tuple(self.read.unread.values()),
            version_tool(self.read) if any(step.egress == ("python",) for step in setup) else "",
        )

    def _job(self, steps: Sequence[CIStep]) -> None:
        """Take the checks of a job. Steps that only build are part of the checks that come after them."""
        builds: list[str] = []
        installs: list[tuple[str, str]] = []
        before = len(self.checks)
        for step in steps:
            parts = statements(step.script)
            uses = {use for part in parts for use in part.uses} or _uses_of_title(step.name)
            installs += [
                (ecosystem_of(part.words), part.text)
                for part in parts
                if part.words and part.uses == {Use.INSTALL}
            ]
            use = max(uses, default=None)
            kept = [part for part in parts if not part.installs]
            if use is None:
                self._leave_out(step, _UNKNOWN)
            elif use <= Use.INSTALL:
                self._leave_out(step, _INSTALLS)
            elif any(part.uses & {Use.INSTALL, Use.SYSTEM} for part in kept):
                self._leave_out(step, _MIXED)
            elif use is Use.BUILD:
                builds.append(_rendered(step, kept))
            else:
                self._check(step, use, kept, builds)
                for part in parts:
                    if part.installs:
                        self.omissions.append(Omission(source_of(part.text), _INSTALLS, step.source))
        if len(self.checks) > before:
            for name, text in installs:
                lines = self.installs.setdefault(name, [])
                lines += [text] if text not in lines and is_writable(text) and "$" not in text else []

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
            installs = () if folder else self.installs.get(ecosystem.name, ())
            commands = [check.command for check in self.checks]
            if not (installs or ecosystem.is_in(read)) or not self._is_used(ecosystem.name, commands):
                continue
            if setup := ecosystem.setup(read, installs, commands):
                inside = f"{folder}/" if folder else ""
                command = f"cd {folder} && {setup.command}" if folder else setup.command
                makes = f"{inside}{setup.makes}" if setup.makes else ""
                yield Step(command, source_of(f"{inside}{ecosystem.name}"), setup.egress, makes)

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

"""Detect checks of a repository, CI's own commands as they stand, and what they need where nothing is installed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from textwrap import shorten
from typing import Any, NamedTuple

from bot.ecosystems.record import Files, Use, guarded
from bot.ecosystems.registry import ecosystems, syncs, unwrapped, use_of
from bot.ecosystems.script_names import use_of_name
from bot.ecosystems.services import Service
from bot.environment.detection_result import OF_FILES, CIStep, DetectedCheck, Detection, Omission, source_of
from bot.environment.scripts import Statement, statements
from bot.environment.workflows import CIJob, Workflows
from bot.parsing.parser import ParseError, Parser
from bot.policy.check_settings import SetupStep

_LARGEST = 400_000
_OF_RUNNER = {
    "GITHUB_WORKSPACE": "$PWD",
    "RUNNER_TEMP": "$TMPDIR",
    "RUNNER_OS": "Linux",
    "RUNNER_ARCH": "X64",
    **dict.fromkeys(("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"), "/dev/null"),
}
"""Variables of every runner, set where a script names them."""
_MOST = {Use.TESTS: 3, Use.TYPES: 3, Use.LINT: 5}
_LONGEST_COMMAND = 4_000
_TITLE = re.compile(
    r"(run )?((the|all|unit|our|full|python|js|backend|frontend) )*"
    r"(?P<name>tests?|lint(?=ers?$|ing$|$)|type-?check(?=s$|ing$|$))(ers?|ing|s)?( suite)?"
)
_INSTALL_TITLE = re.compile(r"install (?:\w+ ){0,2}(?:dep(?:endencie)?s|requirements)")
_SPECIAL = re.compile(r"(?i)lint|lowest|oldest|min(?:im|.?version|.?rust)|msrv")
_VERSION = r"\A\s*v?(\d[\w./*-]*)\s*\Z|^{}(?:js|lang)?\s+(\d[\w.]*)$"
_INSTALLS = "it installs, and what is installed here is used"
_UNKNOWN = "nothing in it is known to test, check or build"
_MIXED = "it installs and checks in one command that cannot be taken apart"
_VARIED = re.compile(r"(?m)^(\w+=('[^']*'|\S*) +)+| (-[vqs]+|-rA|--?(verb|color|cov|junit)\S*)(?= |$)")
_SHARE = re.compile(r"--(shard|group|test-group|node-index|chunk)[= ]\S*\d")
_SHARED = "it runs a share of the tests, by a value of the matrix"
_SYNCED = "it would remove what the tests' job installed in the same folder"

_Folders = set[tuple[str | None, str]]
"""Folders, each with the ecosystem whose packages are installed in it."""


def detect(paths: Collection[str], text: Callable[[str], str | None], *, sockets: bool = True) -> Detection:
    """Detect checks and setup from the files of one commit. `paths` are all files, relative to the root; `text` returns
    the text of one. Nothing is run. Text of the repository is used only in commands and their sources. Without
    `sockets`, jobs that need a server are left out."""
    names, unread = frozenset(paths), dict[str, Omission]()

    @cache
    def bounded(path: str) -> str | None:
        content = text(path) if path in names else None
        return content if content is not None and len(content) <= _LARGEST else None

    @cache
    def parsed(path: str, function: Callable[[str], Any]) -> Any:
        content = bounded(path)
        try:
            return parser.parse(function, content) if content else None
        except ParseError as error:
            source = source_of(path)
            unread[path] = Omission(source, f"it could not be parsed, and was left out: {error}", source)
            return None

    with Parser() as parser:
        files = Files(names, bounded, parsed)
        detected = _Detector(files, Workflows(files, sockets).read_all()).detected()
    return detected._replace(unread=tuple(unread.values()))


def files_read(paths: Collection[str]) -> list[str]:
    """Return the files that detection may read, for callers that fetch them all at once."""
    named = {
        name
        for one in ecosystems()
        for name in (*one.manifests, *one.also_read, *(pin.file for pin in one.pins))
    }
    return [path for path in paths if path in named or path.startswith(".github/")][:300]


class _Classified(NamedTuple):
    """A step of CI, and what its statements are for; `commands` are those that do not install."""

    step: CIStep
    use: Use | None
    installs: tuple[Statement, ...]
    commands: tuple[Statement, ...]

    @classmethod
    def of(cls, step: CIStep) -> _Classified:
        parts = statements(step.script)
        use = max((use for part in parts for use in part.uses), default=None)
        installs, commands = (tuple(p for p in parts if p.installs is wanted) for wanted in (True, False))
        # For programs of the repository's own, its name tells.
        if use is None and step.script and (match := _TITLE.fullmatch(step.name.lower())):
            use = use_of_name(match["name"])
        elif use in (None, Use.BUILD) and not installs and _INSTALL_TITLE.fullmatch(step.name.lower()):
            use = Use.INSTALL
        return cls(step, use, installs, commands)

    @property
    def checks(self) -> bool:
        return self.use is not None and self.use > Use.BUILD

    @property
    def mixed(self) -> bool:
        return any(part.uses & {Use.INSTALL, Use.SYSTEM} for part in self.commands)

    @property
    def left_out(self) -> str:
        """Why it is neither a check nor a build that belongs to one; empty if it is."""
        if self.use is None:
            return _UNKNOWN
        if self.step.varies and _SHARE.search(self.step.script):
            return _SHARED
        return _INSTALLS if self.use <= Use.INSTALL else _MIXED if self.mixed else ""

    @property
    def command(self) -> str:
        return _rendered(self.step, self.commands)

    @property
    def synced(self) -> _Folders:
        """The folders in which it makes the packages those that manifests name, by ecosystem."""
        folder = next((one.text for one in self.commands if one.text.startswith("cd ")), self.step.folder)
        return {(one.ecosystem, folder) for one in self.installs if one.words and syncs(one.words)}

    @property
    def for_another_job(self) -> CIStep | None:
        """The step as the job `prepare` takes it; `None` if it only checks."""
        step = self.step
        if not step.script:
            return step
        if self.checks and self.mixed:
            return step._replace(reason=_MIXED)
        if self.checks:
            alone = "\n".join(part.text for part in self.installs)
            return step._replace(raw={**step.raw, "run": alone}) if alone else None
        # What it does is not known, or it is a build of the base: it may fail.
        sure = {} if self.use is not None and self.use <= Use.INSTALL else {"continue-on-error": True}
        return step._replace(raw={**step.raw, **sure})


@dataclass
class _Detector:
    files: Files
    workflows: Workflows
    checks: list[DetectedCheck] = field(default_factory=list)
    prepare: list[CIStep] = field(default_factory=list)
    synced: _Folders = field(default_factory=set)
    taken: dict[str, int] = field(default_factory=dict)  # numbers of checks by their likeness

    def detected(self) -> Detection:
        services: dict[int, Service] = {}
        prepared: list[tuple[bool, CIJob]] = []
        for job in sorted(self.workflows.jobs, key=_order):
            begun = len(self.checks)
            self._job(job.steps)
            if uses := [check.use for check in self.checks[begun:]]:
                prepared.append((Use.TESTS not in uses, job))
                services |= {one.port: one for one in job.services}
        of_jobs = bool(self.checks)
        if self.workflows.copilot:
            self._prepare(self.workflows.copilot)
        else:
            for _, job in sorted(prepared, key=lambda one: one[0]):
                self._prepare(self._set_up(job))
        self._suggest()
        self.checks.sort(key=lambda check: (-check.use, check.fallback))
        commands = [check.command for check in self.checks]
        parts = [part for command in commands for part in statements(command)]
        named = {part.ecosystem for part in parts}
        programs = {unwrapped(part.words)[0] for part in parts if part.words}
        setup: list[SetupStep] = []
        for one in ecosystems():
            # A check belongs to it, or to none by its words.
            if not commands or not one.is_in(self.files) or named.isdisjoint({one.name, "", "general"}):
                continue
            if command := one.setup(self.files, commands):
                setup.append(SetupStep(guarded(command, one.makes), egress=(one.egress,)))
                # What compiles also downloads in its tests, as some programs install there, so CI need not install.
                installs = one.compiles or not programs.isdisjoint(one.isolates)
                if of_jobs and installs and not self.workflows.copilot:
                    raw = {"run": command, "continue-on-error": True}
                    self.prepare.append(CIStep("Download what the tests need", one.name, raw=raw))
        return Detection(
            tuple(setup),
            tuple(self.checks),
            tuple({(one.what, one.reason): one for one in self.workflows.omissions}.values()),
            prepare=tuple(self.prepare),
            services=tuple(services.values()),
            workflows=tuple(self.workflows.names),
        )

    @property
    def _has_tests(self) -> bool:
        return any(check.use is Use.TESTS for check in self.checks)

    def _job(self, steps: Sequence[CIStep]) -> None:
        """Take the checks of a job. Steps that only build are part of the checks that come after them."""
        builds: list[str] = []
        for step in map(_Classified.of, steps):
            if not step.step.script:
                continue
            if reason := step.left_out:
                self._leave_out(step.step, reason)
            elif step.use is Use.BUILD:
                own = step.command
                # Each step has a shell of its own, and the folder that it changes to ends with that.
                builds.append(f"({own}\n)" if "\n" in own or step.step.folder else own)
            else:
                self._check(step, builds)
                for part in step.installs:
                    self._leave_out(step.step._replace(name=part.text), _INSTALLS)

    def _set_up(self, job: CIJob) -> list[CIStep]:
        """Return the steps before the last check. The first job, which tests, is taken as it is. Of any later one, no
        command is that would change what was installed: one for a value of a matrix, such as another version of a
        dependency, or a second install of what manifests name. The others may fail."""
        taken: list[CIStep] = []
        synced: _Folders = set()
        last = 0
        for step in map(_Classified.of, job.steps):
            one = step.for_another_job
            if one and self.prepare:
                reason = _SYNCED if step.synced & self.synced else one.reason
                raw = {**one.raw, "continue-on-error": True}
                one = None if step.step.varies else one._replace(raw=raw, reason=reason)
            if one:
                taken.append(one)
                synced |= step.synced
            last = len(taken) if step.checks else last
        self.synced |= synced
        return taken[:last]

    def _prepare(self, steps: Iterable[CIStep]) -> None:
        """Take the set-up steps of a job that no earlier job has."""
        earlier = tuple(self.prepare)
        for step in steps:
            if any(_key(one) == _key(step) and (step.reason or not one.reason) for one in earlier):
                continue
            reason = step.reason or _unfit_elsewhere(step)
            # Two jobs may have the same identifier, which one job must not, and none of CI's is one of ours.
            ids = [one.raw.get("id") for one in self.prepare if not one.reason]
            named = re.findall(r"\bsteps\.([\w-]+)", str(step.raw)) if "uses" in step.raw else []
            if not set(named).issubset(ids):
                reason = reason or "it needs a step that is left out"
            taken = step.raw.get("id") in ids or str(step.raw.get("id")).startswith("slash-agent")
            raw = {key: value for key, value in step.raw.items() if key != "id" or not taken}
            self.prepare.append(step._replace(reason=reason, versions=self._versions(step), raw=raw))

    def _versions(self, step: CIStep) -> dict[str, str]:
        """Return the versions that an action reads from files, which the agent's job has not."""
        given, action = step.raw.get("with") or {}, str(step.raw.get("uses")).partition("@")[0]
        places = {
            name: (path, _VERSION.format(re.escape(name.partition("-version-")[0])))
            for name, path in given.items()
            if name.endswith("-version-file")
        }
        for one in ecosystems():
            read = one.actions[action].read if action in one.actions else {}
            places |= {name: place for name, place in read.items() if name not in given}
        matches = {
            name: re.search(at[1], self.files.text(at[0]) or "", re.MULTILINE) for name, at in places.items()
        }
        return {name: match[match.lastindex or 0] for name, match in matches.items() if match}

    def _leave_out(self, step: CIStep, reason: str) -> None:
        self.workflows.omissions.append(Omission(source_of(step.name), reason, step.source))

    def _check(self, check: _Classified, builds: Sequence[str]) -> None:
        step, use, own = check.step, check.use or Use.TESTS, check.command
        compiles = {one.name for one in ecosystems() if one.compiles}
        needs_build = use >= Use.TYPES and compiles.isdisjoint(one.ecosystem for one in check.commands)
        command = "\n".join(("set -e", *builds, own)) if builds and needs_build else own
        key = _likeness(check)
        same = self.taken.get(key)
        if step.folder == "?":
            self._leave_out(step, "it runs outside of the repository")
        elif not 0 < len(command) <= _LONGEST_COMMAND or not _is_printable(command) or "${{" in command:
            self._leave_out(step, "it depends on values that only a run of the workflow has")
        elif same is not None:
            # Of jobs that run the same, the plainest is taken: another version, other variables, another build.
            both = (self.checks[same].command, command)
            # An empty variable is as good as none.
            plainest = min(both, key=lambda one: len(one.replace("=''", "")))
            self.checks[same] = self.checks[same]._replace(command=plainest)
        elif sum(one.use is use for one in self.checks) >= _MOST[use]:
            self._leave_out(step, f"there are {_MOST[use]} of its kind already")
        else:
            self.taken[key] = len(self.checks)
            self.checks.append(DetectedCheck(self._name(step.name), command, use, step.source))

    def _suggest(self) -> None:
        """Add the commands that the manifests suggest; if CI has tests, only tests, as a fallback."""
        fallback = self._has_tests
        for ecosystem in ecosystems():
            if not ecosystem.is_in(self.files) and ecosystem.name != "python":
                continue  # a test file is enough for Python
            if ecosystem.name == "general" and not fallback and self._has_tests:
                continue
            for command in ecosystem.checks(self.files):
                line = command.rpartition(" && ")[2]
                use = use_of(shlex.split(line)) or Use.TESTS
                is_new = all(check.command != command for check in self.checks)
                if is_new and (use is Use.TESTS or not fallback):
                    self.checks.append(DetectedCheck(self._name(line), command, use, OF_FILES, fallback))

    def _name(self, title: str) -> str:
        """Return a short name that no other check has."""
        short = shorten(source_of(title), 60, placeholder=" …") or "check"
        taken = {check.name for check in self.checks}
        names = (short, *(f"{short} ({number})" for number in range(2, 99)))
        return next(name for name in names if name not in taken)


def _order(job: CIJob) -> tuple[bool, bool]:
    """Return whether it is named after linters or the lowest versions, and whether it has an unfinished toolchain, or
    what it installs depends on a value of its matrix."""
    return any(_SPECIAL.search(step.source.rpartition(" ")[2]) for step in job.steps), any(
        "nightly" in str(step.raw) or (step.varies and _Classified.of(step).use in (Use.INSTALL, Use.SYSTEM))
        for step in job.steps
    )


def _key(step: CIStep) -> tuple[str, str]:
    """Return what two steps have in common that do the same in one folder; of an action two versions do."""
    return str(step.raw.get("uses", step.raw.get("run", step.name))).partition("@")[0], step.folder


def _unfit_elsewhere(step: CIStep) -> str:
    """Return why another job cannot take a step. A script with expressions would be open to injection."""
    if "${{" in str(step.raw.get("run", "")):
        return "it depends on values that only a run of the workflow has"
    parts = (value.values() if isinstance(value, Mapping) else (value,) for value in step.raw.values())
    printable = all(_is_printable(str(text)) for part in parts for text in part)
    return "" if printable else "it has characters that cannot be written down"


def _is_printable(script: str) -> bool:
    return script.replace("\n", "").replace("\t", "").isprintable()


def _rendered(step: CIStep, kept: Sequence[Statement]) -> str:
    """Return a script as CI runs it: it ends with the first command that fails."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in step.environment.items()]
    # The job `prepare` or an earlier check may have made the folder.
    lines = [re.sub("^mkdir (?!-)", "mkdir -p ", part.text) for part in kept]
    text = "\n".join((*variables, *lines))
    named = [name for name in _OF_RUNNER if f"${name}" in text or f"${{{name}}}" in text]
    variables += [f'{name}="{_OF_RUNNER[name]}"' for name in named]
    if len(lines) == 1 and kept[0].words is not None:
        line = " ".join((*variables, lines[0]))
        return f"cd {shlex.quote(step.folder)} && {line}" if step.folder else line
    folder = [f"cd {shlex.quote(step.folder)}"] if step.folder else []
    # So GitHub starts bash for a step that names it, and only then.
    options = "set -eo pipefail" if step.raw.get("shell") == "bash" else "set -e"
    return "\n".join((options, *(f"export {one}" for one in variables), *folder, *lines))


def _likeness(check: _Classified) -> str:
    """Return what two checks have in common that differ in versions, variables, builds, or in what they print."""
    tests = [one for one in check.commands if one.text[:3] == "cd " or max(one.uses, default=0) > Use.BUILD]
    text = "\n".join((check.step.folder, *(one.text for one in tests or check.commands)))
    return re.sub(r"(?<=py|on)\d[\d.]*|\d+\.\d[\d.]*", "N", _VARIED.sub("", text))

"""Detect setup and checks of one project: turn its candidates into checks, and add the steps that they need."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.environment import compiled_languages, node, python
from bot.environment.candidate_checks import Candidate, Candidates
from bot.environment.commands import joined, unwrapped
from bot.environment.detection import (
    Command,
    DetectedCheck,
    Detection,
    Kind,
    Omission,
    Read,
    Step,
    is_writable,
    source_of,
)
from bot.environment.workflows import Workflows

_MOST = {Kind.TESTS: 3, Kind.TYPES: 3, Kind.LINT: 5}
_CARGO_PACKAGE = re.compile(r" (?:-p|--package)[ =](\S+)")
_NODE_TOOLS = frozenset("vitest jest mocha ava eslint prettier tsc xo biome oxlint tsd c8 tap".split())  # noqa: SIM905
_CARGO_VALUE = re.compile(
    r"-[pFj]|--(package|features|target|test|bin|example|profile|exclude|manifest-path|jobs|color)"
)


@dataclass(slots=True)
class ProjectDetection:
    """The project in `folder`, whose files are `paths`; `folders` are those of other projects."""

    paths: frozenset[str]
    read: Read
    workflows: Workflows
    folder: str = ""
    folders: tuple[str, ...] = ()
    checks: list[DetectedCheck] = field(default_factory=list)
    setup: list[Step] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    candidates: Candidates = field(init=False)
    requirements: python.Requirements = field(init=False)
    omissions: list[Omission] = field(init=False)

    def __post_init__(self) -> None:
        self.candidates = Candidates(self.paths, self.read, self.folder, self.folders)
        self.requirements = self.candidates.requirements
        self.omissions = self.candidates.omissions

    def result(self) -> Detection:
        self.omissions += () if self.folder else self.workflows.omissions
        for job in self.workflows.jobs:
            self.candidates.of_job(job)
        self._choose()
        if not any(one.kind is Kind.TESTS for one in self.checks):
            if not self.folder:
                self.candidates.of_devcontainer()
            self.candidates.of_manifests()
            self._choose()
        self.checks.sort(key=lambda one: list(Kind).index(one.kind))
        self._prepare()
        return Detection(
            tuple(self.setup),
            tuple(step.makes for step in self.setup if step.makes),
            tuple(self.checks),
            tuple(dict.fromkeys(self.omissions))[:20],
            history=python.version_tool(self.read)
            if any(step.makes == python.VENV for step in self.setup)
            else "",
        )

    def _choose(self) -> None:
        """Turn the candidates into checks, up to the limit of each kind."""
        for kind in Kind:
            chosen = [candidate for candidate in self.candidates.checks if candidate.kind is kind]
            for candidate in sorted(_with_fewest_variables(_without_coverage(chosen)), key=_is_partial):
                if sum(check.kind is kind for check in self.checks) < _MOST[kind]:
                    self._check(candidate)
        self.candidates.checks.clear()

    @property
    def _package(self) -> dict[str, object]:
        return node.manifest(self.read)

    def _check(self, candidate: Candidate) -> None:
        command = candidate.command
        inner = unwrapped(command.words)
        if not inner or command.folder == "?":
            return
        rendered = self._rendered(command, inner)
        if rendered is None:
            return
        plain, line = rendered
        if not (is_writable(line) and is_writable(plain)):
            what = source_of(" ".join(command.words)[:80])
            self.omissions.append(
                Omission(what, "it depends on values that only a run of the workflow has", command.source)
            )
            return
        alone = (
            inner[0] in ("cargo", "mvn", "./mvnw", "go", "gradle", "./gradlew")
            and candidate.kind is Kind.TESTS
        )
        words = (
            " ".join((inner[0], *_CARGO_PACKAGE.findall(" ".join(inner))))
            if alone
            else re.sub(
                r"\d+", "N", joined(replace(command, environment={}, text=""), _without_display(inner))
            )
        )
        if words in self.taken:  # other legs of the same job: another version, other variables
            return
        self.taken.add(words)
        self.checks.append(
            DetectedCheck(_name(plain, self.checks), line, plain, candidate.kind, command.source)
        )

    def _rendered(self, command: Command, inner: Sequence[str]) -> tuple[str, str] | None:
        """Return the check for an environment on PATH, and for the environment of the setup; `None` if it cannot
        run."""
        program = inner[0]
        if (
            command.text
            and program in ("ctest", "meson", "make", "cmake", "ninja")
            and " && " in command.text
        ):
            return command.text, self._with_venv(command.text)
        if program == "bun" or command.words[0] == "bunx":
            return None
        if program in ("npm", "pnpm", "yarn", "node") or self._is_node_tool(program):
            if not node.is_known(command.words, self._package) and not command.folder:
                return None
            words = command.words if program in ("npm", "pnpm", "yarn", "node") else ("npx", *inner)
            manager, _ = node.manager_of(self.paths, self._package)
            line = node.prepared(words, manager)
            return joined(command, words), joined(command, words).replace(shlex.join(words), line)
        if program in ("go", "richgo"):
            line = joined(command, compiled_languages.go_words(inner))
            return line, line
        if program in ("staticcheck", "gofmt"):
            return (joined(command), joined(command)) if program == "gofmt" else None
        if program == "cargo":
            return joined(command), compiled_languages.rust_command(joined(command), self.read)
        if program in ("mvn", "./mvnw"):
            words = compiled_languages.maven_words(inner)
            line = joined(command, words)
            return line, line.replace(shlex.join(words), compiled_languages.maven_command(words))
        if program in ("gradle", "./gradlew"):
            return joined(command), joined(command, (*command.words, "--offline"))
        if program == "make":
            return joined(command), self._with_venv(joined(command))
        plain = joined(command, python.plain(command.words))
        return plain, joined(command, python.prepared(command.words, command.folder))

    def _is_node_tool(self, program: str) -> bool:
        return program in _NODE_TOOLS and "package.json" in self.paths

    def _with_venv(self, line: str) -> str:
        return f'export PATH="$PWD/{python.VENV}/bin:$PATH" && {line}' if self.requirements else line

    def _prepare(self) -> None:
        """Add the setup steps that the checks need."""
        used = [check.plain for check in self.checks]
        if any(f"{python.VENV}/bin" in check.command for check in self.checks):
            self._prepare_python()
        if any(re.search(r"\b(npm|pnpm|yarn|npx)\b", line) for line in used) and node.needs_install(
            self._package
        ):
            self.setup.append(
                node.setup_of(self.paths, self._package, self.read, self.candidates.node_installs)
            )
        if any(re.search(r"\bgo (test|vet|build)\b|\bmake\b", line) for line in used) and (
            step := compiled_languages.go_setup(self.paths, self.read)
        ):
            self.setup.append(step)
        if any(re.search(r"\bcargo\b", line) for line in used):
            self.setup.append(compiled_languages.rust_setup(self.paths, self.read))
        for tool in sorted(self.candidates.cargo_tools):
            if any(f"cargo {tool} " in line for line in used):
                command = compiled_languages.cargo_tool_setup(tool, self.read)
                self.setup.append(Step(command, "Cargo.toml", ("rust",)))
        self._compile()
        maven = next((check for check in self.checks if compiled_languages.MAVEN_HOME in check.command), None)
        if maven is not None:
            self.setup.append(compiled_languages.maven_setup(maven, self.paths))
        gradle = next(
            (check for check in self.checks if re.search(r"\bgradlew? .*--offline", check.command)), None
        )
        if gradle is not None:
            self.setup.append(compiled_languages.gradle_setup(gradle))

    def _compile(self) -> None:
        """Add steps that compile what checks of Go and Rust run, also those behind make."""
        for check in self.checks:
            lines = [check.command]
            if words := re.findall(r"\bmake ([\w-]+)$", check.command):
                lines = [joined(one) for one in self.candidates.recipe(("make", *words)) if one.words]
            steps = [compiled_languages.compile_step(line, check.source) for line in lines]
            self.setup += [step for step in steps if step is not None and is_writable(step.command)]

    def _prepare_python(self) -> None:
        if not self.requirements:
            python.from_manifest(self.paths, self.read, self.requirements)
        names = " ".join(self.requirements.arguments)
        missing = [
            tool
            for tool in ("pytest", "mypy", "ruff", "black", "flake8", "coverage", "pyright")
            if any(
                re.search(rf"{python.VENV}/bin/{tool}\b|-m {tool}\b", check.command) for check in self.checks
            )
            and not self._is_brought(tool, names)
        ]
        if not self.requirements and not missing:  # the standard library is enough
            self.checks = [replace(check, command=check.plain) for check in self.checks]
            return
        if missing:
            self.requirements.add(missing, "the checks")
        self.setup.append(python.setup_of(self.requirements, python.version_tool(self.read)))

    def _is_brought(self, tool: str, names: str) -> bool:
        """Whether the requirements name `tool`, or include a file or group that mentions it."""
        if re.search(rf"\b{tool}\b", names) or self.requirements.manager:
            return True
        files = re.findall(r"-r (\S+)", names)
        texts = [self.read(name) or "" for name in (*files, "pyproject.toml", "setup.cfg", "setup.py")]
        return any(re.search(rf"\b{tool}\b(?!\.)[^.\]]", text) for text in texts)


_DISPLAY = re.compile(r"-[vqs]+|--(verbose|quiet|tb=\w+|color=\w+|durations=\d+)|-r[a-zA-Z]+")


def _without_display(words: Sequence[str]) -> list[str]:
    """Return pytest's words without the options that change only what it prints."""
    return [word for word in words if words[0] not in ("pytest", "py.test") or not _DISPLAY.fullmatch(word)]


def _without_coverage(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Drop runs for coverage if the same tests run without it."""
    plain = [
        candidate for candidate in candidates if not re.search(r"cov", " ".join(candidate.command.words))
    ]
    return plain or list(candidates)


def _with_fewest_variables(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Of jobs that run the same command, return the one that sets the fewest variables."""
    plain: dict[tuple[str, ...], Candidate] = {}
    for candidate in candidates:
        words = candidate.command.words
        if words not in plain or len(candidate.command.environment) < len(plain[words].command.environment):
            plain[words] = candidate
    return list(plain.values())


def _is_partial(candidate: Candidate) -> bool:
    """Whether a command selects tests by name or by features."""
    words = unwrapped(candidate.command.words)
    if "pytest" in words:
        return "-k" in words
    if tuple(words[:2]) != ("cargo", "test"):
        return False
    own = words[2 : words.index("--")] if "--" in words else words[2:]
    return "--no-default-features" in own or any(
        not word.startswith("-") and not _CARGO_VALUE.fullmatch(before)
        for before, word in zip(("", *own), own, strict=False)
    )


def _name(line: str, others: Sequence[DetectedCheck]) -> str:
    """Return a unique short name: the program and its first arguments."""
    words = line.rpartition("&& ")[2].split()
    while words and "=" in words[0]:
        words.pop(0)
    inner = unwrapped(words) or tuple(words)
    short = " ".join(
        word for word in inner[:4] if re.fullmatch(r"[\w./:@-]+", word) and not word.startswith("-")
    )[:40]
    name = short or "check"
    taken = {other.name for other in others}
    return next(
        other for other in (name, *(f"{name} ({number})" for number in range(2, 99))) if other not in taken
    )

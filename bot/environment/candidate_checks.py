"""Collect the commands of CI that test, type-check or lint, with their installs; else those that manifests suggest."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.environment import compiled_languages, node, python
from bot.environment.commands import Use, commands_of, joined, unwrapped, use_of
from bot.environment.detection import Command, Kind, Omission, Read, source_of
from bot.environment.tox import ToolEnvironment, hatch_environment, nox_sessions, tox_environment
from bot.environment.workflows import Job, Script

_KINDS = {Use.TESTS: Kind.TESTS, Use.TYPES: Kind.TYPES, Use.LINT: Kind.LINT}
_NEEDS_NETWORK = {"pre-commit", "prek", "docker", "docker-compose", "cog", "golangci-lint"}


@dataclass(frozen=True, slots=True)
class Candidate:
    command: Command
    kind: Kind


@dataclass(slots=True)
class Candidates:
    """The candidates of the project in `folder`, whose files are `paths`. `folders` are those of other projects.
    Installs are in `requirements`, `node_installs` and `cargo_tools`."""

    paths: frozenset[str]
    read: Read
    folder: str = ""
    folders: tuple[str, ...] = ()
    checks: list[Candidate] = field(default_factory=list)
    requirements: python.Requirements = field(default_factory=python.Requirements)
    node_installs: list[Command] = field(default_factory=list)
    cargo_tools: set[str] = field(default_factory=set)
    """Tools of cargo that CI installs, such as `hack`."""
    omissions: list[Omission] = field(default_factory=list)

    def of_job(self, job: Job) -> None:
        """Add the checks of one job, and their installs."""
        installs: list[Command] = []
        build: list[Command] = []
        checks: list[Candidate] = []
        for action, inputs in () if self.folder else job.actions.items():
            self.cargo_tools.update(compiled_languages.cargo_tools_of(action, inputs))
            if re.search(r"pre-commit|prek|golangci-lint|staticcheck", action):
                self.omissions.append(
                    Omission(source_of(action), "this action downloads its own tools", job.source)
                )
        for command in (
            command_part for script in job.scripts for command_part in commands_of(script, job.source)
        ):
            folder = command.folder if command.folder in self.folders else ""
            if folder != self.folder:
                continue
            for command_part in self._expanded(replace(command, folder="") if folder else command):
                use = use_of(command_part.words) if command_part.words else Use.OTHER
                if use is Use.INSTALL:
                    installs.append(command_part)
                elif use is Use.BUILD:
                    build.append(command_part)
                elif use is Use.SYSTEM:
                    self._system(command_part)
                elif use in _KINDS:
                    checks.append(Candidate(self._with_build(command_part, build), _KINDS[use]))
                else:
                    self._other(command_part)
        if not checks:
            return
        for command in installs:
            self._install(command, first=any(command_part.kind is Kind.TESTS for command_part in checks))
        for candidate in checks:
            if (synced := python.synced_by_run(candidate.command.words)) is not None:
                self.requirements.manage(synced, candidate.command.source)
        self.checks += checks

    def of_devcontainer(self) -> None:
        """Add the installs of a devcontainer, for repositories without CI. Image and features are ignored."""
        for path in _DEVCONTAINERS:
            content = self.read.parsed(path, json_with_comments)
            if isinstance(content, dict) and content:
                for text in (line for name in _DEVCONTAINER_COMMANDS for line in _lines(content.get(name))):
                    for command in commands_of(Script(text), source_of(path)):
                        if command.words and use_of(command.words) is Use.INSTALL:
                            self._install(command, first=True)
                return

    def _install(self, command: Command, *, first: bool) -> None:
        program = unwrapped(command.words)[0]
        if program in ("npm", "pnpm", "yarn") and not command.folder:
            self.node_installs.insert(0 if first else len(self.node_installs), command)
        elif program == "cargo" and (tool := compiled_languages.cargo_tool(command.words)):
            self.cargo_tools.add(tool)
        elif not command.folder:
            python.installed_by(command.words, self.requirements, command.source)

    def _with_build(self, command: Command, build: Sequence[Command]) -> Command:
        """Put the build in front of checks of C and C++: a build in the setup would be older than the change."""
        inner = unwrapped(command.words)
        if inner[:2] == ("meson", "test") and not any("setup" in step.words for step in build):
            folder = inner[inner.index("-C") + 1] if "-C" in inner[:-1] else "build"
            build = (*build, Command(("meson", "setup", folder), command.source))
        if inner[0] not in ("ctest", "meson", "make", "cmake", "ninja") or not build:
            return command
        steps = [
            step
            for step in build
            if unwrapped(step.words)[0] not in ("npm", "pnpm", "yarn", "go", "cargo", "mvn")
        ]
        lines = [joined(step) if not step.folder else f"({joined(step)})" for step in (*steps, command)]
        return replace(command, text=" && ".join(dict.fromkeys(lines))) if steps else command

    def _system(self, command: Command) -> None:
        if "install" in command.words:
            packages = [
                word
                for word in command.words[command.words.index("install") + 1 :]
                if not word.startswith("-")
            ]
            if packages:
                what = source_of(" ".join(packages)[:80])
                self.omissions.append(
                    Omission(what, "system packages: the sandbox has what this machine has", command.source)
                )

    def _other(self, command: Command) -> None:
        inner = unwrapped(command.words)
        if inner and inner[0] in _NEEDS_NETWORK:
            reason = "it downloads what it runs, and checks have no network"
            self.omissions.append(Omission(source_of(" ".join(inner)[:80]), reason, command.source))

    def _expanded(self, command: Command) -> Iterator[Command]:
        """Yield the commands behind `tox`, `nox`, `hatch` and a `make` with installs; else the command itself."""
        inner = unwrapped(command.words) if command.words else ()
        program = inner[0] if inner else ""
        tools: list[ToolEnvironment] = []
        if program == "tox" and not command.folder:
            named = command.environment.get("TOXENV", "")
            tools = tox_environment(
                (*inner, "-e", named) if named and "-e" not in inner else inner, self.read
            )
        elif program == "nox" and not command.folder:
            tools = nox_sessions(inner, self.read)
        elif program == "hatch" and not command.folder:
            tools = hatch_environment(inner, self.read)
        if program in ("tox", "nox", "hatch"):
            for tool in tools:
                source = source_of(command.source, f"by {tool.source}")
                runs = [
                    Command(words, source, "", tool.environment)
                    for words in tool.commands
                    if use_of(words) in _KINDS
                ]
                if runs:
                    self.requirements.add(tool.install, source)
                yield from runs
            return
        recipe = self.recipe(inner) if program == "make" and not command.folder else []
        uses = {use_of(one.words) for one in recipe if one.words}
        if Use.INSTALL in uses or any(one.words[:1] == ("richgo",) for one in recipe):
            if uses & _KINDS.keys():  # its installs have no network in a check: they become setup
                for one in recipe:
                    yield replace(one, source=command.source, environment=command.environment)
            return
        yield command

    def recipe(self, inner: Sequence[str]) -> list[Command]:
        targets = compiled_languages.make_targets(self.paths, self.read)
        lines = [line for word in inner[1:] for line in targets.get(word, [])]
        return [one for one in commands_of(Script("\n".join(lines)), "Makefile") if "$(" not in one.text]

    def of_manifests(self) -> None:
        """Add what the manifests suggest, if CI has no tests."""
        words: list[tuple[tuple[str, ...], str]] = []
        if (test := python.fallback_test(self.paths, self.read)) is not None:
            words.append((test, "the test files"))
        if "package.json" in self.paths:
            manager, _ = node.manager_of(self.paths, node.manifest(self.read))
            words += [(one, "package.json") for one in node.fallback(node.manifest(self.read), manager)]
        if "go.mod" in self.paths:
            words.append((("go", "test", "./..."), "go.mod"))
        if "Cargo.toml" in self.paths:
            words.append((("cargo", "test"), "Cargo.toml"))
        if "pom.xml" in self.paths:
            words.append(((compiled_languages.maven_program(self.paths), "test"), "pom.xml"))
        if not words and compiled_languages.is_cmake(self.paths, self.read):
            self.checks.append(
                Candidate(
                    Command(("ctest",), "CMakeLists.txt", text=compiled_languages.cmake_check()), Kind.TESTS
                )
            )
        targets = compiled_languages.make_targets(self.paths, self.read)
        if not words:
            words += [(("make", name), "Makefile") for name in ("test", "check") if name in targets][:1]
        self.checks += [
            Candidate(Command(one, source), _KINDS.get(use_of(one), Kind.TESTS)) for one, source in words
        ]


_DEVCONTAINERS = (".devcontainer/devcontainer.json", ".devcontainer.json")
_DEVCONTAINER_COMMANDS = ("onCreateCommand", "updateContentCommand", "postCreateCommand")
# An unterminated string or comment matches to the end of the text, which keeps matching linear.
_STRING = r'("(?:\\.|[^"\\])*+(?:"|\\?\Z))'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)


def json_with_comments(text: str) -> Any:
    """Parse JSON that may have comments and trailing commas."""
    for pattern in (_COMMENT, _LAST_COMMA):
        text = pattern.sub(lambda match: match[1] or " ", text)
    return json.loads(text)


def _lines(command: object) -> Iterator[str]:
    """Yield shell lines of a command: a line, a list of words, or several of these by name."""
    if isinstance(command, dict):
        for one in command.values():
            yield from _lines(None if isinstance(one, dict) else one)
    elif isinstance(command, str):
        yield command
    elif isinstance(command, list) and all(isinstance(word, str) for word in command):
        yield shlex.join(command)

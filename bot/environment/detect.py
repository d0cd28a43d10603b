"""Put together what CI, manifests and tool configurations say of one repository."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from bot.environment import native, node, python
from bot.environment.commands import Use, commands_of, joined, unwrapped, use_of
from bot.environment.detected import (
    Cache,
    Command,
    Detected,
    DetectedCheck,
    Kind,
    Omission,
    Read,
    Step,
    is_writable,
    source_of,
)
from bot.environment.tox import ToolEnvironment, hatch_environment, nox_sessions, tox_environment
from bot.environment.workflows import Job, Workflows, read_workflows

_MOST = {Kind.TESTS: 3, Kind.TYPES: 3, Kind.LINT: 5}
_KINDS = {Use.TESTS: Kind.TESTS, Use.TYPES: Kind.TYPES, Use.LINT: Kind.LINT}
_NEEDS_NETWORK = {"pre-commit", "prek", "docker", "docker-compose", "cog", "golangci-lint"}
_LARGEST = 400_000


def detect(paths: Collection[str], read: Read) -> Detected:
    """What the files at one commit say. `paths` are all of them, relative to the root; `read` gives the text of one.
    Nothing is run, and no text of the repository ends up anywhere but in commands and their sources."""
    names = frozenset(paths)

    @cache
    def bounded(path: str) -> str | None:
        text = read(path) if path in names else None
        return text if text is not None and len(text) <= _LARGEST else None

    workflows = read_workflows(names, bounded)
    folders = _project_folders(names, workflows)
    found = []
    for folder in ("", *folders):
        prefix = f"{folder}/" if folder else ""
        own = frozenset(
            path.removeprefix(prefix)
            for path in names
            if path.startswith(prefix) and (folder or _top(path) not in folders)
        )
        detection = _Detection(own, _below(bounded, prefix), workflows, folder, folders)
        found.append(_in_folder(folder, detection.result()))

    def all_of(name: str) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(item for one in found for item in getattr(one, name)))

    return Detected(
        all_of("setup"), all_of("bring"), all_of("caches"), all_of("checks"), all_of("versions"),
        all_of("omissions"), next((one.history for one in found if one.history), ""),
    )  # fmt: skip


_MANIFESTS = ("package.json", "pyproject.toml", "setup.py", "go.mod", "Cargo.toml", "pom.xml")
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")  # a folder's name gets into a command
_MOST_FOLDERS = 6
_CARGO_VALUE = re.compile(
    r"-[pFj]|--(package|features|target|test|bin|example|profile|exclude|manifest-path|jobs|color)"
)
_NO_PROJECT = re.compile(
    r"(?i)(test|example|fixture|sample|doc|bench|fuzz|demo|script|tool|third_?party|vendor)"
)


def files_read(paths: Collection[str]) -> list[str]:
    """The files that detection may read, for callers that fetch them all at once."""
    named = {
        *_MANIFESTS, "tox.ini", "setup.cfg", "noxfile.py", "tox.toml", "hatch.toml", "CMakeLists.txt", "Makefile",
        "makefile", "GNUmakefile", "pnpm-lock.yaml", "requirements.txt", "requirements-dev.txt", "action.yml",
        "action.yaml",
    }  # fmt: skip
    return [
        path
        for path in paths
        if (path.count("/") <= 1 and path.rpartition("/")[2] in named) or path.startswith(".github/")
    ][:300]


def _below(read: Read, prefix: str) -> Read:
    return lambda path: read(prefix + path)


def _top(path: str) -> str:
    return path.partition("/")[0] if "/" in path else ""


def _project_folders(names: frozenset[str], workflows: Workflows) -> tuple[str, ...]:
    """Folders just below the root with a manifest of a kind that the root has none of, or with one that CI works in."""
    used = {script.folder for job in workflows.jobs for script in job.scripts}
    found = {
        folder
        for folder, _, name in (path.partition("/") for path in names)
        if name in _MANIFESTS
        and _FOLDER.fullmatch(folder)
        and (folder in used or not (name in names or _NO_PROJECT.match(folder)))
    }
    return tuple(sorted(found)[:_MOST_FOLDERS])


def _in_folder(folder: str, detected: Detected) -> Detected:
    if not folder:
        return detected
    return Detected(
        tuple(
            replace(
                one,
                command=f"cd {folder} && {one.command}",
                makes=f"{folder}/{one.makes}" if one.makes else "",
            )
            for one in detected.setup
        ),
        tuple(f"{folder}/{one}" for one in detected.bring),
        tuple(
            Cache(f"{folder}/{one.folder}", tuple(f"{folder}/{key}" for key in one.key_files))
            for one in detected.caches
        ),
        tuple(
            replace(
                one,
                name=f"{folder}: {one.name}",
                command=f"cd {folder} && {one.command}",
                plain=f"cd {folder} && {one.plain}",
            )
            for one in detected.checks
        ),
        detected.versions,
        detected.omissions,
        detected.history,
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    command: Command
    kind: Kind


@dataclass(slots=True)
class _Detection:
    paths: frozenset[str]
    read: Read
    workflows: Workflows
    folder: str = ""
    folders: tuple[str, ...] = ()
    candidates: list[_Candidate] = field(default_factory=list)
    requirements: python.Requirements = field(default_factory=python.Requirements)
    node_installs: list[Command] = field(default_factory=list)
    checks: list[DetectedCheck] = field(default_factory=list)
    setup: list[Step] = field(default_factory=list)
    caches: list[Cache] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def result(self) -> Detected:
        self.omissions += () if self.folder else self.workflows.omissions
        for job in self.workflows.jobs:
            self._job(job)
        self._choose()
        if not any(one.kind is Kind.TESTS for one in self.checks):
            self._fallbacks()
            self._choose()
        self.checks.sort(key=lambda one: list(Kind).index(one.kind))
        self._prepare()
        versions = (
            *python.versions_of(self.read),
            *node.versions_of(self._package),
            *native.go_version(self.read),
        )
        return Detected(
            tuple(self.setup),
            tuple(step.makes for step in self.setup if step.makes),
            tuple(self.caches),
            tuple(self.checks),
            tuple(dict.fromkeys((*versions, *(() if self.folder else self.workflows.versions))))[:12],
            tuple(dict.fromkeys(self.omissions))[:20],
            python.version_tool(self.read) if any(step.makes == python.VENV for step in self.setup) else "",
        )

    def _choose(self) -> None:
        """Make checks of the candidates so far."""
        for kind in Kind:
            chosen = [one for one in self.candidates if one.kind is kind]
            for one in sorted(_without_coverage(chosen), key=_names_tests):
                if sum(check.kind is kind for check in self.checks) < _MOST[kind]:
                    self._check(one)
        self.candidates.clear()

    @property
    def _package(self) -> dict[str, object]:
        return node.manifest(self.read)

    def _job(self, job: Job) -> None:
        """The checks of one job, and what it installs for them."""
        installs: list[Command] = []
        build: list[Command] = []
        found: list[_Candidate] = []
        for action in () if self.folder else job.actions:
            if re.search(r"pre-commit|prek|golangci-lint|staticcheck", action):
                self.omissions.append(
                    Omission(source_of(action), "this action downloads its own tools", job.source)
                )
        for command in (one for script in job.scripts for one in commands_of(script, job.source)):
            place = command.folder if command.folder in self.folders else ""
            if place != self.folder:
                continue
            for one in self._expanded(replace(command, folder="") if place else command):
                use = use_of(one.words) if one.words else Use.OTHER
                if use is Use.INSTALL:
                    installs.append(one)
                elif use is Use.BUILD:
                    build.append(one)
                elif use is Use.SYSTEM:
                    self._system(one)
                elif use in _KINDS:
                    found.append(_Candidate(self._with_build(one, build), _KINDS[use]))
                else:
                    self._other(one)
        if not found:
            return
        for command in installs:
            self._install(command, first=any(one.kind is Kind.TESTS for one in found))
        for candidate in found:
            if (synced := python.synced_by_run(candidate.command.words)) is not None:
                self.requirements.manage(synced, candidate.command.source)
        self.candidates += found

    def _install(self, command: Command, *, first: bool) -> None:
        program = unwrapped(command.words)[0]
        if program in ("npm", "pnpm", "yarn") and not command.folder:
            self.node_installs.insert(0 if first else len(self.node_installs), command)
        elif not command.folder:
            python.installed_by(command.words, self.requirements, command.source)

    def _with_build(self, command: Command, build: Sequence[Command]) -> Command:
        """C and C++ are built by the check itself: what the setup built would be older than the change."""
        if unwrapped(command.words)[0] not in ("ctest", "meson", "make", "cmake", "ninja") or not build:
            return command
        relevant = [
            one
            for one in build
            if unwrapped(one.words)[0] not in ("npm", "pnpm", "yarn", "go", "cargo", "mvn")
        ]
        lines = [joined(one) if not one.folder else f"({joined(one)})" for one in (*relevant, command)]
        return replace(command, text=" && ".join(dict.fromkeys(lines))) if relevant else command

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
        """The commands behind `tox`, `nox`, `make` with installs in it, and `hatch`; else the command itself."""
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
        recipe = self._recipe(inner) if program == "make" and not command.folder else []
        uses = {use_of(one.words) for one in recipe if one.words}
        if Use.INSTALL in uses or any(one.words[:1] == ("richgo",) for one in recipe):
            if uses & _KINDS.keys():  # its installs have no network in a check: they become setup
                for one in recipe:
                    yield replace(one, source=command.source, environment=command.environment)
            return
        yield command

    def _recipe(self, inner: Sequence[str]) -> list[Command]:
        from bot.environment.workflows import Script

        targets = native.make_targets(self.paths, self.read)
        lines = [line for word in inner[1:] for line in targets.get(word, [])]
        return [one for one in commands_of(Script("\n".join(lines)), "Makefile") if "$(" not in one.text]

    def _fallbacks(self) -> None:
        """No tests in CI's files: what the manifests suggest."""
        words: list[tuple[tuple[str, ...], str]] = []
        if (test := python.fallback_test(self.paths, self.read)) is not None:
            words.append((test, "the test files"))
        if "package.json" in self.paths:
            manager, _ = node.manager_of(self.paths, self._package)
            words += [(one, "package.json") for one in node.fallback(self._package, manager)]
        if "go.mod" in self.paths:
            words.append((("go", "test", "./..."), "go.mod"))
        if "Cargo.toml" in self.paths:
            words.append((("cargo", "test"), "Cargo.toml"))
        if "pom.xml" in self.paths:
            words.append(((native.maven_program(self.paths), "test"), "pom.xml"))
        if not words and native.is_cmake(self.paths, self.read):
            self.candidates.append(
                _Candidate(Command(("ctest",), "CMakeLists.txt", text=native.cmake_check()), Kind.TESTS)
            )
        targets = native.make_targets(self.paths, self.read)
        if not words:
            words += [(("make", name), "Makefile") for name in ("test", "check") if name in targets][:1]
        self.candidates += [
            _Candidate(Command(one, source), _KINDS.get(use_of(one), Kind.TESTS)) for one, source in words
        ]

    def _check(self, candidate: _Candidate) -> None:
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
            " ".join(inner[:1])
            if alone
            else _without_numbers(joined(replace(command, environment={}, text=""), inner))
        )
        if words in self.taken:  # other legs of the same job: another version, other variables
            return
        self.taken.add(words)
        self.checks.append(
            DetectedCheck(_name(plain, self.checks), line, plain, candidate.kind, command.source)
        )

    def _rendered(self, command: Command, inner: Sequence[str]) -> tuple[str, str] | None:
        """The check for an environment on PATH, and as it is run after our setup."""
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
            line = joined(command, native.go_words(inner))
            return line, line
        if program in ("staticcheck", "gofmt"):
            return (joined(command), joined(command)) if program == "gofmt" else None
        if program == "cargo":
            return joined(command), native.rust_command(joined(command))
        if program in ("mvn", "./mvnw"):
            words = native.maven_words(inner)
            line = joined(command, words)
            return line, line.replace(shlex.join(words), native.maven_command(words))
        if program in ("gradle", "./gradlew"):
            return joined(command), joined(command, (*command.words, "--offline"))
        if program == "make":
            return joined(command), self._with_venv(joined(command))
        plain = joined(command, python.plain(command.words))
        return plain, joined(command, python.prepared(command.words))

    def _is_node_tool(self, program: str) -> bool:
        known = (
            "vitest",
            "jest",
            "mocha",
            "ava",
            "eslint",
            "prettier",
            "tsc",
            "xo",
            "biome",
            "oxlint",
            "tsd",
            "c8",
            "tap",
        )
        return program in known and "package.json" in self.paths

    def _with_venv(self, line: str) -> str:
        return f'export PATH="$PWD/{python.VENV}/bin:$PATH" && {line}' if self.requirements else line

    def _prepare(self) -> None:
        """The setup that the chosen checks need."""
        used = [one.plain for one in self.checks]
        if any(_is_python(one.command) for one in self.checks):
            self._prepare_python()
        if any(re.search(r"\b(npm|pnpm|yarn|npx)\b", line) for line in used) and node.needs_install(
            self._package
        ):
            self.setup.append(node.setup_of(self.paths, self._package, self.read, self.node_installs))
            self.caches.append(node.cache_of(self.paths))
        if any(re.search(r"\bgo (test|vet|build)\b|\bmake\b", line) for line in used) and (
            step := native.go_setup(self.paths, self.read)
        ):
            self.setup.append(step)
            self.caches.append(native.go_cache(self.paths))
        if any(re.search(r"\bcargo\b", line) for line in used):
            self.setup.append(native.rust_setup(self.paths))
            self.caches.append(native.cargo_cache(self.paths))
        self._compile()
        maven = next((one for one in self.checks if native.MAVEN_HOME in one.command), None)
        if maven is not None:
            self.setup.append(native.maven_setup(maven, self.paths))
            self.caches.append(native.maven_cache(self.paths))

    def _compile(self) -> None:
        """Compile once what the checks of Go and Rust run, also those behind make."""
        for check in self.checks:
            lines = [check.command]
            if words := re.findall(r"\bmake ([\w-]+)$", check.command):
                lines = [joined(one) for one in self._recipe(("make", *words)) if one.words]
            steps = [native.compile_step(line, check.source) for line in lines]
            self.setup += [step for step in steps if step is not None and is_writable(step.command)]

    def _prepare_python(self) -> None:
        if not self.requirements:
            python.from_manifest(self.paths, self.read, self.requirements)
        names = " ".join(self.requirements.arguments)
        missing = [
            tool
            for tool in ("pytest", "mypy", "ruff", "black", "flake8", "coverage", "pyright")
            if any(re.search(rf"{python.VENV}/bin/{tool}\b|-m {tool}\b", one.command) for one in self.checks)
            and not self._is_brought(tool, names)
        ]
        if not self.requirements and not missing:  # the standard library is enough
            self.checks = [replace(one, command=one.plain) for one in self.checks]
            return
        if missing:
            self.requirements.add(missing, "the checks")
        self.setup.append(python.setup_of(self.requirements, python.version_tool(self.read)))
        self.caches.append(python.cache_of(self.paths))

    def _is_brought(self, tool: str, names: str) -> bool:
        """Whether the requirements name `tool`, or a file or group that mentions it is among them."""
        if re.search(rf"\b{tool}\b", names) or self.requirements.manager:
            return True
        files = re.findall(r"-r (\S+)", names)
        texts = [self.read(name) or "" for name in (*files, "pyproject.toml", "setup.cfg", "setup.py")]
        return any(re.search(rf"\b{tool}\b(?!\.)[^.\]]", text) for text in texts)


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+", "N", line)


def _is_python(command: str) -> bool:
    return f"{python.VENV}/bin" in command


def _without_coverage(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Without the run for coverage, if the same tests are run without."""
    plain = [one for one in candidates if not re.search(r"cov", " ".join(one.command.words))]
    return plain or list(candidates)


def _names_tests(candidate: _Candidate) -> bool:
    """Whether a `cargo test` runs only the tests with some name; CI may run the whole suite beside it."""
    words = unwrapped(candidate.command.words)
    if tuple(words[:2]) != ("cargo", "test"):
        return False
    own = words[2 : words.index("--")] if "--" in words else words[2:]
    return any(
        not word.startswith("-") and not _CARGO_VALUE.fullmatch(before)
        for before, word in zip(("", *own), own, strict=False)
    )


def _name(line: str, others: Sequence[DetectedCheck]) -> str:
    """A short name for people: the program and its first arguments."""
    words = line.rpartition("&& ")[2].split()
    while words and "=" in words[0]:
        words.pop(0)
    inner = unwrapped(words) or tuple(words)
    short = " ".join(
        word for word in inner[:4] if re.fullmatch(r"[\w./:@-]+", word) and not word.startswith("-")
    )[:40]
    name = short or "check"
    taken = {one.name for one in others}
    return next(one for one in (name, *(f"{name} ({number})" for number in range(2, 99))) if one not in taken)

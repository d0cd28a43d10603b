"""Go, Rust, Java and C: setup steps so that checks work without a network, and the usual checks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.environment.detection import DetectedCheck, Read, Step

CARGO_HOME = ".cargo-home"
MAVEN_HOME = ".m2"
_TEST_CLASS = re.compile(r"(?:^|/)src/test/java/(?:[\w/]+/)?(\w+Test)\.java$")
_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")


def go_setup(paths: Collection[str], read: Read) -> Step | None:
    """Put dependencies into `vendor`, which Go uses by default."""
    module = read("go.mod") or ""
    if "require" not in module or "vendor/modules.txt" in paths:
        return None
    command = "go work vendor" if "go.work" in paths else "go mod vendor"
    return Step(command, "go.mod", ("go",), "vendor")


def go_words(words: Sequence[str]) -> tuple[str, ...]:
    """Replace `richgo`, which only colours the output of `go test`, and leave out benchmarks, which test nothing."""
    arguments = list(words[1:])
    for option in ("-bench", "-benchtime"):
        if option in arguments[:-1]:
            index = arguments.index(option)
            del arguments[index : index + 2]
    remaining = [word for word in arguments if not re.match(r"-bench(mem|time=|=|\Z)", word)]
    program = "go" if words[0].rpartition("/")[2] == "richgo" else words[0]
    return (program, *remaining)


def rust_setup(paths: Collection[str], read: Read) -> Step:
    locked = " --locked" if "Cargo.lock" in paths else ""
    command = f'CARGO_HOME="$PWD/{CARGO_HOME}" {_toolchain(read)}cargo fetch{locked}'
    return Step(command, "Cargo.toml", ("rust",), CARGO_HOME)


_CARGO_TOOL = re.compile(r"cargo-(hack|nextest)(?:@[\w.]+)?")


def cargo_tool(words: Sequence[str]) -> str:
    """Return `hack` for `cargo install cargo-hack`; empty for tools that no check needs."""
    return next((match[1] for word in words if (match := _CARGO_TOOL.fullmatch(word))), "")


def cargo_tools_of(action: str, inputs: Mapping[str, Any]) -> list[str]:
    """Return the tools that `taiki-e/install-action` installs for cargo."""
    if not action.endswith("/install-action"):
        return []
    return [match[1] for match in _CARGO_TOOL.finditer(str(inputs.get("tool", "")))]


def cargo_tool_setup(tool: str, read: Read) -> str:
    """Return the command that installs `tool` where `cargo` finds it. CI's own options are left out: they are text of
    the repository."""
    home = f'CARGO_HOME="$PWD/{CARGO_HOME}"'
    return f"[ -x {CARGO_HOME}/bin/cargo-{tool} ] || {home} {_toolchain(read)}cargo install --locked cargo-{tool}"


def rust_command(line: str, read: Read) -> str:
    return f'CARGO_HOME="$PWD/{CARGO_HOME}" CARGO_NET_OFFLINE=true {_toolchain(read)}{line}'


def _toolchain(read: Read) -> str:
    """Return an assignment that selects the installed toolchain if the repository requires components: a sandbox cannot
    install them, and rustup would fail each command."""
    text = read("rust-toolchain.toml") or ""
    match = re.search(r"""^channel *= *["']([\w.-]+)["']""", text, re.MULTILINE)
    channel = match[1] if match else "stable"
    return f"RUSTUP_TOOLCHAIN={channel} " if "components" in text else ""


_COMPILE_COMMANDS = (
    (re.compile(r"\bgo test\b"), "go test -exec true"),  # in place of each test binary, `true` is run
    (re.compile(r"\bcargo ((?:hack )?test|nextest run)\b"), r"cargo \1 --no-run"),
    (re.compile(r"\b(go vet|cargo clippy)\b"), r"\1"),
)
_COMPILE_SECONDS = 600


def compile_step(line: str, source: str) -> Step | None:
    """Return a step that compiles what a check of Go or Rust needs and runs no test: the rounds of checks get copies of
    the compiler's cache. It never fails, since the check itself shows compile errors."""
    for pattern, compiled in _COMPILE_COMMANDS:
        command, number = pattern.subn(f"timeout {_COMPILE_SECONDS} {compiled}", line, count=1)
        if number:
            command = re.sub(r" -v(?= |$)", "", re.sub(r" -coverprofile[= ]\S+", " -cover", command))
            return Step(f"{command} || true", source)
    return None


def maven_program(paths: Collection[str]) -> str:
    return "./mvnw" if "mvnw" in paths else "mvn"


def maven_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return CI's Maven command with goals up to `verify`, without install and reports."""
    arguments: list[str] = []
    for word in words[1:]:
        if word in ("clean", "-X", "--debug", "-e", "--show-version", "-V", "-U") or word.startswith(
            ("javadoc:", "site")
        ):
            continue
        arguments.append("verify" if word in ("install", "package") else word)
    goals = [
        word
        for word in arguments
        if not word.startswith("-") and arguments[arguments.index(word) - 1] not in _WITH_VALUE
    ]
    if not goals:
        arguments.insert(0, "test")
    quiet = () if {"-B", "--batch-mode"}.intersection(arguments) else ("-B",)
    return (words[0], *quiet, *arguments)


_WITH_VALUE = (
    "-D",
    "-P",
    "-pl",
    "--projects",
    "--activate-profiles",
    "-f",
    "--file",
    "-T",
    "-s",
    "--settings",
)


def maven_setup(check: DetectedCheck, paths: Collection[str]) -> Step:
    """Run the check with one test class: Maven resolves some plugins only when a test runs."""
    tests = sorted((path for path in paths if _TEST_CLASS.search(path)), key=lambda path: (len(path), path))
    classes = [match[1] for path in tests[:1] if (match := _TEST_CLASS.search(path))]
    test_option = f"-Dtest={classes[0]} " if classes else ""
    options = (
        f"{test_option}-Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false "
        "-Dmaven.test.failure.ignore=true"
    )
    return Step(f"{check.plain} {_MAVEN_REPOSITORY} {options}", check.source, ("java",), MAVEN_HOME)


_MAVEN_REPOSITORY = f'"-Dmaven.repo.local=$PWD/{MAVEN_HOME}"'


def maven_command(words: Sequence[str]) -> str:
    return f"{shlex.join((words[0], '-o', *words[1:]))} {_MAVEN_REPOSITORY}"


_NO_TESTS = (
    "allprojects { tasks.withType(Test).configureEach { filter "
    '{ includeTestsMatching("no.such.Test"); failOnNoMatchingTests = false } } }'
)


def gradle_setup(check: DetectedCheck) -> Step:
    """Run the check without its tests: it compiles, and downloads what tests need. Gradle reads the sandbox's proxy
    from Maven's options."""
    script = '"$TMPDIR/no-tests.gradle"'
    command = (
        f"printf %s {shlex.quote(_NO_TESTS)} > {script} && {check.plain} --init-script {script} $MAVEN_OPTS"
    )
    return Step(command, check.source, ("java",))


def cmake_check() -> str:
    return "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure"


def is_cmake(paths: Collection[str], read: Read) -> bool:
    return "CMakeLists.txt" in paths and bool(
        re.search(r"(?i)\b(enable_testing|include\s*\(\s*ctest)", read("CMakeLists.txt") or "")
    )


def make_targets(paths: Collection[str], read: Read) -> dict[str, list[str]]:
    """Return the recipes of the root's Makefile by target."""
    text = next((read(name) or "" for name in _MAKEFILES if name in paths), "")
    targets: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text[:200_000].splitlines():
        if match := re.match(r"^([A-Za-z][\w.-]*)\s*:(?!=)", line):
            current = targets.setdefault(match[1], [])
        elif line.startswith("\t"):
            current.append(re.sub(r"\$[({][A-Z_]+[)}]", "", line.strip().lstrip("@-")))
        elif line.strip() and not line.startswith("#"):
            current = []
    return targets

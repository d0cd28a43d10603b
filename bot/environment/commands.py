"""Split scripts of workflows and recipes into commands, and classify each command.

Only simple shell is parsed: one program with arguments, joined by `&&`, `;` and line ends. Anything else becomes one
opaque command, which is never used.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto

from bot.environment.compiled_languages import go_words
from bot.environment.detection import Command
from bot.environment.workflows import Script

_CONTROL = re.compile(
    r"^\s*(?:(?:if|for|while|until|case|select|function)\b|[{(])|^\s*\w+\s*\(\)|<<", re.MULTILINE
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
_FLAGS = re.compile(r"(?:C|CXX|CPP|LD|MAKE|GO|RUST)FLAGS")  # empty unless a step sets them
_SHELL_SYNTAX = re.compile(r"[|<>`()]|(?<!&)&(?!&)")
_ARRAY = re.compile(r"^[ \t]*([A-Za-z_]\w*)(\+?)=\(([^()`$<>|&;]*)\)[ \t]*$", re.MULTILINE)
_MOST_LINES = 60
_LAUNCHERS = {"time", "exec", "command", "nice", "env", "xvfb-run", "retry"}
_RUN_LAUNCHERS = {"uv", "poetry", "pdm", "pipenv", "rye"}
# Options of `uv run` and `uvx` that take a value.
_WITH_VALUE = frozenset(
    """
    --with --group --extra --python -p --from --package --only-group --directory --no-group --env-file
    -w
    """.split()  # noqa: SIM905
)


class Use(Enum):
    INSTALL = auto()
    SYSTEM = auto()
    TESTS = auto()
    TYPES = auto()
    LINT = auto()
    BUILD = auto()
    OTHER = auto()


def commands_of(script: Script, source: str) -> Iterator[Command]:
    """Yield the commands of one step. An opaque command has its text and no words."""
    if _CONTROL.search(script.text):
        yield Command((), source, script.folder, script.environment, script.text.strip())
        return
    folder, environment, known = script.folder, dict(script.environment), dict(script.known)
    joined = re.sub(r"\\\r?\n\s*", " ", _expand_arrays(script.text))
    for line in joined.splitlines()[:_MOST_LINES]:
        for piece in _split_commands(line):
            # Folders that CI adds to PATH belong to its own installs.
            first, _, otherwise = re.sub(r"^((?:\w+=\S*\s+)*)PATH=\S+\s+(?=\S)", r"\1", piece).partition("||")
            words = _plain_words(first, {**known, **environment})
            if words and otherwise and use_of(words) is not Use.BUILD:
                words = None  # CI does not mind if it fails
            if words is None:
                yield Command((), source, folder, dict(environment), piece)
                continue
            own = dict(environment)
            while words and _ASSIGNMENT.match(words[0]):
                name, _, value = words.pop(0).partition("=")
                own[name] = value
            if not words:
                known |= own
            elif words[0] == "export":
                environment |= dict(word.split("=", 1) for word in words[1:] if "=" in word)
            elif words[0] == "cd" and len(words) == 2:
                folder = f"{folder}/{words[1]}".strip("/").removeprefix("./") if words[1] != "." else folder
            elif words[0] not in ("set", "unset", "echo", "true", ":", "rm", "ls"):
                yield Command(tuple(words), source, folder, own, piece)


def _expand_arrays(text: str) -> str:
    """Return the script with references to whole arrays of plain words substituted."""
    arrays: dict[str, str] = {}
    for name, append, words in _ARRAY.findall(text):
        arrays[name] = " ".join(
            (*((arrays.get(name, ""),) if append else ()), *re.sub(r"#.*", "", words).split())
        )
    text_left = _ARRAY.sub("", text)
    for name, words in arrays.items():
        for reference in ('"${%s[@]}"', "${%s[@]}"):
            text_left = text_left.replace(reference % name, words)
    return text_left


def _split_commands(line: str) -> list[str]:
    """Split a line at `&&` and `;` outside quotes, without its comment."""
    pieces, start, quote, position = [], 0, "", 0
    while position < len(line):
        char = line[position]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#" and (position == 0 or line[position - 1].isspace()):
            break
        elif char == ";" or line.startswith("&&", position):
            pieces.append(line[start:position])
            position += 0 if char == ";" else 1
            start = position + 1
        position += 1
    return [piece.strip() for piece in (*pieces, line[start:position]) if piece.strip()]


def _plain_words(piece: str, environment: Mapping[str, str]) -> list[str] | None:
    """Return the words of a plain command with known variables substituted, `None` if it needs a shell."""
    if _SHELL_SYNTAX.search(re.sub(r"'[^']*'|\"[^\"$`]*\"", "", piece)) and not re.search(
        r"'[^']*[|<>`&][^']*'", piece
    ):
        return None
    filled = _REFERENCE.sub(lambda match: _value(match[1] or match[2], environment, match[0]), piece)
    if _SHELL_SYNTAX.search(re.sub(r"'[^']*'|\"[^\"$`]*\"", "", filled)):
        return None
    unknown = re.search(r"\$\{?\w", re.sub(r"'[^']*'", "", filled.replace("$PWD", "").replace("$HOME", "")))
    if unknown and not re.search(
        r"\btox\b", filled
    ):  # whose `-e $PYTHON-tests` means whichever Python is there
        return None
    try:
        return shlex.split(filled)
    except ValueError:
        return None


def _value(name: str, environment: Mapping[str, str], reference: str) -> str:
    return environment.get(name, "" if _FLAGS.fullmatch(name) else reference)


def unwrapped(words: Sequence[str]) -> tuple[str, ...]:
    """Return program and arguments without launchers such as `uv run`, `poetry run`, `npx` and `python -m`."""
    remaining = list(words)
    while remaining:
        head = remaining[0].rpartition("/")[2] if not remaining[0].startswith("./") else remaining[0]
        if head in _LAUNCHERS and len(remaining) > 1:
            remaining = _without_options(remaining[1:])
        elif head in _RUN_LAUNCHERS and remaining[1:2] == ["run"]:
            remaining = _without_options(remaining[2:])
        elif head == "uvx" or (head == "pipx" and remaining[1:2] == ["run"]):
            remaining = _without_options(remaining[1:] if head == "uvx" else remaining[2:])
        elif head in ("npx", "bunx"):
            remaining = _without_options(remaining[1:])
        elif head in ("pnpm", "yarn", "bundle") and remaining[1:2] in (["exec"], ["dlx"]):
            remaining = remaining[2:]
        elif re.fullmatch(r"python[\d.]*|py", head) and "-m" in remaining[1:4]:
            remaining = remaining[remaining.index("-m") + 1 :]
        elif head in ("c8", "nyc", "cross-env"):
            remaining = _without_options(remaining[1:])
            while remaining and _ASSIGNMENT.match(remaining[0]):
                remaining.pop(0)
        else:
            return (head, *remaining[1:])
    return ()


def _without_options(words: Sequence[str]) -> list[str]:
    remaining = list(words)
    while remaining and remaining[0].startswith("-"):
        option = remaining.pop(0)
        if option == "--":
            break
        if option in _WITH_VALUE and remaining:
            remaining.pop(0)
    return remaining


_LINTERS = frozenset(
    """
    flake8 pylint eslint xo oxlint staticcheck golangci-lint codespell yamllint standard pydocstyle
    bandit vulture rstcheck isort black biome prettier stylelint gofumpt gofmt tslint djlint interrogate
    ty shellcheck clang-tidy rubocop
    """.split()  # noqa: SIM905
)
_TYPES = {
    "mypy",
    "pyright",
    "basedpyright",
    "tsc",
    "vue-tsc",
    "stubtest",
    "pyrefly",
    "tsd",
    "dmypy",
    "svelte-check",
}
_TEST_RUNNERS = frozenset(
    """
    pytest py.test unittest nose2 vitest jest mocha ava tap ctest gotestsum rspec phpunit borp jasmine
    uvu karma
    """.split()  # noqa: SIM905
)
_FORMATTERS = {"black", "isort", "prettier", "gofmt", "gofumpt"}
_NOT_A_CHECK = re.compile(
    r"(?i)codecov|coveralls|docker|publish|twine|upload|release|\bgh\b|\bcurl\b|\bwget\b|sonar|\bdocs?\b|sphinx|mkdocs|bench|\bperf"
    r"|miri|fuzz|pre-commit|prek\b|playwright|cypress|e2e|\bdist/|semver-checks|outdated|audit|site\b|http://|https://"
)
_SCRIPT_TESTS = re.compile(
    r"(?i)^(tests?|unit|unit-tests?|test[-:_](?!watch|browser|integration|deno|bun\b|wasm)[\w:-]+|ci[-:]test|coverage|cov)$"
)
_SCRIPT_TYPES = re.compile(
    r"(?i)^(type-?check|check-?types?|types|tsc|ts[-:]check|(?:test|check|lint|validate)[-:](?:types?|ts|tsc|dts|typescript))$"
)
_SCRIPT_LINT = re.compile(
    r"(?i)^(lint|eslint|prettier|standard|xo|style|format[-:]check|check[-:](?:format|lint|style)|fmt[-:]check|test[-:](?:lint|eslint|style|format|prettier)|lint[-:](?:js|ts|check|ci|code|eslint|prettier|src|all)|check)$"
)


def use_of(words: Sequence[str]) -> Use:
    """Classify a command by program and arguments; `npm run` and `make` by the name of script or target."""
    inner = unwrapped(words)
    if not inner:
        return Use.OTHER
    program, arguments = inner[0], inner[1:]
    if program == "cargo":
        joined = " ".join(
            word for word in inner[:3] if not word.startswith("-")
        )  # `--release` publishes nothing
    else:
        joined = " ".join(go_words(inner) if program in ("go", "richgo") else words)
    if program in ("sudo", "apt-get", "apt", "brew", "apk", "dnf", "yum", "rustup"):
        return Use.SYSTEM
    if _installs(program, arguments):
        return Use.INSTALL
    if _NOT_A_CHECK.search(joined) and program not in (
        "tox",
        "nox",
    ):  # whose environments are read one by one
        return Use.OTHER
    for known, use in ((_TEST_RUNNERS, Use.TESTS), (_TYPES, Use.TYPES)):
        if program in known:
            return use
    if program in _LINTERS:
        checking = {"--check", "-c", "-l", "--diff", "--check-only", "-d", "--list-different"} & set(
            arguments
        )
        return Use.LINT if program not in _FORMATTERS or checking else Use.OTHER
    if program == "ruff":
        return (
            Use.LINT if arguments[:1] != ("format",) or {"--check", "--diff"} & set(arguments) else Use.OTHER
        )
    return _tool_use(program, arguments)


def _installs(program: str, arguments: Sequence[str]) -> bool:
    first = next((word for word in arguments if not word.startswith("-")), "")
    if program in ("pip", "pip3"):
        return first == "install"
    if program == "uv":
        return first in ("sync", "venv", "tool", "python") or arguments[:2] == ("pip", "install")
    if program in ("poetry", "pdm", "pipenv", "hatch", "bundle", "composer", "conda", "rye"):
        return first in ("install", "sync", "env", "config", "self", "use", "lock")
    if program == "npm":
        return first in ("ci", "install", "i", "config", "install-ci-test")
    if program in ("pnpm", "yarn", "bun"):
        return first in ("install", "i", "add", "config") or (program == "yarn" and not first)
    if program == "go":
        return first in ("get", "install", "mod", "env", "version", "generate")
    if program == "cargo":
        return first in ("install", "fetch", "generate-lockfile", "update")
    return program in ("corepack", "pipx", "virtualenv", "venv", "nvm", "pip-sync", "ensurepip")


def _tool_use(program: str, arguments: Sequence[str]) -> Use:
    first = next((word for word in arguments if not word.startswith("-")), "")
    if program in ("npm", "pnpm", "yarn", "bun"):
        return _script_use(arguments, program)
    if program in ("tox", "nox", "hatch"):
        return Use.TESTS
    if program == "coverage":
        return Use.TESTS if first == "run" else Use.OTHER
    if program == "node":
        return Use.TESTS if "--test" in arguments else Use.OTHER
    if program in ("go", "richgo"):
        return {"test": Use.TESTS, "vet": Use.LINT, "build": Use.BUILD}.get(first, Use.OTHER)
    if program == "cargo":
        first = next((word for word in arguments if not word.startswith(("-", "+"))), "")
        if any(word.startswith("+") for word in arguments) or "-Z" in arguments:
            return Use.OTHER
        fmt = Use.LINT if "--check" in arguments else Use.OTHER
        uses = {"test": Use.TESTS, "nextest": Use.TESTS, "clippy": Use.LINT, "fmt": fmt}
        if first == "hack":
            return next((uses[word] for word in arguments if word in uses), Use.OTHER)
        return uses.get(first, Use.OTHER)
    if program in ("mvn", "./mvnw"):
        skips = any("skip" in word.lower() and "test" in word.lower() for word in arguments)
        goals = {"test", "verify", "install", "package"}.intersection(arguments)
        bare = not any(not word.startswith("-") for word in arguments)
        return Use.BUILD if skips else Use.TESTS if goals or bare else Use.OTHER
    if program in ("gradle", "./gradlew"):
        tasks = [word.rpartition(":")[2] for word in arguments]
        skips = "-x" in arguments and "test" in arguments[list(arguments).index("-x") :]
        return Use.TESTS if not skips and {"test", "check", "build"}.intersection(tasks) else Use.OTHER
    if program == "make":
        return _target_use(first)
    if program == "meson":
        return {"test": Use.TESTS, "setup": Use.BUILD, "compile": Use.BUILD}.get(first, Use.OTHER)
    if program in ("cmake", "./configure", "./autogen.sh", "./bootstrap", "ninja", "autoreconf", "mkdir"):
        return Use.TESTS if "test" in arguments else Use.BUILD
    return Use.OTHER


def _target_use(target: str) -> Use:
    if re.fullmatch(
        r"(?i)(unit-?)?tests?([-_](unit|all|ci|race|cover(age)?))?|check|richtest|coverage|ci", target
    ):
        return Use.TESTS
    if re.fullmatch(
        r"(?i)lint|vet|fmt-?check|format-?check|style|flake8|ruff|check-?(fmt|format|lint|style)", target
    ):
        return Use.LINT
    if re.fullmatch(r"(?i)mypy|typing|type-?check|types|check-?types?|pyright", target):
        return Use.TYPES
    return Use.BUILD if target in ("", "all", "build") else Use.OTHER


def script_name(arguments: Sequence[str], program: str) -> str:
    """Return the script of package.json that `npm run X`, `npm test`, `yarn X` or `pnpm X` runs."""
    plain = [word for word in arguments if not word.startswith("-")]
    if plain[:1] in (["run"], ["run-script"]):
        return plain[1] if len(plain) > 1 else ""
    if plain[:1] in (["test"], ["t"], ["tst"]):
        return "test"
    return plain[0] if plain and program != "npm" else ""


def _script_use(arguments: Sequence[str], program: str) -> Use:
    name = script_name(arguments, program)
    for pattern, use in ((_SCRIPT_TYPES, Use.TYPES), (_SCRIPT_LINT, Use.LINT), (_SCRIPT_TESTS, Use.TESTS)):
        if pattern.match(name):
            return use
    if name in _TEST_RUNNERS:
        return Use.TESTS
    if name in _TYPES or name in _LINTERS:
        return (
            use_of((name, *arguments[list(arguments).index(name) + 1 :])) if name in arguments else Use.OTHER
        )
    return Use.BUILD if re.match(r"(?i)(build|compile|prepare|generate)([-:]|$)", name) else Use.OTHER


def joined(command: Command, words: Sequence[str] | None = None) -> str:
    """Return the command as one shell line, with its variables and folder."""
    own = " ".join(f"{name}={shlex.quote(value)}" for name, value in command.environment.items())
    line = " ".join(filter(None, (own, shlex.join(words if words is not None else command.words))))
    return f"cd {shlex.quote(command.folder)} && {line}" if command.folder else line

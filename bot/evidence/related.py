"""Derive from a check's command the one that runs only the tests related to a change. Pure.

File names are hostile: only paths of plain characters get into a command, never as an option, and always quoted.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

from bot.evidence.check_command import plain_words, pytest_index, unittest_index

MOST = 60
"""The most paths in one command."""

_PATH = re.compile(r"[A-Za-z0-9_.][\w.@+=,~ /-]{0,240}\Z", re.ASCII)
_CRATE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,80}\Z")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z_][A-Za-z0-9_]*)*\.py\Z")
_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
# Options of pytest that take the next word, beside those written with `=`.
_OPTIONS_WITH_VALUE = frozenset(
    {"-k", "-m", "-n", "-p", "-o", "-c", "-W", "-r", "--rootdir", "--ignore", "--cov", "--deselect"}
)
_PACKAGE_RUNNERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_SCRIPT_RUNNERS = ("jest", "vitest")
"""Runners that can select the tests related to a file."""
_NODE = "NODE_OPTIONS="
_MOST_SCRIPTS = 50
_RUN_SCRIPTS = frozenset({"run-s", "run-p", "npm-run-all", "npm-run-all2"})
_HOST_KINDS = frozenset({"python", "rust"})


def is_plain(path: str) -> bool:
    """Whether a path is safe in a command: without characters special to shells, option parsers or patterns."""
    parts = path.split("/")
    return bool(_PATH.match(path)) and not any(part in ("", ".", "..") or part[0] == "-" for part in parts)


def kind_of(command: str, script: str = "") -> str:
    """Return `python`, `jest`, `vitest`, `go` or `rust`, or an empty string if related tests cannot be selected.
    `script` is what the script named in `command` runs, such as `npm test`."""
    words = plain_words(command)
    if not words:
        return ""
    if pytest_index(words) is not None or unittest_index(words) is not None:
        return "python"
    if words[:2] == ["go", "test"] and "./..." in words:
        return "go"
    if words[:2] == ["cargo", "test"] and "-p" not in words and "--package" not in words:
        return "rust"
    if words[0] in _PACKAGE_RUNNERS:
        words = plain_words(script) or []
    return next((name for name in _SCRIPT_RUNNERS if _runs(words, name)), "")


def runner_of_scripts(scripts: Mapping[str, object], command: str) -> str:
    """Return the part of the scripts named in `command` that runs tests, such as `vitest run` of
    `npm run lint && vitest run`, also in scripts that they call; the whole script if no part is known."""
    pending = list(_scripts_of(plain_words(command) or []))
    own = scripts.get(pending[0]) if pending else None
    for name in pending:
        script = scripts.get(name)
        for part in re.split(r"&&|;", script) if isinstance(script, str) else ():
            words = plain_words(part) or []
            if any(_runs(words, runner) for runner in _SCRIPT_RUNNERS):
                return part.strip()
            pending += [other for other in _scripts_of(words) if other not in pending][
                : _MOST_SCRIPTS - len(pending)
            ]
    return own if isinstance(own, str) else ""


def _scripts_of(words: Sequence[str]) -> Sequence[str]:
    """Return the scripts that a command runs, such as `npm run unit`, `pnpm unit`, `run-s lint unit`."""
    if words and words[0] in _PACKAGE_RUNNERS:
        rest = [word for word in words[1:] if not word.startswith("-") and word not in ("run", "run-script")]
        return ["test" if word in ("t", "tst") else word for word in rest[:1]]
    return (
        [word for word in words[1:] if not word.startswith("-")] if words and words[0] in _RUN_SCRIPTS else ()
    )


def related_command(
    command: str,
    kind: str,
    changed: Sequence[str],
    tests: Sequence[str],
    *,
    paths: Collection[str],
    script: str = "",
) -> str:
    """Return `command` for the tests related to the paths `changed`; empty if there are none. `tests` come from the
    tool host: test files of Python, crates of Rust. `script` is what `npm test` runs. Only files of the tree, `paths`,
    are named."""
    words = plain_words(command) or []
    existing = [path for path in dict.fromkeys(changed) if path in paths and is_plain(path)]
    match kind:
        case "python":
            test_paths = [path for path in dict.fromkeys(tests) if path in paths and is_plain(path)]
            return _python_command(command, words, test_paths[:MOST], paths)
        case "jest" | "vitest":
            sources = [path for path in existing if path.endswith(_SCRIPTS)][:MOST]
            assignments = [
                *_assignments(command),
                *(one for one in _assignments(script) if one.startswith(_NODE)),
            ]
            narrowed = _script_command(words, kind, sources)
            return " ".join([*assignments, narrowed]) if narrowed else ""
        case "go":
            return _go_command(command, existing, paths)
        case "rust":
            crates = [name for name in dict.fromkeys(tests) if _CRATE.match(name)][:MOST]
            arguments = [word for word in words[1:] if word not in ("--workspace", "--all")]
            named = [word for name in crates for word in ("-p", name)]
            return _command_line(command, 0, [*arguments, *named]) if crates else ""
        case _:
            return ""


def asks_host(kind: str) -> bool:
    """Whether the tool host must find the tests, since it reads files in the sandbox."""
    return kind in _HOST_KINDS


def _python_command(command: str, words: list[str], tests: Sequence[str], paths: Collection[str]) -> str:
    if (index := pytest_index(words)) is not None:
        arguments, named_paths = _without_paths(words[index + 1 :], paths)
        tests = [
            test for test in tests if not named_paths or any(_is_under(test, path) for path in named_paths)
        ]
        return _command_line(command, index, [*arguments, *tests]) if tests else ""
    modules = [test for test in tests if _MODULE.match(test)]
    index = unittest_index(words)
    if index is None or not modules:
        return ""
    options = [
        word for word in words[index + 2 :] if word in ("-v", "-q", "-b", "-f", "--verbose", "--buffer")
    ]
    if len(options) == len(words) - index - 2:
        named = [module.removesuffix(".py").replace("/", ".") for module in modules]
        return _command_line(command, index + 1, [*options, *named])
    return _discover_command(command, words, index, modules)


def _discover_command(command: str, words: list[str], index: int, modules: Sequence[str]) -> str:
    """Return `unittest discover -s tests` for one file; it takes one pattern."""
    arguments = words[index + 2 :]
    folder = arguments[2].strip("/") if len(arguments) == 3 and arguments[:2] == ["discover", "-s"] else None
    names = [name for where, _, name in (module.rpartition("/") for module in modules) if where == folder]
    return f"{command} -p {shlex.quote(names[0])}" if len(names) == 1 else ""


def _command_line(command: str, index: int, arguments: Sequence[str]) -> str:
    """The command up to the word at `index`, assignments before it included, and these words after it."""
    assignments, words = _assignments(command), shlex.split(command)
    assigned = len(assignments)
    return " ".join(
        [
            *assignments,
            *map(shlex.quote, words[assigned : assigned + index + 1]),
            *map(shlex.quote, arguments),
        ]
    )


def _assignments(command: str) -> list[str]:
    """Return the assignments before the program of a command, quoted."""
    words = plain_words(command)
    head = shlex.split(command) if words else []
    return [_quoted_assignment(word) for word in head[: len(head) - len(words or ())]]


def _quoted_assignment(word: str) -> str:
    name, _, value = word.partition("=")
    return f"{name}={shlex.quote(value)}" if value else f"{name}="


def _without_paths(words: Sequence[str], paths: Collection[str]) -> tuple[list[str], list[str]]:
    """Split words into others and those that name files or folders of the repository."""
    folders = {path[:index] for path in paths for index, letter in enumerate(path) if letter == "/"}
    other: list[str] = []
    named_paths: list[str] = []
    for previous, word in zip(("", *words), words, strict=False):
        name = word.partition("::")[0].strip("/").removeprefix("./")
        is_path = (
            not word.startswith("-")
            and previous not in _OPTIONS_WITH_VALUE
            and (name in paths or name in folders)
        )
        (named_paths if is_path else other).append(name if is_path else word)
    return other, named_paths


def _is_under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _script_command(words: list[str], kind: str, sources: Sequence[str]) -> str:
    if not sources:
        return ""
    named = [shlex.quote(f"./{path}") for path in sources]
    if words[0] in _PACKAGE_RUNNERS:
        prefix = ["npx", "--no-install", kind]
    else:
        prefix = [shlex.quote(word) for word in words[: _runner_index(words, kind) + 1]]
    if kind == "jest":
        return " ".join([*prefix, "--passWithNoTests", "--findRelatedTests", *named])
    return " ".join([*prefix, "related", "--run", "--passWithNoTests", *named])


def _runs(words: Sequence[str], name: str) -> bool:
    """Whether a command runs all tests with this runner, perhaps through npx."""
    if _runner_index(words, name) < 0:
        return False
    return not any(word in ("watch", "bench", "--watch", "--watchAll") for word in words)


def _runner_index(words: Sequence[str], name: str) -> int:
    for index, word in enumerate(words[:4]):
        if word.rpartition("/")[2] == name:
            return index
        if word.rpartition("/")[2] not in ("npx", "node", "exec", "run") and not word.startswith("-"):
            return -1
    return -1


def _go_command(command: str, changed: Sequence[str], paths: Collection[str]) -> str:
    """Return the command for the packages of the changed files; another module's are no part of it."""
    modules = [path.removesuffix("go.mod") for path in paths if path.endswith("/go.mod")]
    own = [path for path in changed if path.endswith(".go") and not path.startswith(tuple(modules))]
    folders = sorted({path.rpartition("/")[0] for path in own})
    packages = [shlex.quote(one) for one in _packages(folders)]
    if not packages or len(packages) > MOST:
        return ""
    return re.sub(r"(?<!\S)\./\.\.\.(?!\S)", lambda _: " ".join(packages), command, count=1)


def _packages(folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        yield f"./{folder}/..." if folder else "."

"""The command that runs the tests related to a change, in place of all tests: derived from the check's own command.

Pure. File names are hostile: only paths of plain characters get into a command, never as an option, and always quoted.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

from bot.evidence.asking import plain_words, pytest_at, unittest_at

MOST = 60
"""Paths that one command names. More than that are no longer a choice."""

_PATH = re.compile(r"[A-Za-z0-9_.][\w.@+=,~ /-]{0,240}\Z", re.ASCII)
_CRATE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,80}\Z")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z_][A-Za-z0-9_]*)*\.py\Z")
_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
# Options of pytest that take the next word, beside those written with `=`.
_TAKES_WORD = frozenset(
    {"-k", "-m", "-n", "-p", "-o", "-c", "-W", "-r", "--rootdir", "--ignore", "--cov", "--deselect"}
)
_PACKAGE_RUNNERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_SCRIPT_RUNNERS = ("jest", "vitest")
"""Those that can choose the tests related to a file."""
_NODE = "NODE_OPTIONS="
_MOST_SCRIPTS = 50
_RUN_SCRIPTS = frozenset({"run-s", "run-p", "npm-run-all", "npm-run-all2"})
_WHICH_TESTS = frozenset({"python", "rust"})


def is_plain(path: str) -> bool:
    """Whether a path may be named in a command: nothing in it that a shell, an option parser or a pattern acts on."""
    parts = path.split("/")
    return bool(_PATH.match(path)) and not any(part in ("", ".", "..") or part[0] == "-" for part in parts)


def kind_of(command: str, script: str = "") -> str:
    """`python`, `jest`, `vitest`, `go` or `rust`; empty if no related tests can be chosen for the command. `script` is
    what `npm test` runs."""
    words = plain_words(command)
    if not words:
        return ""
    if pytest_at(words) is not None or unittest_at(words) is not None:
        return "python"
    if words[:2] == ["go", "test"] and "./..." in words:
        return "go"
    if words[:2] == ["cargo", "test"] and "-p" not in words and "--package" not in words:
        return "rust"
    if words[0] in _PACKAGE_RUNNERS:
        words = plain_words(script) or []
    return next((name for name in _SCRIPT_RUNNERS if _runs(words, name)), "")


def runner_of_scripts(scripts: Mapping[str, object]) -> str:
    """The part of the script `test` that runs tests: `vitest run` of `npm run lint && vitest run`, also by way of other
    scripts. All of the script if no part is known."""
    due = ["test"]
    for name in due:
        script = scripts.get(name)
        for part in re.split(r"&&|;", script) if isinstance(script, str) else ():
            words = plain_words(part) or []
            if any(_runs(words, runner) for runner in _SCRIPT_RUNNERS):
                return part.strip()
            due += [other for other in _scripts_of(words) if other not in due][: _MOST_SCRIPTS - len(due)]
    script = scripts.get("test")
    return script if isinstance(script, str) else ""


def _scripts_of(words: Sequence[str]) -> Sequence[str]:
    """The scripts that a command runs: `npm run unit`, `pnpm unit`, `run-s lint unit`."""
    if words and words[0] in _PACKAGE_RUNNERS:
        rest = [word for word in words[1:] if not word.startswith("-") and word not in ("run", "run-script")]
        return rest[:1]
    return (
        [word for word in words[1:] if not word.startswith("-")] if words and words[0] in _RUN_SCRIPTS else ()
    )


def related_command(
    command: str,
    kind: str,
    changed: Sequence[str],
    tests: Sequence[str],
    paths: Collection[str],
    script: str = "",
) -> str:
    """`command` for the tests related to `changed`, which are paths; empty if there are none. `tests` are what the tool
    host found: test files of Python, crates of Rust. `script` is what `npm test` runs. Only what is in `paths`, the
    files of the tree, is named."""
    words = plain_words(command) or []
    there = [path for path in dict.fromkeys(changed) if path in paths and is_plain(path)]
    match kind:
        case "python":
            found = [path for path in dict.fromkeys(tests) if path in paths and is_plain(path)]
            return _python(command, words, found[:MOST], paths)
        case "jest" | "vitest":
            sources = [path for path in there if path.endswith(_SCRIPTS)][:MOST]
            begun = [*_assignments(command), *(one for one in _assignments(script) if one.startswith(_NODE))]
            narrowed = _script(words, kind, sources)
            return " ".join([*begun, narrowed]) if narrowed else ""
        case "go":
            return _go(command, there)
        case "rust":
            crates = [name for name in dict.fromkeys(tests) if _CRATE.match(name)][:MOST]
            kept = [word for word in words[1:] if word not in ("--workspace", "--all")]
            named = [word for name in crates for word in ("-p", name)]
            return _joined(command, 0, [*kept, *named]) if crates else ""
        case _:
            return ""


def asks_host(kind: str) -> bool:
    """Whether the tool host has to find the tests: it reads the files, in the sandbox."""
    return kind in _WHICH_TESTS


def _python(command: str, words: list[str], tests: Sequence[str], paths: Collection[str]) -> str:
    if (place := pytest_at(words)) is not None:
        kept, given = _without_paths(words[place + 1 :], paths)
        tests = [test for test in tests if not given or any(_is_under(test, one) for one in given)]
        return _joined(command, place, [*kept, *tests]) if tests else ""
    modules = [test for test in tests if _MODULE.match(test)]
    place = unittest_at(words)
    if place is None or not modules:
        return ""
    options = [
        word for word in words[place + 2 :] if word in ("-v", "-q", "-b", "-f", "--verbose", "--buffer")
    ]
    if len(options) == len(words) - place - 2:
        named = [module.removesuffix(".py").replace("/", ".") for module in modules]
        return _joined(command, place + 1, [*options, *named])
    return _discovered(command, words, place, modules)


def _discovered(command: str, words: list[str], place: int, modules: Sequence[str]) -> str:
    """`unittest discover -s tests` takes one pattern of names, so it can be told of one file."""
    rest = words[place + 2 :]
    folder = rest[2].strip("/") if len(rest) == 3 and rest[:2] == ["discover", "-s"] else None
    inside = [name for where, _, name in (module.rpartition("/") for module in modules) if where == folder]
    return f"{command} -p {shlex.quote(inside[0])}" if len(inside) == 1 else ""


def _joined(command: str, place: int, more: Sequence[str]) -> str:
    """The command up to the word at `place`, assignments before it included, and these words after it."""
    begun, head = _assignments(command), shlex.split(command)
    assigned = len(begun)
    return " ".join(
        [*begun, *map(shlex.quote, head[assigned : assigned + place + 1]), *map(shlex.quote, more)]
    )


def _assignments(command: str) -> list[str]:
    """The assignments before a command of one program, quoted."""
    words = plain_words(command)
    head = shlex.split(command) if words else []
    return [_assigned(word) for word in head[: len(head) - len(words or ())]]


def _assigned(word: str) -> str:
    name, _, value = word.partition("=")
    return f"{name}={shlex.quote(value)}" if value else f"{name}="


def _without_paths(words: Sequence[str], paths: Collection[str]) -> tuple[list[str], list[str]]:
    """The words without those that name files or folders of the repository, and these."""
    folders = {path[:at] for path in paths for at, letter in enumerate(path) if letter == "/"}
    kept: list[str] = []
    given: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        name = word.partition("::")[0].strip("/").removeprefix("./")
        is_path = (
            not word.startswith("-") and before not in _TAKES_WORD and (name in paths or name in folders)
        )
        (given if is_path else kept).append(name if is_path else word)
    return kept, given


def _is_under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _script(words: list[str], kind: str, sources: Sequence[str]) -> str:
    if not sources:
        return ""
    named = [shlex.quote(f"./{path}") for path in sources]
    if words[0] in _PACKAGE_RUNNERS:
        begun = ["npx", "--no-install", kind]
    else:
        begun = [shlex.quote(word) for word in words[: _place_of(words, kind) + 1]]
    if kind == "jest":
        return " ".join([*begun, "--passWithNoTests", "--findRelatedTests", *named])
    return " ".join([*begun, "related", "--run", "--passWithNoTests", *named])


def _runs(words: Sequence[str], name: str) -> bool:
    """Whether a command is this runner, perhaps through npx, with the usual way of running all tests."""
    if _place_of(words, name) < 0:
        return False
    return not any(word in ("watch", "bench", "--watch", "--watchAll") for word in words)


def _place_of(words: Sequence[str], name: str) -> int:
    for place, word in enumerate(words[:4]):
        if word.rpartition("/")[2] == name:
            return place
        if word.rpartition("/")[2] not in ("npx", "node", "exec", "run") and not word.startswith("-"):
            return -1
    return -1


def _go(command: str, changed: Sequence[str]) -> str:
    folders = sorted({path.rpartition("/")[0] for path in changed if path.endswith(".go")})
    packages = [shlex.quote(one) for one in _packages(folders)]
    if not packages or len(packages) > MOST:
        return ""
    return re.sub(r"(?<!\S)\./\.\.\.(?!\S)", lambda _: " ".join(packages), command, count=1)


def _packages(folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        yield f"./{folder}/..." if folder else "."

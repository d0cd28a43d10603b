"""Which folders of a repository eslint looks at by themselves, and with which arguments: as the repository's own script
calls it, where it has one that can be read. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import join

from bot.evidence.projects import CONSIDERED, Read, above, folders_with, topmost

FLAT = tuple(f"eslint.config.{ending}" for ending in ("js", "mjs", "cjs", "ts", "mts", "cts"))
LEGACY = (".eslintrc", *(f".eslintrc.{ending}" for ending in ("js", "cjs", "yaml", "yml", "json")))

_TYPESCRIPT = ("--ext", ".js,.jsx,.mjs,.cjs,.ts,.tsx,.mts,.cts")
_BEFORE_IT = frozenset({"npx", "cross-env", "yarn", "pnpm", "bunx", "exec", "run"})
_SETS = re.compile(r"\w+=\S*")
_ENDS = re.compile(r"[;&|<>()]+")
_FIRST = ("lint", "eslint", "lint:js", "lint:ts", "lint:eslint")
_LONGEST_SCRIPT = 2_000
_LONGEST_WORD = 300

# What decides where and by which rules it looks is kept, what decides what it does with that is not.
_KEPT = frozenset({"--no-eslintrc", "--no-ignore", "--no-inline-config", "--no-config-lookup", "--quiet",
                   "--report-unused-disable-directives"})  # fmt: skip
_KEPT_WITH = frozenset({"-c", "--config", "--ext", "--ignore-path", "--ignore-pattern", "--rulesdir", "--parser",
                        "--parser-options", "--rule", "--env", "--global", "--plugin", "--flag",
                        "--resolve-plugins-relative-to", "--report-unused-disable-directives-severity"})  # fmt: skip
_DROPPED = frozenset({"--fix", "--fix-dry-run", "--cache", "--color", "--no-color", "--debug", "--stats",
                      "--no-error-on-unmatched-pattern", "--exit-on-fatal-error", "--no-warn-ignored"})  # fmt: skip
_DROPPED_WITH = frozenset({"--fix-type", "--cache-location", "--cache-file", "--cache-strategy", "--max-warnings", "-f",
                           "--format", "-o", "--output-file", "--concurrency"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Linted:
    """`flat` says which of its two kinds of settings are in force there."""

    folder: str
    arguments: tuple[str, ...]
    flat: bool


def linted(paths: Collection[str], read: Read) -> Iterator[Linted]:
    """The most telling first. Settings of the older kind are found by itself in the folders below."""
    flat = set(folders_with(paths, *FLAT))
    own = set(folders_with(paths, *LEGACY))
    packages = [
        folder for folder in folders_with(paths, "package.json") if not (flat | own).intersection(_up(folder))
    ]
    own.update(folder for folder in packages[:CONSIDERED] if "eslintConfig" in _package(folder, read))
    legacy = set(topmost(folder for folder in own if not flat.intersection(_up(folder))))
    for number, folder in enumerate(folders_with((join(each, "x") for each in flat | legacy), "x")):
        package = _package(folder, read) if number < CONSIDERED else {}
        said = called_by(package)
        if said is None and folder in legacy and _reads_typescript(folder, package, paths, read):
            said = (*_TYPESCRIPT, ".")
        yield Linted(folder, said or (".",), folder in flat)


def called_by(package: Mapping[str, object]) -> tuple[str, ...] | None:
    """The arguments that a script of `package.json` gives it; `None` where none can be told for certain. Those by which
    it would write something are left out."""
    scripts = package.get("scripts")
    if not isinstance(scripts, dict):
        return None
    names = [*(name for name in _FIRST if name in scripts), *(name for name in scripts if name not in _FIRST)]
    said = (_said(scripts[name]) for name in names if isinstance(scripts[name], str))
    return next(filter(None, said), None)


def _said(script: str) -> tuple[str, ...] | None:
    """Of several calls with the same options all the files, else the first."""
    if "eslint" not in script or len(script) > _LONGEST_SCRIPT:
        return None
    commands = _commands(script)
    calls = [_call(words) for words in map(_arguments, commands) if words is not None]
    told = [call for call in calls if call is not None]
    if not told or len(told) < len(calls) or any(command[:1] == ["cd"] for command in commands):
        return None
    options, _ = told[0]
    files = [file for others, some in told if others == options for file in some]
    return (*options, *(dict.fromkeys(files) or (".",)))


def _commands(script: str) -> list[list[str]]:
    lexer = shlex.shlex(script, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if _ENDS.fullmatch(word):
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:
        return []
    return commands


def _arguments(command: Sequence[str]) -> Sequence[str] | None:
    """What follows its name, in a command that calls it."""
    for number, word in enumerate(command, 1):
        if word.removeprefix("./").removeprefix("node_modules/.bin/") == "eslint":
            return command[number:]
        if word not in _BEFORE_IT and not _SETS.fullmatch(word):
            return None
    return None


def _call(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Options and files; `None` where one leads out of the folder, or cannot be known before a shell reads it."""
    words = iter(arguments)
    options: list[str] = []
    files: list[str] = []
    for word in words:
        name, _, value = word.partition("=")
        if len(word) > _LONGEST_WORD or not word.isprintable() or "$" in word or "`" in word:
            return None
        if not word.startswith("-"):
            files.append(word)
        elif name in _KEPT_WITH or name in _DROPPED_WITH:
            taken = [word] if value else [word, next(words, "")]
            options += taken if name in _KEPT_WITH else []
        elif name in _KEPT:
            options.append(word)
        elif name not in _DROPPED:
            return None
    return None if any(_leads_out(word) for word in files) else (tuple(options), tuple(files))


def _leads_out(path: str) -> bool:
    return path.startswith(("/", "~")) or ".." in path.split("/")


def _reads_typescript(folder: str, package: Mapping[str, object], paths: Collection[str], read: Read) -> bool:
    """It looks at `.js` alone unless it is told; where its settings name the parser of TypeScript, that is meant."""
    names = set(paths)
    texts = (read(path) or "" for name in LEGACY if (path := join(folder, name)) in names)
    return any("@typescript-eslint" in text for text in (*texts, str(package.get("eslintConfig"))))


def _package(folder: str, read: Read) -> Mapping[str, object]:
    try:
        value = json.loads(read(join(folder, "package.json")) or "")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _up(folder: str) -> set[str]:
    return {folder, *above(folder)}

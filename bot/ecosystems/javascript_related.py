"""Narrow a command to the tests related to changed scripts: jest and vitest."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from bot.ecosystems.checker import table
from bot.ecosystems.registry import unwrapped
from bot.ecosystems.test_command import MOST_PATHS, Related, assignments, plain_words

_PACKAGE_RUNNERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_SCRIPT_RUNNERS = ("jest", "vitest")
"""Runners that can select the tests related to a file."""
_NODE = "NODE_OPTIONS="
_SUFFIXES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")


def related_command(command: str, words: list[str], related: Related) -> str:
    script = _script(words, related.read)
    runner = _runner(words, script)
    sources = [shlex.quote(f"./{path}") for path in related.changed if path.endswith(_SUFFIXES)][:MOST_PATHS]
    if not runner or not sources:
        return ""
    assigned = [*assignments(command), *(one for one in assignments(script) if one.startswith(_NODE))]
    if words[0] in _PACKAGE_RUNNERS:
        program = ["npx", "--no-install", runner]
    else:
        program = [shlex.quote(word) for word in words[: len(words) - len(unwrapped(words)) + 1]]
    select = (
        ["--passWithNoTests", "--findRelatedTests"]
        if runner == "jest"
        else ["related", "--run", "--passWithNoTests"]
    )
    return " ".join([*assigned, *program, *select, *sources])


def _runner(words: list[str], script: str) -> str:
    if words and words[0] in _PACKAGE_RUNNERS:
        words = plain_words(script)
    return next((name for name in _SCRIPT_RUNNERS if _runs(words, name)), "")


def _script(words: list[str], read: Callable[[str], str | None]) -> str:
    """Return what the script named in a command runs; empty if unknown."""
    if not words or words[0] not in _PACKAGE_RUNNERS:
        return ""
    try:
        manifest = json.loads(read("package.json") or "{}")
    except (ValueError, RecursionError):
        return ""
    return runner_of_scripts(table(manifest, "scripts"), words)


def runner_of_scripts(scripts: Mapping[str, object], command: Sequence[str]) -> str:
    """Return the part of the script named in `command` that runs tests, such as `vitest run` of `tsc && vitest run`;
    the whole script if no part is known."""
    rest = [word for word in command[1:] if not word.startswith("-") and word not in ("run", "run-script")]
    script = scripts.get("test" if rest[:1] in (["t"], ["tst"]) else "".join(rest[:1]))
    if not isinstance(script, str):
        return ""
    parts = (part.strip() for part in re.split(r"&&|;", script))
    return next(
        (one for one in parts if any(_runs(plain_words(one), name) for name in _SCRIPT_RUNNERS)), script
    )


def _runs(words: Sequence[str], name: str) -> bool:
    """Whether a command runs all tests with this runner, perhaps through npx."""
    watches = any(word in ("watch", "bench", "--watch", "--watchAll") for word in words)
    return unwrapped(words)[:1] == (name,) and not watches

"""JavaScript and TypeScript: the install of `node_modules`, and the scripts that test, lint and check types."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Sequence
from typing import Any

from bot.environment.commands import script_name, unwrapped
from bot.environment.detection import Command, Read, Step

MODULES = "node_modules"
_TOOLS = ".npm-tools"
_PLACEHOLDER = "no test specified"
_VERSION = re.compile(r"\d+(\.\d+){0,2}")
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
_FROZEN = ("--frozen-lockfile", "--immutable")


def manifest(read: Read) -> dict[str, Any]:
    content = read.parsed("package.json", json.loads)
    return content if isinstance(content, dict) else {}


def scripts(content: dict[str, Any]) -> dict[str, str]:
    own = content.get("scripts")
    return (
        {str(key): value for key, value in own.items() if isinstance(value, str)}
        if isinstance(own, dict)
        else {}
    )


def manager_of(paths: Collection[str], content: dict[str, Any]) -> tuple[str, str]:
    """Return the package manager, and the version that the manifest pins or an empty string."""
    named = content.get("packageManager")
    if isinstance(named, str) and (match := re.match(r"(npm|pnpm|yarn)@(\d+(?:\.\d+){0,2})", named)):
        return match[1], match[2]
    return next((name for lock, name in _LOCKS.items() if lock in paths), "npm"), ""


def setup_of(
    paths: Collection[str], content: dict[str, Any], read: Read, installs: Sequence[Command]
) -> Step:
    """Return CI's install command, else the manager's default for the lock file."""
    manager, version = manager_of(paths, content)
    chosen = next(
        (one for one in installs if one.words[0] == manager and not _is_unrelated_install(one.words)), None
    )
    ci_words, source = (chosen.words, chosen.source) if chosen else (None, "package.json")
    if manager == "npm":
        lock = bool({"package-lock.json", "npm-shrinkwrap.json"}.intersection(paths))
        words = list(ci_words) if ci_words else ["npm", "ci" if lock else "install"]
        if words[1:2] == ["ci"] and not lock:
            words[1] = "install"
        if not lock and "--no-package-lock" not in words:
            words.append("--no-package-lock")
        return Step(shlex.join(words), source, ("node",), MODULES)
    words = list(ci_words[1:]) if ci_words else ["install"]
    if any(name in paths for name in _LOCKS):
        if not any(word in _FROZEN for word in words):
            words.append("--immutable" if _is_yarn_berry(paths) else "--frozen-lockfile")
    else:  # without a lock file package managers refuse to be frozen
        words = [word for word in words if word not in (*_FROZEN, "--no-lockfile")]
        words += [] if _is_yarn_berry(paths) else ["--no-lockfile"]
    if "install" not in words and "i" not in words:
        words.insert(0, "install")
    install_manager = (
        f"npm install --no-save --no-package-lock --prefix {_TOOLS} {_package(manager, version, paths, read)}"
    )
    return Step(
        f"{install_manager} && {_on_path(f'{manager} {shlex.join(words)}')}", source, ("node",), MODULES
    )


def _is_unrelated_install(words: Sequence[str]) -> bool:
    return (
        "config" in words
        or any(word in ("-g", "--global", "-fg", "--location=global") for word in words)
        or any(re.match(r"[@a-z]", word) for word in words[2:])
    )


def _is_yarn_berry(paths: Collection[str]) -> bool:
    return ".yarnrc.yml" in paths


def _package(manager: str, version: str, paths: Collection[str], read: Read) -> str:
    if manager == "yarn" and (_is_yarn_berry(paths) or version[:1] not in ("", "0", "1")):
        return f"@yarnpkg/cli-dist@{version or '4'}"
    if manager == "pnpm" and not version:
        lock = re.match(r"lockfileVersion:\s*'?(\d+)", read("pnpm-lock.yaml") or "")
        version = {"5": "7", "6": "8"}.get(lock[1] if lock else "", "10")
    return f"{manager}@{version or '1.22.22'}"


def _on_path(command: str) -> str:
    return f'PATH="$PWD/{_TOOLS}/{MODULES}/.bin:$PATH" {command}'


def prepared(words: Sequence[str], manager: str) -> str:
    """Return the check as a line that finds the package manager of the setup, if it is not npm."""
    line = shlex.join(words)
    return _on_path(line) if manager != "npm" and words[0] == manager else line


def is_known(words: Sequence[str], content: dict[str, Any]) -> bool:
    """Whether the script that a check runs exists and is not npm's placeholder."""
    inner = unwrapped(words)
    if not inner or inner[0] not in ("npm", "pnpm", "yarn", "bun"):
        return True
    name = script_name(inner[1:], inner[0])
    script = scripts(content).get(name)
    if script is None:
        return inner[0] in ("pnpm", "yarn") and bool(name) and name not in ("test", "lint")
    return _PLACEHOLDER not in script


def fallback(content: dict[str, Any], manager: str) -> list[tuple[str, ...]]:
    """Return the scripts that package.json suggests: tests, then types, then lint."""
    commands: list[tuple[str, ...]] = []
    script_names = scripts(content)
    if "test" in script_names and _PLACEHOLDER not in script_names["test"]:
        commands.append((manager, "test"))
    for names in (("typecheck", "type-check", "types", "tsc"), ("lint",)):
        commands += [(manager, "run", name) for name in names if name in script_names][:1]
    return commands


def needs_install(content: dict[str, Any]) -> bool:
    return any(content.get(key) for key in ("dependencies", "devDependencies", "workspaces"))

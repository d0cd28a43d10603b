"""What a repository's files say of how its checks are run: projects in folders of their own, and what has to be
installed before, since the sandbox has no network. Pure; decides for `init` alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from bot.evidence.detect import Check, detect_checks

Read = Callable[[str], str | None]
"""The text of a file, `None` where there is none."""

_MANIFESTS = ("package.json", "pyproject.toml", "setup.py", "go.mod", "Cargo.toml")
# A folder's name gets into a command.
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")
_MOST_FOLDERS = 6
_REQUIREMENTS = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
)
_BY_LOCK = {
    "pnpm-lock.yaml": "corepack enable && pnpm install --frozen-lockfile",
    "yarn.lock": "corepack enable && yarn install --frozen-lockfile",
    "package-lock.json": "npm ci",
}
_VENV = ".venv/bin/python"


@dataclass(frozen=True, slots=True)
class Project:
    """`install` are the commands that fetch what the checks need, and `bring` the folders that they leave."""

    checks: tuple[Check, ...] = ()
    install: tuple[str, ...] = ()
    bring: tuple[str, ...] = ()


def describe(paths: Sequence[str], read: Read) -> Project:
    """The project at the root and those in folders just below it."""
    folders = _folders(paths)
    own = [path for path in paths if path.partition("/")[0] not in folders]
    found = [_one(own, read)]
    for folder in folders:
        inside = [path.removeprefix(f"{folder}/") for path in paths if path.startswith(f"{folder}/")]
        found.append(_below(folder, _one(inside, partial(_inside, read, folder))))
    return Project(
        tuple(check for one in found for check in one.checks),
        tuple(command for one in found for command in one.install),
        tuple(folder for one in found for folder in one.bring),
    )


def _inside(read: Read, folder: str, path: str) -> str | None:
    return read(f"{folder}/{path}")


def _folders(paths: Sequence[str]) -> list[str]:
    """Folders with a manifest of their own, where the root has none of that kind: there it is one project."""
    there = set(paths)
    found = {
        folder
        for folder, _, name in (path.partition("/") for path in paths)
        if name in _MANIFESTS and name not in there and _FOLDER.fullmatch(folder)
    }
    return sorted(found)[:_MOST_FOLDERS]


def _below(folder: str, project: Project) -> Project:
    return Project(
        tuple(
            replace(one, name=f"{folder}: {one.name}", command=f"cd {folder} && {one.command}")
            for one in project.checks
        ),
        tuple(f"(cd {folder} && {command})" for command in project.install),
        tuple(f"{folder}/{brought}" for brought in project.bring),
    )


def _one(paths: Sequence[str], read: Read) -> Project:
    project = Project(detect_checks(paths, read))
    for look in (_python, _node, _go):
        project = look(project, set(paths), read)
    return project


def _python(project: Project, names: set[str], read: Read) -> Project:
    checks = [one for one in project.checks if one.command.startswith("python3 ")]
    named = [f"-r {name}" for name in _REQUIREMENTS if name in names]
    manifest = read("pyproject.toml") or ""
    built = "setup.py" in names or "[project]" in manifest or "[build-system]" in manifest
    if not checks or not (built or named):
        return project
    packages = ["pytest"] if any("pytest" in one.command for one in checks) else []
    install = f"{_VENV} -m pip install {' '.join([*packages, *(['-e .'] if built else []), *named])}"
    commands = {one.command: f"{_VENV} {one.command.removeprefix('python3 ')}" for one in checks}
    return Project(
        tuple(replace(one, command=commands.get(one.command, one.command)) for one in project.checks),
        (*project.install, "python3 -m venv .venv", install),
        (*project.bring, ".venv"),
    )


def _node(project: Project, names: set[str], read: Read) -> Project:
    try:
        manifest = json.loads(read("package.json") or "{}")
    except (ValueError, RecursionError):
        return project
    needs = isinstance(manifest, dict) and (manifest.get("dependencies") or manifest.get("devDependencies"))
    if not needs or not any(one.name == "npm test" for one in project.checks):
        return project
    install = next((how for lock, how in _BY_LOCK.items() if lock in names), "npm install --no-package-lock")
    return replace(project, install=(*project.install, install), bring=(*project.bring, "node_modules"))


def _go(project: Project, names: set[str], read: Read) -> Project:
    if "require" not in (read("go.mod") or "") or "vendor/modules.txt" in names:
        return project
    return replace(project, install=(*project.install, "go mod vendor"), bring=(*project.bring, "vendor"))

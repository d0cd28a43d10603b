"""Build the environment of a workspace from an allow-list: nothing is inherited by default.

`GITHUB_*`, `RUNNER_*`, `LD_*`, `PYTHON*`, keys and tokens are always left out.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from bot.ecosystems.registry import ecosystems
from bot.workspace.sandbox.confinement import Dependencies
from bot.workspace.sandbox.toolchains import Toolchains

_FROM_HOST = ("LANG", "LC_ALL", "LC_CTYPE", "TZ")

_ALWAYS = {
    "DEBIAN_FRONTEND": "noninteractive",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LESS": "-R",
    "MANPAGER": "cat",
    "PAGER": "cat",
    "TERM": "dumb",
}
"""No pager, editor, prompt or progress bar: nobody is there to see or answer one."""


def build(source: Mapping[str, str], home: Path, temporary: Path, tools: Toolchains) -> dict[str, str]:
    """The variables for commands; `tools` are what `toolchains.find` returns."""
    needed = [name for one in ecosystems() for name in (*one.passed, *(pin.variable for pin in one.pins))]
    names = (*_FROM_HOST, *needed)
    variables = {name: source[name] for name in names if name in source}
    variables.setdefault("LANG", "C.UTF-8")
    if (environment := source.get("VIRTUAL_ENV")) and Path(environment) in tools.folders:
        variables["VIRTUAL_ENV"] = environment
    folders = [home / name for one in ecosystems() for name in one.home_packages]
    folders += [Path.home() / name for one in ecosystems() for name in one.home_environments]
    own = [str(folder) for folder in folders if folder.name.endswith("bin")]
    variables |= {
        **_ALWAYS,
        **{name: text.format(home=home) for one in ecosystems() for name, text in one.settings.items()},
        **tools.variables,
        "PATH": ":".join([tools.path, *own]),  # what the job `prepare` installed there comes last
        "HOME": str(home),
        "TMPDIR": str(temporary),
    }
    return variables


def of_dependencies(dependencies: Dependencies, root: str, path: str, *, moved: bool) -> dict[str, str]:
    """The variables that differ with `dependencies`: its programs come first. `moved` says that the tree, seen at
    `root`, is where editable installs expect it."""
    programs = [
        (f"{root}/{folder.path}" if folder.path else str(folder.source), folder.programs)
        for folder in dependencies.folders
        if folder.programs
    ]
    variables: dict[str, str] = {}
    if programs:
        variables["PATH"] = ":".join([*(f"{folder_path}/{name}" for folder_path, name in programs), path])
    if python := next((folder_path for folder_path, name in programs if name == "bin"), ""):
        # It is read-only: without the second variable, `uv run` would install into it first.
        variables |= {"VIRTUAL_ENV": python, "UV_NO_SYNC": "1"}
    import_from = dict.fromkeys((*dependencies.before_copies, *(() if moved else dependencies.import_from)))
    if import_from:
        variables["PYTHONPATH"] = ":".join(os.path.normpath(f"{root}/{one}") for one in import_from)
    return variables


def of_tree(tree: Path, root: str, path: str) -> dict[str, str]:
    """The variables for the Python environment that setup made in `tree`, seen at `root`: tests call its programs."""
    folder = tree / ".venv"
    if folder.is_symlink() or not (folder / "bin").is_dir():
        return {}
    return {"PATH": f"{root}/.venv/bin:{path}", "VIRTUAL_ENV": f"{root}/.venv"}

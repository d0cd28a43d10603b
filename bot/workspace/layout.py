"""The paths and the command line of the tool host inside the sandbox: its interpreter and its modules."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bot

_START = "import sys; sys.path.insert(0, sys.argv[1]); from bot.toolhost.main import main; main()"

_INSIDE = "/run/slash-agent"
"""Where the package is seen inside. At its own path a work tree might lie over it, since people install us in a
virtual environment of the repository, or work on this very program: a check's result would then be the word of
code that the agent has edited."""

SKILLS = f"{_INSIDE}/skills"
"""Where loaded skills are seen inside, in every run the same."""

BROUGHT = f"{_INSIDE}/brought"
"""Before the path of a read-only folder that the tree would hide, if things can be seen elsewhere."""

TMP = f"{_INSIDE}/tmp"  # noqa: S108 - ours alone
"""Where the temporary folder is seen inside: short, since the path of a Unix socket may have 107 bytes."""

PROGRAMS = f"{_INSIDE}/programs"
"""Where our own programs are seen inside."""

_MODULES = ("__init__.py", "contracts", "toolhost")
"""All that is shown of this package: nothing else of it is imported inside."""


def host_command(*, moved: bool) -> list[str]:
    """Isolated (`-I`: no PYTHON variables, no user site, nothing from the working folder) and without site
    packages (`-S`), so that nothing in the work tree can get in at the start. `moved`: seen at its place inside."""
    where = _INSIDE if moved else str(_package().parent)
    return [interpreter(), "-I", "-S", "-c", _START, where]


def host_program() -> tuple[tuple[Path, str], ...]:
    """What that command reads when it is confined, each with its place inside, to be shown read-only."""
    package = _package()
    modules = ((package / name, f"{_INSIDE}/{package.name}/{name}") for name in _MODULES)
    return (*((folder, str(folder)) for folder in _python()), *modules)


def _package() -> Path:
    return Path(os.path.realpath(bot.__file__)).parent


def interpreter() -> str:
    """The real program, not a virtual environment's link to it."""
    return os.path.realpath(sys.executable)


def _python() -> tuple[Path, ...]:
    prefixes = dict.fromkeys(
        Path(os.path.realpath(prefix)) for prefix in (sys.base_prefix, sys.base_exec_prefix)
    )
    program = Path(interpreter())
    if not any(prefix in program.parents for prefix in prefixes):
        prefixes[program.parent] = None
    return tuple(prefixes)

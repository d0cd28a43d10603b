"""Find the programs that we run outside the sandbox, such as git, bwrap and cp."""

import os
import shutil

_SYSTEM = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_MARKS = (".git", "pyvenv.cfg", "conda-meta")
"""What a git work tree, a Python environment and a Conda environment have at their top."""


def host_path() -> str:
    """Return PATH without what a repository can fill: relative entries, and folders in a git work tree, in
    `node_modules`, or in a Python or Conda environment. If nothing is left, the system's folders."""
    trusted = filter(_is_trusted, os.environ.get("PATH", "").split(os.pathsep))
    return os.pathsep.join(trusted) or os.pathsep.join(_SYSTEM)


def find_host_program(name: str) -> str | None:
    """Return the absolute path of a program in `host_path`. A link into a folder that is left out there does not
    count."""
    for folder in host_path().split(os.pathsep):
        program = shutil.which(name, path=folder)
        if program and _is_trusted(os.path.dirname(os.path.realpath(program))):
            return program
    return None


def _is_trusted(folder: str) -> bool:
    if folder in _SYSTEM:
        return True
    if not os.path.isabs(folder):
        return False
    active = (os.environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    environments = [os.path.realpath(one) for one in active if one]
    here = os.path.realpath(folder)
    while here != os.path.dirname(here):
        if here in environments or os.path.basename(here) == "node_modules":
            return False
        if any(os.path.lexists(os.path.join(here, mark)) for mark in _MARKS):
            return False
        here = os.path.dirname(here)
    return True

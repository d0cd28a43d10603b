"""Detect checks that would test other code than the change: a Python package is installed by the path of the
repository, and the sandbox cannot show the tree at that path. Pure."""

from __future__ import annotations

import re
import shlex

_PYTHON = re.compile(
    r"(?<![\w.-])(?:python[\d.]*|pytest|py\.test|tox|nox|mypy|pyright|unittest|coverage|hatch|poetry|pdm|uv|behave|"
    r"make|just|invoke)(?![\w.-])"
)
"""Programs that import packages, or may run one that does."""

_ACCESS_DENIED = re.compile("[Pp]ermission denied|EACCES")

_OF_ENVIRONMENT = re.compile(r"/pyvenv\.cfg$|/bin/python[\d.]*$")

_FIND_INSTALLS = """
for prefix in "${{VIRTUAL_ENV:-}}" .venv venv env "$(python3 -c 'import sys; print(sys.prefix)' 2>/dev/null)"; do
  for place in "$prefix"/lib/python*/site-packages "$prefix"/lib/python*/dist-packages; do
    grep -lFs -e {origin} -- "$place"/*.pth "$place"/*.egg-link "$place"/__editable__* "$place"/_editable_impl_*
    find "$place" -maxdepth 1 -type l '(' -lname {origin} -o -lname {origin}'/*' ')' 2>/dev/null
  done
done | head -n 50
"""


def find_command(origin: str) -> str:
    """Return a shell command that prints the files and links by which Python finds code at `origin`, one per line."""
    return _FIND_INSTALLS.format(origin=shlex.quote(origin))


def may_import_package(command: str) -> bool:
    """Whether `command` may import an installed package."""
    return bool(_PYTHON.search(command))


def mentions_denied_access(printed: str) -> bool:
    """Whether the output reports a denied access."""
    return bool(_ACCESS_DENIED.search(printed))


def denied_path(printed: str, folder: str) -> str:
    """The first path at `folder` that a check wanted and did not get, by what it printed; empty where there is none."""
    pattern = re.compile(rf"(?<![\w./~-]){re.escape(folder)}(?:/[^\s'\":,]*)?(?![\w.-])")
    lines = (line for line in printed.splitlines() if _ACCESS_DENIED.search(line))
    return next((match[0] for line in lines if (match := pattern.search(line))), "")


def denied_path_note(path: str) -> str:
    """Return why a check that failed to read `path` is no evidence."""
    remedy = "a link or an installed package leads there. Install it without that"
    if _OF_ENVIRONMENT.search(path):
        remedy = (
            "a virtual environment's programs go by the place where it was made. Run them as modules of its Python "
            "(`.venv/bin/python -m pytest`)"
        )
    problem = f"it needs {path}, in the repository's own folder, which this sandbox does not show"
    return f"{problem}: {remedy}, or use bubblewrap"


def editable_install_note(file: str, origin: str) -> str:
    """Return why a check that imports the package of `file` is no evidence."""
    return (
        f"{file} is an editable install of {origin}, and this sandbox cannot show the change there: the check would "
        "look at other code. Install the package without -e, or use bubblewrap"
    )

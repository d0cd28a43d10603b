"""Whether a check would look at other code than the change's: a Python package installed by its place, where the tree
cannot be shown at that place. Pure; the question is asked by a command inside."""

from __future__ import annotations

import re
import shlex

_PYTHON = re.compile(
    r"(?<![\w.-])(?:python[\d.]*|pytest|py\.test|tox|nox|mypy|pyright|unittest|coverage|hatch|poetry|pdm|uv|behave|"
    r"make|just|invoke)(?![\w.-])"
)
"""What imports a package, or may run something that does."""

_NO_ACCESS = re.compile("[Pp]ermission denied|EACCES")

_OF_ENVIRONMENT = re.compile(r"/pyvenv\.cfg$|/bin/python[\d.]*$")

_LOOK = """
for prefix in "${{VIRTUAL_ENV:-}}" .venv venv env "$(python3 -c 'import sys; print(sys.prefix)' 2>/dev/null)"; do
  for place in "$prefix"/lib/python*/site-packages "$prefix"/lib/python*/dist-packages; do
    grep -lFs -e {origin} -- "$place"/*.pth "$place"/*.egg-link "$place"/__editable__* "$place"/_editable_impl_*
    find "$place" -maxdepth 1 -type l '(' -lname {origin} -o -lname {origin}'/*' ')' 2>/dev/null
  done
done | head -n 50
"""


def question(origin: str) -> str:
    """A shell command that prints the files and links by which a Python here finds code at `origin`, one a line."""
    return _LOOK.format(origin=shlex.quote(origin))


def concerns(command: str) -> bool:
    """Whether `command` may import what such a file leads to."""
    return bool(_PYTHON.search(command))


def refuses(printed: str) -> bool:
    """Whether something was not to be read."""
    return bool(_NO_ACCESS.search(printed))


def refused(printed: str, place: str) -> str:
    """The first path at `place` that a check wanted and did not get, by what it printed; empty where there is none."""
    path = re.compile(rf"(?<![\w./~-]){re.escape(place)}(?:/[^\s'\":,]*)?(?![\w.-])")
    lines = (line for line in printed.splitlines() if _NO_ACCESS.search(line))
    return next((found[0] for line in lines if (found := path.search(line))), "")


def led_out(path: str) -> str:
    """Why a check that wanted `path`, by `refused`, says nothing."""
    what = "a link or an installed package leads there. Install it without that"
    if _OF_ENVIRONMENT.search(path):
        what = (
            "a virtual environment's programs go by the place where it was made. Run them as modules of its Python "
            "(`.venv/bin/python -m pytest`)"
        )
    where = f"it needs {path}, in the repository's own folder, which this sandbox does not show"
    return f"{where}: {what}, or use bubblewrap"


def reason(file: str, origin: str) -> str:
    """Why a check that imports what `file` leads to says nothing."""
    return (
        f"{file} is an editable install of {origin}, and this sandbox cannot show the change there: the check would "
        "look at other code. Install the package without -e, or use bubblewrap"
    )

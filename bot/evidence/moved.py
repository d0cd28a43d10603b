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

_LOOK = """
for prefix in "${{VIRTUAL_ENV:-}}" .venv venv env "$(python3 -c 'import sys; print(sys.prefix)' 2>/dev/null)"; do
  for place in "$prefix"/lib/python*/site-packages "$prefix"/lib/python*/dist-packages; do
    grep -lFs -e {origin} -- "$place"/*.pth "$place"/*.egg-link "$place"/__editable__*
  done
done | head -n 1
"""


def question(origin: str) -> str:
    """A shell command that prints the first file by which a Python here finds code at `origin`, if any."""
    return _LOOK.format(origin=shlex.quote(origin))


def concerns(command: str) -> bool:
    """Whether `command` may import what such a file leads to."""
    return bool(_PYTHON.search(command))


def reason(file: str, origin: str) -> str:
    """Why the check says nothing, for its result."""
    return (
        f"{file} is an editable install of {origin}, and this sandbox cannot show the change there: the check would "
        "look at other code. Install the package without -e, or use bubblewrap"
    )

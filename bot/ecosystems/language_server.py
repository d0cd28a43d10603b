"""`Server`: a language server, and how it is started at a place."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bot.ecosystems.checker import PATH, Names
from bot.ecosystems.program_search import Place


class Launch(NamedTuple):
    """The command line of a language server. `options` go with `initialize`; `runs` are files of the project that it
    executes; `root` is the project's folder, the repository's where it is None; `variables` are for it."""

    argv: Names
    options: object = None
    runs: Names = ()
    root: Path | None = None
    variables: Mapping[str, str] = {}


Find = Callable[[Place], "Launch | str"]
"""Return how the server is started at a place, else a clause why not; empty if the project does not use it."""


class Server(NamedTuple):
    """A language server. `files` maps suffixes to language ids of the protocol. In `variables` of its environment
    `{tmp}` is a folder outside the tree. It is refused where a rule denies one of `commands`, its own if there are
    none. Problems with one of the codes `missing` may only mean that a package is not installed: they are not news."""

    name: str
    files: Mapping[str, str]
    find: Find
    variables: Mapping[str, str] = {}
    commands: Names = ()
    missing: frozenset[str] = frozenset()


def server_beside(
    markers: Sequence[str],
    missing: str,
    name: str,
    *arguments: str,
    own: bool = True,
    top: bool = False,
    runs: Sequence[str] = (),
    options: object = None,
) -> Find:
    """Return the `find` of a server for projects with one of the files `markers`, the best first; `missing` says why
    there is none without. Its root is the folder of the nearest such file, or the topmost, `{root}` in its arguments.
    `own`: it may be the project's own program. `runs` are files that it executes."""

    def find(place: Place) -> Launch | str:
        marker = next((path for one in markers if (path := place.above(one, top=top))), None)
        if marker is None:
            return missing
        program = place.program(name, ("project", "path") if own else PATH)
        if not program:
            return "it is not installed"
        words = (argument.replace("{root}", str(marker.parent)) for argument in arguments)
        executed = tuple(str(path) for one in runs if (path := place.above(one)))
        return Launch((program, *words), options, executed, marker.parent)

    return find

"""`problems_of`: run one checker over a project, the repository or a folder of it, and parse its output. Called by the
supervisor only, which names the checker and its command line."""

import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bot.contracts.tools import ToolOutcome
from bot.ecosystems.checker import FormError
from bot.ecosystems.program_search import Place
from bot.ecosystems.registry import checking, ecosystems, form
from bot.toolhost import shell
from bot.toolhost.context import Context
from bot.toolhost.problem_record import one_line, rows
from bot.toolhost.subreaper import Command

_MOST_OUTPUT = 24_000_000
_PROBE_LIMIT = 20.0
_NOTE = 200
_WORDS = 4000
_NOTHING = {"state": "unavailable", "rows": [], "outside": 0}

# Before the reason an interpreter prints a traceback, a checker an apology.
_SAYS_WHY = re.compile(r"(?m)^\w*Error\b[^:\n]{0,60}: .+$")
_HEAD = re.compile(r"\A(?:\s|Oops! .*\n|\w+: [\d.]+\n)+")

# The host's pipe carries both outputs in order. With `_APART` standard error goes to a file, without a program between:
# that might be kept running by processes that the checker leaves behind. A checker has one core, the tests the others.
_ONE_CORE = 'words=$1; taskset -cp "$2" $$ >/dev/null 2>&1; shift 2; '
_APART = _ONE_CORE + 'exec "$@" 2>"$words"'
_TOGETHER = _ONE_CORE + 'exec "$@" 2>&1'


class _CheckerRun(NamedTuple):
    ended: shell.CommandResult
    output: bytes
    words: str


def run(
    context: Context, checker: Mapping[str, Any], files: Sequence[str], timeout: float, folder: str = ""
) -> ToolOutcome:
    """`metadata["state"]` is complete, timed_out or unavailable; `rows` are the problems of a complete run. Their paths
    are the repository's, also where the checker ran in a `folder` of it."""
    deadline = time.monotonic() + timeout
    bins = tuple(one for ecosystem in ecosystems() for one in ecosystem.bins)
    place = Place(context.root, context.root / folder, context.environment, context.programs, bins)
    python = next(map(str, place.environments()), "")
    # A checker in a folder searches an environment there only, and several projects may share the one above them.
    if folder and python:
        place = place._replace(environment={**context.environment, "VIRTUAL_ENV": python})
    try:
        result = _check(checker, [f"./{path}" for path in files], deadline, context, place)
    except _NoResult as error:
        result = {**_NOTHING, "note": str(error)}
    return ToolOutcome(result["note"], metadata=result)


class _NoResult(Exception):
    """The checker has no result; the message is a clause on the reason."""


def _check(
    checker: Mapping[str, Any], files: Sequence[str], deadline: float, context: Context, place: Place
) -> dict[str, Any]:
    name = str(checker["program"])
    folder = str(place.folder.relative_to(place.root))
    if not place.folder.is_dir():
        raise _NoResult(f"there is no folder {one_line(folder, _NOTE)}")
    program = place.program(name, checker["where"])
    if not program:
        own = ": the project has none of its own" if list(checker["where"]) == ["project"] else ""
        raise _NoResult(f"{name} is not installed{own}")
    version = ""
    if checker["version"]:
        limit = min(deadline, time.monotonic() + _PROBE_LIMIT)
        probe = _run([program, *checker["version"]], limit, context, place)
        version = one_line(probe.output.decode("utf-8", "replace"), 60)
        if probe.ended.stopped or probe.ended.exit_code or not version:
            raise _NoResult(f"{name} does not run here{_because(probe, context)}")
    argv = [program, *(str(word).replace("{tmp}", str(context.tmp)) for word in checker["arguments"]), *files]
    ran = _run(argv, deadline, context, place, together=checker["together"])
    return {"version": version, **_result_of(checker, ran, context, folder)}


def _result_of(checker: Mapping[str, Any], ran: _CheckerRun, context: Context, folder: str) -> dict[str, Any]:
    if ran.ended.timed_out:
        note = f"it did not end in {ran.ended.duration:.0f} s"
        return {**_NOTHING, "state": "timed_out", "note": note}
    if ran.ended.cancelled:
        raise _NoResult("the run was over before it")
    if len(ran.output) > _MOST_OUTPUT:
        raise _NoResult(f"it printed more than {_MOST_OUTPUT // 1_000_000} MB")
    if ran.ended.limit is not None:
        raise _NoResult(f"it met a limit of the sandbox: {ran.ended.limit.name}")
    if ran.ended.exit_code not in checker["exits"]:
        raise _NoResult(f"it ended with exit code {ran.ended.exit_code}{_because(ran, context)}")
    try:
        finds = form(checker["form"])(ran.output.decode("utf-8", "replace"))
        parsed, outside = rows(finds, str(context.root), checker["unit"], folder)
    except FormError as error:
        why = "" if ran.output.strip() else _because(ran, context)
        raise _NoResult(one_line(f"{error}{why}", _NOTE, str(context.root))) from error
    return {"state": "complete", "note": "", "rows": parsed, "outside": outside}


def _run(
    argv: Sequence[str], deadline: float, context: Context, place: Place, *, together: bool = False
) -> _CheckerRun:
    """Run a program like a command of the model: watched, limited, and without a process left at its end."""
    data = bytearray()

    def take(piece: bytes) -> bool:
        data.extend(piece)
        return len(data) > _MOST_OUTPUT

    script = _TOGETHER if together else _APART
    environment = {**place.environment, **checking(str(context.tmp)), "LC_ALL": "C.UTF-8"}
    with context.file_for_a_command() as (words, descriptor):
        whole = ["bash", "-c", script, "bash", words, str(max(os.sched_getaffinity(0))), *argv]
        ended = shell.run_command(
            Command(whole, place.folder, environment, max(deadline - time.monotonic(), 0.1)),
            take,
            cancelled=context.cancelled,
            monitor=context.monitor,
        )
        first = (os.pread(descriptor, _WORDS, 0) if descriptor >= 0 else b"") or bytes(data[:_WORDS])
    return _CheckerRun(ended, bytes(data), first.decode("utf-8", "replace"))


def _because(ran: _CheckerRun, context: Context) -> str:
    match = _SAYS_WHY.search(ran.words)
    words = one_line(match[0] if match else _HEAD.sub("", ran.words), _NOTE, str(context.root))
    return f": {words}" if words else ""

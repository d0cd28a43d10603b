"""The table of faults: what goes wrong, where, and how it must end. `docs/reliability.md` shows it.

The first row of a cause is the one that `make test` runs: put the fastest there. No point stands twice that is the same
code: a fault of a request that three verbs send in one place is tried at one of them. After a change of a row, write
the page again: `python -m tests.faults.page`.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from functools import partial

from tests.faults.scene import (
    Play,
    Row,
    Work,
    answers,
    at_call,
    branch_agent,
    change_and,
    drops,
    fix,
    long_temporary_folder,
    nth,
    old_git,
    publish,
    run,
    shell_first,
    struck,
    struck_at_github,
    token_ends,
)
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, shell
from tests.support.model_script import Hangup, Say, Status, Step, Turn

_EDITED = (VIEW, Turn(EDITS))
_WAITING: tuple[Step, ...] = (*_EDITED, shell("sleep 600"))
_IN_COMMAND = at_call("sleep 600")
# The requests of `publish`, in order: two questions, branches, the base commit, the push, the pull request, the thread.
_PUBLISH = range(1, 16)


def rows(
    cause: str, points: Mapping[tuple[str, str], Play], exit: int, says: str, work: Work,
    status: str = "", thread: str = "",
) -> tuple[Row, ...]:  # fmt: skip
    """Rows that end alike; `points` by fault and point."""
    return tuple(
        Row(cause, fault, point, play, exit, says, work, status, thread)
        for (fault, point), play in points.items()
    )


_ONCE: dict[str, Step] = {
    "no answer": Hangup(),
    "overloaded (529)": Status(529),
    "server error (500)": Status(500),
    "rate limit (429)": Status(429, headers={"retry-after": "0"}),
    "cut at its first words": Turn((Say("I shall look"),), drop=700),
    "cut inside a call": Turn((Say("I shall look"), VIEW), drop=1100),
    "without an end": Turn((Say("I shall look"),), ending=False),
    "error in the stream (529)": Turn(
        (Say("I shall"),), error={"type": "overloaded_error", "message": "busy"}
    ),
}

MODEL = (
    *rows(
        "The model's API fails once",
        {
            (fault, point): fix(*steps)
            for fault, step in _ONCE.items()
            for point, steps in {
                "the first request": (step, *_EDITED, DESCRIBE, DONE),
                "a request after tool calls": (*_EDITED, step, DESCRIBE, DONE),
            }.items()
        },
        exit=0, says="1 file changed", work=Work.BRANCH, status="changed",
    ),
    *rows(
        "The model's API refuses",
        {
            ("the key is wrong (401)", "`fix`, after the edits"): fix(*_EDITED, Status(401)),
            ("no such model (404)", "`fix`, after the edits"): fix(*_EDITED, Status(404)),
        },
        exit=5, says="the model's provider failed", work=Work.BRANCH, status="partial",
    ),
    *rows(
        "The model's API refuses",
        {("the key is wrong (401)", "`run`, after the edits"): run(*_EDITED, Status(401))},
        exit=5, says="the model's provider failed", work=Work.PUBLISH, status="partial",
    ),
)  # fmt: skip

_BLOCKED = {
    "who asks": ("GET", "/permission"),
    "the policy": ("GET", "/contents/"),
    "the thread": ("GET", "/issues/1/comments"),
}

GITHUB = (
    *rows(
        "GitHub's API fails once",
        {
            ("server error (502)", f"`publish`, its request {number}"): publish(nth(number, answers(502, "GET", "")))
            for number in (1, 2, 14)
        }
        | {
            (fault, f"`run`, reading {what}"): run(before=make(*where))
            for fault, make in {"server error (502)": partial(answers, 502), "connection dropped": drops}.items()
            for what, where in _BLOCKED.items()
        },
        exit=0, says="", work=Work.PUBLISH,
    ),
    *rows(
        "Git over HTTP fails once",
        {
            (fault, point): play
            for fault, make in {
                "connection dropped": drops, "server error (502)": partial(answers, 502),
            }.items()
            for point, play in {
                "`run`, fetching the base commit": run(before=make("GET", "info/refs")),
                "`publish`, reading the branches": publish(make("GET", "info/refs")),
                "`publish`, pushing": publish(make("POST", "git-receive-pack")),
            }.items()
        }
        | {
            ("its answer is lost", "`publish`, pushing"): publish(drops("POST", "git-receive-pack", after=True)),
        },
        exit=0, says="", work=Work.PUBLISH,
    ),
    *rows(
        "GitHub's API refuses",
        {("403", f"`run`, reading {what}"): run(before=answers(403, *where)) for what, where in _BLOCKED.items()},
        exit=2, says="Blocked", work=Work.UNPAID,
    ),
    *rows(
        "GitHub's API refuses",
        {("403", "`run`, writing the progress comment"): run(before=answers(403, "POST", "/issues/1/comments"))},
        exit=0, says="", work=Work.PUBLISH, status="changed",
    ),
    *rows(
        "GitHub's API refuses",
        {
            ("422", "`publish`, opening the pull request"): publish(answers(422, "POST", "/pulls$")),
        },
        exit=6, says="Blocked", work=Work.PUBLISH, thread="could not be published",
    ),
    *rows(
        "An answer of GitHub's API is lost",
        {
            ("after its effect", f"`publish`, {what}"): publish(drops(*where, after=True))
            for what, where in {
                "opening the pull request": ("POST", "/pulls$"),
                "asking for reviewers": ("POST", "/requested_reviewers$"),
                "finishing the comment": ("PATCH", "/issues/comments/"),
            }.items()
        }
        | {
            ("after its effect", "`run`, the progress comment"): run(
                before=drops("POST", "/issues/1/comments", after=True)
            )
        },
        exit=0, says="", work=Work.PUBLISH,
    ),
    *rows(
        "A token ends",
        {
            ("401 from then on", f"`publish`, before its request {number + 1}"): publish(token_ends(number))
            for number in (0, 1)
        },
        exit=2, says="wrong or has expired", work=Work.PUBLISH,
    ),
    *rows(
        "A token ends",
        {
            ("401 from then on", f"`publish`, before its request {number + 1}"): publish(token_ends(number))
            for number in (2, 3)
        },
        exit=6, says="wrong or has expired", work=Work.PUBLISH,
    ),
)  # fmt: skip

SIGNALS = (
    *rows(
        "A signal",
        {
            (by.name, "`fix`, a command runs"): struck("fix", by, _IN_COMMAND, *_WAITING)
            for by in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        },
        exit=130, says="ancelled", work=Work.BRANCH, status="partial",
    ),
    *rows(
        "A signal",
        {
            (by.name, "`run`, a command runs"): struck("run", by, _IN_COMMAND, *_WAITING)
            for by in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        },
        exit=130, says="ancelled", work=Work.PUBLISH, status="partial",
    ),
    *rows(
        "A signal",
        {
            (by.name, "`publish`, before it pushes"): struck_at_github(by, 4)
            for by in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        },
        exit=130, says="cancelled", work=Work.PUBLISH, thread="Publishing was cancelled",
    ),
    *rows(
        "The process is killed",
        {
            ("SIGKILL", f"`{verb}`, a command runs"): struck(verb, signal.SIGKILL, _IN_COMMAND, *_WAITING)
            for verb in ("fix", "run")
        },
        exit=-9, says="", work=Work.SALVAGE,
    ),
    *rows(
        "The process is killed",
        {
            ("SIGKILL", f"`publish`, its request {number}"): struck_at_github(signal.SIGKILL, number)
            for number in _PUBLISH
        },
        exit=-9, says="", work=Work.PUBLISH,
    ),
)  # fmt: skip

_STRAYS = {
    "a 6 MB core dump": "head -c 6000000 /dev/urandom > core.1234",
    "a fifo": "mkfifo pipe",
    "a socket": "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'",
    "a link to /etc/passwd": "ln -s /etc/passwd users",
    "a link to a folder above": "ln -s ../.. up",
    "a nested repository": "git init -q vendored && touch vendored/a",
    "a name that is not UTF-8": "touch $'caf\\xe9'",
    "320 new files": "mkdir made && cd made && seq 320 | xargs touch",
    "a folder without rights": "mkdir -m 0 shut",
}

STRAYS = (
    *rows(
        "Something stray in the work tree",
        {(fault, "`fix`, the end"): fix(*change_and(command)) for fault, command in _STRAYS.items()},
        exit=0, says="1 file changed", work=Work.BRANCH, status="changed",
    ),
    *rows(
        "Something stray in the work tree",
        {(fault, "`run`, the end"): run(*change_and(command)) for fault, command in _STRAYS.items()},
        exit=0, says="1 file changed", work=Work.PUBLISH, status="changed",
    ),
)  # fmt: skip

_LOCAL_AND_EVENT = {"fix": fix, "run": run}

MACHINE = (
    *rows(
        "A place that cannot be written",
        {
            ("--out is a file", "`fix`"): fix(options=("--out", __file__)),
            ("--out is a file", "`run`"): run(options=("--out", __file__)),
            ("--patch is a folder", "`fix`"): fix(options=("--patch", "/tmp")),
            ("--patch is in no folder", "`fix`"): fix(options=("--patch", "/nowhere/x.patch")),
            ("a branch is named `agent`", "`fix`"): fix(before=branch_agent),
        },
        exit=2, says="slash-agent", work=Work.UNPAID,
    ),
    *rows(
        "A machine that lacks something",
        {
            (fault, f"`{verb}`"): play(before=before)
            for verb, play in _LOCAL_AND_EVENT.items()
            for fault, before in {
                "24 open files": shell_first("ulimit -n 24"),
                "the current folder is deleted": shell_first("mkdir gone; cd gone; rmdir ../gone"),
                "git 2.17": old_git,
            }.items()
        },
        exit=2, says="slash-agent", work=Work.UNPAID,
    ),
    *rows(
        "A machine that lacks something",
        {("standard output is on a full disk", "`fix`"): fix(before=shell_first("exec >/dev/full"))},
        exit=1, says="standard output cannot be written", work=Work.BRANCH, status="changed",
    ),
    *rows(
        "A machine that lacks something",
        {("a long TMPDIR", "`fix`"): fix(before=long_temporary_folder)},
        exit=0, says="1 file changed", work=Work.BRANCH, status="changed",
    ),
)  # fmt: skip

ROWS = (*MODEL, *GITHUB, *SIGNALS, *MACHINE, *STRAYS)

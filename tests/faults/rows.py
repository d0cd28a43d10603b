"""The table of faults: what goes wrong, where, and how it must end.

`make test` runs the first row of every fifth cause: put the fastest first. No point stands twice that is the same code:
a fault of a request that three verbs send in one place is tried at one of them.
"""

import signal
from collections.abc import Mapping
from functools import partial

from tests.faults.scene import (
    Play,
    Row,
    Work,
    answers,
    archived,
    at_call,
    at_process,
    at_work,
    begun_twice,
    branch_agent,
    change_and,
    check_that_waits,
    closed,
    damaged,
    damaged_index,
    damaged_pack_index,
    drops,
    few_inodes,
    fix,
    forbidden_branch,
    git_without_room,
    in_bundle,
    inside,
    kill_sandbox,
    killed_then,
    lags,
    large_tracked_file,
    limits,
    long_temporary_folder,
    missing_object,
    nth,
    old_git,
    partial_clone,
    publish,
    publish_after,
    publish_twice_at_once,
    published_before,
    read_only_repository,
    renamed,
    run,
    server_branch,
    shell_first,
    short_wait,
    silent,
    small_disk,
    squashed_and_deleted,
    struck,
    struck_at_github,
    token_ends,
    with_out,
    without_access,
    without_bundle,
)
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, shell
from tests.support.model_script import Call, Hangup, Raw, Say, Status, Step, Turn

_EDITED = (VIEW, Turn(EDITS))
_WAITING: tuple[Step, ...] = (*_EDITED, shell("sleep 600"))
_IN_COMMAND = at_call("sleep 600")
# The requests of `publish`, in order: questions, branches, the base commit, the push, the pull request, the thread.
_PUBLISH = range(1, 17)


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
    "cut at the beginning": Turn((Say("I shall look"),), drop=700),
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
        }
        | {
            ("silent for 90 s", "within an answer"): fix(
                *_EDITED, Turn((Say("I shall look"), VIEW), stall=700), DESCRIBE, DONE
            )
        },
        exit=0, says="1 file changed", work=Work.BRANCH, status="changed",
    ),
    *rows(
        "The model's API fails each time",
        {
            ("silent before the first byte", "`fix`, after the edits"): fix(
                *_EDITED, Turn((Say("I shall look"),), delay=20.0), before=short_wait
            )
        },
        exit=5, says="the model's provider failed", work=Work.BRANCH, status="partial",
    ),
    *rows(
        "The model's API refuses",
        {
            ("the key is wrong (401)", "`fix`, after the edits"): fix(*_EDITED, Status(401)),
            ("no such model (404)", "`fix`, after the edits"): fix(*_EDITED, Status(404)),
            ("not in this region (403)", "`fix`, after the edits"): fix(*_EDITED, Status(403)),
        },
        exit=5, says="the model's provider failed", work=Work.BRANCH, status="partial",
    ),
    *rows(
        "The model's API refuses",
        {("the key is wrong (401)", "`run`, after the edits"): run(*_EDITED, Status(401))},
        exit=5, says="the model's provider failed", work=Work.PUBLISH, status="partial",
    ),
)  # fmt: skip

_PULLS = ("POST", "/pulls$")
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
            for number in (1, 2, 13)
        }
        | {
            (fault, f"`run`, reading {what}"): run(before=make(*where))
            for fault, make in {"server error (502)": partial(answers, 502), "connection dropped": drops}.items()
            for what, where in _BLOCKED.items()
        }
        | {
            ("silent for 30 s", "`run`, reading who asks"): run(before=silent("GET", "/permission")),
            ("silent for 30 s", "`publish`, opening the pull request"): publish(silent(*_PULLS)),
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

_GIT_FAULTS = {
    "connection dropped": lambda path, times: drops("*", path, times=times),
    "server error (503)": lambda path, times: answers(503, "*", path, times=times),
}
_GIT_POINTS = {
    ("run", "asking for branches"): r"\.git/info/refs$",
    ("run", "the fetch"): "git-upload-pack$",
    ("publish", "asking for branches"): r"\.git/info/refs$",
    ("publish", "the fetch"): "git-upload-pack$",
    ("publish", "the push"): "git-receive-pack$",
}


def _git(verb: str, times: int) -> dict[tuple[str, str], Play]:
    return {
        (fault, f"`{verb}`, {point}"): run(before=make(path, times))
        if verb == "run"
        else publish(make(path, times))
        for fault, make in _GIT_FAULTS.items()
        for (of, point), path in _GIT_POINTS.items()
        if of == verb
    }


_ARCHIVED = "This repository was archived so it is read-only."
_NO_RIGHT = "Resource not accessible by integration"
_PUSH = ("*", "git-receive-pack")

GIT = (
    *rows("A git request fails once", _git("publish", 1), exit=0, says="opened", work=Work.PULL),
    *rows("A git request fails once", _git("run", 1), exit=0, says="1 file changed", work=Work.PUBLISH),
    *rows(
        "A git request fails each time", _git("publish", 30),
        exit=6, says="did not answer", work=Work.PUBLISH, thread="could not be published",
    ),
    *rows(
        "A git request fails each time", _git("run", 30),
        exit=75, says="after several tries", work=Work.UNPAID, thread="The run failed",
    ),
    *rows(
        "The answer to a push is lost",
        {
            ("after its effect", "`publish`"): publish(drops("POST", "git-receive-pack$", after=True)),
            ("two jobs publish the same bundle", "`publish`, the push"): publish_twice_at_once(),
            ("two jobs publish the same bundle", "`publish`, from its start"): publish_twice_at_once(push_waits=False),
        },
        exit=0, says="ull request", work=Work.PULL,
    ),
)  # fmt: skip

FORBIDDEN = (
    *rows(
        "A 403 that passes",
        {
            ("secondary rate limit", "`publish`, opening the pull request"): publish(
                lambda scene: scene.forge.limit_next(*_PULLS, kind="secondary", retry_after=1)
            ),
            ("secondary rate limit", "`publish`, the push"): publish(
                answers(429, *_PUSH, "You have exceeded a secondary rate limit")
            ),
        },
        exit=0, says="opened", work=Work.PULL,
    ),
    *rows(
        "A 403 that stays",
        {
            ("primary rate limit", "`publish`, opening the pull request"): publish(limits("primary", *_PULLS, 3000)),
            ("secondary rate limit", "`publish`, opening the pull request"): publish(
                limits("secondary", *_PULLS, 3000)
            ),
        },
        exit=6, says="rate limit", work=Work.PUBLISH, thread="rate limit",
    ),
    *rows(
        "A 403 that stays",
        {
            ("the repository is archived", "`publish`, opening the pull request"): publish(
                answers(403, *_PULLS, _ARCHIVED)
            ),
            # What git asks before a push; request 8 of those that `publish` makes.
            ("the repository is archived", "`publish`, the push"): publish(
                nth(8, answers(403, "GET", "info/refs$", _ARCHIVED))
            ),
        },
        exit=6, says="archived", work=Work.PUBLISH, thread="archived",
    ),
    *rows(
        "A 403 that stays",
        {("a rule forbids the branch", "`publish`, the push"): publish(forbidden_branch)},
        exit=6, says="rule of the repository", work=Work.BUNDLE, thread="rule of the repository",
    ),
    *rows(
        "The repository takes no writes", {("it is archived", "`run`"): run(before=archived)},
        exit=3, says="is archived", work=Work.UNPAID,
    ),
    *rows(
        "A branch on the server leaves no room for ours",
        {("agent", "`run`"): run(before=server_branch("agent"))},
        exit=3, says="rename or delete agent", work=Work.UNPAID, thread="rename or delete agent",
    ),
    *rows(
        "A branch on the server leaves no room for ours",
        {("agent", "`publish`, the push"): publish(server_branch("agent"))},
        exit=6, says="rename or delete that branch", work=Work.BUNDLE, thread="rename or delete that branch",
    ),
    *rows(
        "A 403 that stays",
        {
            ("the token lacks a permission", "`publish`, opening the pull request"): publish(
                answers(403, *_PULLS, _NO_RIGHT)
            )
        },
        exit=6, says="pull-requests: write", work=Work.PUBLISH, thread="The branch is pushed",
    ),
    *rows(
        "A 403 that stays",
        {
            (f"{kind} rate limit", "`run`, reading who asks"): run(before=limits(kind, "GET", "/permission", 3000))
            for kind in ("primary", "secondary")
        },
        exit=75, says=" rate limit", work=Work.UNPAID,
    ),
)  # fmt: skip

_SPOILS = {
    "outcome.json is cut": in_bundle("outcome.json", lambda data: data[:200]),
    "outcome.json is not JSON": in_bundle("outcome.json", lambda data: b"\xff\0"),
    "the patch is cut": in_bundle("changes.patch", lambda data: data[:100]),
    "the patch was replaced": in_bundle("changes.patch", lambda data: data.replace(b"round", b"floor")),
    "there is no bundle": without_bundle,
}

BUNDLE = rows(
    "The bundle cannot be read",
    {(fault, "`publish`"): publish(spoil, in_job=True) for fault, spoil in _SPOILS.items()},
    exit=2, says="slash-agent publish", work=Work.NOTHING, thread="Publishing failed",
)  # fmt: skip

AGAIN = (
    *rows(
        "Write access is removed before publishing",
        {
            ("", "`publish`"): publish(without_access),
            ("", "`publish` in a job of the event"): publish(without_access, in_job=True),
        },
        exit=6, says="less access now", work=Work.BUNDLE, thread="less access now",
    ),
    *rows(
        "A bundle is published again",
        {("its pull request is closed", "`publish`"): publish_after(closed)},
        exit=0, says="and is closed", work=Work.BUNDLE, thread="**Done:**",
    ),
    *rows(
        "A bundle is published again",
        {("squash-merged, the branch deleted", "`publish`"): publish_after(squashed_and_deleted)},
        exit=0, says="and is merged", work=Work.BUNDLE, thread="**Done:**",
    ),
)  # fmt: skip

LAG = rows(
    "GitHub's API is behind a push",
    {(f"by {count} requests", "`publish`"): publish(lags(count)) for count in (2, 6)},
    exit=0, says="opened", work=Work.PULL,
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
        }
        | {
            ("SIGTERM", f"`publish`, its request {number}"): struck_at_github(signal.SIGTERM, number)
            for number in _PUBLISH[2:13]
            if number != 4
        },
        exit=130, says="cancelled", work=Work.PUBLISH, thread="Publishing was cancelled",
    ),
    *rows(
        "A signal",
        {
            ("SIGTERM", f"`publish`, its request {number}"): struck_at_github(signal.SIGTERM, number)
            for number in (14, 15, 16)
        },
        exit=130, says="cancelled", work=Work.PUBLISH, thread="**Done:**",
    ),
    *rows(
        "A signal",
        {("SIGTERM", "`review`, a command runs"): struck("review", signal.SIGTERM, _IN_COMMAND, shell("sleep 600"))},
        exit=130, says="ancelled", work=Work.NOTHING,
    ),
    *rows(
        "The sandbox is killed",
        {
            ("SIGKILL", "`fix`, a command runs"): struck(
                "fix", signal.SIGCONT, at_process("sleep 600", kill_sandbox), *_WAITING, DESCRIBE, DONE
            )
        },
        exit=0, says="1 file changed", work=Work.BRANCH, status="changed",
    ),
    *rows(
        "The sandbox is killed",
        {
            ("SIGKILL", "`fix`, the check with the change runs"): struck(
                "fix", signal.SIGCONT, at_process("sleep 15", kill_sandbox), *_EDITED, DESCRIBE, DONE,
                before=check_that_waits,
            )
        },
        exit=0, says="1 file changed", work=Work.BRANCH, status="changed",
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

_DAMAGES = {
    "the journal's last line is cut": damaged("journal.jsonl", lambda data: data[:-20]),
    "the journal has bytes that are not text": damaged(
        "journal.jsonl", lambda data: data[:2000] + b"\xff\0" + data[2000:]
    ),
    "the journal's first line is gone": damaged("journal.jsonl", lambda data: data.partition(b"\n")[2]),
    "the journal is empty": damaged("journal.jsonl", lambda data: b""),
    "the journal is gone": damaged("journal.jsonl"),
    "the git directory is gone": damaged("trusted.git"),
    "an object of the git directory is cut": damaged("trusted.git/objects/pack/*.pack", lambda data: data[:200]),
}  # fmt: skip

DAMAGED = (
    *rows(
        "The folder of a killed run is damaged",
        {(fault, "`salvage`"): killed_then("salvage", damage) for fault, damage in _DAMAGES.items()},
        exit=0, says="1 file changed so far", work=Work.BUNDLE, status="partial",
    ),
    *rows(
        "The folder of a killed run is damaged",
        {(fault, "`fix --continue`"): killed_then("fix", damage) for fault, damage in _DAMAGES.items()},
        exit=0, says="1 file changed", work=Work.BRANCH,
    ),
    *rows(
        "A run is still at work in its folder",
        {("", f"`{verb}`"): at_work(verb) for verb in ("salvage", "fix")},
        exit=75, says="busy", work=Work.BRANCH,
    ),
    *rows(
        "A run is still at work in its folder", {("", "`clean`"): at_work("clean")}, exit=0, says="", work=Work.BRANCH
    ),
    *rows(
        "A model writes 10 MB",
        {("the last message", "`run`"): run(*_EDITED, Say("All is well. " * 800_000))},
        exit=0, says="1 file changed", work=Work.PUBLISH, status="changed",
    ),
    *rows(
        "A model writes 10 MB",
        {
            ("an event of 20 MB that is no part of an answer", "`fix`, after the edits"): fix(
                *_EDITED, Raw(b"data: " + b"x" * 20_000_000), Say("Mended.")
            )
        },
        exit=0, says="1 file changed", work=Work.BRANCH, status="changed",
    ),
)  # fmt: skip

STRAYS = (
    *rows(
        "Something stray in the work tree",
        {(fault, "`fix`, the end"): fix(*change_and(command)) for fault, command in _STRAYS.items()}
        | {
            ("a tracked file of 7 MB was changed", "`fix`, the end"): fix(
                *change_and("printf x >> data.bin"), before=large_tracked_file
            ),
            ("a file of 10 MB that the model wrote", "`fix`, the end"): fix(
                *_EDITED, Turn((Call("write", {"path": "big.txt", "content": "x" * 10_000_000}),)), DESCRIBE, DONE
            ),
        },
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
        "A full disk",
        {("before the checkout", "`fix`"): fix(before=small_disk("home", 40_000))},
        exit=75, says="ree some disk space", work=Work.UNPAID,
    ),
    *rows(
        "A full disk",
        {("while the bundle is written", "`fix --out`"): with_out("small", small_disk("small", 4096))},
        exit=75, says="could not be written", work=Work.NAMED,
    ),
    *rows(
        "A full disk",
        {("no more files, before the checkout", "`fix`"): fix(before=few_inodes("home", 40))},
        exit=75, says="ree some disk space", work=Work.UNPAID,
    ),
    *rows(
        "A full disk",
        {
            ("files of at most 16 KiB", "`fix`, the end"): fix(
                *_EDITED, DESCRIBE, DONE,
                before=shell_first("export PYTHONDONTWRITEBYTECODE=1; ulimit -f 16"),
            )
        },
        exit=75, says="allow larger files", work=Work.NAMED,
    ),
    *rows(
        "A full disk",
        {
            ("in the gate", f"`{verb}`, the end"): play(*_EDITED, DESCRIBE, DONE, before=git_without_room)
            for verb, play in _LOCAL_AND_EVENT.items()
        },
        exit=75, says="the run broke off", work=Work.NAMED, status="failed",
    ),
    *rows(
        "A full disk",
        {
            (f"TMPDIR with {size} bytes", "`publish`"): publish(small_disk("tmp", size))
            for size in (4096, 20_000, 40_000)
        },
        exit=75, says="ree some disk space", work=Work.PUBLISH, thread="could not be published",
    ),
    *rows(
        "The repository lacks objects",
        {
            ("one file's content", "`fix`"): fix(before=missing_object("HEAD:tidytime/format.py")),
            ("one folder's list of files", "`fix`"): fix(before=missing_object("HEAD:tidytime")),
            ("a partial clone", "`fix`"): fix(before=partial_clone),
        },
        exit=2, says="lacks objects of this commit", work=Work.UNPAID,
    ),
    *rows(
        "The repository lacks objects",
        {("the index is damaged", "`fix`"): fix(before=damaged_index)},
        exit=2, says="written again by `git reset`", work=Work.UNPAID,
    ),
    *rows(
        "The repository lacks objects",
        {("a pack's index is cut", "`fix`"): fix(before=damaged_pack_index)},
        exit=2, says="fsck", work=Work.UNPAID,
    ),
    *rows(
        "The repository is renamed",
        {("before the first request", "`publish`"): publish(renamed)},
        exit=0, says="Pull request #2 opened", work=Work.PULL,
    ),
    *rows(
        "The same event comes twice",
        {("the request is done", "`run`"): published_before()},
        exit=0, says="done already", work=Work.PULL,
    ),
    *rows(
        "The same event comes twice",
        {("two comments are begun", "`run`"): begun_twice},
        exit=0, says="1 file changed", work=Work.PUBLISH, status="changed",
    ),
    *rows(
        "Somebody removes files of a run",
        {
            ("its folder", "`fix`, a command runs"): struck(
                "fix", signal.SIGTERM, at_call("sleep 600", damaged("../2*")), *_WAITING
            )
        },
        exit=75, says="was removed while", work=Work.NOTHING,
    ),
    *rows(
        "Somebody removes files of a run",
        {
            ("its journal", "`fix`, a command runs"): struck(
                "fix", signal.SIGTERM, at_call("sleep 600", damaged("journal.jsonl")), *_WAITING
            )
        },
        exit=75, says="could not be written", work=Work.NAMED,
    ),
    *rows(
        "An invalid token",
        {("it holds a line break", "`run`"): run(GITHUB_TOKEN="a\nb")},
        exit=2, says="holds a line break", work=Work.UNPAID,
    ),
    *rows(
        "A path that cannot be written",
        {
            ("--out is a file", "`fix`"): fix(options=("--out", __file__)),
            ("--out is a file", "`run`"): run(options=("--out", __file__)),
            ("--patch is a folder", "`fix`"): fix(options=("--patch", "/tmp")),
            ("--patch is in no folder", "`fix`"): fix(options=("--patch", "/nowhere/x.patch")),
            ("the repository is read-only", "`fix`"): fix(before=read_only_repository),
            ("a branch is named `agent`", "`fix`"): fix(before=branch_agent),
        },
        exit=2, says="slash-agent", work=Work.UNPAID,
    ),
    *rows(
        "A path that cannot be written",
        {("the folder for runs", "`fix`"): fix(before=inside("env", "XDG_STATE_HOME=/proc/x"))},
        exit=75, says="Set XDG_STATE_HOME", work=Work.UNPAID,
    ),
    *rows(
        "A machine that lacks resources",
        {
            (fault, f"`{verb}`"): play(before=before)
            for verb, play in _LOCAL_AND_EVENT.items()
            for fault, before in {
                "24 open files": shell_first("ulimit -n 24"),
                "git 2.17": old_git,
            }.items()
        },
        exit=75, says="slash-agent", work=Work.UNPAID,
    ),
    *rows(
        "A path that cannot be written",
        {
            ("the current folder is deleted", f"`{verb}`"): play(
                before=shell_first("mkdir gone; cd gone; rmdir ../gone")
            )
            for verb, play in _LOCAL_AND_EVENT.items()
        },
        exit=2, says="no longer exists", work=Work.UNPAID,
    ),
    *rows(
        "A machine that lacks resources",
        {("standard output is on a full disk", "`fix`"): fix(before=shell_first("exec >/dev/full"))},
        exit=75, says="standard output cannot be written", work=Work.BRANCH, status="changed",
    ),
    *rows(
        "A machine that lacks resources",
        {("a long TMPDIR", "`fix`"): fix(before=long_temporary_folder)},
        exit=0, says="1 file changed", work=Work.BRANCH, status="changed",
    ),
)  # fmt: skip

ROWS = (*MODEL, *GITHUB, *GIT, *FORBIDDEN, *BUNDLE, *LAG, *SIGNALS, *MACHINE, *STRAYS, *DAMAGED, *AGAIN)

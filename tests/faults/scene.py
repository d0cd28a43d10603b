"""One row of the table of faults: the real program, on a repository of its own, with one thing that goes wrong.

A `Play` is a function that does the row's work on a `Scene` and returns what the program answered. `Scene.check_end`
compares that with the row, and looks for what no end of the program may leave behind.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Concatenate, Literal, ParamSpec, TypeVar

from bot.session.run_folder import RunFolder, is_busy
from bot.toolhost.descendants import below
from slash_forge import Forge
from slash_forge.bundled import MAINTAINER
from slash_forge.forge import ACTIONS_BOT
from tests.support import warm
from tests.support.files import write_file
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, fix_steps, shell
from tests.support.model_script import Script, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import LEFT_OUT, POLICY, UNCHECKED, commit_all, git, sample_repository
from tests.support.stage import MODEL, CommandResult, Stage, command, open_stage

CHANGE = "round(abs(seconds))"
"""What the scripted model writes into the sample."""

_HEADLINE = re.compile(r"^(?:slash-agent [a-z]+: |[✔!✘] )")
_UNFINISHED = ("Working on it", "is being opened", "is being posted")
_LIMIT = 120.0


class Work(StrEnum):
    """Where the change is afterwards, as the page says it."""

    PULL = "in the pull request"
    PUBLISH = "in the bundle; `publish` opens the pull request"
    BUNDLE = "in the bundle"
    BRANCH = "on the new branch"
    NAMED = "in the run folder; the command in the message recovers it"
    SALVAGE = "in the run folder; `salvage` recovers it"
    UNPAID = "none yet: no model request was made"
    NOTHING = "none that can be trusted; ask again"


@dataclass(frozen=True)
class Row:
    """`says` is part of the program's headline or error; `thread` of a comment in the thread, before anything is
    published again. `status` is the bundle's, empty if there is no bundle."""

    cause: str
    fault: str
    point: str
    play: Play
    exit: int
    says: str
    work: Work
    status: str = ""
    thread: str = ""

    def __str__(self) -> str:
        return f"{self.cause}, {self.fault}: {self.point}"


@dataclass(frozen=True)
class Mended:
    """What a whole run left on the forge at `address`, whose main branch was at `base`."""

    address: str
    base: str
    bundle: Mapping[str, str]
    comments: Sequence[str]

    def put_back(self, stage: Stage) -> None:
        """As if the run had been on the forge of this stage."""

        def here(text: str) -> str:
            return text.replace(self.address, stage.forge.url).replace(self.base, stage.branches()["main"])

        stage.bundle.mkdir()
        for name, text in self.bundle.items():
            (stage.bundle / name).write_text(here(text))
        for body in self.comments:
            stage.forge.comment(stage.repo, stage.sample.issue, ACTIONS_BOT, here(body))


_MENDED: list[Mended] = []
"""The one of this process, once there is one."""


@dataclass
class Scene:
    stage: Stage
    requests: int = 0
    inside: Sequence[str] = ()
    """Put before the command: a machine on which something is wrong."""
    program: int = 0
    """The process id of the program that is to get a signal."""
    killed: bool = False
    """By SIGKILL, after which nothing can be tidied."""
    ran: CommandResult = field(default_factory=lambda: CommandResult(0, "", ""))

    # -- what a row starts

    @property
    def forge(self) -> Forge:
        return self.stage.forge

    @property
    def repo(self) -> Path:
        """A local checkout of the sample, made when it is asked for first."""
        path = self.stage.folder / "tidytime"
        if not path.exists():
            sample_repository(path)
            (path / POLICY).write_text(UNCHECKED)
            commit_all(path)
        return path

    @property
    def runs(self) -> list[Path]:
        """Run folders, those of local runs and those of events."""
        places = (self.stage.temp / "slash-agent", self.stage.folder / "home/.local/state/slash-agent/runs")
        return [root for place in places if place.is_dir() for root in sorted(place.iterdir())]

    @property
    def journal(self) -> str:
        return "".join(
            file.read_text(errors="replace") for root in self.runs for file in root.glob("journal.jsonl")
        )

    def environment(self, verb: str, **more: str) -> dict[str, str]:
        token = {"run": self.stage.sample.run_token, "publish": self.stage.sample.publish_token}.get(verb, "")
        environment = self.stage.environment(token, TMPDIR=str(self.temporary), **more)
        if verb in ("run", "publish"):
            return environment
        return {
            name: value for name, value in environment.items() if not name.startswith(("GITHUB", "RUNNER"))
        }

    @property
    def temporary(self) -> Path:
        folder = self.stage.folder / "tmp"
        folder.mkdir(exist_ok=True)
        return folder

    def argv(self, verb: str, *options: object) -> list[str]:
        match verb:
            case "run":
                return self.stage.run_command(*options)
            case "publish":
                return command("publish", "--bundle", self.stage.bundle, *options)
            case "fix":
                return command("fix", "--repo", self.repo, "--model", MODEL, *options, "x")
            case "review":
                return command("review", "--repo", self.repo, "--base", "HEAD~1", "--model", MODEL, *options)
        return command(verb, *options)

    def call(self, argv: Sequence[str], **environment: str) -> CommandResult:
        """Run the program to its end."""
        variables = self.environment(argv[4], **environment)
        completed = warm.run([*self.inside, *argv], variables, self.stage.folder)
        return CommandResult(completed.returncode, completed.stdout, completed.stderr)

    def play_model(
        self, script: Sequence[Step] | Script, argv: Sequence[str], **environment: str
    ) -> CommandResult:
        with ModelServer(script) as model:
            ran = self.call(argv, **self.model_variables(model), **environment)
            self.requests = len(model.requests)
        return ran

    def model_variables(self, model: ModelServer) -> dict[str, str]:
        return {**model.environment(), "SLASH_AGENT_MODEL": MODEL}

    def mend(self) -> None:
        """The bundle and the comments of a whole run for the event, which wait to be published. It is made once, since
        it is the same on every forge but for address and base."""
        if _MENDED:
            _MENDED[0].put_back(self.stage)
            return
        ran = self.play_model(fix_steps(), self.argv("run"))
        assert ran.code == 0, ran.output
        bundle = {file.name: file.read_text() for file in self.stage.bundle.iterdir()}
        base = self.stage.branches()["main"]
        _MENDED.append(Mended(self.forge.url, base, bundle, self.stage.bot_comments()))

    def new_token(self) -> str:
        """For the job that publishes; the first one may have ended."""
        permissions = {"contents": "write", "issues": "write", "pull_requests": "write"}
        return self.forge.token(ACTIONS_BOT, permissions, repo=self.stage.repo)

    # -- what must be true afterwards

    def play(self, row: Row) -> None:
        """Do what the row says, and compare the end."""
        self.ran = ran = row.play(self)
        assert ran.code == row.exit, f"exit {ran.code}: {ran.output}"
        assert "Traceback" not in ran.output and "internal error, please" not in ran.output
        assert "Github server" not in ran.output  # PyGithub's own words
        assert not row.says or any(row.says in line for line in self.headlines()), (
            row.says,
            self.headlines(),
        )
        outcome = self.bundle / "outcome.json"
        if row.status:
            assert json.loads(outcome.read_text())["status"] == row.status
        self._check_nothing_is_left()
        if row.thread:
            assert any(row.thread in body for body in self.stage.bot_comments()), self.stage.bot_comments()
        self._check_work(row.work)
        unfinished = [body for body in self.stage.bot_comments() if any(word in body for word in _UNFINISHED)]
        assert unfinished == []

    def headlines(self) -> list[str]:
        """The lines by which people know how it ended; all of them if there is none of that kind."""
        lines = [line for line in self.ran.output.splitlines() if line.strip()]
        return [line for line in lines if _HEADLINE.match(line)] or lines

    @property
    def bundle(self) -> Path:
        """The bundle of the event, or of the last local run."""
        local = [root / "bundle" for root in self.runs if (root / "bundle").is_dir()]
        return self.stage.bundle if self.stage.bundle.exists() or not local else local[-1]

    def _check_nothing_is_left(self) -> None:
        wait_for(
            lambda: not self.stage.remaining_processes(),
            lambda: f"processes are left: {self.stage.remaining_processes()}",
        )
        for root in self.runs:
            if not (
                self.killed or root.is_relative_to(self.stage.temp)
            ):  # there the runner removes all of it
                wait_for(partial(_has_one_tree, root), partial("{}: {}".format, root, os.listdir(root)))
            assert not is_busy(RunFolder(root))
        if not self.killed:
            assert [path for path in self.temporary.rglob("*") if not path.name.startswith("long-")] == []

    def _check_work(self, work: Work) -> None:
        self.inside = ()  # people put the machine right first
        match work:
            case Work.PUBLISH:
                self._check_published(publish=True)
            case Work.PULL:
                self._check_published(publish=False)
            case Work.BUNDLE:
                assert CHANGE in (self.bundle / "changes.patch").read_text()
            case Work.BRANCH:
                [branch] = git(self.repo, "for-each-ref", "--format=%(refname)", "refs/heads/agent").split()
                assert CHANGE in git(self.repo, "show", branch)
            case Work.NAMED:
                environment = re.search(
                    r"slash-agent salvage ([^`\n]+?)(?:`|$)", self.ran.output, re.MULTILINE
                )
                assert environment, f"no command is named: {self.ran.output}"
                self._check_salvaged(*shlex.split(environment[1]))
            case Work.SALVAGE:
                self._check_salvaged(self.runs[-1])
            case Work.UNPAID:
                assert self.requests == 0
            case Work.NOTHING:
                assert self.stage.pulls() == []

    def _check_published(self, *, publish: bool) -> None:
        if publish:
            bundle = {file.name: file.read_bytes() for file in self.stage.bundle.iterdir()}
            self.forge.end_faults()
            again = self.call(self.argv("publish"), GITHUB_TOKEN=self.new_token())
            assert again.code == 0, again.output
            assert {file.name: file.read_bytes() for file in self.stage.bundle.iterdir()} == bundle
        comments = self.stage.bot_comments()
        assert len(set(comments)) == len(comments) <= 2
        assert not any("could not be published" in body for body in comments)
        [pull] = self.stage.pulls()
        files = self.stage.get(f"pulls/{pull['number']}/files")
        assert any(CHANGE in file.get("patch", "") for file in files)
        assert len(self.stage.branches()) == 2

    def _check_salvaged(self, *arguments: object) -> None:
        """A run for an event is published then, as the second job would have done."""
        for_event = self.runs[-1].is_relative_to(self.stage.temp)
        out = self.stage.bundle if for_event else self.stage.folder / "salvaged"
        salvaged = self.call(command("salvage", *arguments, "--out", out))
        assert salvaged.code == 0, salvaged.output
        assert CHANGE in (out / "changes.patch").read_text()
        if for_event:
            self._check_published(publish=True)


Play = Callable[[Scene], CommandResult]
Fault = Callable[[Scene], None]
_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


def later(act: Callable[Concatenate[Scene, _Given], _Answer]) -> Callable[_Given, Callable[[Scene], _Answer]]:
    """`act` for a row: it is given all but the scene now, and the scene when the row is played."""
    return lambda *given, **named: lambda scene: act(scene, *given, **named)


def _has_one_tree(root: Path) -> bool:
    """Whether what cleans up behind a run has ended with it: at most the tree for `salvage` is left."""
    return not is_busy(RunFolder(root)) and len(list(root.glob("tree*"))) <= 1


def wait_for(condition: Callable[[], bool], otherwise: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + _LIMIT
    while not condition():
        assert time.monotonic() < deadline, otherwise() or "what was waited for did not happen"
        threading.Event().wait(0.05)


# -- plays


def fix(
    *steps: Step, options: Sequence[object] = (), before: Fault | None = None, **environment: str
) -> Play:
    """`slash-agent fix` with a model that says `steps`; one that mends the sample without any."""
    return _with_model("fix", steps, options, before, environment)


def run(
    *steps: Step, options: Sequence[object] = (), before: Fault | None = None, **environment: str
) -> Play:
    """`slash-agent run` for the sample's event."""
    return _with_model("run", steps, options, before, environment)


@later
def _with_model(
    scene: Scene, verb: str, steps: Sequence[Step], options: Sequence[object], before: Fault | None,
    environment: dict[str, str],
) -> CommandResult:  # fmt: skip
    if before:
        before(scene)
    # The gate may have a word before the model ends.
    return scene.play_model([*(steps or fix_steps()), DONE, DONE], scene.argv(verb, *options), **environment)


@later
def publish(scene: Scene, *faults: Fault, in_job: bool = False) -> CommandResult:
    """`slash-agent publish` of a good run's bundle, after `faults`; with `in_job` in a job of the event, which says in
    which thread somebody waits."""
    scene.mend()
    for fault in faults:
        fault(scene)
    event = {
        "GITHUB_EVENT_NAME": "issue_comment",
        "GITHUB_EVENT_PATH": str(scene.stage.event_file(scene.stage.sample.event)),
    }
    return scene.call(scene.argv("publish"), **(event if in_job else {}))


@later
def in_bundle(scene: Scene, path: str, change: Callable[[bytes], bytes]) -> None:
    """A file of the bundle is not what the run wrote."""
    file = scene.stage.bundle / path
    file.write_bytes(change(file.read_bytes()))


@later
def published_before(scene: Scene) -> CommandResult:
    """`run` for an event whose result is published already."""
    scene.mend()
    published = scene.call(scene.argv("publish"))
    assert published.code == 0, published.output
    return scene.play_model([], scene.argv("run"))


def without_bundle(scene: Scene) -> None:
    shutil.rmtree(scene.stage.bundle)


def begun_twice(scene: Scene) -> CommandResult:
    """Two runs of one event, for each of which the action began a comment before either looked."""
    stage = scene.stage
    mark = f"<!-- slash-agent progress request={stage.sample.event['comment']['id']} run=77 state=over -->"
    begun = [
        scene.forge.comment(stage.repo, stage.sample.issue, ACTIONS_BOT, f"Begun.\n\n{mark}\n")[0]
        for _ in range(2)
    ]
    for number in begun:
        ran = scene.play_model(fix_steps(), scene.argv("run"), SLASH_AGENT_COMMENT=str(number))
    return ran


@later
def publish_after(scene: Scene, end: Callable[[Scene, int], object]) -> CommandResult:
    """`publish` of a bundle that was published before, after `end` of its pull request."""
    scene.mend()
    published = scene.call(scene.argv("publish"))
    assert published.code == 0, published.output
    end(scene, scene.stage.pulls()[0]["number"])
    return scene.call(scene.argv("publish"))


def squashed_and_deleted(scene: Scene, number: int) -> None:
    [pull] = scene.stage.pulls()
    scene.forge.merge(scene.stage.repo, number, MAINTAINER, "squash")
    scene.forge.delete_branch(scene.stage.repo, pull["head"]["ref"])


def closed(scene: Scene, number: int) -> None:
    scene.forge.set_thread(scene.stage.repo, number, state="closed")


@later
def publish_twice_at_once(scene: Scene, *, push_waits: bool = True) -> CommandResult:
    """Two jobs with the same bundle, of which the one waits for the other's push, or that simply race. What the slower
    one says."""
    scene.mend()
    if push_waits:
        scene.forge.delay_next("POST", "git-receive-pack$", seconds=1.0)
    variables = scene.environment("publish")
    with subprocess.Popen(scene.argv("publish"), env=variables, stdout=subprocess.PIPE, text=True) as other:
        wait_for(lambda: not scene.forge.faults_waiting)
        ran = scene.call(scene.argv("publish"))
        said, _ = other.communicate(timeout=_LIMIT)
        return CommandResult(other.returncode or ran.code, ran.out + said, ran.err)


def change_and(*commands: str) -> tuple[Step, ...]:
    """A model that mends the sample and then runs `commands`."""
    return (VIEW, Turn(EDITS), *(shell(text) for text in commands), DESCRIBE, DONE)


# -- faults of GitHub's API and of its git server; `path` is a regular expression


@later
def answers(
    scene: Scene, status: int, method: str, path: str, message: str = "Blocked", times: int = 1
) -> None:
    """GitHub answers so, and does nothing."""
    headers: dict[str, str] = {}
    body: object = {"message": message}
    if "info/refs" in path:  # git shows people plain text alone
        headers["Content-Type"], body = "text/plain", f"{message}\n"
    scene.forge.fail_next(method, path, status, body=body, headers=headers, times=times)


def drops(method: str, path: str, *, after: bool = False, times: int = 1) -> Fault:
    """The connection breaks before, or `after`, the request has its effect."""
    return lambda scene: scene.forge.drop_next(method, path, after_effect=after, times=times)


def silent(method: str, path: str) -> Fault:
    """GitHub takes the request and says nothing until the program gives up."""
    return lambda scene: scene.forge.drop_next(method, path, seconds=35.0)


def limits(kind: Literal["primary", "secondary"], method: str, path: str, seconds: int) -> Fault:
    """GitHub's rate limit, which ends in so many `seconds`."""
    return lambda scene: scene.forge.limit_next(method, path, kind=kind, retry_after=seconds)


def forbidden_branch(scene: Scene) -> None:
    """A ruleset lets nobody make branches below agent/."""
    scene.forge.add_rule(scene.stage.repo, "agent/*", "creation")


def server_branch(name: str) -> Fault:
    """Somebody made a branch of that name on the server."""
    return lambda scene: scene.forge.commit(scene.stage.repo, {"a": "b"}, branch=name) and None


def archived(scene: Scene) -> None:
    """The repository takes no writes, as the event says."""
    scene.stage.sample.event["repository"]["archived"] = True


def without_access(scene: Scene) -> None:
    """The account that asked may no longer write."""
    scene.forge.grant(scene.stage.repo, MAINTAINER, "read")


def renamed(scene: Scene) -> None:
    owner = scene.stage.repo.partition("/")[0]
    scene.forge.rename_repository(scene.stage.repo, f"{owner}/renamed")


def lags(requests: int) -> Fault:
    """So many requests of the API see everything as it was before the push."""
    return lambda scene: scene.forge.lag_behind(scene.stage.repo, requests)


def token_ends(requests: int) -> Fault:
    """The token of `publish` is worth nothing after so many requests."""
    return lambda scene: scene.forge.kill_token(scene.stage.sample.publish_token, after=requests)


@later
def nth(scene: Scene, number: int, fault: Fault) -> None:
    """`fault` for the request `number`, counted from 1; those before are answered as always."""
    scene.forge.delay_next(seconds=0.0, times=number - 1)
    fault(scene)


# -- damage to the folder of a run that died


@later
def damaged(scene: Scene, path: str, change: Callable[[bytes], bytes] | None = None) -> None:
    """`change` a file of the run's folder; without it the file or folder is removed."""
    [file] = [file for root in scene.runs for file in root.glob(path)]
    if change is not None:
        file.write_bytes(change(file.read_bytes()))
    elif file.is_dir():
        for _ in range(100):  # processes may still write in it
            shutil.rmtree(file, ignore_errors=True)
            if not file.exists():
                break
    else:
        file.unlink()


# -- machines on which something is wrong


@later
def inside(scene: Scene, *command: str) -> None:
    """Every command of the row is run by `command`."""
    scene.inside = command


def shell_first(script: str) -> Fault:
    """The shell `script` runs in the process that becomes the program."""
    return inside("bash", "-c", f'{script}; exec "$@"', "bash")


@later
def small_disk(scene: Scene, path: str, size: int) -> None:
    """A folder of the stage is a disk of so many bytes, which is gone afterwards."""
    folder = scene.stage.folder / path
    folder.mkdir(exist_ok=True)
    scene.inside = ("bwrap", "--dev-bind", "/", "/", "--size", str(size), "--tmpfs", str(folder), "--")


def with_out(path: str, before: Fault) -> Play:
    """`fix --out` below a folder of the stage."""
    return lambda scene: fix(options=("--out", scene.stage.folder / path / "bundle"), before=before)(scene)


@later
def few_inodes(scene: Scene, path: str, number: int) -> None:
    """A folder of the stage is a disk that takes so many files, which is gone afterwards."""
    folder = scene.stage.folder / path
    folder.mkdir(exist_ok=True)
    mount = f"mount -t tmpfs -o nr_inodes={number} tmpfs {shlex.quote(str(folder))}"
    scene.inside = ("unshare", "-rm", "bash", "-c", f'{mount} && exec "$@"', "bash")


def read_only_repository(scene: Scene) -> None:
    repo = str(scene.repo)
    scene.inside = ("bwrap", "--dev-bind", "/", "/", "--ro-bind", repo, repo, "--")


@later
def missing_object(scene: Scene, name: str) -> None:
    """An object is gone from the local repository."""
    sha = git(scene.repo, "rev-parse", name)
    (scene.repo / ".git/objects" / sha[:2] / sha[2:]).unlink()


def damaged_pack_index(scene: Scene) -> None:
    git(scene.repo, "repack", "-adq")
    [index] = (scene.repo / ".git/objects/pack").glob("*.idx")
    index.chmod(0o644)
    index.write_bytes(index.read_bytes()[:1100])


def damaged_index(scene: Scene) -> None:
    (scene.repo / ".git/index").write_bytes(b"damaged")


def partial_clone(scene: Scene) -> None:
    """The local repository has no file's content."""
    whole = scene.repo.rename(scene.stage.folder / "whole")
    git(whole, "config", "uploadpack.allowFilter", "true")
    to = scene.stage.folder / "tidytime"
    git(whole, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{whole}", str(to))


def large_tracked_file(scene: Scene) -> None:
    (scene.repo / "data.bin").write_bytes(bytes(7_000_000))
    commit_all(scene.repo)


def check_that_waits(scene: Scene) -> None:
    """The check of the local repository waits if the change is there."""
    check = '"! grep -q round.abs.seconds tidytime/format.py || sleep 15"'
    (scene.repo / POLICY).write_text(UNCHECKED.replace(repr(LEFT_OUT), check))
    commit_all(scene.repo)


def short_wait(scene: Scene) -> None:
    """The policy waits two seconds for the first byte of an answer."""
    (scene.repo / POLICY).write_text(f"{UNCHECKED}models: {{{MODEL}: {{timeout: 2}}}}\n")
    commit_all(scene.repo, "Wait less")


def old_git(scene: Scene) -> None:
    """A git from 2018 comes first on the PATH."""
    _put_before_git(scene, 'test "$1" = version && echo git version 2.17.1 && exit')


def git_without_room(scene: Scene) -> None:
    """The disk is full when the gate has its files checked by git."""
    full = 'echo "fatal: write error: No space left on device" >&2; exit 128'
    _put_before_git(scene, f'case "$*" in *--fsck-objects*) {full};; esac')


def _put_before_git(scene: Scene, script: str) -> None:
    program = scene.stage.folder / "programs" / "git"
    write_file(program, f'#!/bin/sh\n{script}\nexec /usr/bin/git "$@"\n', 0o755)
    scene.inside = ("env", f"PATH={program.parent}:{os.environ['PATH']}")


def long_temporary_folder(scene: Scene) -> None:
    """Longer than the name of a socket may be."""
    folder = scene.temporary / ("long-" * 30)
    folder.mkdir()
    scene.inside = ("env", f"TMPDIR={folder}")


def branch_agent(scene: Scene) -> None:
    """No branch below it can be made."""
    git(scene.repo, "branch", "agent")


# -- signals, each at a point of the program


At = Callable[[Scene], bool]


@later
def at_call(scene: Scene, text: str, damage: Fault | None = None) -> bool:
    """Once the run's journal has `text`; then `damage` is done, too."""
    reached = text in scene.journal
    if reached and damage:
        damage(scene)
    return reached


@later
def at_process(scene: Scene, text: str, damage: Fault) -> bool:
    """Once a process of the program has a command line that starts with `text`; then `damage` is done."""
    if reached := any(command_line(number).startswith(text) for number in below(scene.program)):
        damage(scene)
    return reached


def command_line(number: int) -> str:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def kill_sandbox(scene: Scene) -> None:
    """Every process behind the wall is killed."""
    for number in [one for one in below(scene.program) if command_line(one).split(" ")[0].endswith("bwrap")]:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


@later
def struck(
    scene: Scene, verb: str, by: signal.Signals, at: At, *steps: Step, options: Sequence[object] = (),
    before: Fault | None = None,
) -> CommandResult:  # fmt: skip
    """The verb gets the signal `by` at a point."""
    if before:
        before(scene)
    with ModelServer(steps) as model:
        variables = scene.environment(verb, **scene.model_variables(model))
        ran = _strike(scene, verb, by, lambda: at(scene), variables, *options)
        scene.requests = len(model.requests)
    return ran


@later
def at_work(scene: Scene, verb: str) -> CommandResult:
    """`verb` is given the folder of a run that is at work."""
    ran = CommandResult(0, "", "")

    def reached() -> bool:
        nonlocal ran
        if "sleep 600" not in scene.journal:
            return False
        [root] = scene.runs
        ran = scene.call(
            scene.argv("fix", "--continue", root)
            if verb == "fix"
            else command(verb, root, *(("--yes",) if verb == "clean" else ()))
        )
        return True

    with ModelServer([VIEW, Turn(EDITS), shell("sleep 600")]) as model:
        _strike(
            scene, "fix", signal.SIGTERM, reached, scene.environment("fix", **scene.model_variables(model))
        )
    return ran


@later
def killed_then(scene: Scene, verb: str, damage: Fault) -> CommandResult:
    """A local run is killed while a command runs, `damage` is done, and `verb` takes it up."""
    struck("fix", signal.SIGKILL, at_call("sleep 600"), VIEW, Turn(EDITS), shell("sleep 600"))(scene)
    damage(scene)
    [root] = scene.runs
    if verb == "salvage":
        return scene.call(command("salvage", root))
    return scene.play_model([DESCRIBE, DONE, DONE], scene.argv("fix", "--continue", root))


@later
def struck_at_github(scene: Scene, by: signal.Signals, number: int) -> CommandResult:
    """`publish` gets the signal while it waits for the answer to its request number `number`, counted from 1."""
    scene.mend()
    nth(number, lambda scene: scene.forge.drop_next(seconds=_LIMIT))(scene)
    return _strike(scene, "publish", by, lambda: not scene.forge.faults_waiting, scene.environment("publish"))


def _strike(
    scene: Scene, verb: str, by: signal.Signals, reached: Callable[[], bool], variables: dict[str, str],
    *options: object,
) -> CommandResult:  # fmt: skip
    scene.killed = by == signal.SIGKILL
    argv = scene.argv(verb, *options)

    def started(program: int) -> None:
        scene.program = program

    completed = warm.run_with_signal(argv, variables, by, reached, scene.stage.folder, _LIMIT, started)
    return CommandResult(completed.returncode, completed.stdout, completed.stderr)


def open_scene(forge: Forge, folder: Path) -> Scene:
    return Scene(open_stage(forge, folder, checks=False))

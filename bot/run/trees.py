"""The work trees of one run beside the agent's own: one that `bring:` and `setup:` prepare, and one for each round of
checks.

A tree for checks is made from the base (or from the patched tree object) and from what was prepared, never from the
agent's tree: a planted `.pyc` there could turn a check green. Folders of packages are shared by all trees, read-only.
Other files that setup made are packed and unpacked by commands in a workshop, so the supervisor opens none of them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from bot.checkout.clone import Checkout, materialise
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.room import when_there_is_room
from bot.contracts.tools import ToolOutcome
from bot.environment.detected import guarded_folder
from bot.environment.editable import dependencies
from bot.environment.folders import folders_in, marked_as_made
from bot.policy.schema import SetupStep
from bot.run import build_caches
from bot.run.background import Background
from bot.run.build_caches import BuildCache
from bot.run.checks import whole
from bot.run.folder import RunFolder
from bot.run.history import History
from bot.run.network import refused
from bot.run.store import EnvironmentStore
from bot.sandbox.confinement import NO_DEPENDENCIES, Dependencies, EnvironmentFolder
from bot.sandbox.credentials import credentials_in
from bot.workshop.client.workshop import Workshop

Say = Callable[[str], None]

HoldTo = Callable[[Sequence[str], Workshop], None]
"""`hold_to(presets, workshop)`: reach no more of the network than these egress presets from now on."""

_TAIL = 1_000
_COPY_LIMIT = 600
# What git does not track, links as links, less the folders that are shared.
_PACK = (
    "set -o pipefail; git ls-files --others -z -- . {shared}"
    ' | tar --null --no-recursion -T - -Scf "$TMPDIR"/{archive}'
)
_UNPACK = "tar -xf {archive}"
_ARCHIVE = "prepared.tar"
_TELLING = re.compile(r"(?i)\berr(?:or)?\b[:!]|\bfatal\b|refused|not found|no such|no matching")
_FAILED = (
    "What the checks need could not be installed: {}. Write the commands that install it under `setup:` in the policy "
    "(`slash-agent init` proposes some), or turn this off with the action's input `prepare: off`."
)


@dataclass(frozen=True, slots=True)
class Outfit:
    """What a tree gets beside the files of its commit: folders that are shared; and, which a workshop sees read-only
    and copies, the archive of the others and the caches of builds."""

    dependencies: Dependencies = NO_DEPENDENCIES
    archive: Path | None = None
    caches: tuple[BuildCache, ...] = ()

    @property
    def read_only(self) -> tuple[Path, ...]:
        archive = (self.archive,) if self.archive else ()
        return (*archive, *(one.source for one in self.caches))


class Open(Protocol):
    """Starts a workshop over a tree; it does not unpack the archive."""

    def __call__(self, name: str, tree: Path, outfit: Outfit, /) -> Workshop: ...


class SetupError(UsageError):
    """A `setup:` command of the policy failed, or a `bring:` folder is not there."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What setup left, and which of its files git does not ignore."""

    outfit: Outfit
    made: frozenset[str]


@dataclass(frozen=True, slots=True)
class _BaseRound:
    """The first round on the base, whose caches later rounds copy once its workshop is closed."""

    workshop: Workshop
    home: Path
    tree: Path


class Trees:
    """`open` starts a workshop; `origin` is where `bring:` folders come from; `say` takes a line about each step
    of the preparation, on a thread of its own; `hold_to` is called before each with what it may reach. `own` are
    the folders of packages that the checkout at `origin` has: of these, what `bring:` names is shared, or all with
    `share_all`.

    `prepared_from` is the commit whose files setup sees, if not the base that is worked on. Nobody wrote that setup
    for the bot: if it fails, `failure` says why, and the run goes on without. What is in `store` is not made again."""

    failure = ""

    def __init__(
        self, checkout: Checkout, folder: RunFolder, open: Open, setup: Sequence[SetupStep], bring: Sequence[str],
        origin: Path | None, say: Say, hold_to: HoldTo = lambda presets, workshop: None,
        own: Callable[[], Sequence[EnvironmentFolder]] = tuple, *, share_all: bool = False, prepared_from: str = "",
        store: EnvironmentStore | None = None,
    ) -> None:  # fmt: skip
        self._checkout = checkout
        self._history = History(checkout)
        self._folder = folder
        self._open = open
        self._setup = tuple(setup)
        self._bring = tuple(bring)
        self._origin = origin
        self._say = say
        self._hold_to = hold_to
        self._own = own
        self._share_all = share_all
        self._prepared_from = prepared_from
        self._store = store
        self._shared: Outfit | None = None
        self._base_round: _BaseRound | None = None
        self._preparing: Background[_Prepared] | None = None

    def begin(self, cancel: CancelToken) -> None:
        """Start preparing, if there is anything to prepare; at once back. What fails is raised by whoever
        needs the result: as a `SetupError` with the command's last words."""
        if self._steps() or not {folder.path for folder in self._own_shared()}.issuperset(self._bring):
            self._preparing = Background(lambda: self._prepare(cancel), "prepare")

    @property
    def need_preparing(self) -> bool:
        return self._preparing is not None

    def outfit(self) -> Outfit:
        """What every tree gets. Waits for the preparation."""
        if self._preparing:
            return self._preparing.result().outfit
        if self._shared is None:
            own = self._own_shared()
            caches = tuple(build_caches.of_checkout(own))
            self._shared = Outfit(self._dependencies(own, ()), caches=caches)
        return self._shared

    def made(self) -> frozenset[str]:
        """The files that setup made and git does not ignore: there before the agent began, so not its work."""
        return self._preparing.result().made if self._preparing else frozenset()

    def unpack(
        self,
        workshop: Workshop,
        cancel: CancelToken,
        outfit: Outfit | None = None,
        *,
        home_only: bool = False,
    ) -> None:
        """Give the tree and the HOME of `workshop` what setup left, and the caches of builds."""
        outfit = outfit or self.outfit()
        if outfit.archive is not None and not home_only:
            command = _UNPACK.format(archive=shlex.quote(str(outfit.archive)))
            _succeed(workshop.call("bash", whole(command, _COPY_LIMIT), cancel), "unpacked")
        if caches := [one for one in outfit.caches if one.in_home or not home_only]:
            workshop.call("bash", whole(build_caches.command_for(caches), _COPY_LIMIT), cancel)

    def notes(self) -> tuple[str, ...]:
        """For people: that the environment could not be prepared, by the command and the last lines that it printed."""
        if not self.failure:
            return ()
        lines = (line.strip()[:300] for line in self.failure.splitlines())
        first, *rest = (line for line in lines if line and not line.startswith("[exit code"))
        telling = [line for line in rest if _TELLING.search(line)] or rest
        return (_FAILED.format(" / ".join((first, *telling[-3:]))),)

    def settle(self) -> None:
        """Wait for a preparation under way, so that its workshop is gone before its folder is."""
        if self._preparing is not None:
            self._preparing.wait()

    def for_checks(self, name: str, cancel: CancelToken, tree_sha: str | None = None) -> Workshop:
        """A workshop over a new tree: the base, or `tree_sha`, with what setup left behind."""
        tree = self._folder.root / f"tree-{name}"
        outfit = self.outfit()
        outfit = replace(outfit, caches=self._caches(outfit))
        materialise(self._checkout, tree, tree_sha=tree_sha)
        workshop = self._open(name, tree, outfit)
        try:
            self.unpack(workshop, cancel, outfit)
        except BaseException:
            workshop.close()
            raise
        if tree_sha is None and self._base_round is None:
            self._base_round = _BaseRound(workshop, self._folder.home(name), tree)
        return workshop

    def _caches(self, outfit: Outfit) -> tuple[BuildCache, ...]:
        """Those of the first round on the base in place of older ones. Nothing that a changed tree wrote."""
        base = self._base_round
        if base is None or not base.workshop.closed:
            return outfit.caches
        folders = self._folders_in(base.tree)
        targets = [one.path for one in folders if one.is_build_output]
        newer = tuple(build_caches.of_round(base.home, base.tree, targets))
        older = (one for one in outfit.caches if not any(one.place.startswith(new.place) for new in newer))
        return (*older, *newer)

    def _steps(self) -> tuple[SetupStep, ...]:
        """The setup without steps for folders that the checkout has already, as `init` writes them."""
        if not self._share_all:
            return self._setup
        there = {folder.path for folder in self._own()}
        return tuple(step for step in self._setup if guarded_folder(step.command) not in there)

    def _own_shared(self) -> tuple[EnvironmentFolder, ...]:
        """The folders of the checkout that need not be copied: no `setup:` command writes in them."""
        brought = set() if self._setup else set(self._bring)
        return tuple(
            one for one in self._own() if self._share_all or (one.path in brought and not one.is_build_output)
        )

    def _dependencies(self, folders: Sequence[EnvironmentFolder], tops: Sequence[Path]) -> Dependencies:
        origin = (self._origin,) if self._origin else ()
        shared = [one for one in folders if not one.is_build_output]
        return dependencies(shared, (*tops, *origin), self._history.paths()) if shared else NO_DEPENDENCIES

    def _prepare(self, cancel: CancelToken) -> _Prepared:
        if not self._prepared_from:
            return self._make(cancel)
        record = self._store.read() if self._store else None
        if self._store and record and not record.failure:
            self._say("the environment is prepared already")
            return self._prepared_in(self._store.folder, record.made)
        try:
            if record:
                raise SetupError(record.failure)
            return self._make(cancel)
        except SetupError as error:
            self.failure = str(error)
            self._say(f"The environment could not be prepared, so checks may not run: {error}")
            return _Prepared(Outfit(), frozenset())

    def _make(self, cancel: CancelToken) -> _Prepared:
        tree = self._folder.prepared
        materialise(self._checkout, tree, tree_sha=self._prepared_from or None)
        own = self._own_shared()
        for name in self._bring:
            if self._setup or name not in {folder.path for folder in own}:
                self._say(f"bringing {name}")
                self._copy_in(name, tree)
        with self._open("setup", tree, Outfit()) as workshop:
            for step in self._steps():
                self._say(f"setup: {step.command}")
                self._hold_to(step.egress, workshop)
                _run_step(workshop, step, cancel)
            _pack(workshop, self._folders_in(tree), cancel)
            workshop.call("bash", whole(build_caches.FORGET_DOWNLOADS, _COPY_LIMIT), cancel)
        from bot.gate.tree import untracked_files  # the gate is loaded where it is used, not before a request

        left = untracked_files(self._checkout.git, self._prepared_from or self._checkout.base_sha, tree)
        return self._prepared_in(self._folder, left)

    def _prepared_in(self, folder: RunFolder, left: frozenset[str]) -> _Prepared:
        """What setup left in `folder`. Its processes are dead: one could put a link in the place of a folder."""
        tree = folder.prepared
        own = self._own_shared()
        kept = [one for one in own if not os.path.lexists(tree / one.path) or not one.path]
        made = marked_as_made(self._folders_in(tree))
        found = self._dependencies((*made, *kept), (tree,))
        caches = (
            *build_caches.of_home(folder.home("setup")),
            *build_caches.of_checkout((*made, *kept)),
        )
        archive = folder.workshop("setup") / "tmp" / _ARCHIVE
        return _Prepared(Outfit(found, archive, caches), left)

    def _folders_in(self, tree: Path) -> tuple[EnvironmentFolder, ...]:
        return folders_in(tree, self._checkout.git, self._history.paths())

    def _copy_in(self, name: str, tree: Path) -> None:
        if self._origin is None:
            raise SetupError(
                f"the policy or the task brings {name}, but this run has no folder to bring it from"
            )
        source, target = self._origin / name, tree / name
        if not source.is_dir():
            raise SetupError(f"the policy or the task brings {name}, but there is no folder {source}")
        parent = Path(os.path.realpath(target.parent))
        if not parent.is_relative_to(os.path.realpath(tree)):
            raise SetupError(f"the policy or the task brings {name}, which leads out of the repository")
        parent.mkdir(parents=True, exist_ok=True)
        # The base may have a link where the folder has a file: it gives way, nothing is written through it.
        cp = shutil.which("cp", path=f"/usr/bin:/bin:{os.environ.get('PATH', '')}") or "/bin/cp"
        copy = [cp, "-a", "--remove-destination", "--reflink=auto", "--", str(source), str(parent)]
        done = when_there_is_room(lambda: subprocess.run(copy, env={}, capture_output=True, check=False))
        if done.returncode:
            raise SetupError(
                f"{name} could not be brought: {done.stderr.decode(errors='replace').strip()[-_TAIL:]}"
            )
        _drop_credentials(parent / source.name)


def _drop_credentials(brought: Path) -> None:
    """From the copy only: what a link in it leads to is somebody's own."""
    for path in credentials_in(brought):
        if os.path.realpath(path.parent) != os.path.abspath(path.parent):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _pack(workshop: Workshop, shared: Sequence[EnvironmentFolder], cancel: CancelToken) -> None:
    left_out = " ".join(shlex.quote(f":(exclude,literal){folder.path}") for folder in shared)
    command = _PACK.format(shared=left_out, archive=_ARCHIVE)
    _succeed(workshop.call("bash", whole(command, _COPY_LIMIT), cancel), "packed")


def _succeed(outcome: ToolOutcome, what: str) -> None:
    if outcome.metadata.get("exit_code") != 0:
        raise SetupError(f"what setup made could not be {what}: {outcome.content.strip()[-_TAIL:]}")


def _run_step(workshop: Workshop, step: SetupStep, cancel: CancelToken) -> None:
    outcome = workshop.call("bash", whole(step.command, step.timeout), cancel)
    code = outcome.metadata.get("exit_code")
    if code != 0:
        how = (
            "ran into its time limit" if outcome.metadata.get("timed_out") else f"ended with exit code {code}"
        )
        words = "\n".join((outcome.content.strip()[-_TAIL:], *refused(workshop)))
        raise SetupError(f"the setup command `{step.command}` {how}: {words}")

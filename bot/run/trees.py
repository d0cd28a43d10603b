"""The work trees of one run beside the agent's own: prepared once by `bring:` and `setup:`, then one for each
round of checks.

A tree for checks is made from the base (or from the patched tree object) and from what setup left behind, never
from the agent's tree: a planted `.pyc` there could turn a check green. Files that setup made are moved between
trees by commands in a workshop, so the supervisor opens none of them.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.checkout.clone import Checkout, materialise
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.room import when_there_is_room
from bot.policy.schema import SetupStep
from bot.run.background import Background
from bot.run.checks import whole
from bot.run.folder import RunFolder
from bot.run.network import refused
from bot.sandbox.credentials import credentials_in
from bot.workshop.client.workshop import Workshop

Open = Callable[[str, Path, Sequence[Path]], Workshop]
"""`open(name, tree, read_only)`: a workshop over `tree`, with further folders visible at their own paths."""

Say = Callable[[str], None]

HoldTo = Callable[[Sequence[str], Workshop], None]
"""`hold_to(presets, workshop)`: reach no more of the network than these egress presets from now on."""

_TAIL = 1_000
_COPY_LIMIT = 600
# Copies what git does not track, links as links, from the prepared tree into the one the workshop is over.
_OUTFIT = (
    "set -o pipefail; git -C {source} ls-files --others -z"
    " | tar -C {source} --null --no-recursion -T - -Scf - | tar -xf -"
)


class SetupError(UsageError):
    """A `setup:` command of the policy failed, or a `bring:` folder is not there."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The tree that setup ran in, and which files it made there that git does not ignore."""

    tree: Path
    made: frozenset[str]


class Trees:
    """`open` starts a workshop; `origin` is where `bring:` folders come from; `say` takes a line about each step
    of the preparation, on a thread of its own; `hold_to` is called before each with what it may reach."""

    def __init__(
        self, checkout: Checkout, folder: RunFolder, open: Open, setup: Sequence[SetupStep], bring: Sequence[str],
        origin: Path | None, say: Say, hold_to: HoldTo = lambda presets, workshop: None,
    ) -> None:  # fmt: skip
        self._checkout = checkout
        self._folder = folder
        self._open = open
        self._setup = tuple(setup)
        self._bring = tuple(bring)
        self._origin = origin
        self._say = say
        self._hold_to = hold_to
        self._preparing: Background[_Prepared] | None = None

    def begin(self, cancel: CancelToken) -> None:
        """Start preparing, where there is anything to prepare; at once back. What fails is raised by whoever
        needs the result: as a `SetupError` with the command's last words."""
        if self._setup or self._bring:
            self._preparing = Background(lambda: self._prepare(cancel), "prepare")

    @property
    def need_preparing(self) -> bool:
        return self._preparing is not None

    def read_only(self) -> tuple[Path, ...]:
        """What a workshop must see beside its tree so that `outfit` can work in it. Waits for the preparation."""
        return (self._preparing.result().tree,) if self._preparing else ()

    def made(self) -> frozenset[str]:
        """The files that setup made and git does not ignore: there before the agent began, so not its work."""
        return self._preparing.result().made if self._preparing else frozenset()

    def outfit(self, workshop: Workshop, cancel: CancelToken) -> None:
        """Give the tree of `workshop` what setup left behind."""
        for source in self.read_only():
            command = _OUTFIT.format(source=shlex.quote(str(source)))
            outcome = workshop.call("bash", whole(command, _COPY_LIMIT), cancel)
            if outcome.metadata.get("exit_code") != 0:
                raise SetupError(f"what setup made could not be copied: {outcome.content.strip()[-_TAIL:]}")

    def settle(self) -> None:
        """Wait for a preparation under way, so that its workshop is gone before its folder is."""
        if self._preparing is not None:
            self._preparing.wait()

    def for_checks(self, name: str, cancel: CancelToken, tree_sha: str | None = None) -> Workshop:
        """A workshop over a new tree: the base, or `tree_sha`, with what setup left behind."""
        tree = self._folder.root / f"tree-{name}"
        materialise(self._checkout, tree, tree_sha=tree_sha)
        workshop = self._open(name, tree, self.read_only())
        try:
            self.outfit(workshop, cancel)
        except BaseException:
            workshop.close()
            raise
        return workshop

    def _prepare(self, cancel: CancelToken) -> _Prepared:
        tree = self._folder.prepared
        materialise(self._checkout, tree)
        for name in self._bring:
            self._say(f"bringing {name}")
            self._copy_in(name, tree)
        if self._setup:
            with self._open("setup", tree, ()) as workshop:
                for step in self._setup:
                    self._say(f"setup: {step.command}")
                    self._hold_to(step.egress, workshop)
                    _run_step(workshop, step, cancel)
        from bot.gate.tree import untracked_files  # the gate is loaded where it is used, not before a request

        return _Prepared(tree, untracked_files(self._checkout.git, self._checkout.base_sha, tree))

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


def _run_step(workshop: Workshop, step: SetupStep, cancel: CancelToken) -> None:
    outcome = workshop.call("bash", whole(step.command, step.timeout), cancel)
    code = outcome.metadata.get("exit_code")
    if code != 0:
        how = (
            "ran into its time limit" if outcome.metadata.get("timed_out") else f"ended with exit code {code}"
        )
        words = "\n".join((outcome.content.strip()[-_TAIL:], *refused(workshop)))
        raise SetupError(f"the setup command `{step.command}` {how}: {words}")

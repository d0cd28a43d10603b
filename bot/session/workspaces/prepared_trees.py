"""The work trees of one run beside the agent's: one that `bring:` and `setup:` prepare, and one for each round of
checks.

A tree for checks is made from the base or the patched tree object and from what was prepared, never from the agent's
tree: a planted `.pyc` there could turn a check green. Folders of packages are shared by all trees, read-only. Other
files of setup are moved to a folder of their own and copied by a command in each workspace, so the supervisor opens
none of them.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path

from bot.checkout.clone import materialise
from bot.checkout.host_programs import find_host_program
from bot.contracts.cancel import CancelToken
from bot.contracts.capacity import in_background, retry_at_capacity
from bot.contracts.errors import AgentError, NoSandboxError, UsageError
from bot.contracts.request import Tier
from bot.ecosystems.record import guarded_folder
from bot.evidence.no_evidence import left_out_sentence
from bot.policy.check_settings import ServiceSpec, SetupStep
from bot.session.context.run import Run
from bot.session.workspaces import build_caches
from bot.session.workspaces.build_caches import BuildCache
from bot.session.workspaces.prepared_archive import UNUSED, PreparedArchive
from bot.session.workspaces.start_services import start_services
from bot.session.workspaces.start_workspaces import SETUP, TreeEnvironment, Workspaces, command_arguments
from bot.session.workspaces.usage_notes import refusal_notes
from bot.session.workspaces.written_folders import move_untracked, remove_special_files
from bot.workspace.client import Workspace, WorkspaceError
from bot.workspace.dependencies import dependencies, folders_in
from bot.workspace.sandbox.confinement import NO_DEPENDENCIES, Dependencies, EnvironmentFolder
from bot.workspace.sandbox.hidden_paths import credentials_in

_TAIL = 1_000
_COPY_LIMIT = 600
_ERROR_LINE = re.compile(r"(?i)\berr(?:or)?\b[:!]|\bfatal\b|refused|not found|no such|no matching")
_FAILED = (
    "What the checks need could not be installed: {}. Write the commands that install it under `setup:` in the policy "
    "(`slash-agent init` proposes some), or turn this off with the action's input `prepare: off`."
)


class SetupError(UsageError):
    """A `setup:` command of the policy failed, or a `bring:` folder is not there."""


@dataclass(eq=False)
class Trees:
    """`own` are the package folders of the user's checkout: those that `bring:` names are shared, or all in a local run
    with `setup:`.

    `prepared_from` is the commit whose files setup sees, if not the base. Nobody wrote that setup for the bot: if it
    fails, the run continues without it. `archive` takes the place of that setup, and comes
    before any other.
    """

    run: Run
    workspaces: Workspaces
    setup: Sequence[SetupStep] = ()
    bring: Sequence[str] = ()
    _: KW_ONLY
    own: Sequence[EnvironmentFolder] = ()
    prepared_from: str = ""
    archive: PreparedArchive | None = None
    services: Sequence[ServiceSpec] = ()
    unused: str = field(default="", init=False)
    _base_round: tuple[Workspace, str] | None = field(default=None, init=False)
    """The first round on the base and its name: later rounds copy its caches once its workspace is closed."""
    _preparing: Future[TreeEnvironment] | None = field(default=None, init=False)

    def begin(self) -> bool:
        """Start the preparation on a thread, if there is one, and return whether there is. A failed step raises a
        `SetupError` with its last output where the result is needed."""
        shared = {folder.path for folder in self._own_shared()}
        if self.archive or self._steps() or not shared.issuperset(self.bring):
            self._preparing = in_background(self._prepare, "prepare")
        return self._preparing is not None

    @property
    def _share_all(self) -> bool:
        return self.run.tier is Tier.LOCAL and self.run.profile.setup

    def environment(self) -> TreeEnvironment:
        """The additions that every tree gets. Waits for the preparation."""
        return self._preparing.result() if self._preparing else self._unprepared

    def setup_failure(self) -> str:
        """Why the preparation failed; empty if it did not. Waits for it."""
        try:
            self.environment()
        except AgentError as error:
            return str(error)
        return ""

    @cached_property
    def _unprepared(self) -> TreeEnvironment:
        own = self._own_shared()
        downloads = build_caches.downloads(self.run.checkout.paths, self.run.environment)
        caches = (*build_caches.setup_caches(own), *downloads)
        return TreeEnvironment(self._dependencies(own, ()), caches=caches)

    def left_out(self) -> tuple[str, ...]:
        """A sentence on each environment of the checkout that is not shown; none if setup may make another."""
        own = () if self._steps() else self._own_shared()
        return tuple(left_out_sentence(one) for one in own if one.unshown)

    def copy_prepared(self, workspace: Workspace, cancel: CancelToken, environment: TreeEnvironment) -> None:
        """Copy what setup left, and the caches of builds, into the tree and the HOME of `workspace`."""
        if output := environment.setup_output:
            command = command_arguments(build_caches.copy_all(output), _COPY_LIMIT)
            outcome = workspace.call("bash", command, cancel)
            if outcome.metadata.get("exit_code") != 0:
                raise SetupError(f"what setup made could not be copied: {outcome.content.strip()[-_TAIL:]}")
        if environment.caches:
            command = command_arguments(build_caches.command_for(environment.caches), _COPY_LIMIT)
            workspace.call("bash", command, cancel)

    def wait(self) -> None:
        """Wait for a running preparation, so that its workspace ends before its folder is removed."""
        if self._preparing is not None:
            wait([self._preparing])

    def for_checks(self, name: str, cancel: CancelToken, tree_sha: str | None = None) -> Workspace:
        """A workspace over a new tree: the base, or `tree_sha`, with what setup left behind. It is started once more if
        it does not start: the check has no result otherwise."""
        tree, environment = self.run.folder.root / f"tree-{name}", self.environment()
        environment = environment._replace(caches=self._caches(environment))
        materialise(self.run.checkout, tree, tree_sha=tree_sha)
        try:
            workspace = self._open(name, tree, environment)
        except (WorkspaceError, NoSandboxError):
            workspace = self._open(name, tree, environment)
        try:
            self.copy_prepared(workspace, cancel, environment)
            start_services(workspace, self.services, cancel)
        except BaseException:
            workspace.close()
            raise
        if tree_sha is None and self._base_round is None:
            self._base_round = workspace, name
        return workspace

    def _open(self, name: str, tree: Path, environment: TreeEnvironment) -> Workspace:
        return self.workspaces.start(name, tree, environment, checks=True)

    def _caches(self, environment: TreeEnvironment) -> tuple[BuildCache, ...]:
        """The caches, those of the first round on the base in place of older ones."""
        if self._base_round is None or not self._base_round[0].closed:
            return environment.caches
        name = self._base_round[1]
        tree = self.run.folder.root / f"tree-{name}"
        targets = [one.path for one in self._folders_in(tree) if one.is_build_output]
        newer = tuple(build_caches.round_caches(self.run.folder.home(name), tree, targets))
        for one in newer:
            remove_special_files(one.source)
        replaced = tuple(one.target_path for one in newer)
        return (*(one for one in environment.caches if not one.target_path.startswith(replaced)), *newer)

    def _steps(self) -> tuple[SetupStep, ...]:
        """The setup steps, without those for folders that the checkout has, as `init` writes them."""
        if not self._share_all:
            return tuple(self.setup)
        there = {folder.path for folder in self.own if not folder.unshown}
        return tuple(step for step in self.setup if guarded_folder(step.command) not in there)

    def _own_shared(self) -> tuple[EnvironmentFolder, ...]:
        """The folders of the checkout that need not be copied: no `setup:` command writes in them."""
        if self._share_all:
            return tuple(self.own)
        brought = () if self.setup else self.bring
        return tuple(one for one in self.own if one.path in brought and not one.is_build_output)

    def _dependencies(self, folders: Sequence[EnvironmentFolder], tops: Sequence[Path]) -> Dependencies:
        origin = (self.run.origin,) if self.run.origin else ()
        mountable = [one for one in folders if not (one.is_build_output or one.unshown)]
        paths = self.run.checkout.paths
        shared = dependencies(mountable, (*tops, *origin), paths) if mountable else NO_DEPENDENCIES
        return shared._replace(left_out=tuple(one for one in folders if one.unshown))

    def _prepare(self) -> TreeEnvironment:
        try:
            return self._run_setup()
        except SetupError as error:
            if not self.prepared_from:
                raise
            self.run.say(f"The environment could not be prepared, so checks may not run: {error}")
            lines = (line.strip()[:300] for line in str(error).splitlines())
            first, *rest = (line for line in lines if line and not line.startswith("[exit code"))
            errors = [line for line in rest if _ERROR_LINE.search(line)] or rest
            self.run.kept.append(_FAILED.format(" / ".join((first, *errors[-3:]))))
            return TreeEnvironment()

    def _run_setup(self) -> TreeEnvironment:
        tree, cancel, network = self.run.folder.prepared, self.run.cancel_run, self.workspaces.network
        materialise(self.run.checkout, tree, tree_sha=self.prepared_from or None)
        own = self._own_shared()
        for name in self.bring:
            if self.setup or name not in {folder.path for folder in own}:
                self.run.say(f"bringing {name}")
                self._copy_in(name, tree)
        archive = self.archive.file if self.archive else None
        with self._open(SETUP, tree, TreeEnvironment(archive=archive)) as workspace:
            if self.archive:
                self.run.say("unpacking what the job `prepare` left")
                network.restrict((), workspace)
                self.unused = self.archive.unpack(workspace, cancel)
            if self.unused:
                self.run.keep(UNUSED.format(self.unused))
            for step in () if archive and self.prepared_from and not self.unused else self._steps():
                self.run.say(f"setup: {step.command}")
                network.restrict(step.egress, workspace)
                _run_step(workspace, step, cancel)
            workspace.call("bash", command_arguments(build_caches.FORGET_DOWNLOADS, _COPY_LIMIT), cancel)
        from bot.gate.judge import untracked_files  # loaded on first use

        checkout, output = self.run.checkout, self.run.folder.setup_output
        left = untracked_files(checkout.git, self.prepared_from or checkout.base_sha, tree)
        tracked = set(checkout.paths_at(self.prepared_from))
        try:
            shared = {folder.path for folder in self._folders_in(tree)}
            move_untracked(tree, output, tracked=tracked, shared=shared)
            for written in (tree, output, self.run.folder.home("setup")):
                remove_special_files(written)
        except OSError as error:
            raise SetupError(f"what setup made could not be taken over: {error}") from error
        return self._prepared(left)

    def _prepared(self, left: frozenset[str]) -> TreeEnvironment:
        """What setup left. Its processes must be dead: one could replace a folder with a link."""
        folder, tree = self.run.folder, self.run.folder.prepared
        written = (tree, folder.setup_output)
        own_left = [
            one
            for one in self._own_shared()
            if not (one.path and any(os.path.lexists(top / one.path) for top in written))
        ]
        # We open no file in what commands made.
        setup_folders = [replace(one, created=True) for one in self._folders_in(tree)]
        shared = self._dependencies((*setup_folders, *own_left), (tree,))
        if self.archive and not self.unused:
            outside = self.archive.folders(folder.home("setup").parent)
            shared = shared._replace(folders=(*shared.folders, *outside))
        caches = tuple(build_caches.setup_caches((*setup_folders, *own_left), folder.home("setup")))
        return TreeEnvironment(shared, folder.setup_output, caches, setup_files=left)

    def _folders_in(self, tree: Path) -> tuple[EnvironmentFolder, ...]:
        return folders_in(tree, self.run.checkout.git, self.run.checkout.paths)

    def _copy_in(self, name: str, tree: Path) -> None:
        brings = f"the policy or the task brings {name}"
        if self.run.origin is None:
            raise SetupError(f"{brings}, but this run has no folder to bring it from")
        source, target = self.run.origin / name, tree / name
        if not source.is_dir():
            raise SetupError(f"{brings}, but there is no folder {source}")
        parent = Path(os.path.realpath(target.parent))
        if not parent.is_relative_to(os.path.realpath(tree)):
            raise SetupError(f"{brings}, which leads out of the repository")
        parent.mkdir(parents=True, exist_ok=True)
        # The base may have a link where the folder has a file: it gives way, nothing is written through it.
        cp = find_host_program("cp") or "/bin/cp"
        copy = [cp, "-a", "--remove-destination", "--reflink=auto", "--", str(source), str(parent)]
        result = retry_at_capacity(lambda: subprocess.run(copy, env={}, capture_output=True, check=False))
        if result.returncode:
            why = result.stderr.decode(errors="replace").strip()[-_TAIL:]
            raise SetupError(f"{name} could not be brought: {why}")
        # Credentials are deleted from the copy, never through a link.
        for path in credentials_in(parent / source.name):
            if os.path.realpath(path.parent) != os.path.abspath(path.parent):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _run_step(workspace: Workspace, step: SetupStep, cancel: CancelToken) -> None:
    outcome = workspace.call("bash", command_arguments(step.command, step.timeout), cancel)
    code = outcome.metadata.get("exit_code")
    if code != 0:
        how = (
            "ran into its time limit" if outcome.metadata.get("timed_out") else f"ended with exit code {code}"
        )
        output = outcome.content.strip().removesuffix(f"[exit code {code}]").rstrip()[-_TAIL:]
        words = "\n".join((output, *refusal_notes(workspace)))
        raise SetupError(f"the setup command `{step.command}` {how}: {words}")

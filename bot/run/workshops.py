"""Starts the workshops of one run: the agent's own, over its tree, and those in which checks and setup run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bot.agent.journal import Journal, file_version
from bot.checkout.blobs import blobs_at
from bot.checkout.clone import Checkout
from bot.contracts import journal as lines
from bot.policy.schema import SandboxLimits
from bot.run.agent_workshop import CallPlace
from bot.run.folder import RunFolder
from bot.run.network import Network
from bot.run.trees import Outfit
from bot.sandbox.confinement import Confinement
from bot.workshop.client.workshop import Answer, Question, ScanResult, Workshop

_MIB = 1 << 20


class Workshops:
    """`root` is the folder that each tree stands for, where it is seen inside if that can be; `skills` is the folder of
    those, where there are any; `ask` answers the agent's tool host. `network` is what of the network each of them
    reaches, `limits` what a command may take of the machine."""

    def __init__(
        self, checkout: Checkout, confinement: Confinement, folder: RunFolder, root: str,
        environment: Mapping[str, str], skills: Path | None, journal: Journal, network: Network,
        limits: SandboxLimits,
    ) -> None:  # fmt: skip
        self._checkout = checkout
        self._confinement = confinement
        self._folder = folder
        self._root = root
        self._environment = environment
        self._skills = skills
        self._journal = journal
        self._network = network
        self._limits = in_bytes(limits)
        self._started: list[Workshop] = []

    def of_agent(
        self,
        number: int,
        outfit: Outfit,
        ask: Callable[[Question], Answer],
        diagnostics: Mapping[str, Any] | None = None,
    ) -> Workshop:
        """The agent's n-th workshop. All of them share one history of files, so that versions go on being counted, and
        see what those before them printed."""
        folder = self._folder.workshop(f"agent-{number}")
        spilled = (self._folder.root / f"workshop-agent-{before}" / "spill" for before in range(number))
        return self._noted(
            Workshop.start(
                self._confinement,
                tree=self._checkout.tree,
                folder=folder,
                mount=self._root,
                environment=self._environment,
                ask=ask,
                history=self._folder.root / "versions",
                bring=outfit.read_only,
                dependencies=outfit.dependencies,
                skills=self._skills,
                kept=(self._folder.archive, *spilled),
                way_out=self._network.of_agent(),
                diagnostics=diagnostics,
                limits=self._limits,
            )
        )

    def of_commands(self, name: str, tree: Path, outfit: Outfit, *, runs_nothing: bool = False) -> Workshop:
        """A workshop for checks or setup on `tree`: their host has no questions to ask. One that `runs_nothing` gets no
        network, whatever the policy gives commands."""
        return self._noted(
            Workshop.start(
                self._confinement,
                tree=tree,
                folder=self._folder.workshop(name),
                mount=self._root,
                environment=self._environment,
                ask=_no_questions,
                bring=outfit.read_only,
                dependencies=outfit.dependencies,
                way_out=None if runs_nothing else self._network.of(name),
                checks=True,
                limits=self._limits,
            )
        )

    def limits_met(self) -> list[str]:
        """Those of the sandbox that commands met so far, once for each command."""
        return [limit for workshop in self._started for limit in workshop.limits_met]

    def _noted(self, workshop: Workshop) -> Workshop:
        self._started.append(workshop)
        return workshop

    def changed(self, place: CallPlace, scan: ScanResult) -> None:
        """Journal what a command changed, with the bytes before it where the base has them."""
        if not scan.files and not scan.note:
            return
        there = [change.path for change in scan.files if change.before and not change.oversize]
        before = blobs_at(self._checkout.git, self._checkout.base_sha, there)
        versions = tuple(file_version(change, before.get(change.path)) for change in scan.files)
        record = lines.FilesChanged(place.turn, versions, place.call_id, scan.note)
        self._journal.of(place.agent).write(record)


def in_bytes(limits: SandboxLimits) -> Mapping[str, int]:
    """The policy's limits as a tool host is told them."""
    return {
        "memory": limits.memory * _MIB,
        "processes": limits.processes,
        "file": limits.file * _MIB,
        "disk": limits.disk * _MIB,
    }


def _no_questions(question: Question) -> Answer:
    return Answer(False, f"{question.tool} is not used here")

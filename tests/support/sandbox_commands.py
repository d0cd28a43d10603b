"""What a back end would run, and what it would give the program."""

import json
import os
from typing import Any

from bot.workspace.sandbox.bubblewrap import Bubblewrap
from bot.workspace.sandbox.confinement import Confinement, InheritedFiles, Mounts


def sandbox_command(confinement: Confinement, mounts: Mounts) -> list[str]:
    """The command line, with the paths of opened sources in place of their descriptors."""
    with InheritedFiles() as inherited:
        command = confinement.command(["true"], mounts, inherited)
        numbers = map(str, inherited.descriptors)
        paths = {number: os.readlink(f"/proc/self/fd/{number}") for number in numbers}
        return [paths.get(word, word) for word in command]


def landlock_plan(confinement: Confinement, mounts: Mounts) -> dict[str, Any]:
    with InheritedFiles() as inherited:
        confinement.command(["true"], mounts, inherited)
        [descriptor] = inherited.descriptors
        plan: dict[str, Any] = json.loads(os.pread(descriptor, 1 << 24, 0))
        return plan


def bubblewrap_command(mounts: Mounts, version: tuple[int, ...] = (0, 8, 0)) -> list[str]:
    return sandbox_command(Bubblewrap("/usr/bin/bwrap", version), mounts)

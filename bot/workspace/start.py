"""Start a tool host: send the start message, check the canaries, return its facts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from bot.contracts.errors import NoSandboxError
from bot.contracts.wire import WireError
from bot.workspace import canaries, frames
from bot.workspace.channel import Channel
from bot.workspace.errors import WorkspaceError
from bot.workspace.frames import Facts
from bot.workspace.process import HostProcess
from bot.workspace.sandbox.backends import HOW_TO_FIX
from bot.workspace.sandbox.confinement import Confinement
from bot.workspace.start_plan import Folders

_LIMIT = 20.0


def handshake(
    confinement: Confinement, channel: Channel, start_message: Mapping[str, Any], folders: Folders
) -> Facts:
    """Send the start message; return the host's facts. Raises `NoSandboxError` where a canary was reached."""
    if not confinement.confines:
        return _exchange(channel, {**start_message, "canaries": {}})
    with canaries.planted(folders.own / "canaries", folders.tmp) as planted:
        facts = _exchange(channel, {**start_message, "canaries": planted.message("inside")})
        reached = canaries.reached(facts.leaks, planted.arrived(), "inside")
    if leaks := reached - confinement.lets_through:
        raise NoSandboxError(
            f"The sandbox ({confinement.name}) does not hold: {canaries.in_words(leaks)}. {HOW_TO_FIX}"
        )
    return facts


def _exchange(channel: Channel, start_message: Mapping[str, Any]) -> Facts:
    deadline = time.monotonic() + _LIMIT
    channel.send(start_message, deadline)
    while (frame := channel.receive(deadline)) is None:
        pass
    return frames.facts(frame)


def failed_start(confinement: Confinement, words: str, error: WireError) -> WorkspaceError | NoSandboxError:
    """The error of a host that did not start. `words` are the last of its standard error."""
    if confinement.confines and (not confinement.moves or words.startswith("bwrap:") or not words):
        step = words.removeprefix("bwrap:").strip() or str(error)
        return NoSandboxError(f"The sandbox ({confinement.name}) could not be started: {step}. {HOW_TO_FIX}")
    return WorkspaceError(f"The tool host did not start: {words or error}.")


def end(process: HostProcess, channel: Channel) -> None:
    """End a host whose start failed."""
    channel.hang_up()
    process.kill()
    channel.close()

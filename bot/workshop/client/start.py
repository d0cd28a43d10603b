"""The beginning of a tool host: it says ready, and canaries show whether the wall holds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from bot.contracts.errors import NoSandboxError
from bot.contracts.wire import WireError
from bot.sandbox.choose import HOW_TO_FIX
from bot.sandbox.confinement import Confinement
from bot.workshop.client import canaries, frames
from bot.workshop.client.channel import Channel
from bot.workshop.client.errors import WorkshopError
from bot.workshop.client.frames import Facts
from bot.workshop.client.plan import Folders
from bot.workshop.client.process import HostProcess

_LIMIT = 20.0


def proved(confinement: Confinement, channel: Channel, hello: Mapping[str, Any], folders: Folders) -> Facts:
    """What the host says of itself. Raises `NoSandboxError` where a wall lets a canary through."""
    if not confinement.confines:
        return _shake_hands(channel, {**hello, "canaries": {}})
    with canaries.planted(folders.own / "canaries", folders.tmp) as planted:
        facts = _shake_hands(channel, {**hello, "canaries": planted.message("inside")})
        reached = canaries.reached(facts.leaks, planted.arrived(), "inside")
    if leaks := reached - confinement.lets_through:
        raise NoSandboxError(
            f"The sandbox ({confinement.name}) does not hold: {canaries.in_words(leaks)}. {HOW_TO_FIX}"
        )
    return facts


def _shake_hands(channel: Channel, hello: Mapping[str, Any]) -> Facts:
    deadline = time.monotonic() + _LIMIT
    channel.send(hello, deadline)
    while (frame := channel.receive(deadline)) is None:
        pass
    return frames.facts(frame)


def failed_start(confinement: Confinement, words: str, error: WireError) -> WorkshopError | NoSandboxError:
    """What to raise for a host that did not come up. `words` are its last."""
    if confinement.confines and (not confinement.moves or words.startswith("bwrap:") or not words):
        step = words.removeprefix("bwrap:").strip() or str(error)
        return NoSandboxError(f"The sandbox ({confinement.name}) could not be started: {step}. {HOW_TO_FIX}")
    return WorkshopError(f"The tool host did not start: {words or error}.")


def end(process: HostProcess, channel: Channel) -> None:
    """Of one that never became a workshop."""
    channel.hang_up()
    process.kill()
    channel.close()

"""Find the sandboxes of this machine, the better one first. Canaries show whether one holds."""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from bot.checkout.host_programs import find_host_program
from bot.contracts.errors import NoSandboxError
from bot.workspace.sandbox import seccomp
from bot.workspace.sandbox.bubblewrap import Bubblewrap
from bot.workspace.sandbox.confinement import Confinement
from bot.workspace.sandbox.landlock import OLDEST, Landlock, version
from bot.workspace.sandbox.remedies import HOW_TO_FIX

Setting = Literal["auto", "strict", "landlock", "off"]
"""`auto`: the first that holds, bubblewrap before Landlock. `strict`: bubblewrap only. `landlock`: Landlock only."""


class Off(Confinement):
    """The tool host as an ordinary process: clean environment, no confinement."""


Candidates = tuple[list[Confinement], list[str]]


def candidates(setting: Setting) -> Candidates:
    """The confinements for `setting` on this machine, and why others are missing. Starts nothing. Raises
    `NoSandboxError` if there is none."""
    if setting == "off":
        return [Off()], []
    seccomp.here()
    both: tuple[Callable[[], Confinement], ...] = (bubblewrap, landlock)
    sandboxes: list[Confinement] = []
    missing: list[str] = []
    for create in {"strict": both[:1], "landlock": both[1:]}.get(setting, both):
        try:
            sandboxes.append(create())
        except NoSandboxError as error:
            missing.append(str(error))
    if not sandboxes:
        raise NoSandboxError(f"{' '.join(missing)} {HOW_TO_FIX}")
    return sandboxes, missing


def bubblewrap(program: str | None = None) -> Bubblewrap:
    """The installed bubblewrap. Raises `NoSandboxError`."""
    program = program or find_host_program("bwrap")
    if program is None:
        raise NoSandboxError("bubblewrap (bwrap) is not installed.")
    sandbox = Bubblewrap(program, _version(program))
    # If it cannot even print its options, the probe says why it does not work.
    listing = subprocess.run([program, "--help"], capture_output=True, text=True, check=False, env={})
    if listing.returncode == 0 and "--ro-bind-fd" not in listing.stdout:
        raise NoSandboxError(
            f"{sandbox.name} cannot mount an open folder (--ro-bind-fd). Update it to 0.10, or to the security update "
            "of August 2024 for your system's version (CVE-2024-42472)."
        )
    if "--tmp-overlay" not in listing.stdout:
        return sandbox
    folder = os.path.dirname(program)
    overlay = ("--overlay-src", folder, "--tmp-overlay", folder)
    command = [program, "--unshare-user", "--ro-bind", "/", "/", *overlay, program, "--version"]
    # The kernel may not let it. Takes 8 ms.
    mounted = subprocess.run(command, capture_output=True, check=False, env={})
    return replace(sandbox, overlays=mounted.returncode == 0)


def landlock() -> Landlock:
    """The kernel's Landlock. Raises `NoSandboxError`."""
    abi = version()
    if abi < OLDEST:
        has = f"version {abi} of Landlock" if abi else "no Landlock"
        raise NoSandboxError(f"This kernel ({os.uname().release}) has {has}; version {OLDEST} is needed.")
    return Landlock(abi)


def _version(program: str) -> tuple[int, ...]:
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=True, env={}, timeout=10
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise NoSandboxError(f"{program} --version failed: {error}.") from error
    match = re.search(r"(\d+)\.(\d+)\.(\d+)", answer)
    if match is None:
        raise NoSandboxError(f"{program} gave no version but {answer.strip()!r}.")
    return tuple(map(int, match.groups()))

"""Choose the sandbox of a run by a probe.

The probe starts two hosts with the same canaries around them: an unconfined one, which must reach them, and a
confined one, which must not. Then it ends both and checks what is left.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bot.contracts.errors import NoSandboxError
from bot.contracts.sandbox import Canary, SandboxInfo
from bot.contracts.wire import WireError
from bot.workspace import canaries, start
from bot.workspace.canaries import MAY_BE_CLOSED, Canaries
from bot.workspace.process import Host, WorkspaceError
from bot.workspace.sandbox.backends import Off, Setting, candidates
from bot.workspace.sandbox.confinement import Confinement, Mounts
from bot.workspace.sandbox.landlock import version
from bot.workspace.sandbox.remedies import HOW_TO_FIX


class Chosen(NamedTuple):
    """`confinement` starts the run's workspaces; `sandbox_probe` describes it in the outcome."""

    confinement: Confinement
    sandbox_probe: SandboxInfo


def choose(setting: Setting) -> Chosen:
    """The best sandbox that holds. Raises `NoSandboxError` if none does, with the failure of each."""
    return first_that_holds(*candidates(setting))


def first_that_holds(candidates: Sequence[Confinement], missing: Sequence[str] = ()) -> Chosen:
    """The first of `candidates` that holds. Its notes name why the others do not, with the reasons in `missing`."""
    reasons = list(missing)
    for confinement in candidates:
        if not confinement.confines:
            note = "There was no sandbox: --sandbox off was given. The agent's commands had all rights of the user."
            info = SandboxInfo(confinement.tier, confinement.name, os.uname().release, 0, notes=(note,))
            return Chosen(confinement, info)
        try:
            probed = probe(confinement)
        except NoSandboxError as error:
            reasons.append(str(error))
            continue
        if reasons:
            note = (
                f"{' '.join(reasons)} {confinement.name} is used instead; it cannot give commands a network."
            )
            probed = probed._replace(notes=(note, *probed.notes))
        return Chosen(confinement, probed)
    raise NoSandboxError(f"{' '.join(reasons)} {HOW_TO_FIX}")


def probe(confinement: Confinement) -> SandboxInfo:
    """Test which accesses `confinement` stops on this machine. Raises `NoSandboxError` if it cannot be started, does
    not stop one that it should, or that is unknown: a canary that an unconfined host cannot reach proves nothing."""
    with tempfile.TemporaryDirectory(prefix="slash-agent-probe-") as folder:
        own_folder = Path(folder).resolve()
        visible = own_folder / "visible"
        visible.mkdir()
        mounts = Mounts(visible, str(visible), program=start.host_program())
        with canaries.plant(own_folder / "canaries", visible, all_of_them=True) as planted:
            in_the_open, inside = _reached(confinement, mounts, planted)
    tried = tuple(Canary(name, name in in_the_open, name in inside) for name in canaries.NAMES)
    silent = [one.name for one in tried if not one.outside and one.name not in MAY_BE_CLOSED]
    if silent:
        raise NoSandboxError(
            f"The probe of the sandbox is itself broken here: without any sandbox, too, it could not reach: "
            f"{', '.join(silent)}."
        )
    if leaks := inside - confinement.lets_through:
        raise NoSandboxError(f"{confinement.name} does not hold: {canaries.describe(leaks)}.")
    known = inside & confinement.lets_through
    notes = tuple(f"{confinement.name}: {canaries.describe([name])}." for name in sorted(known))
    return SandboxInfo(confinement.tier, confinement.name, os.uname().release, version(), tried, notes)


def _reached(confinement: Confinement, mounts: Mounts, planted: Canaries) -> tuple[set[str], set[str]]:
    """The names of the canaries that the unconfined and the confined host reached."""
    with _host(Off(), mounts) as outside:
        with _host(confinement, mounts) as inside:
            start.send(inside, {"type": "probe", "canaries": planted.message("inside")})
            start.send(outside, {"type": "probe", "canaries": planted.message("outside")})
            inside_leaks, outside_leaks = start.ready(inside).leaks, start.ready(outside).leaks
        # The process of the host alone, as if it ran unconfined.
        outside.process.kill()
        outside.wait()
        return planted.reached("outside", outside_leaks), planted.reached("inside", inside_leaks)


@contextmanager
def _host(confinement: Confinement, mounts: Mounts) -> Iterator[Host]:
    """A tool host that only tries the canaries."""
    host = start.start_host(confinement, mounts)
    try:
        yield host
    except WireError as error:
        words = host.last_words().removeprefix("bwrap:").strip() or str(error)
        raise NoSandboxError(f"{confinement.name} could not be started: {words}.") from error
    finally:
        try:
            host.end()
        except WorkspaceError as error:
            raise NoSandboxError(f"{confinement.name}: {error}") from error

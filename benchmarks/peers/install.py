"""Installs a peer from its registry with the ordinary client, into a separate folder, without its install scripts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.catalogue import Peer
from benchmarks.session import ROOT

PEERS = ROOT / ".cache" / "peers"
_LIMIT = 900


class NotInstalledError(Exception):
    """A peer cannot be had here; the message says why."""


def install(peer: Peer) -> Path:
    """The folder of the installation, made once for a version. Raises `NotInstalledError`."""
    folder = PEERS / f"{peer.name}-{peer.version}"
    if not peer.registry or (folder / ".complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if peer.registry == "npm":
        _from_npm(peer, folder)
    else:
        _from_pypi(peer, folder)
    (folder / ".complete").touch()
    return folder


def _from_npm(peer: Peer, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalledError("npm is not here (install it: apt-get install npm)")
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"]
    _run([npm, "install", *options, "--prefix", str(folder), *peer.packages], folder)


def _from_pypi(peer: Peer, folder: Path) -> None:
    uv = str(Path(sys.executable).with_name("uv"))
    _run([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)], folder)
    _run(
        [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), *peer.packages], folder
    )
    # Compiled once here, as pip does, and not in the first of the measured runs.
    _run(
        [str(folder / "bin" / "python"), "-m", "compileall", "-q", str(folder / "lib")], folder, may_fail=True
    )


def _run(argv: list[str], folder: Path, *, may_fail: bool = False) -> None:
    try:
        completed = subprocess.run(
            argv, cwd=folder, capture_output=True, text=True, timeout=_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(f"it could not be installed: {type(error).__name__}") from error
    if completed.returncode and not may_fail:
        words = [line.strip() for line in completed.stderr.splitlines() if line.strip()]
        raise NotInstalledError(
            f"it could not be installed: {words[0][:120] if words else completed.returncode}"
        )

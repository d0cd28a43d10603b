"""The Action's cold install beside `npm install -g` of peers: each time into an empty HOME, with empty caches.

python -m benchmarks.peers.cold --runs 3
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.__main__ import machine
from benchmarks.peers.catalogue import PEERS
from benchmarks.session import ROOT
from benchmarks.table import align

INSTALLER = ROOT / ".github" / "action" / "install.py"
BESIDE = ("codex", "gemini-cli")
HEADER = ("", "seconds", "MiB on disk")

# What a package client must hear of this machine, apart from where its caches are.
_HANDED_ON = (
    "PATH",
    "PIP_CERT",
    "PIP_INDEX_URL",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
)


def ours(folder: Path) -> list[str]:
    """As each job does it that runs the agent or publishes."""
    return [sys.executable, "-I", str(INSTALLER), str(folder / "venv")]


def npm(packages: Sequence[str]) -> Callable[[Path], list[str]]:
    def command(folder: Path) -> list[str]:
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        return ["npm", "install", "-g", *quiet, "--prefix", str(folder / "prefix"), *packages]

    return command


def cold(command: Callable[[Path], list[str]]) -> tuple[float, float]:
    """Seconds and MiB of one install. Caches and temporary files do not count as installed."""
    with tempfile.TemporaryDirectory(prefix="slash-agent-cold-") as scratch:
        home, target = Path(scratch, "home"), Path(scratch, "target")
        home.mkdir()
        target.mkdir()
        environment = {name: os.environ[name] for name in _HANDED_ON if name in os.environ} | {
            "HOME": str(home)
        }
        begun = time.perf_counter()
        subprocess.run(
            command(target), cwd=home, env=environment, check=True, capture_output=True, timeout=900
        )
        seconds = time.perf_counter() - begun
        size = sum(
            file.lstat().st_size for file in target.rglob("*") if not file.is_symlink() and file.is_file()
        )
    return seconds, size / 2**20


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.cold", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="installs of each (default 3)")
    options = parser.parse_args(argv)
    commands: dict[str, Callable[[Path], list[str]]] = {"slash-agent": ours}
    if shutil.which("npm"):
        peers = [peer for peer in PEERS if peer.name in BESIDE]
        commands |= {f"{peer.name} {peer.version}, npm install -g": npm(peer.packages) for peer in peers}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(options.runs):
        for name, command in commands.items():
            print(name, file=sys.stderr, flush=True)
            found[name].append(cold(command))
    rows = [
        (name, f"{statistics.median(each[0] for each in all_):.1f}", f"{all_[0][1]:.0f}")
        for name, all_ in found.items()
    ]
    print(f"\n{machine()}, the median of {options.runs} installs\n\n{align([HEADER, *rows])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

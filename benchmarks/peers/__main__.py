"""`make bench-peers`: install each peer, run it beside ours on the same scripted model, print one table.

python -m benchmarks.peers --only codex --runs 3 --turns 50 --json peers.json
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.__main__ import machine
from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.peers.install import NotInstalledError, install
from benchmarks.peers.measure import Figures, NotRunError, measure
from benchmarks.subject import small_repository
from benchmarks.table import align

HEADER = ("", "version", "first request s", "turn ms", "peak MiB", "first request bytes", "prefix kept")


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    chosen = [peer for peer in PEERS if not options.only or peer.name in options.only]
    with tempfile.TemporaryDirectory(prefix="slash-agent-peers-") as folder:
        found = {peer: figures(peer, Path(folder), options.turns, options.runs) for peer in chosen}
    print(
        f"\n{machine()}, {options.turns} turns\n\n{align([HEADER, *(line(*each) for each in found.items())])}"
    )
    if options.json:
        rows = [
            {"name": peer.name, "version": peer.version}
            | (each.as_dict() if isinstance(each, Figures) else {"why": each})
            for peer, each in found.items()
        ]
        options.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))
    return 0


def figures(peer: Peer, folder: Path, turns: int, runs: int) -> Figures | str:
    """The peer's figures, or why there are none."""
    print(peer.name, file=sys.stderr, flush=True)
    slug = peer.name.replace(", ", "-")
    home = folder / slug
    home.mkdir()
    try:
        installed = install(peer)
        return measure(peer, installed, home, small_repository(folder / f"{slug}-repository"), turns, runs)
    except (NotInstalledError, NotRunError, FileNotFoundError) as error:
        return str(error)


def line(peer: Peer, found: Figures | str) -> tuple[str, ...]:
    name = f"{peer.name} ({peer.language})"
    if isinstance(found, str):
        return name, peer.version, f"not measured: {found}", "", "", "", ""
    turn = "none" if found.turn is None else f"{found.turn:.1f}"
    return (
        name,
        peer.version,
        f"{found.first_request:.2f}",
        turn,
        f"{found.peak_mib:.0f}",
        f"{found.first_bytes:,}",
        found.prefix,
    )


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    names = [peer.name for peer in PEERS]
    parser.add_argument(
        "--only", action="append", choices=names, metavar="NAME", help=f"one of {'; '.join(names)}"
    )
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="timed runs of each (default 5)")
    parser.add_argument("--turns", type=int, default=50, metavar="N", help="commands a run (default 50)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON too")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())

"""`make bench`: measure, print one table, say which targets are met.

python -m benchmarks --only turn --runs 5 --json figures.json
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.figures import FIGURES, Bench, Scale
from benchmarks.session import ROOT
from benchmarks.table import Row, render


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    before = _cpu_times()
    compileall.compile_dir(str(ROOT / "bot"), quiet=2)
    with tempfile.TemporaryDirectory(prefix="slash-agent-bench-") as folder:
        bench = Bench(Scale(runs=options.runs), Path(folder), _say)
        rows, failed = list[Row](), False
        for name in options.only or FIGURES:
            try:
                rows += FIGURES[name](bench)
            except Exception as error:  # noqa: BLE001  The other figures are printed all the same.
                failed = True
                _say(f"{name}: {type(error).__name__}: {error}")
    where = f"{machine()}{_stolen(before, _cpu_times())}"
    print(f"\n{where}\n\n{render(rows)}")
    if options.json:
        options.json.write_text(json.dumps({"machine": where, "rows": list(map(asdict, rows))}, indent=1))
    return 1 if failed or (options.strict and any(row.met is False for row in rows)) else 0


def machine() -> str:
    """Where and when, and how busy the machine was: what a reader needs to judge the figures."""
    busy = "/".join(f"{load:.1f}" for load in os.getloadavg())
    return (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} {platform.release().split('-')[0]}, "
        f"Python {platform.python_version()}, load {busy}"
    )


def _cpu_times() -> list[int]:
    """Of the whole machine since its start, as `proc_stat(5)` has them; empty where there is no such file."""
    try:
        return list(map(int, Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:9]))
    except OSError:
        return []


def _stolen(before: list[int], after: list[int]) -> str:
    """The share of CPU time that the host gave to other guests (steal time)."""
    passed = [now - then for then, now in zip(before, after, strict=True)]
    return f", {passed[7] / sum(passed):.0%} of the CPU stolen" if sum(passed) else ""


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=FIGURES, metavar="NAME", help=f"one of {', '.join(FIGURES)}"
    )
    parser.add_argument(
        "--runs", type=int, default=Scale.runs, metavar="N", help=f"pairs (default {Scale.runs})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table as JSON too")
    parser.add_argument("--strict", action="store_true", help="exit 1 where a target is missed")
    return parser.parse_args(argv)


def _say(progress: str) -> None:
    print(progress, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

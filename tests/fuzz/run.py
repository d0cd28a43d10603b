"""Try targets with more and more inputs, for as long as somebody is willing to wait: `make fuzz`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.fuzz.targets import TARGETS, Target

ROOT = Path(__file__).parents[2]
_CHECKS = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


def attempt(target: Target, examples: int, folder: Path, *, keep: Path | None = None) -> None:
    """Try `target` with so many inputs. Raises what it raises for the smallest that fails; what failed is kept in
    `keep`, and tried first the next time."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=DirectoryBasedExampleDatabase(keep) if keep else None,
        derandomize=keep is None,
        phases=tuple(Phase)[: -1 if keep is None else None],
        suppress_health_check=_CHECKS,
        print_blob=keep is not None,
    )
    @given(st.data())
    def once(data: st.DataObject) -> None:
        target(data, folder)

    once()


def fuzz(name: str, seconds: float, keep: Path) -> int:
    """How many inputs were tried within `seconds`; raises what the target raises."""
    end, tried, batch = time.monotonic() + seconds, 0, 100
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            attempt(TARGETS[name], batch, Path(folder), keep=keep / name)
            tried += batch
            batch = min(batch * 2, 2000)
    return tried


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all if not said"
    )
    parser.add_argument("--seconds", type=float, default=60, help="for each target, about; default: 60")
    asked = parser.parse_args()
    if unknown := set(asked.targets) - set(TARGETS):
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    failed = 0
    for name in asked.targets or TARGETS:
        try:
            print(
                f"{name}: {fuzz(name, asked.seconds, ROOT / '.cache' / 'fuzz'):,} inputs, none fails",
                flush=True,
            )
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{name}: fails; the smallest input is above, and is tried first the next time", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

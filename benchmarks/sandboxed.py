"""What the sandbox costs: its start, a command in it against a plain one, and the tests of two packages inside against
outside.

    python -m benchmarks.sandboxed [--runs 10] [--only commands]

The packages' sources are fetched by pip and held to their hashes. Exits 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.pairs import Pairs, measure_pairs
from benchmarks.table import Row, render
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.workspace.client import Answer, Workspace
from bot.workspace.probe import choose
from bot.workspace.sandbox.backends import bubblewrap, landlock
from bot.workspace.sandbox.confinement import Confinement
from bot.workspace.start import StartOptions

COMMAND_MS = 1.0
START_MS = {"bubblewrap": 60.0, "landlock": 40.0}
PROBE_MS = 100.0
SUITE_RATIO = 1.05

_COMMANDS = {"a command": ("true",), "a program": ("env", "true")}

_TIMEOUT = 600
_BACK_ENDS = (bubblewrap, landlock)


@dataclass(frozen=True)
class Suite:
    """A source package whose tests need neither sockets nor namespaces, only the standard library. `tests` is what
    `python -m unittest` is given."""

    package: str
    sha256: str
    tests: tuple[str, ...]


SUITES = (
    Suite(
        "idna==3.10",
        "12f65c9b470abda6dc35cf8e63cc574b1c52b11df2c86030af0ac09b01b13ea9",
        ("discover", "-q", "-s", "tests", "-t", "."),
    ),
    Suite(
        "more-itertools==10.5.0",
        "5482bfef7849c25dc3c6dd53a6173ae4795da2a41a80faea6700d9f5846c5da6",
        ("-q", "tests.test_recipes"),
    ),
)


@dataclass(frozen=True)
class Cost:
    """Milliseconds with the sandbox of this name, against those without one."""

    sandbox: str
    pairs: Pairs


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sandboxed", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="pairs (default: 10)")
    parser.add_argument("--only", choices=("starts", "commands", "suites"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slash-agent-bench-") as folder:
        found = list(rows(Path(folder), given.runs, only=given.only or ""))
    print(render(found))
    return 0 if all(row.met for row in found) else 1


def rows(folder: Path, runs: int, only: str = "") -> Iterator[Row]:
    if only in ("", "starts"):
        yield from starts(folder, runs)
    if only in ("", "commands"):
        for what, cost in commands(folder, runs):
            pairs = cost.pairs
            yield Row(
                f"{what} in {cost.sandbox}", f"{pairs.our_median:.1f} ms",
                f"plain subprocess {pairs.their_median:.1f} ms", f"{pairs.difference:+.2f} ms",
                f"at most +{COMMAND_MS:g} ms", pairs.difference <= COMMAND_MS,
            )  # fmt: skip
    if only in ("", "suites"):
        for suite, cost in suites(folder, runs):
            pairs = cost.pairs
            yield Row(
                f"tests of {suite.package} in {cost.sandbox}", f"{pairs.our_median / 1000:.2f} s",
                f"outside {pairs.their_median / 1000:.2f} s", f"{pairs.ratio:.3f} ×",
                f"at most {SUITE_RATIO} ×", pairs.ratio <= SUITE_RATIO,
            )  # fmt: skip


def starts(folder: Path, runs: int) -> Iterator[Row]:
    """A workspace from nothing to its tool host's first word, by each back end there is; and the probe that
    chooses one. The first of each is not counted."""
    for found in _back_ends():
        tree = _tree(folder / f"starts-{found.name.split()[0]}")
        took = [_start(found, tree) for _ in range(runs + 1)][1:]
        target = START_MS[found.name.split()[0].lower()]
        yield Row(
            f"starting {found.name} and the tool host", f"{median(took):.0f} ms", f"best {min(took):.0f} ms", "",
            f"at most {target:g} ms", median(took) <= target,
        )  # fmt: skip
    probed = [_probe() for _ in range(runs + 1)][1:]
    yield Row(
        "the probe that chooses a sandbox", f"{median(probed):.0f} ms", f"best {min(probed):.0f} ms", "",
        f"at most {PROBE_MS:g} ms", median(probed) <= PROBE_MS,
    )  # fmt: skip


def commands(folder: Path, runs: int, each: int = 10) -> Iterator[tuple[str, Cost]]:
    """The extra time of one command, by each back end there is: a pair is the median of `each` commands of a tool host
    that runs already, against as many of a plain subprocess. One that the shell does by itself, and one that runs a
    program, for which a shell that has something left to do would fork once more."""
    for found in _back_ends():
        with _workspace(found, _tree(folder / f"commands-{found.name.split()[0]}")) as workspace:
            for what, argv in _COMMANDS.items():
                inside, outside = _Inside(workspace, argv), _Outside(Path("/"), argv)
                pairs = measure_pairs(lambda run: median(_each(run, each)), inside, outside, runs)
                yield what, Cost(found.name, pairs)


def suites(folder: Path, runs: int, chosen: Sequence[Suite] = SUITES) -> Iterator[tuple[Suite, Cost]]:
    """The tests of each package inside against outside, in the sandbox that a run here would have; ABBA."""
    found = next(iter(_back_ends()), None)
    if found is None:
        raise NoSandboxError("There is no sandbox here to measure.")
    for suite in chosen:
        tree = _unpacked(suite, folder)
        argv = [os.path.realpath(sys.executable), "-m", "unittest", *suite.tests]
        with _workspace(found, tree) as workspace:
            yield (
                suite,
                Cost(found.name, measure_pairs(_once, _Inside(workspace, argv), _Outside(tree, argv), runs)),
            )


class _Inside:
    def __init__(self, workspace: Workspace, argv: Sequence[str]) -> None:
        self._workspace = workspace
        self._command = " ".join(argv)

    def __call__(self) -> None:
        arguments = {"command": self._command, "timeout": _TIMEOUT}
        outcome = self._workspace.call("bash", arguments, CancelToken())
        assert outcome.metadata["exit_code"] == 0, outcome.content


class _Outside:
    def __init__(self, folder: Path, argv: Sequence[str]) -> None:
        self._folder = folder
        self._command = " ".join(argv)

    def __call__(self) -> None:
        subprocess.run(
            ["bash", "-c", self._command], cwd=self._folder, stdin=subprocess.DEVNULL, check=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_TIMEOUT,
        )  # fmt: skip


def _once(run: _Inside | _Outside) -> float:
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


def _each(run: _Inside | _Outside, times: int) -> list[float]:
    return [_once(run) for _ in range(times)]


def _back_ends() -> Iterator[Confinement]:
    for look in _BACK_ENDS:
        try:
            yield look()
        except NoSandboxError:
            continue


@contextmanager
def _workspace(found: Confinement, tree: Path) -> Iterator[Workspace]:
    own = tree.with_name(f"{tree.name}-workspace")
    own.mkdir(exist_ok=True)
    with Workspace.start(found, StartOptions(tree, own, os.environ), lambda _: Answer(True)) as workspace:
        yield workspace


def _start(found: Confinement, tree: Path) -> float:
    started = time.perf_counter()
    with _workspace(found, tree):
        return (time.perf_counter() - started) * 1000


def _probe() -> float:
    started = time.perf_counter()
    choose("auto")
    return (time.perf_counter() - started) * 1000


def _tree(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def _unpacked(suite: Suite, folder: Path) -> Path:
    """The source package as a repository, fetched by pip and held to its hash."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{suite.package} --hash=sha256:{suite.sha256}\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q", "--no-deps"]
    subprocess.run([*pip, "--no-binary", ":all:", "-d", str(folder), "-r", str(wanted)], check=True)
    name = suite.package.replace("==", "-")
    (source,) = (*folder.glob(f"{name}.tar.gz"), *folder.glob(f"{name.replace('-', '_', 1)}.tar.gz"))[:1]
    with tarfile.open(source) as archive:
        top = archive.getnames()[0].split("/")[0]
        archive.extractall(folder, filter="data")
    return _tree(folder / top)


if __name__ == "__main__":
    sys.exit(main())

"""The figures that issue after issue is held to: how each is measured, and what it must reach."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks import (
    agent_core,
    events,
    language_servers,
    last_word,
    patching,
    redaction,
    report_page,
    review,
    sandboxed,
)
from benchmarks import checkers as before_and_after
from benchmarks.memory import Peak
from benchmarks.pairs import Pairs, measure_pairs
from benchmarks.session import VENDORS, Program, bare, clean_environment, hold, keep_request, ours
from benchmarks.subject import NEEDLE, large_checkout, small_repository
from benchmarks.table import Row
from bot.contracts.cancel import CancelToken
from bot.workspace.client import Answer, Workspace
from bot.workspace.probe import choose
from bot.workspace.start import StartOptions

FIRST_REQUEST_RATIO = 1.5
TURN_RATIO = 2.0
GROWTH_RATIO = 1.5
MEMORY_MIB = 50.0
VERSION_MS = 100.0
SEARCH_MS = {50_000: 300.0, 300_000: 1500.0}


@dataclass(frozen=True)
class Scale:
    """How much is measured. Turns around `early` are held against turns around `late`, `spread` to each side."""

    runs: int = 11
    warm_up: bool = True
    turns: int = 50
    early: int = 10
    late: int = 200
    spread: int = 4
    diff_files: int = review.FILES
    reviews: int = review.REVIEWS
    comments: int = events.COMMENTS
    patched_files: int = patching.FILES
    masked_mb: int = 20
    session_turns: int = 200
    session_window: int = agent_core.WINDOW
    context_turns: int = 1000
    context_window: int = agent_core.WINDOW
    checked_package: str = "github"
    environment_files: int = last_word.FILES
    server_edits: int = language_servers.EDITS
    large_python: str = language_servers.LARGE_FILE
    trees: Mapping[int, int] = field(default_factory=lambda: {size: size for size in SEARCH_MS})
    """Files of the target to files that are really made."""
    report_turns: Mapping[int, int] = field(
        default_factory=lambda: {size: size for size in report_page.OPENED_MS}
    )
    """Likewise turns."""


@dataclass
class Bench:
    """Everything a figure needs: a folder of its own, the small repositories, the requests for the bare program."""

    scale: Scale
    folder: Path
    say: Callable[[str], None]
    _repositories: dict[bool, Path] = field(default_factory=dict)
    _requests: dict[str, Path] = field(default_factory=dict)

    def repository(self, *, many_turns: bool = False) -> Path:
        if many_turns not in self._repositories:
            name = "many-turns" if many_turns else "small"
            self._repositories[many_turns] = small_repository(self.folder / name, many_turns=many_turns)
        return self._repositories[many_turns]

    def request(self, vendor: str) -> Path:
        if vendor not in self._requests:
            self._requests[vendor] = keep_request(vendor, self.repository(), self.folder)
        return self._requests[vendor]

    def pairs(self, measure: Callable[[Program], float], our: Program, plain: Program, runs: int) -> Pairs:
        return measure_pairs(measure, our, plain, runs, warm_up=self.scale.warm_up)

    def both(self, vendor: str) -> tuple[Program, Program]:
        repository = self.repository()
        return ours(vendor, repository), bare(vendor, repository, self.request(vendor))


def first_request(bench: Bench) -> Iterator[Row]:
    """Process start to the first request's arrival, against the bare program that sends the same one."""
    for vendor in VENDORS:
        bench.say(f"first request, {vendor}")
        our, plain = bench.both(vendor)
        pairs = bench.pairs(_first_request, our, plain, bench.scale.runs)
        yield Row(
            f"first request, {vendor}",
            _ms(pairs.our_median),
            f"bare script {_ms(pairs.their_median)}",
            _times(pairs.ratio),
            f"at most {FIRST_REQUEST_RATIO} ×",
            pairs.ratio <= FIRST_REQUEST_RATIO,
        )


def turn(bench: Bench) -> Iterator[Row]:
    """End of an answer to the next request, one sandboxed `echo hi` between; the bare loop has no sandbox."""
    for vendor in VENDORS:
        bench.say(f"turn, {vendor}")
        our, plain = bench.both(vendor)
        measure = partial(_turn, turns=bench.scale.turns)
        pairs = bench.pairs(measure, our, plain, max(1, bench.scale.runs // 2))
        yield Row(
            f"turn with one command, {vendor}",
            _ms(pairs.our_median, 1),
            f"bare loop {_ms(pairs.their_median, 1)}",
            _times(pairs.ratio),
            f"at most {TURN_RATIO:g} ×",
            pairs.ratio <= TURN_RATIO,
        )


def growth(bench: Bench) -> Iterator[Row]:
    """The turns around the 200th against those around the 10th of the same session."""
    scale = bench.scale
    for vendor in VENDORS:
        early: list[float] = []
        late: list[float] = []
        ratios: list[float] = []
        for _ in range(max(1, scale.runs // 3)):
            bench.say(f"growth, {vendor}")
            turns = hold(ours(vendor, bench.repository(many_turns=True)), scale.late + scale.spread).turns
            early.append(median(_around(turns, scale.early, scale.spread)))
            late.append(median(_around(turns, scale.late, scale.spread)))
            ratios.append(late[-1] / early[-1])
        ratio = median(ratios)
        yield Row(
            f"turn {scale.late}, {vendor}",
            _ms(median(late), 1),
            f"turn {scale.early} {_ms(median(early), 1)}",
            _times(ratio),
            f"at most {GROWTH_RATIO} ×",
            ratio <= GROWTH_RATIO,
        )


def memory(bench: Bench) -> Iterator[Row]:
    """The most memory at once over a session: supervisor, tool host and sandbox; commands left out."""
    for vendor in VENDORS:
        bench.say(f"memory, {vendor}")
        our, plain = bench.both(vendor)
        measure = partial(_peak, turns=bench.scale.turns)
        pairs = bench.pairs(measure, our, plain, max(1, bench.scale.runs // 3))
        yield Row(
            f"peak memory, {vendor}",
            f"{pairs.our_median:.0f} MiB",
            f"bare script {pairs.their_median:.0f} MiB",
            f"{pairs.difference:+.0f} MiB",
            f"at most +{MEMORY_MIB:g} MiB",
            pairs.difference <= MEMORY_MIB,
        )


def version(bench: Bench) -> Iterator[Row]:
    """What the command line costs before it does anything."""
    bench.say("version")
    command = str(Path(sys.executable).with_name("slash-agent"))
    measure = partial(_duration, folder=bench.folder)
    bare_python = [sys.executable, "-c", "pass"]
    pairs = measure_pairs(measure, [command, "--version"], bare_python, bench.scale.runs)
    yield Row(
        "slash-agent --version",
        _ms(pairs.our_median),
        f"python -c pass {_ms(pairs.their_median)}",
        f"+{_ms(pairs.difference)}",
        f"at most +{VERSION_MS:g} ms",
        pairs.difference <= VERSION_MS,
    )


def request_size(bench: Bench) -> Iterator[Row]:
    """Bytes of the first request's body, all tools and ten skills in it."""
    bench.say("request size")
    return agent_core.first_requests(bench.folder, bench.scale.session_window)


def search(bench: Bench) -> Iterator[Row]:
    """`grep` and `glob` that find nothing, through the sandboxed tool host; what is ignored would match."""
    calls = {"grep": {"pattern": NEEDLE}, "glob": {"pattern": "**/part_*.txt"}}
    for size, target in SEARCH_MS.items():
        files = bench.scale.trees[size]
        bench.say(f"search, making {files} files")
        with _workspace(bench.folder / f"tree-{files}", files) as workspace:
            for tool, arguments in calls.items():
                bench.say(f"search, {tool} in {files} files")
                took = [_search(workspace, tool, arguments) for _ in range(bench.scale.runs + 1)][1:]
                yield Row(
                    f"{tool}, {files:,} files",
                    _ms(median(took)),
                    "",
                    "",
                    f"at most {target:g} ms",
                    median(took) <= target,
                )


def anchors(bench: Bench) -> Iterator[Row]:
    """A review's findings placed on the lines of a large diff."""
    bench.say("anchors")
    return review.anchors(bench.scale.diff_files, bench.scale.runs)


def reviews(bench: Bench) -> Iterator[Row]:
    """Random reviews that GitHub would not take."""
    bench.say("reviews")
    folder = bench.folder / "reviews"
    folder.mkdir()
    return review.refused(folder, bench.scale.reviews, bench.say)


def patch(bench: Bench) -> Iterator[Row]:
    """Many files changed in one call."""
    bench.say("patch")
    return patching.patching(bench.folder / "patching", bench.scale.patched_files, bench.scale.runs)


def masking(bench: Bench) -> Iterator[Row]:
    """Secrets masked, and looked for in disguise."""
    bench.say("masking")
    return redaction.redaction(bench.scale.masked_mb, bench.scale.runs)


def sandbox(bench: Bench) -> Iterator[Row]:
    """What the wall costs. The suites of other packages inside it are measured by `python -m benchmarks.sandboxed`."""
    bench.say("sandbox")
    folder = bench.folder / "sandbox"
    folder.mkdir()
    for only in ("starts", "commands"):
        yield from sandboxed.rows(folder, bench.scale.runs, only)


def session(bench: Bench) -> Iterator[Row]:
    """What stays the same over a long session, and what a cache makes of that."""
    return agent_core.sessions(bench.folder, bench.scale.session_turns, bench.scale.session_window, bench.say)


def context(bench: Bench) -> Iterator[Row]:
    """A conversation that is made shorter again and again."""
    bench.say("context")
    return agent_core.context(bench.folder, bench.scale.context_turns, bench.scale.context_window)


def refusals(bench: Bench) -> Iterator[Row]:
    """Events that lead to nothing, in the action's first step."""
    bench.say("refusals")
    return events.refusals(bench.scale.runs)


def thread(bench: Bench) -> Iterator[Row]:
    """A command in a long thread."""
    bench.say("thread")
    return events.thread(bench.scale.comments, bench.scale.runs)


def report(bench: Bench) -> Iterator[Row]:
    """The page of a run, made and opened."""
    bench.say("report")
    return report_page.pages(bench.folder / "report", bench.scale.report_turns, bench.scale.runs)


def end(bench: Bench) -> Iterator[Row]:
    """The end of a run on a checkout with a large environment."""
    bench.say("last word")
    return last_word.last_words(
        bench.folder / "last-word", bench.scale.environment_files, max(1, bench.scale.runs // 2)
    )


def checkers(bench: Bench) -> Iterator[Row]:
    """The checkers before and after on a package of the lock. Real repositories: `python -m benchmarks.checkers`."""
    bench.say("checkers")
    folder = bench.folder / "checkers"
    folder.mkdir()
    yield from before_and_after.of_installed(bench.scale.checked_package, folder)


def servers(bench: Bench) -> Iterator[Row]:
    """Language servers as the tool host asks them."""
    bench.say("language servers")
    scale = bench.scale
    return language_servers.language_servers(
        bench.folder / "language-servers", scale.server_edits, scale.runs, scale.large_python
    )


FIGURES: Mapping[str, Callable[[Bench], Iterator[Row]]] = {
    "first-request": first_request,
    "turn": turn,
    "growth": growth,
    "memory": memory,
    "version": version,
    "request-size": request_size,
    "search": search,
    "anchors": anchors,
    "reviews": reviews,
    "patch": patch,
    "masking": masking,
    "sandbox": sandbox,
    "session": session,
    "context": context,
    "refusals": refusals,
    "thread": thread,
    "language-servers": servers,
    "report": report,
    "last-word": end,
    "checkers": checkers,
}


@contextmanager
def _workspace(folder: Path, files: int) -> Iterator[Workspace]:
    tree = large_checkout(folder, files).tree
    own = folder / "workspace"
    own.mkdir()
    with Workspace.start(
        choose("auto").confinement, StartOptions(tree, own, os.environ), lambda question: Answer(True)
    ) as workspace:
        yield workspace


def _search(workspace: Workspace, tool: str, arguments: Mapping[str, str]) -> float:
    started = time.monotonic()
    outcome = workspace.call(tool, arguments, CancelToken())
    took = (time.monotonic() - started) * 1000
    if outcome.is_error or not outcome.content.startswith("No "):
        raise RuntimeError(f"{tool} should have found nothing: {outcome.content[:300]}")
    return took


def _first_request(program: Program) -> float:
    return hold(program, 0).first_request


def _turn(program: Program, turns: int) -> float:
    return median(hold(program, turns).turns)


def _peak(program: Program, turns: int) -> float:
    peak = Peak()
    hold(program, turns, peak.watch)
    return peak.mib


def _around(turns: tuple[float, ...], middle: int, spread: int) -> tuple[float, ...]:
    """`middle` counts from 1."""
    return turns[max(0, middle - 1 - spread) : middle + spread]


def _duration(argv: list[str], folder: Path) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as home:
        environment = clean_environment(Path(home))
        started = time.monotonic()
        subprocess.run(argv, env=environment, stdout=subprocess.DEVNULL, check=True)
        return (time.monotonic() - started) * 1000


def _ms(value: float, digits: int = 0) -> str:
    return f"{value:.{digits}f} ms"


def _times(ratio: float) -> str:
    return f"{ratio:.2f} ×"

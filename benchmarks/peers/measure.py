"""One peer's figures: some timed runs, then one in which its memory is watched."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.memory import Peak
from benchmarks.peers.catalogue import Peer, Place
from benchmarks.peers.wire import Conversation, Script, conversation
from benchmarks.session import clean_environment
from tests.support.model_server import ModelServer, Received

_LIMIT = 180


class NotRunError(Exception):
    """A peer did not do what it should; the message says what happened."""


@dataclass(frozen=True)
class Figures:
    """Medians. `first_request` in seconds from the process's start, `turn` in milliseconds from the end of an answer
    to the next request (`None` for a peer that calls no tools), `prefix` how many requests continue the one before."""

    first_request: float
    turn: float | None
    peak_mib: float
    first_bytes: int
    prefix: str

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class _Run:
    first_request: float
    gaps: tuple[float, ...]
    first_bytes: int
    kept: int
    requests: int


def measure(peer: Peer, installed: Path, home: Path, repository: Path, turns: int, runs: int) -> Figures:
    """`runs` timed runs after one that is not counted, and one for memory. Raises `NotRunError`."""
    wanted = turns if peer.turns else 0
    _hold(peer, installed, home, repository, wanted)
    timed = [_hold(peer, installed, home, repository, wanted) for _ in range(runs)]
    peak = Peak(with_commands=True)
    _hold(peer, installed, home, repository, wanted, peak)
    gaps = [median(run.gaps) for run in timed if run.gaps]
    return Figures(
        median(run.first_request for run in timed),
        median(gaps) if gaps else None,
        peak.mib,
        timed[0].first_bytes,
        f"{timed[0].kept}/{timed[0].requests - 1}" if timed[0].requests > 1 else "",
    )


def _hold(
    peer: Peer, installed: Path, home: Path, repository: Path, turns: int, peak: Peak | None = None
) -> _Run:
    log = home.parent / f"{home.name}.log"
    with ModelServer(Script(turns, peer.last)) as server, log.open("wb") as output:
        started = peer.start(Place(installed, home, repository, server.url))
        environment = clean_environment(home) | dict(started.variables)
        begun = time.monotonic_ns()
        process = subprocess.Popen(
            list(started.argv), cwd=repository, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            if peak is not None:
                peak.watch(process.pid)
            process.wait(_LIMIT)
        except subprocess.TimeoutExpired:
            raise NotRunError(f"it did not end within {_LIMIT} s: {_last_words(log)}") from None
        finally:
            _end(process)
        return _judged(list(server.requests), begun, turns, log)


def _judged(received: list[Received], begun: int, turns: int, log: Path) -> _Run:
    """The requests of the agent's own conversation: those with tools, where there are any."""
    parsed = [(request, conversation(request.path, request.json or {})) for request in received]
    conversations: list[tuple[Received, Conversation]] = [(r, c) for r, c in parsed if c is not None]
    with_tools = [(request, turn) for request, turn in conversations if turn.tools]
    main = with_tools if turns else conversations
    if len(main) <= turns // 2:
        raise NotRunError(f"it made {len(main)} of {turns + 1} requests: {_last_words(log)}")
    gaps = tuple(
        (later.arrived_ns - earlier.answered_ns) / 1e6
        for (earlier, _), (later, _) in itertools.pairwise(main)
    )
    kept = sum(later.continues(earlier) for (_, earlier), (_, later) in itertools.pairwise(main))
    first = main[0][0]
    return _Run((first.arrived_ns - begun) / 1e9, gaps, len(first.body), kept, len(main))


def _end(process: subprocess.Popen[bytes]) -> None:
    """The whole session: some peers leave a server behind."""
    with contextlib.suppress(ProcessLookupError):  # everything ended by itself
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_words(log: Path) -> str:
    words = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return words[-1][:160] if words else "it said nothing"

"""One run of `slash-agent fix`, or of the bare program, against a scripted model on loopback, and when what came."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.model_script import Call, Say, ScriptRequest, Step
from tests.support.model_server import ModelServer

ROOT = Path(__file__).resolve().parent.parent
VENDORS = {"anthropic": "anthropic/claude-sonnet-5-5", "openai": "openai/gpt-6.2-sol"}
TASK = "Say what the shapes are for in one line."
COMMAND = str(Path(sys.executable).with_name("slash-agent"))
_LIMIT = 600


class SessionFailedError(Exception):
    """A program that is measured did not do what it is measured at."""


@dataclass(frozen=True)
class Session:
    """Times in milliseconds. `turns[n]` is from the end of answer n to the arrival of request n + 1."""

    first_request: float
    turns: tuple[float, ...]
    first_body: bytes


Watch = Callable[[int], None]
"""Called with the process id as soon as the program runs; returns when it is over."""


@dataclass(frozen=True)
class Program:
    """A command line for one vendor; `home` is its HOME, and its current folder is the repository."""

    name: str
    argv: Sequence[str]
    repository: Path


def ours(vendor: str, repository: Path) -> Program:
    return program(repository, TASK, model=VENDORS[vendor])


def program(repository: Path, task: str, *, model: str, bundle: Path | None = None) -> Program:
    """`slash-agent fix`; with `bundle`, what it leaves goes there."""
    out = ["--out", str(bundle)] if bundle else []
    return Program(
        "slash-agent", [COMMAND, "fix", "--repo", str(repository), "--model", model, *out, task], repository
    )


def bare(vendor: str, repository: Path, request: Path) -> Program:
    script = str(ROOT / "benchmarks" / "bare.py")
    return Program("bare script", [sys.executable, script, vendor, str(request)], repository)


def hold(program: Program, turns: int, watch: Watch | None = None) -> Session:
    """Run `program` through `turns` commands and a last word. Raises `SessionFailedError`."""
    with (
        ModelServer(echo(turns)) as server,
        tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as home,
    ):
        started = run(program, server, Path(home), watch)
        if len(server.requests) != turns + 1:
            raise SessionFailedError(
                f"{program.name} ended after {len(server.requests)} of {turns + 1} requests."
            )
        requests = server.requests
        gaps = [
            (later.arrived_ns - earlier.answered_ns) / 1e6 for earlier, later in itertools.pairwise(requests)
        ]
        return Session((requests[0].arrived_ns - started) / 1e6, tuple(gaps), requests[0].body)


def run(program: Program, server: ModelServer, home: Path, watch: Watch | None = None) -> int:
    """Run `program` to its end; when it was started, in `time.monotonic_ns`. Raises `SessionFailedError`."""
    environment = clean_environment(home) | server.environment()
    log = home / "output"
    with log.open("wb") as output:
        started = time.monotonic_ns()
        process = subprocess.Popen(
            program.argv, cwd=program.repository, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            if watch:
                watch(process.pid)
            code = process.wait(_LIMIT)
        finally:
            process.kill()
            process.wait()
    if code != 0:
        words = log.read_text(errors="replace").strip()[-500:]
        raise SessionFailedError(
            f"{program.name} ended with {code} after {len(server.requests)} requests: {words}"
        )
    return started


def keep_request(vendor: str, repository: Path, folder: Path) -> Path:
    """The first request that ours sends, as a file for the bare program to send."""
    file = folder / f"{vendor}.json"
    file.write_bytes(hold(ours(vendor, repository), 0).first_body)
    return file


def echo(turns: int) -> Callable[[ScriptRequest], Step]:
    """`echo hi`, `turns` times. The comment varies, since ours ends a run that repeats itself."""

    def step(request: ScriptRequest) -> Step:
        if request.number >= turns:
            return Say("Done.")
        return Call("bash", {"command": f"echo hi # {request.number}"}, id=f"call_{request.number}")

    return step


def clean_environment(home: Path) -> dict[str, str]:
    """What a person's shell has, and nothing that slows Python down: bytecode is cached, as it is for them."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}

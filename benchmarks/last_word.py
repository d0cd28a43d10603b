"""From the model's last word to the result on the screen, on a checkout with a large virtual environment.

The check takes no time of its own, so that what is measured is ours: trees, sandboxes, scans, the gate, the report.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.session import COMMAND as SLASH_AGENT
from benchmarks.session import VENDORS, SessionFailedError, clean_environment
from benchmarks.table import Row
from tests.support.model_script import Call, Say, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import make_repository

SECONDS = 1.5
FILES = 20_000
_BYTES_EACH = 350 * 1024 * 1024 // FILES
SANDBOXES = ("auto", "landlock")

_FILES = {
    ".gitignore": ".venv/\n",
    ".github/agent.yml": "version: 1\ndiagnostics: {checkers: []}\nchecks: ['true']\n",
    **{f"src/app/part_{number}.py": f"VALUE = {number}\n" for number in range(80)},
}
_CHANGED = "src/app/part_1.py"
_STEPS: tuple[Step, ...] = (
    # Two answers take as long as a quick model's: meanwhile a run loads what its end needs.
    Turn((Call("bash", {"command": ".venv/bin/python -c 'print(1)'"}, id="call_1"),), delay=0.6),
    Turn((Call("view", {"path": _CHANGED}, id="call_2"),), delay=0.6),
    Call("edit", {"path": _CHANGED, "old": "VALUE = 1", "new": "VALUE = 2"}, id="call_3"),
    Call("describe_change", {"title": "Raise a value", "summary": "It was too low."}, id="call_4"),
    Say("Done."),
)


def last_words(folder: Path, files: int, runs: int, sandboxes: Sequence[str] = SANDBOXES) -> Iterator[Row]:
    """A row a back end; the first run of each is not counted."""
    repository = checkout(folder / "app", files)
    for sandbox in sandboxes:
        took = [_took(repository, sandbox) for _ in range(runs + 1)][1:]
        after, first = median(one[0] for one in took), median(one[1] for one in took)
        yield Row(
            f"last word to result, {'bubblewrap' if sandbox == 'auto' else sandbox}",
            f"{after:.2f} s",
            f"first request after {first:.2f} s",
            "",
            f"at most {SECONDS} s",
            after <= SECONDS,
        )


def checkout(folder: Path, files: int) -> Path:
    """A repository with an ignored `.venv`."""
    repository = make_repository(folder, _FILES)
    venv = repository / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    [site] = venv.glob("lib/python3*/site-packages")
    content = b"#" * _BYTES_EACH
    for number in range(files):
        package = site / f"package_{number // 100}"
        if number % 100 == 0:
            package.mkdir()
        (package / f"module_{number}.py").write_bytes(content)
    return repository


def _took(repository: Path, sandbox: str) -> tuple[float, float]:
    """Seconds from the last answer to the end of what is printed, and to the first request."""
    with (
        ModelServer(list(_STEPS)) as server,
        tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as home,
    ):
        options = ["--repo", str(repository), "--sandbox", sandbox, "--model", VENDORS["anthropic"]]
        environment = clean_environment(Path(home)) | server.environment()
        started = time.monotonic()
        with subprocess.Popen(
            [SLASH_AGENT, "fix", *options, "Raise it."], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            output = process.stdout.read()
            ended = time.monotonic()
        if process.returncode != 0 or _CHANGED.encode() not in output:
            raise SessionFailedError(f"slash-agent ended with {process.returncode}: {output[-500:]!r}")
        first, last = server.requests[0].arrived_ns / 1e9, server.requests[-1].answered_ns / 1e9
        return ended - last, first - started

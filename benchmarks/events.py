"""The cost of an event before the first model request: refusals by the action's first step, and a long thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.session import ROOT
from benchmarks.table import Row
from bot.contracts.request import Request
from bot.events.read_event import read_event
from bot.events.resolve_request import build_request
from bot.github.client import connect
from bot.policy.load import load_policy
from slash_forge import Forge
from slash_forge.bundled import REPORTER, Sample, set_up

REFUSAL_MS = 400.0
SILENT_CALLS = 3
ANSWERED_CALLS = 5
COMMENTS = 2_000
THREAD_MS = 3_000.0
THREAD_CALLS = 25

_FIRST = ROOT / ".github" / "action" / "admission.py"


def refusals(runs: int) -> Iterator[Row]:
    """Process start to end of the step that comes before anything is installed."""
    with _forge() as (forge, sample, folder):
        cases = {
            "refusal, no command": ("Thanks for looking!", 0),
            "refusal, a stranger told": ("/agent fix this", ANSWERED_CALLS),
            "refusal, a stranger again": ("/agent fix this", SILENT_CALLS),
        }
        for name, (body, most_calls) in cases.items():
            took, calls = [], 0
            for _ in range(1 if most_calls == ANSWERED_CALLS else runs):
                event = forge.comment(sample.repository, sample.issue, REPORTER, body)[1]
                before = len(forge.requests)
                took.append(_first_step(event, forge, sample, folder))
                calls = len(forge.requests) - before
            met = median(took) <= REFUSAL_MS and calls <= most_calls
            yield Row(
                name, f"{median(took):.0f} ms", f"{calls} calls", "", _target(REFUSAL_MS, most_calls), met
            )


def thread(comments: int, runs: int) -> Iterator[Row]:
    """A command at the end of a long thread, from its payload to the request with what the model will be shown."""
    with _forge() as (forge, sample, folder):
        for number in range(comments):
            forge.comment(sample.repository, sample.issue, REPORTER, f"comment {number} " + "x" * 100)
        event = forge.comment(sample.repository, sample.issue, "mira-okafor", "/agent fix this")[1]
        file = _written(event, folder)
        policy, took, calls = load_policy(None), [], 0
        for _ in range(runs):
            github = connect(sample.run_token, forge.api_url, sample.repository)
            before = len(forge.requests)
            started = time.monotonic()
            request = build_request(read_event("issue_comment", file), github, policy)
            took.append((time.monotonic() - started) * 1000)
            calls = len(forge.requests) - before
            if not isinstance(request, Request):
                raise TypeError(f"the command was not taken: {request}")
    met = median(took) <= THREAD_MS and calls <= THREAD_CALLS
    name = f"thread of {comments:,} comments"
    yield Row(name, f"{median(took):.0f} ms", f"{calls} calls", "", _target(THREAD_MS, THREAD_CALLS), met)


def _target(milliseconds: float, calls: int) -> str:
    return f"at most {milliseconds:g} ms, {calls} calls"


def _first_step(event: object, forge: Forge, sample: Sample, folder: Path) -> float:
    environment = {
        "PATH": os.environ["PATH"],
        "GITHUB_API_URL": forge.api_url,
        "GITHUB_SERVER_URL": forge.url,
        "GITHUB_REPOSITORY": sample.repository,
        "GITHUB_EVENT_NAME": "issue_comment",
        "GITHUB_EVENT_PATH": str(_written(event, folder)),
        "SLASH_AGENT_GITHUB_TOKEN": sample.run_token,
    }
    started = time.monotonic()
    subprocess.run([sys.executable, "-I", _FIRST], env=environment, check=True, capture_output=True)
    return (time.monotonic() - started) * 1000


def _written(event: object, folder: Path) -> Path:
    file = folder / "event.json"
    file.write_text(json.dumps(event))
    return file


@contextmanager
def _forge() -> Iterator[tuple[Forge, Sample, Path]]:
    with Forge() as forge, tempfile.TemporaryDirectory(prefix="bench-events-") as folder:
        yield forge, set_up(forge), Path(folder)

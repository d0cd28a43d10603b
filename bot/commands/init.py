"""Write what a repository needs for the bot: a policy with the setup and checks of its CI, and the workflows. Each
check is tried once in the sandbox. What is there already is left as it is."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.outcome import CheckState
from bot.doctor.here import detected_here
from bot.doctor.propose import KEYS, Proposed, policy_text, propose
from bot.environment.detected import Detected
from bot.policy.load import POLICY_FILE

if TYPE_CHECKING:
    from bot.run.trial import Trial

EXAMPLE = "slash-agent init --repo . --yes"
_MINUTES = 2
_WIDTH = 80
_MOST_WORDS = 300


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repo", type=Path, default=Path(), metavar="DIR", help="the checkout (default: here)"
    )
    parser.add_argument(
        "--provider", choices=sorted(KEYS), default="anthropic", help="which provider's key the workflow uses"
    )
    parser.add_argument(
        "--reviews", action="store_true", help="also write the workflow that reviews pull requests"
    )
    parser.add_argument(
        "--tasks",
        action="store_true",
        help="also write the shipped maintenance tasks, and the workflow that runs them",
    )
    parser.add_argument("--no-try", action="store_true", help="do not run the checks once in the sandbox")
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    parser.add_argument(
        "--dry-run", action="store_true", help="print the files instead of writing them; tries nothing"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    root = arguments.repo.resolve()
    if not (root / ".git").exists():
        raise UsageError(f"{root} is not the root of a git repository: give one with --repo DIR.")
    detected = detected_here(root)
    proposed = propose(detected, arguments.provider, tasks=arguments.tasks, reviews=arguments.reviews)
    missing = [file for file in proposed if not (root / file.path).exists()]
    for file in proposed:
        print(f"{'write' if file in missing else 'there'}  {file.path}  ({file.why})")
    if arguments.dry_run:
        for file in missing:
            print(f"\n--- {file.path}\n{file.text}", end="")
        return ExitCode.DONE
    if missing and not (arguments.yes or _agreed(len(missing))):
        print("nothing written")
        return ExitCode.DONE
    for file in missing:
        _write(root, file)
    if not arguments.no_try and any(file.path == POLICY_FILE for file in missing) and detected.checks:
        _try(root, detected)
    print(_next(arguments.provider))
    return ExitCode.DONE


def _agreed(number: int) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("There is nobody to ask: say --yes, or --dry-run to see the files first.")
    return input(f"Write {number} file{'' if number == 1 else 's'}? [y/N] ").strip().lower() in ("y", "yes")


def _write(root: Path, file: Proposed) -> None:
    """Never over what is there, and never through a link that leads out of the repository."""
    path = root / file.path
    if not path.parent.resolve().is_relative_to(root):
        raise UsageError(f"{path.parent} leads out of the repository; nothing was written there.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as opened:
            opened.write(file.text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error


def _try(root: Path, detected: Detected) -> None:
    """Run each check of the new policy once, show how it ended, and take those out that cannot run here."""
    from bot.run.trial import Progress, try_checks  # the whole of a run: loaded if something is tried

    print(f"\nTrying each check once in the sandbox, {_MINUTES} minutes at most. Ctrl-C skips this.")
    line = _Line()
    text = policy_text(detected)
    try:
        trials = try_checks(root, text, os.environ, Progress(line.begin, line.end), 60 * _MINUTES)
    except AgentError as error:
        line.end("not possible", 0)
        print(f"The checks were not tried: {error}")
        return
    print(f"\n{table(detected, trials)}")
    unfit = {
        trial.name: trial.run.note
        for trial in trials
        if trial.run.state in (CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS)
    }
    if unfit:
        (root / POLICY_FILE).write_text(policy_text(detected, unfit), encoding="utf-8")
        print(f"\n{POLICY_FILE} has these as comments: {', '.join(unfit)}.")


def table(detected: Detected, trials: Sequence[Trial]) -> str:
    """One row a check, 80 columns wide; below it why those that did not pass did not, and what to do."""
    from bot.run.trial import word

    sources = {check.name: check.source for check in detected.checks}
    width = min(max((len(trial.name) for trial in trials), default=0), 28)
    rows = [("check", "result", "tests", "time", "from")]
    rows += [
        (
            trial.name,
            word(trial.run),
            "" if trial.tests is None else str(trial.tests),
            _seconds(trial.run.duration),
            sources.get(trial.name, ""),
        )
        for trial in trials
    ]
    lines = [f"{a[:width]:{width}}  {b:13} {c:>6}  {d:>6}  {e}"[:_WIDTH].rstrip() for a, b, c, d, e in rows]
    return "\n".join((*lines, *_advice(trials)))


def _advice(trials: Sequence[Trial]) -> list[str]:
    what = {
        CheckState.FAILED: "it fails without any change; a change is not blamed for that",
        CheckState.TIMED_OUT: "narrow its command, or expect to wait for it",
        CheckState.NOT_RUNNABLE: "install what is missing on this machine or in the policy's setup",
        CheckState.NO_SOCKETS: "download what it needs in the policy's setup, or leave the check to CI",
        CheckState.NOT_RUN: "fix the policy's setup, then run `slash-agent init` again without the policy",
    }
    lines: list[str] = []
    notes: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.run.state is not CheckState.PASSED:
            notes.setdefault(trial.run.note or trial.run.state.value, []).append(trial)
    for note, those in notes.items():
        said = " ".join(note.split())[:_MOST_WORDS]
        lines += ["", f"{', '.join(one.name for one in those)}: {said}", f"  -> {what[those[0].run.state]}"]
    return lines


def _seconds(number: float) -> str:
    return f"{number:.0f} s" if number else ""


@dataclass(slots=True)
class _Line:
    """One line for what is waited for, with the seconds that have passed if somebody looks at a terminal."""

    name: str = ""
    began: float = 0
    over: threading.Event = field(default_factory=threading.Event)
    ticker: threading.Thread | None = None

    def begin(self, name: str) -> None:
        self.name, self.began, self.over = name, time.monotonic(), threading.Event()
        if sys.stdout.isatty():
            self.ticker = threading.Thread(target=self._tick, args=(self.over,), daemon=True)
            self.ticker.start()

    def end(self, how: str, seconds: float) -> None:
        if not self.name:
            return
        self.over.set()
        if self.ticker is not None:
            self.ticker.join()
            print("\r\x1b[K", end="")
        seconds = seconds or time.monotonic() - self.began
        print(f"  {self.name[:48]}: {how}, {seconds:.0f} s", flush=True)
        self.name, self.ticker = "", None

    def _tick(self, over: threading.Event) -> None:
        while not over.wait(1):
            print(f"\r  {self.name[:48]}: {time.monotonic() - self.began:.0f} s", end="\x1b[K", flush=True)


def _next(provider: str) -> str:
    return f"""
next:
  1. look at the files and commit them: only a committed policy is used
  2. slash-agent fix "what to do" tries it here; push to the default branch for GitHub
  3. add the secret {KEYS[provider]} (Settings, Secrets and variables, Actions)
  4. let Actions open pull requests (Settings, Actions, General)
  5. slash-agent doctor says what is still missing; then write /agent help under an issue"""

"""See the whole path, event to draft pull request and report, on a bundled sample repository: a recorded model, a
GitHub on loopback, no key and no network. Everything else is real: git, sandbox, tools, checks, gate."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from bot.commands.progress import say_outcome
from bot.contracts.errors import ExitCode
from bot.publish.body.title import title
from bot.run.demo import Demonstrated, demonstrate

EXAMPLE = "slash-agent demo --keep"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep", action="store_true", help="leave the forge up, to look at the pull request in a browser"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    with demonstrate(os.environ, print) as shown:
        _say(shown, kept=arguments.keep)
        if arguments.keep:
            print("\nThe forge stays up; press Ctrl-C to end it.", flush=True)
            ends = {signal.SIGINT, signal.SIGTERM}
            signal.pthread_sigmask(signal.SIG_BLOCK, ends)
            signal.sigwait(ends)
    return ExitCode.DONE


def _say(shown: Demonstrated, *, kept: bool) -> None:
    print()
    print((shown.bundle / "changes.patch").read_text(encoding="utf-8"))
    say_outcome(shown.outcome, print)
    print(f"title    {title(shown.outcome)}")
    print(f"pull     {shown.published.pr_url}")
    print(f"report   {Path(shown.bundle) / 'report.html'}")
    if not kept:
        print(f"\nTo look at the pull request in a browser: {_own_name()} demo --keep")
    if shown.sandbox_trouble:
        print(f"\nThis demo ran without a sandbox: {shown.sandbox_trouble}")
        print(
            "A run with a real model would have been refused. To get a sandbox: sudo apt-get install bubblewrap"
        )


def _own_name() -> str:
    """How this program was called: after `make demo` it is in no folder of PATH."""
    return sys.argv[0] if Path(sys.argv[0]).name == "slash-agent" else "slash-agent"

"""Watch the bot turn an issue into a draft pull request and a report, on a sample repository. The model is a recording
and GitHub is a small server on this machine, so no key and no network are needed. Everything else is real: git,
sandbox, tools, checks, gate."""

import argparse
import os
import signal

from bot.cli.options import add_flag
from bot.cli.print_result import print_result
from bot.cli.terminal.printer import Printer
from bot.cli.terminal.viewer import LineViewer
from bot.publish.bundle import REPORT
from bot.session.demo.demo import DemoResult, run_demo

EXAMPLE = "slash-agent demo --keep"


def configure(parser: argparse.ArgumentParser) -> None:
    keep = "keep the local GitHub server running, to open the pull request in a browser"
    add_flag(parser, "--keep", help=keep)


def run(arguments: argparse.Namespace) -> None:
    printer = Printer()
    with run_demo(os.environ, printer.line, LineViewer(printer.line)) as demo:
        _say(demo, printer, is_kept=arguments.keep)
        if arguments.keep:
            print("\nThe small GitHub stays up; press Ctrl-C to end it.", flush=True)
            ends = {signal.SIGINT, signal.SIGTERM}
            signal.pthread_sigmask(signal.SIG_BLOCK, ends)
            signal.sigwait(ends)


def _say(demo: DemoResult, printer: Printer, *, is_kept: bool) -> None:
    printer.line()
    printer.diff(demo.bundle.patch.decode())
    browse = demo.published.pr_url if is_kept else "slash-agent demo --keep, to see it in a browser"
    own = (
        'slash-agent fix "what to do", in a repository of yours, with ANTHROPIC_API_KEY or OPENAI_API_KEY set'
    )
    next = [("pull", browse), ("report", str(demo.bundle.folder / REPORT)), ("then", own)]
    print_result(demo.bundle.outcome, printer, "in a draft pull request", next)
    if demo.sandbox_trouble:
        printer.line()
        printer.line(f"This demo ran without a sandbox: {demo.sandbox_trouble}", "yellow")
        printer.line(
            "With a real model it would have been refused. Install one: sudo apt-get install bubblewrap"
        )

"""Write what a repository needs for the bot: a policy with the checks that were found, and the workflows. What is
there already is left as it is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bot.contracts.errors import ExitCode, UsageError
from bot.doctor.here import detected_here
from bot.doctor.propose import KEYS, Proposed, propose

EXAMPLE = "slash-agent init --repo . --yes"


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
    parser.add_argument("--no-try", action="store_true", help="do not run each check once in the sandbox")
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    parser.add_argument("--dry-run", action="store_true", help="print the files instead of writing them")


def run(arguments: argparse.Namespace) -> ExitCode:
    root = arguments.repo.resolve()
    if not (root / ".git").exists():
        raise UsageError(f"{root} is not the root of a git repository: give one with --repo DIR.")
    proposed = propose(
        detected_here(root), arguments.provider, tasks=arguments.tasks, reviews=arguments.reviews
    )
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


def _next(provider: str) -> str:
    return f"""next:
  1. look at the files, commit them, and bring them to the default branch
  2. add the secret {KEYS[provider]} (Settings, Secrets and variables, Actions)
  3. let Actions open pull requests (Settings, Actions, General)
  4. slash-agent doctor says what is still missing; then write /agent help under an issue"""

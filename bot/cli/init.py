"""Write the files that the bot needs in a repository: a policy with the setup and checks of its CI, and the workflows.
Each check is tried once in the sandbox. Existing files are not changed."""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.cli.next_commands import git_at
from bot.cli.options import add_flag, add_repo, confirm
from bot.cli.terminal.printer import Mark, Printer, Style
from bot.cli.trials import ADVICE, result_text, try_with_progress
from bot.contracts.errors import AgentError, UsageError
from bot.contracts.formatting import count_of
from bot.contracts.outcome import CheckState
from bot.contracts.request import FOLLOW_UP_FILE
from bot.doctor.contribution_rules import file_demands
from bot.doctor.finding import State
from bot.doctor.init_files import KEYS, ProposedFile, policy_text, propose
from bot.doctor.local import checkout_policy, detect_environment
from bot.ecosystems.record import Use
from bot.environment.detection_result import Detection
from bot.policy.load import POLICY_FILE
from bot.session.local.trial import Trial

EXAMPLE = "slash-agent init --repo . --yes"


def configure(parser: argparse.ArgumentParser) -> None:
    add_repo(parser, "the checkout")
    whose = "the provider whose key the workflow uses"
    parser.add_argument("--provider", choices=sorted(KEYS), default="anthropic", help=whose)
    add_flag(parser, "--reviews", help="also write the workflow that reviews pull requests")
    follows = "also write the workflow that follows the bot's pull requests, and switch it on in the policy"
    add_flag(parser, "--follow-up", help=follows)
    tasks = "also write the shipped maintenance tasks, and the workflow that runs them"
    add_flag(parser, "--tasks", help=tasks)
    add_flag(parser, "--no-try", help="do not run the checks once in the sandbox")
    add_flag(parser, "--yes", help="write the files without a confirmation")
    add_flag(parser, "--dry-run", help="print the files instead of writing them; run no checks")


def run(arguments: argparse.Namespace) -> None:
    root = arguments.repo.resolve()
    if not (root / ".git").exists():
        raise UsageError(f"{root} is not the root of a git repository: give one with --repo DIR.")
    detected = detect_environment(root, os.environ)
    follow_up = arguments.follow_up or (
        not (arguments.yes or arguments.dry_run or (root / FOLLOW_UP_FILE).exists())
        and sys.stdin.isatty()
        and confirm("Follow the bot's pull requests: fix their CI, answer reviews?", "")
    )
    options = {"tasks": arguments.tasks, "reviews": arguments.reviews, "follow_up": follow_up}
    proposed = propose(detected, arguments.provider, replies=checkout_policy(root)[0].replies, **options)
    missing = [file for file in proposed if not (root / file.path).exists()]
    printer = Printer()
    for check in detected.checks:
        printer.line(f"taken     {check.name}  ({check.source})")
    for one in (*detected.unread, *detected.omissions):
        printer.line(f"left out  {one.what}: {one.reason}  ({one.source})")
    for file in proposed:
        printer.line(f"{'write' if file in missing else 'there'}     {file.path}  ({file.why})")
    if arguments.dry_run:
        for file in missing:
            print(f"\n--- {file.path}\n{file.text}", end="")
        return
    unasked = "No terminal to confirm at: use --yes, or --dry-run to see the files first."
    if missing and not (arguments.yes or confirm(f"Write {count_of(missing, 'file')}?", unasked)):
        printer.headline("doubt", "Nothing was written")
        return
    for file in missing:
        _write(root, file)
    trials: list[Trial] = []
    notes: list[str] = []
    if arguments.reviews and "thread_author" not in (root / POLICY_FILE).read_text(encoding="utf-8"):
        offer = f"Pull requests by people without access are not reviewed unless {POLICY_FILE} has"
        notes.append(f"{offer} `thread_author: [review]`.")
    if follow_up and "follow_up" not in (root / POLICY_FILE).read_text(encoding="utf-8"):
        notes.append(f"Pull requests are not followed unless {POLICY_FILE} has `follow_up: {{}}`.")
    if not arguments.no_try and any(file.path == POLICY_FILE for file in missing) and detected.checks:
        trials, unfit = _try(root, detected, follow_up=follow_up)
        notes += unfit
    printer.line()
    printer.headline(*headline(detected, trials, len(missing)))
    printer.line()
    _print_next(missing, arguments, printer)
    printer.line()
    alike: dict[str, list[Trial]] = {}  # such as all checks behind a failed setup, in one line
    for trial in trials:
        alike.setdefault(result_text(trial), []).append(trial)
    for text, ended in alike.items():
        state, names = ended[0].run.state, ", ".join(trial.name for trial in ended)
        printer.field("check", f"{names}: {text}", "green" if state is CheckState.PASSED else "yellow")
        if state in ADVICE:
            printer.field("", ADVICE[state])
    for note in notes:
        printer.field("note", note, "yellow")
    for finding in file_demands(root, checkout_policy(root)[0]):
        style: Style = "green" if finding.state is State.OK else "yellow"
        printer.field("found", f"{finding.name}: {finding.message}", style)
        for line in finding.fix.splitlines():
            printer.field("fix", line, copied=True)


def _write(root: Path, file: ProposedFile) -> None:
    """Write a new file, never over an existing one and never through a link out of the repository."""
    path = root / file.path
    if not path.parent.resolve().is_relative_to(root):
        raise UsageError(f"{path.parent} leads out of the repository; nothing was written there.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as opened:
            opened.write(file.text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error


def _try(root: Path, detected: Detection, *, follow_up: bool) -> tuple[list[Trial], list[str]]:
    """Run each check of the new policy once, with what is installed here. If no tests of CI run, all run again with
    the setup, which is kept if it lets more of them run. Those that cannot run become comments."""
    chosen = detected._replace(setup=())
    fallbacks = {check.name for check in detected.checks if check.fallback}
    tests = {one.name for one in detected.checks if one.use is Use.TESTS} - fallbacks
    try:
        trials = try_with_progress(root, policy_text(chosen, fallback=True), sys.stdout)
        ran = any(trial.tests for trial in trials if trial.name in tests)
        if detected.setup and not ran and tests & _unfit(trials).keys():
            print("Some cannot run here. Once more, with the install from the lock file first:")
            with_setup = try_with_progress(root, policy_text(detected, fallback=True), sys.stdout)
            if len(_unfit(with_setup)) < len(_unfit(trials)):
                trials, chosen = with_setup, detected
    except AgentError as error:
        return [], [f"The checks were not tried: {error}"]
    unfit = _unfit(trials)
    untested = not any(trial.tests for trial in trials if trial.name not in fallbacks)
    counts = [trial.tests for trial in trials]
    # Two of them that count alike run the same tests, such as `go test ./...` and `make test`.
    again = {one.name for number, one in enumerate(trials) if one.tests and one.tests in counts[:number]}
    dropped = fallbacks & again if untested else fallbacks
    trials = [trial for trial in trials if trial.name not in dropped]
    chosen = chosen._replace(checks=tuple(one for one in chosen.checks if one.name not in dropped))
    if unfit or (untested and fallbacks) or chosen != detected:
        text = policy_text(chosen, unfit, fallback=untested, follow_up=follow_up)
        (root / POLICY_FILE).write_text(text, encoding="utf-8")
    return trials, [f"{POLICY_FILE} has these as comments: {', '.join(unfit)}."] if unfit else []


def _unfit(trials: Sequence[Trial]) -> dict[str, str]:
    """Return the reasons of checks that cannot run here, by name."""
    cannot = (CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS, CheckState.NOT_RUN)
    return {trial.name: trial.run.note for trial in trials if trial.run.state in cannot}


def headline(detected: Detection, trials: Sequence[Trial], written: int) -> tuple[Mark, str]:
    """`2 files written, 3 of 4 checks pass`."""
    if not written:
        return "good", "Nothing to write, all files are there"
    files = f"{count_of(written, 'file')} written"
    if not detected.checks:
        return "doubt", f"{files}, no check was found"
    written_down = [check for check in detected.checks if not check.fallback]
    if not trials:
        return "good", f"{files}, {count_of(written_down, 'check')} found, not tried"
    passed = sum(trial.run.state is CheckState.PASSED for trial in trials)
    every = max(len(trials), len(written_down))
    mark: Mark = "good" if passed == every else "doubt"
    words = "check passes" if every == 1 else "checks pass"
    return mark, f"{files}, {passed} of {every} {words}"


def _print_next(written: Sequence[ProposedFile], arguments: argparse.Namespace, printer: Printer) -> None:
    git = git_at(arguments.repo)
    at = "" if git == "git" else f" --repo {shlex.quote(str(arguments.repo))}"
    if written:
        files = shlex.join(file.path for file in written)
        printer.field("commit", f'{git} add {files} && {git} commit -m "Add Slash Agent"', copied=True)
        printer.field("", "Read the files first. Runs in Actions use what is committed.")
    printer.field("try it", f'slash-agent fix{at} "what to do"', copied=True)
    printer.field("GitHub", f"gh secret set {KEYS[arguments.provider]}", copied=True)
    printer.field(
        "",
        "Settings, Actions, General: allow Actions to create pull requests, also with a GitHub App. Then push.",
    )
    printer.field("look", f"slash-agent doctor{at}", copied=True)
    printer.field("", "It lists what is still missing. Then write /agent help under an issue.")

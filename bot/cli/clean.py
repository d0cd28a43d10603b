"""Remove the folders of finished runs. A run that died, or that kept its work tree, is removed only if you name it. An
active run is never removed."""

import argparse
import os
from pathlib import Path

from bot.cli.options import add_flag, add_path, confirm
from bot.cli.terminal.printer import Printer
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.formatting import count_of
from bot.session.run_folder import RunFolder, check_private, is_busy, parent_folder, remove_run, size_of

EXAMPLE = "slash-agent clean --dry-run"


def configure(parser: argparse.ArgumentParser) -> None:
    which = "runs to remove, finished or not (default: all finished runs)"
    add_path(parser, "folders", "RUN_DIR", which, nargs="*")
    add_flag(parser, "--dry-run", help="print what would be removed, and its size")
    add_flag(parser, "-y", "--yes", help="remove without a confirmation")


def run(arguments: argparse.Namespace) -> ExitCode:
    parent = parent_folder(os.environ)
    check_private(parent)
    printer = Printer()
    named = bool(arguments.folders)
    runs = [_named(path, parent) for path in arguments.folders]
    if not named and parent.is_dir():
        runs = [
            RunFolder(root) for root in sorted(parent.iterdir()) if root.is_dir() and not root.is_symlink()
        ]
    removable: dict[RunFolder, int] = {}
    for folder in runs:
        if not folder.is_run:
            printer.field("keep", f"{folder.root}: not a run, it has no journal")
        elif is_busy(folder):
            printer.field("keep", f"{folder.root}: a process works in it")
        elif folder.has_tree and not named:
            printer.field("keep", f"{folder.root}: not finished; recover it with salvage, or name it here")
        else:
            removable[folder] = size_of(folder.root)
            printer.field("remove", f"{folder.root}: {_megabytes(removable[folder])}")
    what = f"{count_of(len(removable), 'run')}, {_megabytes(sum(removable.values()))}"
    if arguments.dry_run or not removable:
        printer.line(f"Nothing was removed: {what} could be.")
        return ExitCode.DONE
    unasked = f"Nothing was removed, of {what}: add --yes to remove them, or --dry-run to only look."
    if not arguments.yes and not confirm(f"Remove {what}?", unasked):
        printer.line("Nothing was removed.")
        return ExitCode.CANCELLED
    removed = [folder for folder in removable if remove_run(folder, finished=not named)]
    printer.line(
        f"Removed {count_of(len(removed), 'run')}, {_megabytes(sum(removable[one] for one in removed))}."
    )
    return ExitCode.DONE


def _named(path: Path, parent: Path) -> RunFolder:
    root = Path(os.path.abspath(path))
    folder = RunFolder(parent / root.name)
    is_here = root.parent.resolve() == parent.resolve() and root.is_dir() and not root.is_symlink()
    if not is_here or not folder.is_run:
        raise UsageError(
            f"{path} is no run of this machine: those are folders in {parent} that have a journal. "
            "Nothing was removed."
        )
    return folder


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"

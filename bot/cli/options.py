"""Options that more than one verb takes, and their values. Defaults from the environment are read the same way."""

import argparse
import os
import re
import select
import stat
import sys
from pathlib import Path
from typing import Any

from bot.contracts.errors import UsageError
from bot.events.command import OPTIONS

_SANDBOXES = ("auto", "strict", "landlock", "off")
_MAX_PIPED = 256 << 10
"""Bytes."""

_PATIENCE = 3.0
"""Seconds without input after which somebody at a terminal may wonder."""

OUT = "folder for the bundle (default: in the run's own folder)"


def add_instruction(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the instruction; `instruction_of` reads it."""
    piped = "with - or without it, piped text is the instruction; otherwise piped text follows it as context"
    parser.add_argument("instruction", nargs="?", default="", help=f"{help}; {piped}")


def instruction_of(arguments: argparse.Namespace) -> str:
    """The instruction, from the command line and standard input. Raises `UsageError` if it is too long, or empty
    with `-`."""
    words: str = arguments.instruction
    if words == "-":
        text = _read_standard_input()
        if not text:
            raise UsageError("Standard input is empty: pipe in what to do, or write it in place of the -.")
        return text
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        mode = 0
    # A terminal, /dev/null or a service's socket holds no text for us.
    piped = _read_standard_input() if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) else ""
    if words.strip() and piped:
        return f"{words}\n\nFrom standard input, as context:\n{piped}"
    return piped or words


def _read_standard_input() -> str:
    if not select.select([0], [], [], _PATIENCE)[0]:
        print("Waiting for the end of standard input; `< /dev/null` gives none.", file=sys.stderr, flush=True)
    data = bytearray()
    while piece := os.read(0, 1 << 16):
        data += piece
        if len(data) > _MAX_PIPED:
            raise UsageError(
                f"Standard input is over {_MAX_PIPED >> 10} KiB, and the model would be paid to read all of it: "
                "pipe in the part that matters, as in: ... | tail -n 200"
            )
    return data.decode(errors="replace").strip()


def option_value(name: str, text: str) -> str:
    """A value of an option that comments have too, in the same form."""
    option = OPTIONS[name]
    if not re.fullmatch(option.form, text):
        raise argparse.ArgumentTypeError(f"{text!r} is not {option.needs}")
    return text


def add_flag(parser: argparse._ActionsContainer, *names: str, help: str, **more: Any) -> None:
    parser.add_argument(*names, action="store_true", help=help, **more)


def add_value(parser: argparse._ActionsContainer, name: str, metavar: str, help: str, **more: Any) -> None:
    parser.add_argument(name, metavar=metavar, help=help, **more)


def add_path(parser: argparse._ActionsContainer, name: str, metavar: str, help: str, **more: Any) -> None:
    add_value(parser, name, metavar, help, type=Path, **more)


def add_repo(parser: argparse.ArgumentParser, help: str) -> None:
    """The folder of the repository, by default the current one."""
    add_path(parser, "--repo", "DIR", f"{help} (default: here)", default=Path())


def add_text(parser: argparse.ArgumentParser, option: str, variable: str, metavar: str, help: str) -> None:
    """A text that the action's step gives in its environment."""
    add_value(parser, option, metavar, help, default=os.environ.get(variable, ""))


def add_bundle(parser: argparse.ArgumentParser, option: str, help: str = OUT) -> None:
    """The folder of the bundle, which the action's step names."""
    add_path(parser, option, "DIR", help, default=os.environ.get("SLASH_AGENT_BUNDLE") or None)


def add_dry_run(parser: argparse.ArgumentParser, help: str) -> None:
    add_flag(parser, "--dry-run", help=help, default=os.environ.get("SLASH_AGENT_DRY_RUN") == "true")


def names_of(text: str) -> list[str]:
    """Names separated by commas or spaces."""
    return [name for name in re.split(r"[,\s]+", text) if name]


def repositories_of(text: str) -> tuple[str, ...]:
    """Parse repositories such as `owner/one, owner/two`, without duplicates. Raises `UsageError` for a malformed
    name."""
    names = tuple(dict.fromkeys(names_of(text)))
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9-]{1,100}/[A-Za-z0-9._-]{1,100}", name):
            raise UsageError(f"{name[:100]!r} is not a repository as in owner/name.")
    return names


def usd(text: str) -> float:
    """An amount of money above nought."""
    return float(option_value("budget", text).removeprefix("$"))


def add_sandbox(parser: argparse.ArgumentParser, help: str = "default: auto", default: str = "auto") -> None:
    """`choices` would not look at a default that comes from the environment."""
    add_value(parser, "--sandbox", f"{{{','.join(_SANDBOXES)}}}", help, type=_sandbox, default=default)


def _sandbox(text: str) -> str:
    """A name from `_SANDBOXES`; in Actions none that is weaker than the default."""
    if text not in _SANDBOXES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(_SANDBOXES)}")
    if text not in ("auto", "strict") and os.environ.get("GITHUB_ACTIONS") == "true":
        raise UsageError(f"--sandbox {text} is for a person at their own terminal, not for Actions.")
    return text


def add_journal(parser: argparse.ArgumentParser) -> None:
    """The journal, or the folder that it is in."""
    what = "journal.jsonl, or the folder of a run or bundle"
    add_value(parser, "journal", "JOURNAL", what, type=_journal_in)


def _journal_in(text: str) -> Path:
    path = Path(text)
    return path / "journal.jsonl" if path.is_dir() else path


def confirm(question: str, unasked: str) -> bool:
    """Whether the person at the terminal agrees. Raises `UsageError` with `unasked` if there is no terminal."""
    if not sys.stdin.isatty():
        raise UsageError(unasked)
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")

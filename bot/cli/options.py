"""Options that more than one verb takes, and their values. Defaults from the environment are read the same way."""

from __future__ import annotations

import argparse
import math
import os
import re
from pathlib import Path

from bot.contracts.errors import UsageError

_REPOSITORY = re.compile(r"[A-Za-z0-9-]{1,100}/[A-Za-z0-9._-]{1,100}")
_SANDBOXES = ("auto", "strict", "landlock", "off")
_OUT = "folder for the bundle (default: in the run's own folder)"


def add_local_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run on a local checkout."""
    parser.add_argument(
        "--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)"
    )
    parser.add_argument(
        "--model", default="", metavar="PROVIDER/NAME", help="default: by the key that is set"
    )
    parser.add_argument("--budget", type=usd, metavar="USD", help="the most that the model may cost")
    add_sandbox(parser, "default: auto; off is for what you trust")
    parser.add_argument("--out", type=Path, metavar="DIR", help=_OUT)


def add_text(parser: argparse.ArgumentParser, option: str, variable: str, *, metavar: str, help: str) -> None:
    """A text that the action's step gives in its environment."""
    parser.add_argument(option, default=os.environ.get(variable, ""), metavar=metavar, help=help)


def add_bundle(parser: argparse.ArgumentParser, option: str, help: str = _OUT) -> None:
    """The folder of the bundle, which the action's step names."""
    named = os.environ.get("SLASH_AGENT_BUNDLE") or None
    parser.add_argument(option, type=Path, default=named, metavar="DIR", help=help)


def add_dry_run(parser: argparse.ArgumentParser, help: str) -> None:
    wanted = os.environ.get("SLASH_AGENT_DRY_RUN") == "true"
    parser.add_argument("--dry-run", action="store_true", default=wanted, help=help)


def names_of(text: str) -> list[str]:
    """Names separated by commas or spaces."""
    return [name for name in re.split(r"[,\s]+", text) if name]


def repositories_of(text: str) -> tuple[str, ...]:
    """Parse repositories such as `owner/one, owner/two`, without duplicates. Raises `UsageError` for a malformed
    name."""
    names = tuple(dict.fromkeys(names_of(text)))
    for name in names:
        if not _REPOSITORY.fullmatch(name):
            raise UsageError(f"{name[:100]!r} is not a repository as in owner/name.")
    return names


def usd(text: str) -> float:
    """An amount of money above nought."""
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount in USD, such as 2.50")
    return amount


def add_sandbox(parser: argparse.ArgumentParser, help: str = "default: auto", default: str = "auto") -> None:
    """`choices` would not look at a default that comes from the environment."""
    parser.add_argument(
        "--sandbox", type=_sandbox, default=default, metavar=f"{{{','.join(_SANDBOXES)}}}", help=help
    )


def _sandbox(text: str) -> str:
    """A name from `_SANDBOXES`; in Actions none that is weaker than the default."""
    if text not in _SANDBOXES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(_SANDBOXES)}")
    if text not in ("auto", "strict") and os.environ.get("GITHUB_ACTIONS") == "true":
        raise UsageError(f"--sandbox {text} is for a person at their own terminal, not for Actions.")
    return text

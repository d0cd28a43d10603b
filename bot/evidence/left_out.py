"""Environments that cannot be shown: a check that needs one does not run, since another Python or Node in its place
would run other code. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from bot.contracts.plain_text import printable
from bot.ecosystems.registry import ecosystems
from bot.evidence.check import NOT_SHOWN
from bot.evidence.summary import languages_of


class Environment(Protocol):
    """`path` is that in the checkout, empty for one outside; `unshown` a clause."""

    @property
    def source(self) -> object: ...

    @property
    def path(self) -> str: ...

    @property
    def unshown(self) -> str: ...


def left_out_sentence(environment: Environment) -> str:
    """Return what is not shown, why, what that means and what to do, for people and the model."""
    return printable(
        f"{environment.path or environment.source} {NOT_SHOWN}: {environment.unshown}. Nothing takes its "
        "place, so checks that need it are not run. Install it anew in a folder that only you can write in."
    )


def left_out_note(environments: Iterable[Environment], command: str) -> str:
    """Return why a check does not run; empty if it needs none of `environments`. A script may need any of them."""
    languages = languages_of(command)
    for one in environments:
        name = one.path.rpartition("/")[2]
        needed_by = {tool.name for tool in ecosystems() if name in tool.folders} or {"python"}
        if not languages or languages & needed_by:
            return left_out_sentence(one)
    return ""

"""What the model is told of where it works, and people of how the work was done, besides what happens in the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.agent.task import Facts
from bot.checkout.clone import Checkout
from bot.contracts.plain_text import quoted
from bot.contracts.request import Request, Verb
from bot.evidence.detect import Check
from bot.run.instructions import Instructions
from bot.run.profiles import SHELL, Profile

if TYPE_CHECKING:
    from bot.run.reviewing import Reviewing

_NO_COMMANDS = "the policy's `commands: 0` or `output: 0` gives you none; its checks are still run"


@dataclass(frozen=True, slots=True)
class Briefing:
    """`root` is the work tree's path as the tools see it; `went_on` is whether the last run's bundle was there;
    `copies` are packages of the repository that are installed as well, each with its folder in the tree."""

    request: Request
    checkout: Checkout
    profile: Profile
    root: str
    checks: tuple[Check, ...]
    reviewing: Reviewing | None = None
    went_on: bool = False
    instructions: tuple[Instructions, ...] = ()
    copies: Callable[[], Sequence[tuple[str, str]]] = tuple

    def facts(self) -> Facts:
        looked_at = self.reviewing.facts() if self.reviewing is not None else ()
        return Facts(
            root=self.root,
            base_sha=self.checkout.base_sha,
            checks=() if self.profile.unrun else tuple(check.command for check in self.checks),
            notes=(*looked_at, *self._missing_last(), *self._installed()),
            checkout=self.checkout.notes,
            diff=self._diff(),
            unrun=self.profile.unrun or ("" if SHELL in self.profile.tools else _NO_COMMANDS),
            instructions=tuple((one.path, _whole(one)) for one in self.instructions),
        )

    def notes(self) -> tuple[str, ...]:
        """Sentences for the outcome."""
        plan, unrun = self.request.plan, self.profile.unrun
        carried_out = (f"This carries out the plan {plan.hash[:12]}.",) if plan is not None else ()
        not_run = (f"No code was run: {unrun}.",) if unrun else ()
        return (*self.checkout.notes, *self._missing_last(), *carried_out, *not_run)

    def _installed(self) -> Iterator[str]:
        for name, folder in self.copies():
            place = self.root if folder == "." else f"{self.root}/{folder}"
            yield (
                f"outside the root, {quoted(f'import {name}')} finds the installed copy, not the work tree's: set "
                f"{quoted(f'PYTHONPATH={place}')}"
            )

    def _diff(self) -> str:
        if self.reviewing is not None:
            return self.reviewing.shown.text
        if self.request.pull is None:
            return ""
        from bot.run.pull_diff import pull_diff

        return pull_diff(self.checkout)

    def _missing_last(self) -> tuple[str, ...]:
        if self.request.verb is not Verb.CONTINUE or self.went_on:
            return ()
        return (
            "The last run's record could not be had: the thread and the repository show what it came to.",
        )


def _whole(one: Instructions) -> str:
    """The text, with what is missing said."""
    return (
        f"{one.text}\n(Shortened by {one.cut} characters. If you need the rest: view {one.path}.)"
        if one.cut
        else one.text
    )

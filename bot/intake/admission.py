"""What the policy says to intake: who may use which verb, and what besides a command asks for one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from bot.contracts.request import Actor, Tier, Verb
from bot.intake.answers import Ignored
from bot.intake.asked import Asked, Cause
from bot.intake.command import Command

FIX_FAILED_RUN = "what the failed checks show"


@dataclass(frozen=True, slots=True)
class Admission:
    """Verbs by tier, and the bots let in by id, each with its verbs. What follows is off until it is named.

    `own_thread` are verbs that an outsider may use on a thread that they opened. `labels` are the labels that ask
    for a verb, `assignee` the login whose assignment asks for a fix, `reviews` the actions on a pull request that
    ask for a review, of a draft too where `drafts`; `failed_runs` is whether a failed run on a pull request asks for
    a fix. Whoever sets one of these off needs the verb as much as if they had written the command.

    `models` are names, or globs with `*`, that `--model` may name, `None` for any; under `always_draft` there is no
    `--no-draft`. Both hold for everybody who may give a command.
    """

    verbs: Mapping[Tier, Collection[Verb]]
    bots: Mapping[int, Collection[Verb]]
    own_thread: Collection[Verb] = ()
    labels: Mapping[str, Verb] = field(default_factory=dict)
    assignee: str = ""
    reviews: Collection[str] = ()
    drafts: bool = False
    failed_runs: bool = False
    models: Collection[str] | None = None
    always_draft: bool = False

    def permits(self, actor: Actor, verb: Verb, *, on_own_thread: bool = False) -> bool:
        if actor.tier is Tier.BOT:
            return verb in self.bots.get(actor.id, ())
        if verb in self.verbs.get(actor.tier, ()):
            return True
        return actor.tier is Tier.OUTSIDER and on_own_thread and verb in self.own_thread

    def out_of_bounds(self, options: Mapping[str, str]) -> str:
        """Why a command may not have these options, in one sentence; empty where it may."""
        model = options.get("model")
        if model and self.models is not None and not any(fnmatchcase(model, one) for one in self.models):
            named = ", ".join(f"`{one}`" for one in self.models) or "none"
            return (
                f"`--model {model}` is not an allowed model here: "
                f"this repository's policy lists {named} under `options: models`."
            )
        if self.always_draft and options.get("draft") == "false":
            return (
                "`--no-draft` is not allowed here: this repository's policy says `draft: always` "
                "under `pull_request`."
            )
        return ""

    def command_of(self, asked: Asked) -> Command | Ignored:
        """The command that was given, or the one that the policy makes of what happened."""
        if asked.command is not None:
            return asked.command
        if asked.cause is Cause.LABEL:
            return self._labelled(asked.detail)
        if asked.cause is Cause.ASSIGNMENT:
            if self.assignee and _login(asked.detail) == _login(self.assignee):
                return Command(Verb.FIX)
            return Ignored("Nothing to do: the policy makes no command of this assignment.")
        if asked.cause is Cause.PULL_REQUEST:
            return self._review(asked)
        if self.failed_runs:
            return Command(Verb.FIX, FIX_FAILED_RUN)
        return Ignored("Nothing to do: the policy makes no command of a failed run.")

    def _review(self, asked: Asked) -> Command | Ignored:
        if asked.detail not in self.reviews:
            return Ignored(
                f"Nothing to do: the policy asks for no review at `{asked.detail}` of a pull request."
            )
        if asked.subject is not None and asked.subject.draft and not self.drafts:
            return Ignored(
                "Nothing to do: the pull request is a draft; it is reviewed when it is ready, or when asked."
            )
        return Command(Verb.REVIEW)

    def _labelled(self, label: str) -> Command | Ignored:
        # GitHub has no two labels that differ in case alone.
        verb = next((verb for name, verb in self.labels.items() if name.casefold() == label.casefold()), None)
        if verb is None:
            return Ignored("Nothing to do: the policy makes no command of this label.")
        return Command(verb)


def _login(login: str) -> str:
    """An app's login is written with `[bot]` in one place and without it in another."""
    return login.casefold().removesuffix("[bot]")

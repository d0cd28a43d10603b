"""The request of a run: verb, instruction, actor, thread, and the limits of its session."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

from bot.contracts.plan import Plan
from bot.contracts.pulls import Comment, FailedCheck, PullRequest, ReviewThread

POLICY_FILE = ".github/agent.yml"
FOLLOW_UP_FILE = ".github/workflows/follow-up.yml"
OWN_WORKFLOWS = (".github/workflows/agent.yml", FOLLOW_UP_FILE)

HIDDEN_TEXT_MARK = "taken out"
"""Marks the entries of `Thread.left_out` that are about hidden text withheld from the model."""


class Tier(StrEnum):
    """Rights of an actor, from GitHub's permission API by account id. `LOCAL` is a person at their own
    terminal."""

    MAINTAINER = "maintainer"
    CONTRIBUTOR = "contributor"
    OUTSIDER = "outsider"
    BOT = "bot"
    SCHEDULE = "schedule"
    LOCAL = "local"


class Actor(NamedTuple):
    """Who asked."""

    login: str
    id: int
    tier: Tier


class Thread(NamedTuple):
    """An issue or a pull request as it was at the trigger. `left_out` has one sentence for each omission and
    its reason."""

    number: int
    title: str
    body: str
    author: str
    url: str
    comments: tuple[Comment, ...] = ()
    is_pull_request: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def hidden(self) -> str:
        """A sentence about the hidden text that the model was not shown; empty for none."""
        notes = [words for words in self.left_out if f" {HIDDEN_TEXT_MARK}" in words]
        return f"Hidden text was not shown to the model: {'; '.join(notes)}." if notes else ""


class Trigger(NamedTuple):
    """The event behind the request. `comment_id` is 0 if no comment triggered it. Times are RFC 3339, UTC."""

    event: str
    comment_id: int
    url: str
    at: str


CHECK, NO_CHECKS, CHECK_MINUTES = "check", "no-checks", "check-minutes"
"""Keys of `Request.options`: the one check to run, none at all, and the minutes for all."""

SKILL = "skill"
"""A key of `Request.options`: the name of the skill that the run begins with."""

CONFLICT = "conflict"
"""The round whose work tree is the automatic merge of the base's tip, with conflict markers."""
REVIEW = "review"
"""The round that answers a review, in which people asked for the change."""
ROUND_ARTIFACT = "slash-agent-bundle-round-"
"""Begins the name of the artifact with the bundle of a round; the number of the pull request follows."""

ALLOW_DELETIONS = "allow-deletions"
"""A key of `Request.options` that no comment can set."""


class Request(NamedTuple):
    """One job. `verb` is a name in `bot.verbs.registry`; `instruction` is what was asked, `None` if the words only
    point at where they stand. `repository` is `owner/name`, empty for a local checkout without a remote.

    `base_ref` is the branch that a result is meant for: on a pull request its own base. On a pull request
    `pull` is set, `unresolved` are its open review threads, and `failures` the failed checks of its head;
    `anchor` is the review thread that contains the request. `trusted_sha` is the head that a maintainer named
    in the command: only at that commit may a fork's code run. `plan` is the approved plan to execute, `resumes`
    the Actions run whose bundle is continued, `task` the name of the maintenance task, `triage` its threads.
    `policy_file` is the policy's path in the base commit. `round` is the kind of a round for a pull request that
    the bot follows, `rounds` are the lines of its comment until then.
    """

    verb: str
    instruction: str | None
    actor: Actor
    repository: str
    base_ref: str
    clone_url: str
    thread: Thread | None = None
    trigger: Trigger | None = None
    options: Mapping[str, str] = {}
    pull: PullRequest | None = None
    anchor: ReviewThread | None = None
    unresolved: tuple[ReviewThread, ...] = ()
    failures: tuple[FailedCheck, ...] = ()
    trusted_sha: str = ""
    plan: Plan | None = None
    resumes: int = 0
    task: str = ""
    policy_file: str = POLICY_FILE
    round: str = ""
    rounds: tuple[str, ...] = ()
    triage: Triage | None = None

    @property
    def full_instruction(self) -> str:
        """The instruction as text that stands alone, for people."""
        place = f"this review thread is about: {self.anchor.position}" if self.anchor else ""
        return self.worded(self.verb, place)

    def worded(self, verb: str, lines: str) -> str:
        """The instruction in words: without one, what `verb` is to do with the place of the request. `lines` says what
        those of a review thread are, as the reader can find them."""
        if self.instruction is not None:
            return self.instruction
        if self.anchor is not None:
            return f"{verb.capitalize()} what {lines}."
        if self.thread is not None:
            return f"{verb.capitalize()} this {'pull request' if self.thread.is_pull_request else 'issue'}."
        return f"the task {self.task}" if self.task else "this repository"

    @property
    def dry_run(self) -> bool:
        """Whether the result is only shown and nothing is published."""
        return self.options.get("dry-run") == "true"

    @property
    def counts_as(self) -> str:
        """The kind of round that it counts as on its pull request: a fix of a failed run is one, too. Empty: none."""
        by_run = self.trigger is not None and self.trigger.event == "workflow_run"
        return self.round or (self.verb if by_run else "")

    @property
    def keeps_tests(self) -> bool:
        """Whether a change that weakens tests is refused: people asked for no change in particular."""
        return self.round not in ("", REVIEW)

    @property
    def allows_deletions(self) -> bool:
        """Whether a person on their own checkout allowed deleting more than half of its files."""
        return self.actor.tier is Tier.LOCAL and self.options.get(ALLOW_DELETIONS) == "true"


class ThreadState(NamedTuple):
    """State of a thread. Times are RFC 3339 in UTC.

    `quiet_since` is the time of the last activity that was not this bot's; `told_at` is when the task last
    commented on it, empty for never.
    """

    number: int
    is_pull_request: bool
    state: Literal["open", "closed"]
    locked: bool
    labels: tuple[str, ...]
    quiet_since: str
    told_at: str = ""

    @property
    def answered(self) -> bool:
        """Whether there was activity after the task's last comment."""
        return bool(self.told_at) and self.quiet_since > self.told_at


class TriageThread(NamedTuple):
    """A thread for a maintenance task, with as much of its text as fits: `comments` are the newest ones."""

    state: ThreadState
    title: str
    body: str
    author: str
    created_at: str
    comments: tuple[Comment, ...] = ()


class Triage(NamedTuple):
    """The threads of a maintenance task as read at `at`. `left_out` has one sentence for each omission and its
    reason."""

    at: str
    threads: tuple[TriageThread, ...]
    left_out: tuple[str, ...] = ()


class RunLimits(NamedTuple):
    """What one session may use, checked before each model request; `None` is no limit.

    `tokens` counts input, cache and output together. A response may overshoot `tokens` and `cost_usd`, since
    its usage is known only at its end. `commands` is the number of commands, `output` their total output in
    bytes.
    """

    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    minutes: float | None = None
    commands: int | None = None
    output: int | None = None

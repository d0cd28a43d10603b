"""A request: what somebody asked for, who they are, and the thread it was asked in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from bot.contracts.comments import Comment
from bot.contracts.plan import Plan
from bot.contracts.pulls import FailedCheck, PullRequest, ReviewThread
from bot.contracts.triage import Triage

POLICY_FILE = ".github/agent.yml"

TAKEN_OUT = "taken out"
"""How words begin that say of hidden text that the model is not shown it."""

_THE_THREAD = frozenset(
    {"", "this", "it", "this issue", "this bug", "this one", "this pull request", "this pr"}
)
_THE_LINES = frozenset({"", "this", "it", "this one", "this line", "these lines", "this code", "here"})


class Verb(StrEnum):
    FIX = "fix"
    REVIEW = "review"
    PLAN = "plan"
    APPROVE = "approve"
    EXPLAIN = "explain"
    CONTINUE = "continue"
    RETRY = "retry"
    STOP = "stop"
    STATUS = "status"
    HELP = "help"


class Tier(StrEnum):
    """What somebody may, from GitHub's permission API by account id. `LOCAL` is a person at their own terminal."""

    MAINTAINER = "maintainer"
    CONTRIBUTOR = "contributor"
    OUTSIDER = "outsider"
    BOT = "bot"
    SCHEDULE = "schedule"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Actor:
    login: str
    id: int
    tier: Tier


@dataclass(frozen=True, slots=True)
class Thread:
    """An issue or a pull request as it was at the trigger. `left_out` says in words what is missing and why."""

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
        """What was hidden in it from people and was not shown to the model, as a sentence; empty for nothing."""
        said = [words for words in self.left_out if f" {TAKEN_OUT}" in words]
        return f"Hidden text was not shown to the model: {'; '.join(said)}." if said else ""


@dataclass(frozen=True, slots=True)
class Trigger:
    """The event behind the request. `comment_id` is 0 where no comment asked. Times are RFC 3339, UTC."""

    event: str
    comment_id: int
    url: str
    at: str


@dataclass(frozen=True, slots=True)
class Request:
    """One job. `repository` is `owner/name`, empty for a local checkout without a remote.

    `base_ref` is the branch that a result is meant for: the pull request's own base where one is worked on.
    Under a pull request `pull` is it, `unresolved` its open review threads and `failures` what failed on its
    head; `anchor` is the review thread that the request was written in. `trusted_sha` is the head that a
    maintainer named in the command: only at that commit may a fork's code be run. `plan` is the approved plan
    that is to be carried out, `resumes` the Actions run whose bundle is gone on from, `task` the name of the
    maintenance task, `triage` the threads that it is shown. `policy_file` is where the base commit has the policy.
    """

    verb: Verb
    instruction: str
    actor: Actor
    repository: str
    base_ref: str
    clone_url: str
    thread: Thread | None = None
    trigger: Trigger | None = None
    options: dict[str, str] = field(default_factory=dict)
    pull: PullRequest | None = None
    anchor: ReviewThread | None = None
    unresolved: tuple[ReviewThread, ...] = ()
    failures: tuple[FailedCheck, ...] = ()
    trusted_sha: str = ""
    plan: Plan | None = None
    resumes: int = 0
    task: str = ""
    policy_file: str = POLICY_FILE
    triage: Triage | None = None

    @property
    def wish(self) -> str:
        """The instruction in words that stand alone: a mere "this" speaks of the thread it was written in, and in a
        review comment of its lines."""
        said = self.instruction.strip(" .!\n").lower()
        if self.anchor is not None and said in _THE_LINES:
            return f"{self.verb.value.capitalize()} what this review thread is about: {self.anchor.place}."
        if self.thread is None or said not in _THE_THREAD:
            return self.instruction
        kind = "pull request" if self.thread.is_pull_request else "issue"
        return f"{self.verb.value.capitalize()} this {kind}."

    @property
    def dry_run(self) -> bool:
        """Whether whoever asked wants to see what would be published, and nothing published."""
        return self.options.get("dry-run") == "true"

    def draft(self, otherwise: bool) -> bool:
        """Whether the pull request is to be a draft; `otherwise` where the request does not say."""
        return {"true": True, "false": False}.get(self.options.get("draft", ""), otherwise)

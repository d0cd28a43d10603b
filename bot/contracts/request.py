"""A request: what somebody asked for, who they are, and the thread it was asked in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

_THE_THREAD = frozenset(
    {"", "this", "it", "this issue", "this bug", "this one", "this pull request", "this pr"}
)


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
class Comment:
    id: int
    author: str
    body: str
    created_at: str
    updated_at: str


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


@dataclass(frozen=True, slots=True)
class Trigger:
    """The event behind the request. `comment_id` is 0 where no comment asked. Times are RFC 3339, UTC."""

    event: str
    comment_id: int
    url: str
    at: str


@dataclass(frozen=True, slots=True)
class Request:
    """One job. `repository` is `owner/name`, empty for a local checkout without a remote."""

    verb: Verb
    instruction: str
    actor: Actor
    repository: str
    base_ref: str
    clone_url: str
    thread: Thread | None = None
    trigger: Trigger | None = None
    options: dict[str, str] = field(default_factory=dict)

    @property
    def wish(self) -> str:
        """The instruction in words that stand alone: a mere "this" speaks of the thread it was written in."""
        if self.thread is None or self.instruction.strip(" .!\n").lower() not in _THE_THREAD:
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

"""What an event asks for: an `EventRequest`, or the reason why it asks for nothing or is refused."""

from enum import StrEnum
from typing import NamedTuple

from bot.contracts.errors import AgentError, ExitCode
from bot.contracts.pulls import ReviewThread
from bot.contracts.request import Actor, Tier, Trigger
from bot.events.command import Command
from bot.github.values import OWN_MARKER, Account, IssueData, RepositoryData, TextKind

ISSUE_COMMENT = "issue_comment"
REVIEW_COMMENT = "pull_request_review_comment"
REVIEW = "pull_request_review"
COMMENT_EVENTS = {
    ISSUE_COMMENT: TextKind.COMMENT,
    REVIEW_COMMENT: TextKind.REVIEW_COMMENT,
    REVIEW: TextKind.REVIEW,
}
"""The events of a text that may hold a command, with the kind of the text."""

OF_PULLS = ("pull_request", "pull_request_target")


class Cause(StrEnum):
    """What makes an event a request. All causes but a command need the policy's consent."""

    COMMAND = "command"
    LABEL = "label"
    ASSIGNMENT = "assignment"
    PULL_REQUEST = "pull request"
    FAILED_RUN = "failed run"
    FAILED_UPDATE = "failed update"
    REPLY = "reply"
    FOLLOW_UP = "follow-up"


class WorkflowInputs(NamedTuple):
    """What the job adds to the payload.

    `instruction` and `task` are the workflow's inputs, for events that carry no text. `repository` is the one that the
    job works on (`owner/name`), empty for the event's; `now` is the time (RFC 3339), `url` the job's page. `replies`:
    comments without a command may be replies to the bot.
    """

    repository: str = ""
    instruction: str = ""
    task: str = ""
    now: str = "1970-01-01T00:00:00Z"
    url: str = ""
    replies: bool = False


NO_INPUTS = WorkflowInputs()


class CommandSource(NamedTuple):
    """The text that holds a command, as its author wrote it. `identity` is 0 for the thread's own text. `prefix` is
    what makes a command of a reply, empty for a command."""

    kind: TextKind
    identity: int
    body: str
    prefix: str = ""


class EventRequest(NamedTuple):
    """A parsed event that requests something. `command` is `None` if the policy decides, by `cause` and `detail`.

    `source` is the text with the command, `None` for a workflow's input. `detail` is the label, the assigned login, or
    the action on the pull request. `actor` is the responsible account, `None` if it is deleted; `sender` caused the
    event. `tier` is set if the policy requests the run and no account does. `subject` is `None` if the payload has no
    thread; `number` may still name one. `head_sha` is the payload's head, `anchor` the lines that a review comment is
    on, without its comments.
    """

    repository: RepositoryData
    trigger: Trigger
    actor: Account | None
    sender: Account | None
    cause: Cause = Cause.COMMAND
    command: Command | None = None
    source: CommandSource | None = None
    detail: str = ""
    subject: IssueData | None = None
    number: int = 0
    head_sha: str = ""
    task: str = ""
    tier: Tier | None = None
    anchor: ReviewThread | None = None

    @property
    def on_pull(self) -> bool:
        """Whether it is known to be about a pull request."""
        return self.subject is not None and self.subject.is_pull_request


class NoRequestError(Exception):
    """An event that requests nothing. `reason` is one sentence for the log. `unmet`: the policy lets such an event
    request something, so people wait for a result."""

    def __init__(self, why: str, *, unmet: bool = False) -> None:
        self.reason = f"Nothing to do: {why}."
        self.unmet = unmet
        super().__init__(self.reason)


class RefusedError(AgentError):
    """A request that is not run. The text is one line, posted in the thread if `in_thread`, else only logged.
    `actor` is `None` if who asked is not known."""

    exit_code = ExitCode.REFUSED

    def __init__(self, reason: str, *, in_thread: bool = True) -> None:
        super().__init__(reason)
        self.in_thread = in_thread
        self.actor: Actor | None = None


class UsageRefusedError(RefusedError):
    """A command that its author has to change."""

    exit_code = ExitCode.USAGE


def is_own(body: str) -> bool:
    """Whether a text contains the bot's mark. A mark in a quote, after `>`, does not count."""
    return any(line.startswith(OWN_MARKER) for line in body.splitlines())

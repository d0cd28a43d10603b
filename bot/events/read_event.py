"""Read an event's payload file into an `EventRequest`.

The payload is a snapshot: its content counts, whatever the thread contains later. Nothing else is read, so an event
without a request costs no API call.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bot.contracts.pulls import BRANCH_PREFIX, ReviewThread, Side
from bot.contracts.request import Tier, Trigger
from bot.events.command import Command, mentions_agent, near_miss_command, parse_command
from bot.events.event_request import (
    COMMENT_EVENTS,
    ISSUE_COMMENT,
    NO_INPUTS,
    OF_PULLS,
    REVIEW,
    REVIEW_COMMENT,
    Cause,
    CommandSource,
    EventRequest,
    NoRequestError,
    WorkflowInputs,
    is_own,
)
from bot.events.payload import Fields, load
from bot.github.values import GHOST, Account, Head, IssueData, RepositoryData, TextKind
from bot.verbs.record import Answer, Earlier
from bot.verbs.registry import VERBS, taking

_SCHEDULE = "schedule"
_INSIDERS = ("OWNER", "MEMBER", "COLLABORATOR")
_REVIEWABLE = ("opened", "reopened", "ready_for_review", "synchronize")


def read_event(name: str, path: Path, inputs: WorkflowInputs = NO_INPUTS) -> EventRequest:
    """Return the request in the payload file of an event. Raises `NoRequestError` if there is none, and `UsageError`
    naming the file or the invalid field."""
    fields = load(path)
    if name in READERS:
        return READERS[name](name, fields, inputs)
    if name == "push":
        raise NoRequestError(
            "a push starts nothing; new commits on a pull request arrive as a `pull_request` event"
        )
    raise NoRequestError(f"the event `{_word(name)}` asks for nothing")


def _from_comment(name: str, fields: Fields, inputs: WorkflowInputs) -> EventRequest:
    """A comment in a conversation or on lines of a diff, or the own text of a review. Each kind has ids of its own."""
    is_review = name == REVIEW
    text, noun, new = ("review", "review", "submitted") if is_review else ("comment", "comment", "created")
    action = fields.text("action")
    if action != new:
        raise NoRequestError(f"the {noun} was {_word(action)}, and only a new {noun} is a command")
    identity, body = fields.number(f"{text}.id"), fields.text(f"{text}.body", default="")
    prefix = _reply_prefix(name, fields) if inputs.replies else ""
    if is_review and _is_own_branch(fields) and parse_command(body) is None:
        return _step(
            name, fields, _subject(fields, "pull_request").number, fields.time("review.submitted_at")
        )
    command = _command_in(body, noun, may_reply=bool(prefix))
    if name != ISSUE_COMMENT and not _is_own_repository(fields, "pull_request.head.repo"):
        raise NoRequestError(
            f"GitHub gives a {noun} on a fork's pull request neither secrets nor a token that writes; write the "
            "command as a comment in the conversation of the pull request, where it works"
        )
    url, at = fields.text(f"{text}.html_url"), fields.time(f"{text}.{new}_at")
    if name == REVIEW_COMMENT and fields.has("comment.updated_at"):
        # One that belongs to a review is created with its first word and changed when the review is submitted.
        at = max(at, fields.time("comment.updated_at"))
    request = _about_thread(
        fields,
        _subject(fields, "issue" if name == ISSUE_COMMENT else "pull_request"),
        Trigger(name, 0 if is_review else identity, url, at),
        fields.account(f"{text}.user"),
    )
    source = CommandSource(COMMENT_EVENTS[name], identity, body, "" if command else prefix)
    return request._replace(
        cause=Cause.COMMAND if command else Cause.REPLY,
        command=command,
        source=source,
        anchor=_anchor(fields) if name == REVIEW_COMMENT else None,
    )


def _reply_prefix(name: str, fields: Fields) -> str:
    """Return what makes a command of a comment that may be a reply to the bot; empty for any other comment. GitHub's
    word on its author only rules people out, and saves API calls."""
    association, kind = (
        fields.text(f"comment.{key}", default="") for key in ("author_association", "user.type")
    )
    if association not in _INSIDERS or kind != "User":
        return ""
    if name == ISSUE_COMMENT:
        return f"/agent {taking(Earlier.RUN)} "
    return "/agent " if fields.number("comment.in_reply_to_id", default=0) else ""


def _anchor(fields: Fields) -> ReviewThread:
    """Return a comment's location. The payload's line is null if it is gone from the diff, and for a whole file."""
    line = fields.number("comment.line", default=0)
    of_file = fields.text("comment.subject_type", default="line") == "file"
    return ReviewThread(
        id=fields.number("comment.in_reply_to_id", default=0) or fields.number("comment.id"),
        path=fields.text("comment.path"),
        line=line,
        start_line=fields.number("comment.start_line", default=0) if line else 0,
        side=Side.LEFT if fields.text("comment.side", default="RIGHT") == "LEFT" else Side.RIGHT,
        hunk=fields.text("comment.diff_hunk", default=""),
        comments=(),
        outdated=line == 0 and not of_file,
    )


def _from_thread(name: str, fields: Fields, _: WorkflowInputs) -> EventRequest:
    """An action on an issue or a pull request."""
    is_pull = name in OF_PULLS
    noun, parent = ("pull request", "pull_request") if is_pull else ("issue", "issue")
    action, subject = fields.text("action"), _subject(fields, parent)
    if action == "opened" and not is_pull:
        command = _command_in(subject.body, noun)
        trigger = Trigger(name, 0, subject.url, fields.time("issue.created_at"))
        source = CommandSource(TextKind.THREAD, 0, subject.body)
        request = _about_thread(fields, subject, trigger, fields.account("issue.user"))
        return request._replace(command=command, source=source)
    label = fields.text("label.name", default="") if action == "labeled" else ""
    assignee = fields.text("assignee.login", default="") if action == "assigned" else ""
    cause = Cause.LABEL if label else Cause.ASSIGNMENT if assignee else Cause.PULL_REQUEST
    if cause is Cause.PULL_REQUEST:
        if not is_pull or action not in _REVIEWABLE:
            raise NoRequestError(f"the {noun} was {_word(action)}, which asks for nothing")
        if _is_own_branch(fields):
            raise NoRequestError("the pull request is of a branch of this bot's own")
    # The payload has no time of the action, so the trigger's time is the thread's last change before it.
    trigger = Trigger(name, 0, subject.url, subject.updated_at)
    request = _about_thread(fields, subject, trigger, fields.account("sender"))
    return request._replace(cause=cause, detail=label or assignee or action)


def _about_thread(
    fields: Fields, subject: IssueData, trigger: Trigger, actor: Account | None
) -> EventRequest:
    """Return the request about the thread in the payload."""
    return EventRequest(
        repository=fields.repository(),
        trigger=trigger,
        actor=actor,
        sender=fields.account("sender"),
        subject=subject,
        number=subject.number,
        head_sha=subject.head.sha if subject.head else "",
    )


def _from_inputs(name: str, fields: Fields, inputs: WorkflowInputs) -> EventRequest:
    """A workflow that an account with write access started by hand or through the API, or that a schedule started. A
    schedule has no sender, and its payload often does not name the repository."""
    is_schedule = name == _SCHEDULE
    inputs_key = "client_payload" if name == "repository_dispatch" else "inputs"
    instruction = fields.text(f"{inputs_key}.instruction", default="") or inputs.instruction
    task = fields.text(f"{inputs_key}.task", default="") or inputs.task
    if not instruction.strip() and not task:
        raise NoRequestError(f"the `{name}` has neither an `instruction` nor a `task`")
    own = None if is_schedule and not fields.has("repository") else fields.repository()
    target = inputs.repository or (own.name if own else "")
    is_own_target = own is not None and own.name.lower() == target.lower()
    sender = None if is_schedule else fields.account("sender")
    # Here `/agent` is optional.
    command = parse_command(instruction) or parse_command(f"/agent {instruction}")
    request = EventRequest(
        # Of another repository only the name is known.
        repository=own if own and is_own_target else RepositoryData(target, "", private=True, clone_url=""),
        trigger=Trigger(name, 0, inputs.url, inputs.now),
        actor=sender,
        sender=sender,
        command=command,
        # The number is one of the event's repository, which need not be the task's.
        number=fields.number_in_text(f"{inputs_key}.number") if is_own_target else 0,
        task=task,
        tier=Tier.SCHEDULE if is_schedule else None,
    )
    if command and VERBS[command.verb].answer is Answer.FOLLOWING:
        # Whoever starts the workflow, it is the next step.
        return request._replace(
            command=None, cause=Cause.FOLLOW_UP, actor=None, sender=None, tier=Tier.SCHEDULE
        )
    return request


def _from_run(name: str, fields: Fields, _: WorkflowInputs) -> EventRequest:
    """A workflow's run that failed on a pull request of this repository."""
    run = "workflow_run"
    repository, actor = fields.repository(), fields.account(f"{run}.actor")
    action, conclusion = fields.text("action"), fields.text(f"{run}.conclusion", default="")
    ended = conclusion if action == "completed" else action
    cause, head = fields.text(f"{run}.event"), fields.text(f"{run}.head_branch", default="")
    pulls = list(_own_pulls(fields, run))
    if action == "completed" and pulls and head.startswith(BRANCH_PREFIX):
        return _step(name, fields, min(pulls), fields.time(f"{run}.updated_at"))
    reasons = {
        f"the workflow run is `{_word(ended)}`, and only a failed one is looked at": ended != "failure",
        f"the failed run was of the event `{_word(cause)}`, not of a pull request": cause not in OF_PULLS,
        "the failed run is of a fork's pull request; a person has to ask for a fix there": (
            not _is_own_repository(fields, f"{run}.head_repository")
        ),
        "the failed run is of a branch of this bot's own": head.startswith(BRANCH_PREFIX),
        "the failed run was begun by a deleted account": actor is None,
        "the failed run is of no open pull request": not pulls,
    }
    if why := next((why for why, applies in reasons.items() if applies), ""):
        raise NoRequestError(why)
    return EventRequest(
        repository=repository,
        trigger=Trigger(name, 0, fields.text(f"{run}.html_url"), fields.time(f"{run}.updated_at")),
        cause=Cause.FAILED_RUN,
        actor=actor,
        sender=actor,
        detail=fields.text(f"{run}.name", default=""),
        number=min(pulls),
        head_sha=fields.sha(f"{run}.head_sha"),
        tier=Tier.SCHEDULE,
    )


def _from_suite(name: str, fields: Fields, _: WorkflowInputs) -> EventRequest:
    """The checks of an app that ended on a branch of ours: those of Actions arrive as `workflow_run`."""
    suite = "check_suite"
    pulls = list(_own_pulls(fields, suite))
    if not pulls or not fields.text(f"{suite}.head_branch", default="").startswith(BRANCH_PREFIX):
        raise NoRequestError("the check suite is of no pull request of this bot's own")
    return _step(name, fields, min(pulls), fields.time(f"{suite}.updated_at"))


def _step(name: str, fields: Fields, number: int, at: str) -> EventRequest:
    """What ended or was said on a pull request of a branch of ours: its next step."""
    repository = fields.repository()
    return EventRequest(
        repository=repository,
        trigger=Trigger(name, 0, f"{repository.clone_url.removesuffix('.git')}/pull/{number}", at),
        actor=None,
        sender=None,
        cause=Cause.FOLLOW_UP,
        number=number,
        tier=Tier.SCHEDULE,
    )


def _is_own_branch(fields: Fields) -> bool:
    own = _is_own_repository(fields, "pull_request.head.repo")
    return own and fields.text("pull_request.head.ref", default="").startswith(BRANCH_PREFIX)


def _own_pulls(fields: Fields, source: str) -> Iterator[int]:
    """Yield the numbers of this repository's own pull requests with the head of `source`. GitHub also lists those onto
    other repositories of the network that have the same head: such a number is something else here."""
    own, head_sha = fields.number("repository.id"), fields.sha(f"{source}.head_sha")
    for pull in fields.entries(f"{source}.pull_requests"):
        repositories = {pull.number(f"{end}.repo.id", default=0) for end in ("base", "head")}
        if repositories == {own} and pull.text("head.sha", default="") == head_sha:
            yield pull.number("number")


def _subject(fields: Fields, parent: str) -> IssueData:
    is_pull = parent == "pull_request"
    return IssueData(
        number=fields.number(f"{parent}.number"),
        title=fields.text(f"{parent}.title"),
        body=fields.text(f"{parent}.body", default=""),
        author=fields.account(f"{parent}.user") or GHOST,
        url=fields.text(f"{parent}.html_url"),
        created_at=fields.text(f"{parent}.created_at", default=""),
        updated_at=fields.time(f"{parent}.updated_at"),
        is_pull_request=is_pull or fields.has(f"{parent}.pull_request"),
        locked=fields.truth(f"{parent}.locked", default=False),
        draft=fields.truth(f"{parent}.draft", default=False),
        comments=fields.number_in_text(f"{parent}.comments"),
        head=Head(
            sha=fields.sha("pull_request.head.sha"),
            ref=fields.text("pull_request.head.ref"),
            repository=fields.name_of("pull_request.head.repo"),
            base_ref=fields.text("pull_request.base.ref"),
        )
        if is_pull
        else None,
    )


def _is_own_repository(fields: Fields, path: str) -> bool:
    """Whether the repository at `path` is the event's own; a deleted one is not."""
    return fields.name_of(path).lower() == fields.full_name("repository.full_name").lower()


def _command_in(body: str, noun: str, *, may_reply: bool = False) -> Command | None:
    """Return the command, or `None` for the words of a comment that may be a reply to the bot."""
    if is_own(body):
        raise NoRequestError(f"the {noun} is this bot's own")
    command = parse_command(body) or (near_miss_command(body) if noun != "issue" else None)
    if command or (may_reply and body.strip() and not mentions_agent(body)):
        return command
    if mentions_agent(body):
        raise NoRequestError(f"the {noun} mentions `/agent`, but a command starts the first line of a {noun}")
    raise NoRequestError(f"the {noun} has no `/agent` command")


def _word(text: str) -> str:
    """Return a word of the payload, safe inside backticks."""
    return "".join(c for c in text if c.isalnum() or c in "_-. ")[:40] or "unknown"


READERS: Mapping[str, Callable[[str, Fields, WorkflowInputs], EventRequest]] = {
    **dict.fromkeys(COMMENT_EVENTS, _from_comment),
    **dict.fromkeys(("issues", *OF_PULLS), _from_thread),
    **dict.fromkeys(("workflow_dispatch", "repository_dispatch", _SCHEDULE), _from_inputs),
    "workflow_run": _from_run,
    "check_suite": _from_suite,
}
"""The reader of each event that may request something."""

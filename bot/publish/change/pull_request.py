"""Publish a change from an issue or a task: choose the branch and the pull request, push, update or open it.

The bot's own open pull request for the thread or task, identified by branch, mark and author, is updated as long as
nobody else has committed to it. Otherwise a new branch is used, with `-2`, `-3` and so on if the name exists.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote

from github.PullRequest import PullRequest

from bot.checkout.branches import branch_name
from bot.contracts.errors import PublishError
from bot.contracts.formatting import count_of
from bot.contracts.outcome import Status, StopReason
from bot.contracts.pulls import BRANCH_PREFIX
from bot.contracts.request import Tier
from bot.github.accounts import account
from bot.github.errors import ACTIONS_SETTING, OPENING_FORBIDDEN, GitHubError
from bot.publish.body.render import render_body
from bot.publish.change.commit import (
    CheckedCommit,
    build_commit,
    check_ci_wait,
    ci_note,
    read_rules,
    same_change,
    signed,
    start_workflows,
)
from bot.publish.context import OpeningRefusedError, PublishContext
from bot.publish.markdown import safe_line
from bot.publish.own_pulls import OwnPull, is_untouched, own_pull
from bot.publish.remote import Refs, read_template
from bot.publish.result import CancelledAfterPublishing, PublishResult
from bot.publish.thread.markers import PULL_REQUEST, mark, marked
from bot.publish.title import title

_MOST_BRANCHES = 100


def branch_patterns(number: int | None, name: str) -> tuple[str, ...]:
    """Return patterns for all branches of results for this thread: title and slug may have changed."""
    if number is None:
        return (name, f"{name}-*", f"{name}/*")
    start = f"{BRANCH_PREFIX}{name.removeprefix(BRANCH_PREFIX).partition('-')[0]}-{number}"
    return (start, f"{start}-*", f"{start}/*")


def free_branch(name: str, commit: str, heads: Mapping[str, str], occupied: Set[str]) -> str:
    """Return `name`, or the first numbered one beside it that neither `occupied` nor the server's `heads` have. A
    branch with this very commit is our own, from a run that could not open its pull request. Raises `PublishError` if
    all names exist."""
    # A branch below a name takes the name too, and so does another case in a clone on macOS or Windows.
    taken = {"/".join(head.casefold().split("/")[:2]) for head, tip in heads.items() if tip != commit}
    numbered = (name, *(f"{name}-{number}" for number in range(2, _MOST_BRANCHES + 1)))
    free = next((one for one in numbered if one not in taken | occupied), None)
    if free is None:
        raise PublishError(f"{name} and {_MOST_BRANCHES} numbered names beside it are taken: delete some.")
    return free


_MOST_PULLS = 300


def close_obsolete(context: PublishContext) -> None:
    """Close the pull request, unless people have committed to it, with a mark that it is nobody's "no"."""
    outcome, task, github = context.outcome, context.request.task, context.github
    if not task or outcome.status is not Status.NO_CHANGE or outcome.stop_reason is not StopReason.END_TURN:
        return
    with context.tolerating("The task's obsolete pull request could not be closed"):
        # By its mark: after a closed pull request the branch of the task has another name.
        for pull in list(islice(github.pulls(), _MOST_PULLS)):
            own = own_pull(pull, *context.accounts)
            if own is None or (own.task, own.recorded) != (task, pull.head.sha):
                continue
            reason = safe_line(outcome.reason)
            text = f"Closed: the task {task} finds nothing to change at {outcome.base_sha[:12]} any more. {reason}"
            body = (pull.body or "").rstrip().rpartition("\n")[0]
            closed = marked(body, mark(PULL_REQUEST, **{**own.fields, "obsolete": "1"}))
            github.edit_pull(pull.number, title=pull.title, body=closed)
            github.create_comment(pull.number, text)
            github.close_issue(pull.number, "not_planned")
            context.say(f"#{pull.number} is obsolete and was closed")


class Proposal(NamedTuple):
    """A commit to propose on a branch called `name`, as a pull request onto the branch `base`.

    `refs` has the server's branches that may be ours, `never` are those that people work on. `foreign`: the branch
    will contain commits of a fork.

    `with_target` sets the rest: the `branch` and its current commit `expected`, empty if it does not exist; the `pull`
    request to edit, `None` if a new one is opened; the numbers of ours that others have committed to, `left_alone`.
    `done`: `pull`, in whatever state, has the commit already.
    """

    commit: CheckedCommit
    name: str
    base: str
    refs: Refs
    never: frozenset[str]
    foreign: bool = False
    branch: str = ""
    expected: str = ""
    pull: PullRequest | None = None
    left_alone: tuple[int, ...] = ()
    done: bool = False


def with_target(context: PublishContext, proposal: Proposal) -> Proposal:
    """Choose the target by our own pull requests on GitHub. One that this bundle was published in counts in any state:
    it may be merged or closed by now, and its branch deleted. Raises `PublishError` if all names exist, or if people
    have committed to the task's open pull request."""
    heads = {branch: sha for branch, sha in proposal.refs.heads.items() if branch not in proposal.never}
    owned = _own_pulls(context, sorted(heads, key=len))
    if (done := _published(owned, proposal)) is not None:
        return done
    left_alone, sha = [], proposal.commit.sha
    for own in owned:
        pull = own.pull
        if pull.state != "open" or pull.base.ref != proposal.base:
            continue
        tip = heads[pull.head.ref]
        if tip in (own.recorded, sha) or is_untouched(
            context.github, own, proposal.commit.policy.identity, tip
        ):
            is_same = bool(context.request.task) and same_change(context, tip, sha)
            return proposal._replace(branch=pull.head.ref, expected=tip, pull=pull, done=is_same)
        left_alone.append(pull)
    occupied = proposal.never | {pull.head.ref for pull in left_alone}
    branch = free_branch(proposal.name, sha, heads, occupied)
    if branch not in heads and (done := _published(_own_pulls(context, [branch]), proposal)):
        return done
    numbers = tuple(pull.number for pull in left_alone)
    if context.request.task and left_alone:
        others = ", ".join(f"#{number}" for number in numbers)
        raise PublishError(
            f"People have committed to {others}, the pull request of the task {context.request.task}: there is one "
            "at a time, so nothing was pushed."
        )
    return proposal._replace(branch=branch, expected=heads.get(branch, ""), left_alone=numbers)


def _published(owned: Iterable[OwnPull], proposal: Proposal) -> Proposal | None:
    """Return the proposal with the pull request that it was published in; `None` if there is none."""
    for own in owned:
        if own.fields.get("change", own.recorded) == proposal.commit.change:
            return proposal._replace(branch=own.pull.head.ref, pull=own.pull, done=True)
    return None


def _own_pulls(context: PublishContext, branches: Sequence[str]) -> list[OwnPull]:
    """Return our pull requests for this thread from these branches."""
    wanted = subject_of(context)
    return [
        own
        for branch in branches
        for pull in context.github.pulls_from(branch, "all")
        if (own := own_pull(pull, *context.accounts))
        and {name: own.fields.get(name, "") for name in wanted} == wanted
    ]


def subject_of(context: PublishContext) -> dict[str, str]:
    """Return the fields of our mark that identify thread or task. A task's pull request belongs to the task alone."""
    thread, task = context.request.thread, context.request.task
    return {"issue": str(thread.number) if thread and not task else "none", "task": task}


def propose(context: PublishContext, proposal: Proposal) -> PublishResult:
    """Push to the branch, then edit its pull request or open one, unless that was done already."""

    def published(pull: PullRequest, *, created: bool, ended: str = "") -> PublishResult:
        sha = proposal.commit.sha
        return PublishResult(pull.html_url, pull.number, proposal.branch, created, sha, ended=ended)

    pull, created = proposal.pull, False
    if proposal.done and pull is not None:
        ended = "" if pull.state == "open" else "merged" if pull.merged_at else "closed"
        return published(pull, created=False, ended=ended)
    check_ci_wait(context)
    _push(context, proposal)
    body = _body(context, proposal)
    if pull is not None:
        context.github.edit_pull(pull.number, title=title(context.outcome), body=body)
    try:
        if pull is None:
            pull, created = _open(context, proposal, body)
            # Not every one may review.
            actor, people = context.request.actor, (Tier.MAINTAINER, Tier.CONTRIBUTOR, Tier.OUTSIDER)
            if created and actor.tier in people and actor.id != account(pull.user).id:
                with context.tolerating("No review was requested"):
                    context.github.request_review(pull.number, actor.login)
            if (labels := proposal.commit.rules.labels) and pull.number:
                with context.tolerating(f"{count_of(labels, 'label')} could not be set"):
                    context.github.add_labels(pull.number, list(labels))
        start_workflows(context, proposal.commit.policy, proposal.branch, foreign=proposal.foreign)
    except KeyboardInterrupt:
        if pull is None and not context.github.is_dry:
            # GitHub may have received the request.
            pull = next(iter(context.github.pulls_from(proposal.branch)), None)
        if pull is None:
            raise
        raise CancelledAfterPublishing(published(pull, created=proposal.pull is None)) from None
    return published(pull, created=created)


def _push(context: PublishContext, proposal: Proposal) -> None:
    sha = proposal.commit.sha
    if proposal.expected == sha:
        return
    if context.github.is_dry:
        was = proposal.expected[:12]
        action = f"move {proposal.branch} from {was} to" if was else f"make {proposal.branch} with"
        files = count_of(proposal.commit.verdict.files, "file")
        context.github.requester.record(f"push: {action} one commit on {proposal.base}, {files}")
        return
    context.remote.push(sha, proposal.branch, expected=proposal.expected, never=proposal.never)


def _body(context: PublishContext, proposal: Proposal) -> str:
    commit, others = proposal.commit, ", ".join(f"#{number}" for number in proposal.left_alone)
    later = f"There are later commits on {others}, so this is a new pull request." if others else ""
    ci = ci_note(context, commit.policy, foreign=proposal.foreign)
    outcome = context.with_notes(later, ci).outcome
    body = render_body(
        outcome,
        commit.verdict.files,
        keyword=commit.policy.pull_request.keyword,
        links=context.links,
        template=read_template(context.git, commit.rules.sha),
    )
    fields = {**subject_of(context), "base": outcome.base_sha, "head": commit.sha}
    if commit.change != commit.sha:
        fields["change"] = commit.change
    return marked(body, mark(PULL_REQUEST, **{name: value for name, value in fields.items() if value}))


def _open(context: PublishContext, proposal: Proposal, body: str) -> tuple[PullRequest, bool]:
    """Return the pull request, and whether this call opened it."""
    heading = title(context.outcome)
    rule = proposal.commit.policy.pull_request
    # The bundle's request is untrusted, so the policy's rule applies here, too.
    wanted = {"true": True, "false": False}.get(context.request.options.get("draft", ""), bool(rule.draft))
    draft = rule.always_draft or wanted

    def create(as_draft: bool) -> PullRequest:
        head, base = proposal.branch, proposal.base
        return context.github.open_pull(title=heading, body=body, head=head, base=base, draft=as_draft)

    try:
        try:
            return create(draft), True
        except GitHubError as error:
            if not (draft and error.status == 422 and error.says("draft")):
                raise
            if rule.always_draft:
                why = (
                    "makes no drafts in this repository, and its policy says `draft: always` under `pull_request`: "
                    "with `draft: true` it is opened as ready if there are no drafts."
                )
                raise _refused(context, proposal, why) from error
            # Private repositories of some plans have no drafts.
            return create(False), True
    except GitHubError as error:
        return _theirs(context, proposal, error), False


def _theirs(context: PublishContext, proposal: Proposal, error: GitHubError) -> PullRequest:
    """Return the pull request that others opened from the branch, or raise `OpeningRefusedError`."""
    if error.status == 422 and error.says("already exists"):
        for pull in context.github.pulls_from(proposal.branch):
            return pull
    failure = error.failure
    if error.status != 403 and not failure.rate_limited:
        raise error
    hint = "the token needs `pull-requests: write`"
    if error.says(OPENING_FORBIDDEN):
        hint = f'turn on "{ACTIONS_SETTING}" in the settings of the organisation or repository, under Actions'
    elif failure.archived:
        hint = f"the repository is archived ({failure.message}): unarchive it, then publish again"
    elif failure.rate_limited:
        hint = str(error).rstrip(".")
    raise _refused(context, proposal, f"refused to open the pull request: {hint}.") from error


def _refused(context: PublishContext, proposal: Proposal, why: str) -> OpeningRefusedError:
    branch = proposal.branch
    url = f"{context.web}/compare/{quote(proposal.base)}...{branch}?expand=1"
    return OpeningRefusedError(f"The branch {branch} is pushed, but GitHub {why}", url)


def publish_on_branch(context: PublishContext) -> PublishResult:
    """The base commit, which has policy and template, must be in the base branch. Raises `PublishError`."""
    thread, base, task = context.request.thread, context.request.base_ref, context.request.task
    number, sha = thread.number if thread and not task else None, context.outcome.base_sha
    name = f"{BRANCH_PREFIX}task-{task}" if task else branch_name(number, title(context.outcome))
    refs = context.remote.refs(base, *branch_patterns(number, name))
    if base not in refs.heads:
        raise PublishError(f"The base branch {base} no longer exists.")
    if refs.heads[base] != sha and not context.github.contains(base, sha):
        raise PublishError(f"The base commit {sha[:12]} is not part of {base}: was its history rewritten?")
    context.remote.fetch(sha)
    context, rules = read_rules(context, sha)
    commit = signed(context, build_commit(context, rules), refs.heads.values())
    proposal = Proposal(commit, name, base, refs, frozenset({refs.default, base}))
    return propose(context, with_target(context, proposal))

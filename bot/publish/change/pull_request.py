"""Publish a change from an issue or a task: push a branch of the bot's own, update its pull request or open one."""

from urllib.parse import quote

from github.PullRequest import PullRequest

from bot.checkout.branches import branch_name
from bot.contracts.errors import PublishError
from bot.contracts.formatting import count_of
from bot.contracts.request import Tier
from bot.github.accounts import account
from bot.github.errors import ACTIONS_SETTING, OPENING_FORBIDDEN, GitHubError
from bot.publish.body.render import render_body, title
from bot.publish.change.base_rules import check_ci_wait, ci_note, read_rules, start_workflows
from bot.publish.change.commit import build_commit, signed
from bot.publish.change.target import Proposal, Target, branch_patterns, find_target, subject_of, task_branch
from bot.publish.context import OpeningRefusedError, PublishContext
from bot.publish.remote import read_template
from bot.publish.result import CancelledAfterPublishing, PublishResult
from bot.publish.thread.markers import PULL_REQUEST, mark, marked


def propose(context: PublishContext, proposal: Proposal, target: Target) -> PublishResult:
    """Push to the target's branch, then edit its pull request or open one, unless that was done already."""

    def published(pull: PullRequest, *, created: bool, ended: str = "") -> PublishResult:
        sha = proposal.commit.sha
        return PublishResult(pull.html_url, pull.number, target.branch, created, sha, ended=ended)

    pull, created = target.pull, False
    if target.done and pull is not None:
        ended = "" if pull.state == "open" else "merged" if pull.merged_at else "closed"
        return published(pull, created=False, ended=ended)
    check_ci_wait(context)
    _push(context, proposal, target)
    body = _body(context, proposal, target)
    if pull is not None:
        context.github.edit_pull(pull.number, title=title(context.outcome), body=body)
    try:
        if pull is None:
            pull, created = _open(context, proposal, target, body)
            # Not every one may review.
            actor, people = context.request.actor, (Tier.MAINTAINER, Tier.CONTRIBUTOR, Tier.OUTSIDER)
            if created and actor.tier in people and actor.id != account(pull.user).id:
                with context.tolerating("No review was requested"):
                    context.github.request_review(pull.number, actor.login)
            if (labels := proposal.commit.rules.labels) and pull.number:
                with context.tolerating(f"{count_of(labels, 'label')} could not be set"):
                    context.github.add_labels(pull.number, list(labels))
        start_workflows(context, proposal.commit.policy, target.branch, foreign=proposal.foreign)
    except KeyboardInterrupt:
        opened = pull
        if opened is None and context.github.dry_run is None:
            # GitHub may have received the request.
            opened = context.github.opened_meanwhile(target.branch)
        if opened is None:
            raise
        result = published(opened, created=target.pull is None)
        raise CancelledAfterPublishing(result) from None
    return published(pull, created=created)


def _push(context: PublishContext, proposal: Proposal, target: Target) -> None:
    sha = proposal.commit.sha
    if target.expected == sha:
        return
    if context.github.dry_run is not None:
        was = target.expected[:12]
        action = f"move {target.branch} from {was} to" if was else f"make {target.branch} with"
        files = count_of(proposal.commit.verdict.files, "file")
        context.github.requester.record(f"push: {action} one commit on {proposal.base}, {files}")
        return
    context.remote.push(sha, target.branch, expected=target.expected, never=proposal.never)


def _body(context: PublishContext, proposal: Proposal, target: Target) -> str:
    commit, others = proposal.commit, ", ".join(f"#{number}" for number in target.left_alone)
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


def _open(context: PublishContext, proposal: Proposal, target: Target, body: str) -> tuple[PullRequest, bool]:
    """Return the pull request, and whether this call opened it."""
    heading = title(context.outcome)
    rule = proposal.commit.policy.pull_request
    # The bundle's request is untrusted, so the policy's rule applies here, too.
    draft = rule.always_draft or context.request.draft(bool(rule.draft))

    def create(as_draft: bool) -> PullRequest:
        head, base = target.branch, proposal.base
        return context.github.open_pull(title=heading, body=body, head=head, base=base, draft=as_draft)

    try:
        try:
            return create(draft), True
        except GitHubError as error:
            if not (draft and error.status == 422 and error.says("draft")):
                raise
            if rule.always_draft:
                raise OpeningRefusedError(
                    f"The branch {target.branch} is pushed, but GitHub makes no drafts in this repository, and its "
                    "policy says `draft: always` under `pull_request`: with `draft: true` it is opened as ready if "
                    "there are no drafts.",
                    _compare_url(context, proposal.base, target.branch),
                ) from error
            # Private repositories of some plans have no drafts.
            return create(False), True
    except GitHubError as error:
        return _theirs(context, proposal, target, error), False


def _theirs(context: PublishContext, proposal: Proposal, target: Target, error: GitHubError) -> PullRequest:
    """Return the pull request that others opened from the branch, or raise `OpeningRefusedError`."""
    if error.status == 422 and error.says("already exists"):
        for pull in context.github.pulls_from(target.branch):
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
    raise OpeningRefusedError(
        f"The branch {target.branch} is pushed, but GitHub refused to open the pull request: {hint}.",
        _compare_url(context, proposal.base, target.branch),
    ) from error


def _compare_url(context: PublishContext, base: str, branch: str) -> str:
    return f"{context.web}/compare/{quote(base)}...{branch}?expand=1"


def publish_on_branch(context: PublishContext) -> PublishResult:
    """The base commit, which has policy and template, must be in the base branch. Raises `PublishError`."""
    thread, base, task = context.request.thread, context.request.base_ref, context.request.task
    number, sha = thread.number if thread and not task else None, context.outcome.base_sha
    name = task_branch(task) if task else branch_name(number, title(context.outcome))
    refs = context.remote.refs(base, *branch_patterns(number, name))
    if base not in refs.heads:
        raise PublishError(f"The base branch {base} no longer exists.")
    if refs.heads[base] != sha and not context.github.contains(base, sha):
        raise PublishError(f"The base commit {sha[:12]} is not part of {base}: was its history rewritten?")
    context.remote.fetch(sha)
    context, rules = read_rules(context, sha)
    commit = signed(context, build_commit(context, rules), refs.heads.values())
    proposal = Proposal(commit, name, base, refs, frozenset({refs.default, base}))
    return propose(context, proposal, find_target(context, proposal))

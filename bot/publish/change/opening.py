"""A commit onto a branch of the bot's own, and its pull request updated or opened."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from bot.contracts.request import Tier
from bot.contracts.wording import count_of
from bot.github.errors import ACTIONS_SETTING, OPENING_FORBIDDEN, GitHubError
from bot.github.values import PullData
from bot.publish.base_file import read_template
from bot.publish.body.render import render_body
from bot.publish.body.title import title
from bot.publish.change.annotated import annotate
from bot.publish.change.branch import Target
from bot.publish.change.proposal import Proposal, subject_of
from bot.publish.change.runs import about_runs, start_runs
from bot.publish.change.task import label
from bot.publish.change.work import OpeningRefusedError, Work
from bot.publish.published import Published
from bot.publish.thread.markers import PULL_REQUEST, mark, marked


def propose(work: Work, proposal: Proposal, target: Target) -> Published:
    """Push to the target's branch, then edit its pull request or open one. Done already, nothing is written."""
    if target.done and target.pull is not None:
        published = _published(target.pull, target, proposal, created=False)
        return replace(published, notes=annotate(work, proposal.prepared))
    _push(work, proposal, target)
    body = _body(work, proposal, target)
    if target.pull is not None:
        work.host.edit_pull(work.repository, target.pull.number, title=title(work.outcome), body=body)
        published = _published(target.pull, target, proposal, created=False)
    else:
        published = _open(work, proposal, target, body)
        labelled = label(work, published.pr_number, proposal.labels)
        published = replace(published, notes=(*published.notes, *labelled))
    annotated = annotate(work, proposal.prepared)
    started = start_runs(work, proposal.policy, target.branch, foreign=proposal.foreign)
    return replace(published, notes=(*published.notes, *annotated, *started))


def _push(work: Work, proposal: Proposal, target: Target) -> None:
    sha = proposal.prepared.sha
    if target.expected == sha:
        return
    if work.recorder is not None:
        was = target.expected[:12]
        deed = f"move {target.branch} from {was} to" if was else f"make {target.branch} with"
        files = count_of(proposal.prepared.verdict.files, "file")
        work.recorder.record(f"push: {deed} one commit on {proposal.base}, {files}")
        return
    work.remote.push(sha, target.branch, expected=target.expected, never=proposal.never)


def _body(work: Work, proposal: Proposal, target: Target) -> str:
    notes: list[str] = []
    if target.left_alone:
        others = ", ".join(f"#{number}" for number in target.left_alone)
        notes.append(f"There are later commits on {others}, so this is a new pull request.")
    notes.append(about_runs(work, proposal.policy, foreign=proposal.foreign))
    outcome = work.noting(*filter(None, notes)).outcome
    body = render_body(
        outcome,
        proposal.prepared.verdict.files,
        outcome.withheld,
        keyword=proposal.policy.pull_request.keyword,
        links=work.links,
        template=read_template(work.git, proposal.policy_sha),
    )
    fields = {**subject_of(work), "base": outcome.base_sha, "head": proposal.prepared.sha}
    return marked(body, mark(PULL_REQUEST, **{name: value for name, value in fields.items() if value}))


def _open(work: Work, proposal: Proposal, target: Target, body: str) -> Published:
    heading = title(work.outcome)
    rule = proposal.policy.pull_request
    # The bundle says what the request was, and may lie: the bound holds here too.
    draft = rule.always_draft or work.request.draft(rule.draft)

    def create(as_draft: bool) -> PullData:
        return work.host.open_pull(
            work.repository, title=heading, body=body, head=target.branch, base=proposal.base, draft=as_draft
        )

    try:
        try:
            pull = create(draft)
        except GitHubError as error:
            if not (draft and error.status == 422 and error.says("draft")):
                raise
            if rule.always_draft:
                raise _no_drafts(work, proposal, target) from error
            # Private repositories of some plans have no drafts.
            pull = create(False)
    except GitHubError as error:
        return _opened_by_others(work, proposal, target, error)
    return _published(pull, target, proposal, created=True, notes=_ask_review(work, pull))


def _no_drafts(work: Work, proposal: Proposal, target: Target) -> OpeningRefusedError:
    return OpeningRefusedError(
        f"The branch {target.branch} is pushed, but GitHub makes no drafts in this repository, and its policy says "
        "`draft: always` under `pull_request`: with `draft: true` it is opened as ready if there are no drafts.",
        _compare_url(work, proposal.base, target.branch),
    )


def _opened_by_others(work: Work, proposal: Proposal, target: Target, error: GitHubError) -> Published:
    """A person opened it from the branch, or another run did a moment ago; or it may not be opened at all."""
    if error.status == 422 and error.says("already exists"):
        for pull in work.host.open_pulls(work.repository, target.branch):
            return _published(pull, target, proposal, created=False)
    failure = error.failure
    if error.status != 403 and not failure.rate_limited:
        raise error
    hint = "the token needs `pull-requests: write`"
    if error.says(OPENING_FORBIDDEN):
        hint = f'turn on "{ACTIONS_SETTING}" in the settings of the organisation or repository, under Actions'
    elif failure.rate_limited or failure.archived:
        hint = str(error).rstrip(".")
    raise OpeningRefusedError(
        f"The branch {target.branch} is pushed, but GitHub refused to open the pull request: {hint}.",
        _compare_url(work, proposal.base, target.branch),
    ) from error


def _compare_url(work: Work, base: str, branch: str) -> str:
    here = work.remote.of(work.repository, work.repository).url.removesuffix(".git")
    return f"{here}/compare/{quote(base)}...{branch}?expand=1"


def _ask_review(work: Work, pull: PullData) -> tuple[str, ...]:
    """From the person who asked. A refusal is a note: not everybody who may ask may review."""
    actor = work.request.actor
    if actor.tier not in (Tier.MAINTAINER, Tier.CONTRIBUTOR, Tier.OUTSIDER) or actor.id == pull.author.id:
        return ()
    try:
        work.host.request_review(work.repository, pull.number, actor.login)
    except GitHubError as error:
        return (f"No review was asked for: {error}",)
    return ()


def _published(
    pull: PullData, target: Target, proposal: Proposal, *, created: bool, notes: tuple[str, ...] = ()
) -> Published:
    return Published(pull.url, pull.number, target.branch, created, proposal.prepared.sha, notes)

"""A commit on a branch of the bot's own, and the pull request from it: found again, updated, or opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from bot.checkout.branches import Signature
from bot.contracts.request import Tier
from bot.contracts.wording import count_of
from bot.github.errors import ACTIONS_SETTING, OPENING_FORBIDDEN, GitHubError
from bot.github.values import PullData
from bot.policy.schema import Policy
from bot.publish.annotated import annotate
from bot.publish.body.render import render_body
from bot.publish.body.title import title
from bot.publish.branch import OwnPull, Target, choose_target
from bot.publish.commit import Prepared, read_template
from bot.publish.remote import PREFIX
from bot.publish.runs import about_runs, start_runs
from bot.publish.tasks import check_alone, check_room, label
from bot.publish.thread.markers import PULL_REQUEST, is_ours, mark, marked, read_mark
from bot.publish.work import OpeningRefusedError, Published, Work


@dataclass(frozen=True, slots=True)
class Proposal:
    """A commit that is to be offered on a branch called `name`, as a pull request onto the branch `base`.

    `heads` are the server's branches that may be ours, `never` the ones people work on. Keyword, template and
    workflows to start are those of the policy at `policy_sha`. `foreign` says that the branch will hold commits
    from outside the repository. `labels` are put on a new pull request.
    """

    prepared: Prepared
    author: Signature
    name: str
    base: str
    heads: Mapping[str, str]
    never: frozenset[str]
    policy: Policy
    policy_sha: str
    foreign: bool = False
    labels: tuple[str, ...] = ()


def patterns(number: int | None, name: str) -> tuple[str, ...]:
    """Every branch that a result for this thread may be on: title and slug may have changed."""
    if number is None:
        return (name, f"{name}-*")
    start = f"{PREFIX}{name.removeprefix(PREFIX).partition('-')[0]}-{number}"
    return (start, f"{start}-*")


def find_target(work: Work, proposal: Proposal) -> Target:
    """Asks GitHub for our own pull requests from the branches that may be ours."""
    heads = {branch: sha for branch, sha in proposal.heads.items() if branch not in proposal.never}
    own = _own_pulls(work, proposal, heads)
    target = choose_target(proposal.name, proposal.prepared.sha, heads, own, never=proposal.never)
    check_alone(work, target)
    check_room(work, target, proposal.policy.maintenance.open_pulls)
    return target


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


# What is there already


def _own_pulls(work: Work, proposal: Proposal, heads: Mapping[str, str]) -> list[OwnPull]:
    """Our open pull requests for this thread: by branch, mark and author, and never by the name alone."""
    commit, wanted = proposal.prepared.sha, _subject(work)
    found: list[OwnPull] = []
    for branch in sorted(heads, key=len):
        for pull in work.host.open_pulls(work.repository, branch):
            fields = read_mark(pull.body, PULL_REQUEST)
            if fields is None or pull.base_branch != proposal.base:
                continue
            if {name: fields.get(name, "") for name in wanted} != wanted:
                continue
            if not is_ours(pull.author, work.host.me()):
                continue
            recorded = fields.get("head", "")
            known = heads[branch] in (recorded, commit)
            found.append(
                OwnPull(
                    pull,
                    recorded,
                    untouched=known or _only_ours(work, pull, heads[branch], proposal.author),
                    followed=not known and work.host.contains(work.repository, branch, commit),
                )
            )
    return found


def _subject(work: Work) -> dict[str, str]:
    """What a pull request of ours is for, as its mark says it: a task's is for that, wherever it was asked for."""
    thread, task = work.request.thread, work.request.task
    return {"issue": str(thread.number) if thread and not task else "none", "task": task}


def _only_ours(work: Work, pull: PullData, tip: str, author: Signature) -> bool:
    """Where the mark is older than the branch (a run died between push and edit), its one commit tells. It must be the
    `tip` that git reports: the API may still list what was there before somebody pushed."""
    commits = work.host.pull_commits(work.repository, pull.number)
    if len(commits) != 1 or commits[0].sha != tip:
        return False
    return {commits[0].author_email, commits[0].committer_email} == {author.email}


# Writing


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
    fields = {**_subject(work), "base": outcome.base_sha, "head": proposal.prepared.sha}
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
        "`draft: always` under `pull_request`: with `draft: true` it is opened ready where there are no drafts.",
        _compare_url(work, proposal.base, target.branch),
    )


def _opened_by_others(work: Work, proposal: Proposal, target: Target, error: GitHubError) -> Published:
    """A person opened it from the branch, or another run did a moment ago; or it may not be opened at all."""
    if error.status == 422 and error.says("already exists"):
        for pull in work.host.open_pulls(work.repository, target.branch):
            return _published(pull, target, proposal, created=False)
    if error.status != 403:
        raise error
    hint = "the token needs `pull-requests: write`"
    if error.says(OPENING_FORBIDDEN):
        hint = f'turn on "{ACTIONS_SETTING}" in the settings of the organisation or repository, under Actions'
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

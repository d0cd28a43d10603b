"""From a bundle to a draft pull request, or to a comment that says why there is none.

Doing it twice changes nothing: the commit is the same, the pull request and the comments are found again.
Nothing is believed of the bundle that can be looked up: the gate judges the patch again, the base commit must
be part of the base branch, and policy and template are read from that commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from bot.checkout import layout
from bot.checkout.branches import Signature, branch_name
from bot.checkout.git import Git
from bot.contracts.errors import AgentError, GateError, PublishError
from bot.contracts.outcome import Outcome, Status
from bot.contracts.request import Tier
from bot.contracts.wording import count_of
from bot.gate.verdict import MayWrite
from bot.github.errors import ACTIONS_SETTING, OPENING_FORBIDDEN, GitHubError
from bot.github.host import Host
from bot.github.recorder import Recorder
from bot.github.values import PullData
from bot.policy.decide import may_write as paths_that_may_change
from bot.policy.load import POLICY_FILE, load_policy
from bot.policy.schema import Identity, Policy
from bot.publish.body import NO_LINKS, Links, render_body, title
from bot.publish.branch import OwnPull, Target, choose_target
from bot.publish.bundle import Bundle
from bot.publish.commit import Prepared, prepare_commit, read_base_file, read_template, server_host
from bot.publish.ended import final_state, tell_end, tell_published
from bot.publish.markers import PULL_REQUEST, is_ours, mark, marked, read_mark
from bot.publish.progress import ProgressState, finish_progress
from bot.publish.remote import PREFIX, Refs, Remote
from bot.publish.thread import Place, place_of


@dataclass(frozen=True, slots=True)
class Published:
    """What there is now. Without a pull request, number 0 and empty texts: a comment tells why.

    `created` is true when this very call opened it. `notes` are soft failures, a sentence each.
    """

    pr_url: str = ""
    pr_number: int = 0
    branch: str = ""
    created: bool = False
    commit: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    """What every step of one publishing needs."""

    bundle: Bundle
    host: Host
    remote: Remote
    git: Git
    links: Links
    recorder: Recorder | None

    @property
    def outcome(self) -> Outcome:
        return self.bundle.outcome

    @property
    def repository(self) -> str:
        return self.outcome.request.repository

    @property
    def base(self) -> str:
        return self.outcome.request.base_ref


class OpeningRefusedError(PublishError):
    """The branch is there, but a setting forbids opening a pull request."""

    def __init__(self, message: str, compare_url: str) -> None:
        super().__init__(message)
        self.compare_url = compare_url


def publish(
    bundle: Bundle,
    github: Host,
    *,
    git_url: str,
    token: str,
    folder: Path,
    identity: Identity | None = None,
    dry_run: bool = False,
    repository: str = "",
    links: Links = NO_LINKS,
    may_write: MayWrite | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Published:
    """Publish `bundle` to the repository at `git_url`, working below `folder`, which must not exist.

    `identity` and `may_write` override the policy's. `repository` is the one we act for: a bundle for another
    is refused. With `dry_run` nothing is written, and every write is said through `say`. Raises `PublishError`
    and `GateError`, after the thread was told.
    """
    outcome = bundle.outcome
    _check_repository(outcome, repository)
    recorder = Recorder(github, say) if dry_run else None
    told = _Thread(recorder or github, outcome, links, place_of(outcome.request))
    if not _has_change(bundle):
        return Published(notes=told.ended())
    remote = Remote(folder, git_url, token)
    try:
        git = _bare(folder, outcome.base_sha)
        work = _Work(bundle, recorder or github, remote, git, links, recorder)
        published = _publish_change(work, identity, may_write)
    except OpeningRefusedError as error:
        raise PublishError(told.failed(str(error), error.compare_url)) from error
    except GateError as error:
        raise GateError(told.failed(str(error))) from error
    except AgentError as error:
        raise PublishError(told.failed(str(error))) from error
    return replace(published, notes=(*published.notes, *told.published(published.pr_number)))


def _publish_change(work: _Work, identity: Identity | None, may_write: MayWrite | None) -> Published:
    number = work.outcome.request.thread.number if work.outcome.request.thread else None
    name = branch_name(number, title(work.outcome))
    refs = work.remote.refs(work.base, *_patterns(number, name))
    _check_base(work, refs)
    work.remote.fetch(work.outcome.base_sha)
    policy = _policy(work)
    author = _signature(identity or policy.identity)
    prepared = prepare_commit(
        work.git,
        work.bundle,
        author,
        sign_off=policy.pull_request.sign_off,
        host=server_host(work.remote.url),
        may_write=may_write or paths_that_may_change(policy, work.outcome.request.actor.tier),
    )
    people = frozenset({refs.default, work.base})
    heads = {branch: sha for branch, sha in refs.heads.items() if branch not in people}
    own = _own_pulls(work, heads, prepared.sha, author)
    target = choose_target(name, prepared.sha, heads, own, never=people)
    if target.done and target.pull is not None:
        return _published(target.pull, target, prepared, created=False)
    _push(work, prepared, target, people)
    body = _body(work, prepared, policy, target)
    if target.pull is not None:
        work.host.edit_pull(work.repository, target.pull.number, title=title(work.outcome), body=body)
        return _published(target.pull, target, prepared, created=False)
    draft = work.outcome.request.draft(policy.pull_request.draft)
    return _open(work, prepared, target, body, draft=draft)


# Before anything is written


def _check_repository(outcome: Outcome, repository: str) -> None:
    wanted = outcome.request.repository
    if not wanted or not outcome.request.base_ref:
        raise PublishError(
            "The bundle names no repository and base branch on GitHub: there is nowhere to publish."
        )
    if repository and wanted.lower() != repository.lower():
        raise PublishError(
            f"The bundle is for {wanted}, and this job acts for {repository}: nothing was done."
        )


def _has_change(bundle: Bundle) -> bool:
    return bool(bundle.patch) and bundle.outcome.status in (Status.CHANGED, Status.PARTIAL)


def _patterns(number: int | None, name: str) -> tuple[str, ...]:
    """Every branch that a result for this thread may be on: title and slug may have changed."""
    if number is None:
        return (name, f"{name}-*")
    return (f"{PREFIX}issue-{number}", f"{PREFIX}issue-{number}-*")


def _check_base(work: _Work, refs: Refs) -> None:
    """The base commit brings policy and template, so it must be one that people put on the branch."""
    head = refs.heads.get(work.base)
    if head is None:
        raise PublishError(f"The base branch {work.base} is not there any more.")
    sha = work.outcome.base_sha
    if head != sha and not work.host.contains(work.repository, work.base, sha):
        raise PublishError(
            f"The base commit {sha[:12]} is not part of {work.base}: was its history rewritten?"
        )


def _bare(folder: Path, base_sha: str) -> Git:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        layout.make_git_dir(folder, bare=True, object_format=layout.object_format_of(base_sha))
    except OSError as error:
        raise PublishError(f"No git directory could be made at {folder}: {error.strerror}.") from error
    return Git(folder)


def _policy(work: _Work) -> Policy:
    return load_policy(read_base_file(work.git, work.outcome.base_sha, POLICY_FILE))


def _signature(identity: Identity) -> Signature:
    return Signature(identity.name, identity.email)


# What is there already


def _own_pulls(work: _Work, heads: Mapping[str, str], commit: str, author: Signature) -> list[OwnPull]:
    """Our open pull requests for this thread: by branch, mark and author, and never by the name alone."""
    thread = work.outcome.request.thread
    wanted = str(thread.number) if thread else "none"
    found: list[OwnPull] = []
    for branch in sorted(heads, key=len):
        for pull in work.host.open_pulls(work.repository, branch):
            fields = read_mark(pull.body, PULL_REQUEST)
            ours = (
                fields is not None and fields.get("issue") == wanted and is_ours(pull.author, work.host.me())
            )
            if fields is not None and ours and pull.base_branch == work.base:
                recorded = fields.get("head", "")
                untouched = heads[branch] in (recorded, commit) or _only_by(work, pull, author)
                found.append(OwnPull(pull, recorded, untouched))
    return found


def _only_by(work: _Work, pull: PullData, author: Signature) -> bool:
    """Where the mark is older than the branch (a run died between push and edit), the commits tell."""
    commits = work.host.pull_commits(work.repository, pull.number)
    return bool(commits) and all({c.author_email, c.committer_email} == {author.email} for c in commits)


# Writing


def _push(work: _Work, prepared: Prepared, target: Target, never: frozenset[str]) -> None:
    if target.expected == prepared.sha:
        return
    if work.recorder is not None:
        was = target.expected[:12]
        deed = f"move {target.branch} from {was} to" if was else f"make {target.branch} with"
        files = count_of(prepared.verdict.files, "file")
        work.recorder.record(f"push: {deed} one commit on {work.base}, {files}")
        return
    work.remote.push(prepared.sha, target.branch, expected=target.expected, never=never)


def _body(work: _Work, prepared: Prepared, policy: Policy, target: Target) -> str:
    outcome = work.outcome
    if target.left_alone:
        others = ", ".join(f"#{number}" for number in target.left_alone)
        note = f"Others have committed to {others}, so this is a new pull request."
        outcome = replace(outcome, notes=(*outcome.notes, note))
    body = render_body(
        outcome,
        prepared.verdict.files,
        outcome.withheld,
        keyword=policy.pull_request.keyword,
        links=work.links,
        template=read_template(work.git, outcome.base_sha),
    )
    thread = outcome.request.thread
    fields = {"issue": thread.number if thread else "none", "base": outcome.base_sha, "head": prepared.sha}
    return marked(body, mark(PULL_REQUEST, **fields))


def _open(work: _Work, prepared: Prepared, target: Target, body: str, *, draft: bool) -> Published:
    heading = title(work.outcome)

    def create(as_draft: bool) -> PullData:
        return work.host.open_pull(
            work.repository, title=heading, body=body, head=target.branch, base=work.base, draft=as_draft
        )

    try:
        try:
            pull = create(draft)
        except GitHubError as error:
            if not (draft and error.status == 422 and error.says("draft")):
                raise
            # Private repositories of some plans have no drafts.
            pull = create(False)
    except GitHubError as error:
        return _opened_by_others(work, prepared, target, error)
    notes = _ask_review(work, pull)
    return _published(pull, target, prepared, created=True, notes=notes)


def _opened_by_others(work: _Work, prepared: Prepared, target: Target, error: GitHubError) -> Published:
    """A person opened it from the branch, or another run did a moment ago; or it may not be opened at all."""
    if error.status == 422 and error.says("already exists"):
        for pull in work.host.open_pulls(work.repository, target.branch):
            return _published(pull, target, prepared, created=False)
    if error.status != 403:
        raise error
    hint = "the token needs `pull-requests: write`"
    if error.says(OPENING_FORBIDDEN):
        hint = f'turn on "{ACTIONS_SETTING}" in the settings of the organisation or repository, under Actions'
    raise OpeningRefusedError(
        f"The branch {target.branch} is pushed, but GitHub refused to open the pull request: {hint}.",
        _compare_url(work, target.branch),
    ) from error


def _compare_url(work: _Work, branch: str) -> str:
    server = work.remote.url.removesuffix("/").removesuffix(".git").removesuffix(f"/{work.repository}")
    return f"{server}/{work.repository}/compare/{quote(work.base)}...{branch}?expand=1"


def _ask_review(work: _Work, pull: PullData) -> tuple[str, ...]:
    """From the person who asked. A refusal is a note: not everybody who may ask may review."""
    actor = work.outcome.request.actor
    if actor.tier not in (Tier.MAINTAINER, Tier.CONTRIBUTOR, Tier.OUTSIDER) or actor.id == pull.author.id:
        return ()
    try:
        work.host.request_review(work.repository, pull.number, actor.login)
    except GitHubError as error:
        return (f"No review was asked for: {error}",)
    return ()


def _published(
    pull: PullData, target: Target, prepared: Prepared, *, created: bool, notes: tuple[str, ...] = ()
) -> Published:
    return Published(pull.url, pull.number, target.branch, created, prepared.sha, notes)


# Telling the thread


@dataclass(frozen=True, slots=True)
class _Thread:
    """The thread that gets to know how it ended. `place` is `None` where nobody asked in one."""

    host: Host
    outcome: Outcome
    links: Links
    place: Place | None

    def ended(self) -> tuple[str, ...]:
        """There is no change: the end comment is all that people get, so it must get there."""
        if self.place is None:
            return ()
        try:
            tell_end(self.host, self.place, self.outcome, self.links)
        except GitHubError as error:
            raise PublishError(f"The thread could not be told how the run ended: {error}") from error
        return self._finish(final_state(self.outcome, self.links))

    def failed(self, trouble: str, compare_url: str = "") -> str:
        """`trouble`, told to the thread; with a further sentence where that failed, too."""
        if self.place is None:
            return trouble
        try:
            tell_end(self.host, self.place, self.outcome, self.links, trouble, compare_url)
        except GitHubError as error:
            return f"{trouble} The thread could not be told: {error}"
        self._finish(final_state(self.outcome, self.links, trouble=trouble))
        return trouble

    def published(self, number: int) -> tuple[str, ...]:
        """Without a number it was a dry run, of which the thread knows already."""
        return (
            self._finish(final_state(self.outcome, self.links, pull_number=number), number) if number else ()
        )

    def _finish(self, state: ProgressState, pull_number: int = 0) -> tuple[str, ...]:
        if self.place is None:
            return ()
        try:
            if pull_number:
                tell_published(self.host, self.place, state, pull_number)
            else:
                finish_progress(self.host, self.place, state)
        except GitHubError as error:
            return (f"The progress comment could not be finished: {error}",)
        return ()

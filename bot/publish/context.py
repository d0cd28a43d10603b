"""`PublishContext`: a bundle and its destination; and checks that the parts of a bundle belong together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.checkout.git import CheckoutError, Git
from bot.checkout.layout import make_git_dir, object_format_of
from bot.checkout.pull import PullBase, PullHead, fetch_pull
from bot.contracts.errors import PublishError
from bot.contracts.outcome import Outcome, Status
from bot.contracts.pulls import PullRequest, PullState
from bot.contracts.request import Request
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.tokens import ACTIONS_LOGIN, INSTALLATION
from bot.github.values import Account
from bot.publish.body.order_and_footer import NO_LINKS, Links
from bot.publish.bundle import Bundle
from bot.publish.remote import Remote
from bot.publish.thread.comments import ThreadRef, thread_ref_of
from bot.verbs.registry import VERBS, merges_base


@dataclass(frozen=True, kw_only=True)
class PublishContext:
    """A bundle and its destination.

    `github` only prints its writes if it is a dry run. `say` writes to the log. `workflow` returns a client with the
    workflow's own token, and that token; after it was called, `app` is the client that was used before. `ci_waits`: CI
    on the change waits for approval. `approved`: a person looked at the change, so CI may start on it. `failures`
    collects what could not be done beside the result, a sentence each.
    """

    bundle: Bundle
    github: GitHub
    remote: Remote
    links: Links = NO_LINKS
    say: Callable[[str], None] = lambda line: None
    workflow: Callable[[], tuple[GitHub, str]] | None = None
    app: GitHub | None = None
    ci_waits: bool = False
    approved: bool = False
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def tolerating(self, what: str, silent: Collection[int] = ()) -> Iterator[None]:
        """Let GitHub refuse what publishing does not depend on: `failures` gets `what`, unless `silent`."""
        try:
            yield
        except GitHubError as error:
            if error.status not in silent:
                self.failures.append(f"{what}: {error}")

    @property
    def outcome(self) -> Outcome:
        return self.bundle.outcome

    @property
    def request(self) -> Request:
        return self.outcome.request

    @property
    def thread_ref(self) -> ThreadRef | None:
        """The thread of the request, `None` if it came from no thread."""
        return thread_ref_of(self.request, self.github)

    @property
    def repository(self) -> str:
        return self.request.repository

    @property
    def key(self) -> str:
        """The key of the request in its thread."""
        return self.thread_ref.key if self.thread_ref else "none"

    @property
    def pull_number(self) -> int:
        """The number of the bundle's pull request, which has one: see `check_request`."""
        assert self.request.pull is not None
        return self.request.pull.number

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.outcome.status is not Status.PARTIAL

    @property
    def web(self) -> str:
        """The repository's address for people."""
        return self.remote.url.removesuffix("/").removesuffix(".git")

    @property
    def git(self) -> Git:
        """The bare git directory of `remote`, which `make_bare` creates."""
        return Git(self.remote.git_dir)

    @property
    def starts_runs(self) -> bool:
        """Whether a push with this token starts workflows; true if that cannot be determined."""
        me = self.github.me if self.remote.token.startswith(INSTALLATION) else None
        return me is None or me.login != ACTIONS_LOGIN

    @property
    def accounts(self) -> tuple[Account | None, ...]:
        """The account of this token, and of the one that the workflow's token replaced."""
        return tuple(client.me for client in (self.github, self.app) if client is not None)

    def with_notes(self, *notes: str) -> PublishContext:
        """Return a copy with further sentences for the pull request; empty ones are none."""
        outcome = self.outcome._replace(notes=(*self.outcome.notes, *filter(None, notes)))
        return replace(self, bundle=self.bundle._replace(outcome=outcome))


def make_bare(folder: Path, sha: str) -> Git:
    """Create a bare git directory for objects like `sha`. Raises `PublishError` if the disk refuses it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_git_dir(folder, bare=True, object_format=object_format_of(sha))
    except OSError as error:
        raise PublishError(f"No git directory could be made at {folder}: {error.strerror}.") from error
    return Git(folder)


def fetch_ends(context: PublishContext, head_sha: str) -> PullBase:
    """Fetch the commit `head_sha`, the tip of the base branch and their merge base. Raises `PublishError`."""
    request, remote = context.request, context.remote
    assert request.pull is not None
    merge_base = context.github.merge_base(request.base_ref, head_sha)
    head, depth = PullHead(request.pull.number, head_sha, merge_base), ["--depth=1", "--no-tags"]
    try:
        return fetch_pull(context.git, remote.url, remote.token, head, base_ref=request.base_ref, depth=depth)
    except CheckoutError as error:
        raise PublishError(f"#{head.number} could not be fetched: {error}") from error


class OpeningRefusedError(PublishError):
    """The branch is pushed, but a setting forbids opening a pull request."""

    def __init__(self, message: str, compare_url: str) -> None:
        super().__init__(message)
        self.compare_url = compare_url


# A verb may end with these only if it publishes them: an answer with a patch was tampered with.
_BY_VERB = (Status.CHANGED, Status.REVIEWED, Status.PLANNED)


def kind_of(bundle: Bundle) -> Status:
    """Return the status that decides what is published: a partial review still has its findings."""
    partial = bundle.outcome.status is Status.PARTIAL and bundle.review is not None
    return Status.REVIEWED if partial else bundle.outcome.status


def has_change(bundle: Bundle) -> bool:
    return bool(bundle.patch) and bundle.outcome.status in (Status.CHANGED, Status.PARTIAL)


def check_repository(outcome: Outcome, repository: str) -> None:
    wanted = outcome.request.repository
    if not wanted or not outcome.request.base_ref:
        raise PublishError("The bundle names no repository and base branch on GitHub to publish to.")
    if repository and wanted.lower() != repository.lower():
        raise PublishError(f"The bundle is for {wanted}, and this job is for {repository}: nothing was done.")


def check_verb(bundle: Bundle) -> None:
    outcome = bundle.outcome
    verb, wrong = outcome.request.verb, outcome.status.value
    published = Status.CHANGED if has_change(bundle) else kind_of(bundle)
    if published in _BY_VERB and published not in VERBS[verb].publishes:
        raise PublishError(
            f"The bundle says `{wrong}`, which `/agent {verb}` cannot come to: nothing was done."
        )


def check_request(request: Request, base_sha: str) -> PullRequest:
    """Return the bundle's pull request. Raises `PublishError` if the bundle's parts do not belong together."""
    pull, thread = request.pull, request.thread
    if pull is None:
        raise PublishError("The bundle names no pull request, and is about one: nothing was done.")
    if thread is not None and (thread.number, thread.is_pull_request) != (pull.number, True):
        raise PublishError(f"The bundle is for #{pull.number}, and its thread is another: nothing was done.")
    if pull.head_sha != base_sha and not merges_base(request):
        raise PublishError(
            f"The bundle's change is to {base_sha[:12]}, and the head of #{pull.number} was "
            f"{pull.head_sha[:12]}: nothing was done."
        )
    return pull


def check_now(request: Request, now: PullRequest) -> None:
    """Raise `PublishError` if the pull request has another base than the bundle states."""
    if now.base_ref != request.base_ref:
        raise PublishError(
            f"The base of #{now.number} is {now.base_ref}, and the run was for {request.base_ref}: ask again."
        )


def check_open(now: PullRequest) -> None:
    if now.state is not PullState.OPEN:
        raise PublishError(f"#{now.number} was {now.state} while the run was under way: nothing was pushed.")

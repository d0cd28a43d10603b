"""From a bundle to what people see: a draft pull request, a commit, a review, or a comment that says why there is none.

Doing it twice changes nothing: the commit is the same, the pull request and the comments are found again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bot.checkout import layout
from bot.checkout.git import Git
from bot.contracts.errors import AgentError, GateError, PublishError
from bot.contracts.outcome import Outcome, Status
from bot.contracts.request import Request, Verb
from bot.gate.secrets import Finder
from bot.gate.verdict import MayWrite
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.recorder import Recorder
from bot.policy.schema import Identity
from bot.publish.body.footer import NO_LINKS, Links
from bot.publish.bundle.read import Bundle
from bot.publish.change.publish import publish_change
from bot.publish.change.work import KnowRules, OpeningRefusedError, Read, Work
from bot.publish.published import Published
from bot.publish.pull import check_request
from bot.publish.remote import Remote
from bot.publish.thread.ended import final_state, tell_end, tell_on_lines, tell_published
from bot.publish.thread.place import Place, place_of
from bot.publish.thread.progress import ProgressState, finish_progress

if TYPE_CHECKING:
    from bot.publish.writes.judged import Proposed

if TYPE_CHECKING:
    from bot.publish.plan.approved import Approval

__all__ = ["Published", "publish"]


class PublishAnswer(Protocol):
    """Publishes what is no change. Returns soft failures, a sentence each; `folder` does not exist yet."""

    def __call__(
        self,
        bundle: Bundle,
        host: Host,
        *,
        place: Place | None,
        links: Links,
        remote: Remote,
        folder: Path,
        say: Callable[[str], None],
    ) -> tuple[str, ...]: ...


_AGAIN = (Verb.CONTINUE, Verb.RETRY)
# What a verb can come to: an `explain` that brings a patch was tampered with.
_VERBS = {
    Status.REVIEWED: frozenset({Verb.REVIEW, *_AGAIN}),
    Status.PLANNED: frozenset({Verb.PLAN, *_AGAIN}),
}
_CHANGING = frozenset({Verb.FIX, Verb.APPROVE, *_AGAIN})


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
    rules: KnowRules = lambda read: None,
) -> Published:
    """Publish `bundle` to the repository at `git_url`, working below `folder`, which must not exist.

    `identity` and `may_write` override the policy's. `repository` is the one we act for: a bundle for another
    is refused. With `dry_run` nothing is written, and every write is said through `say`. `rules` is called before
    the first of them. Raises `PublishError` and `GateError`, after the thread was told, also of what `rules` raises.
    """
    outcome = bundle.outcome
    _check_repository(outcome, repository)
    recorder = Recorder(github, say, getattr(github, "leaving", None)) if dry_run else None
    host = recorder or github
    told = _Thread(host, outcome, links, place_of(outcome.request))
    known = _Once(rules)
    remote = Remote(folder, git_url, token)
    try:
        _check_verb(bundle)
        proposed = _proposed(bundle, remote, folder, links)
        publish_answer = _answer_of(_kind(bundle))
        if publish_answer is not None:
            known(None)
            notes = _answer(publish_answer, bundle, host, told.place, links, remote, folder, say)
            return _with_writes(Published(notes=notes), proposed, host)
        if not _has_change(bundle):
            known(None)
            return _with_writes(Published(notes=told.ended()), proposed, host)
        approval = _check_approved(host, told.place, outcome.request)
        git = _bare(folder, outcome.base_sha)
        links = replace(links, plan=approval.url if approval else "")
        work = Work(bundle, host, remote, git, links, recorder, identity, may_write, rules=known)
        published = publish_change(work)
    except OpeningRefusedError as error:
        known(None)
        raise PublishError(told.failed(str(error), error.compare_url)) from error
    except GateError as error:
        known(None)
        raise GateError(told.failed(str(error))) from error
    except ThreadUntoldError:
        raise
    except AgentError as error:
        known(None)
        raise PublishError(told.failed(str(error))) from error
    # In a dry run the thread's comments are not there to be finished.
    number = 0 if recorder is not None else published.pr_number
    notes = (*published.notes, *told.published(number, published))
    notes = (*notes, *_tell_carried_out(host, told.place, approval, number))
    return _with_writes(replace(published, notes=notes), proposed, host)


class _Once:
    """The rules are read once: where that failed, the thread is told so without them."""

    def __init__(self, rules: KnowRules) -> None:
        self._rules: KnowRules | None = rules

    def __call__(self, read: Read | None) -> Finder | None:
        rules, self._rules = self._rules, None
        return rules(read) if rules is not None else None


def _check_verb(bundle: Bundle) -> None:
    outcome = bundle.outcome
    verb, wrong = outcome.request.verb, outcome.status.value
    allowed = _VERBS.get(_kind(bundle))
    if (_has_change(bundle) and verb not in _CHANGING) or (allowed is not None and verb not in allowed):
        raise PublishError(
            f"The bundle says `{wrong}`, which `/agent {verb}` cannot come to: nothing was done."
        )


def _answer_of(status: Status) -> PublishAnswer | None:
    """What publishes a run that came to no change; imported when it is needed."""
    if status is Status.REVIEWED:
        from bot.publish.review.publish import publish_review

        return publish_review
    if status is Status.PLANNED:
        from bot.publish.plan.posted import publish_plan

        return publish_plan
    if status in (Status.ANSWERED, Status.NEEDS_INPUT):
        from bot.publish.answer import publish_answer

        return publish_answer
    return None


def _answer(
    publish_answer: PublishAnswer,
    bundle: Bundle,
    host: Host,
    place: Place | None,
    links: Links,
    remote: Remote,
    folder: Path,
    say: Callable[[str], None],
) -> tuple[str, ...]:
    if bundle.outcome.request.pull is not None:
        check_request(bundle.outcome.request, bundle.outcome.base_sha)
    return publish_answer(bundle, host, place=place, links=links, remote=remote, folder=folder, say=say)


def _proposed(bundle: Bundle, remote: Remote, folder: Path, links: Links) -> Proposed | None:
    """What the run wants written on threads, judged before anything is published."""
    if bundle.writes is None:
        return None
    from bot.publish.writes.judged import judge

    return judge(bundle, remote, folder.with_name(f"{folder.name}-rules"), links)


def _with_writes(published: Published, proposed: Proposed | None, host: Host) -> Published:
    if proposed is None:
        return published
    from bot.publish.writes.made import make

    made = make(proposed, host)
    # A dry run has said each of them, and made none.
    written = () if isinstance(host, Recorder) else made.written
    return replace(published, written=written, withheld=made.withheld)


def _check_approved(host: Host, place: Place | None, request: Request) -> Approval | None:
    """A plan is carried out once, as it was posted. `None` where there is no plan in this."""
    if request.verb not in (Verb.APPROVE, Verb.CONTINUE) and request.plan is None:
        return None
    from bot.publish.plan.approved import check_approved

    return check_approved(host, place, request)


def _tell_carried_out(
    host: Host, place: Place | None, approval: Approval | None, number: int
) -> tuple[str, ...]:
    if approval is None:
        return ()
    from bot.publish.plan.approved import tell_carried_out

    return tell_carried_out(host, place, approval, number)


def _kind(bundle: Bundle) -> Status:
    """What is there to publish: a review that was cut short still has its findings."""
    partial = bundle.outcome.status is Status.PARTIAL and bundle.review is not None
    return Status.REVIEWED if partial else bundle.outcome.status


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


def _bare(folder: Path, base_sha: str) -> Git:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        layout.make_git_dir(folder, bare=True, object_format=layout.object_format_of(base_sha))
    except OSError as error:
        raise PublishError(f"No git directory could be made at {folder}: {error.strerror}.") from error
    return Git(folder)


class ThreadUntoldError(PublishError):
    """The thread is all that was to be told, and it could not be."""


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
            raise ThreadUntoldError(f"The thread could not be told how the run ended: {error}") from error
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

    def published(self, number: int, published: Published) -> tuple[str, ...]:
        """Without a number it was a dry run, of which the thread knows already."""
        if not number or self.place is None:
            return ()
        state = final_state(self.outcome, self.links, pull_number=number, suggested=published.suggested)
        pull = self.outcome.request.pull
        pushed = pull is not None and number == pull.number and not published.suggested
        try:
            if self.place.lines and not pushed:
                tell_on_lines(self.host, self.place, state)
        except GitHubError as error:
            return (f"The thread on the lines could not be told: {error}", *self._finish(state, number))
        return self._finish(state, number)

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

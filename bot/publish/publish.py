"""From a bundle to what people see: a draft pull request, a commit, a review, or a comment that says why there is none.

`publish` reads in the order in which things happen: what the bundle says is judged, then the repository's own rules
for secrets are known, then something is written. All that is written goes by `host`, where each field passes the gate
(`bot/gate/exit.py`), or by `Remote`, whose two pushes take a commit that `change/ready.py` has judged.
Doing it twice changes nothing: the commit is the same, the pull request and the comments are found again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.checkout import layout
from bot.checkout.git import Git
from bot.contracts.errors import AgentError, GateError, PublishError
from bot.contracts.outcome import Status
from bot.contracts.request import Request, Verb
from bot.gate.verdict import MayWrite
from bot.github.host import Host
from bot.github.recorder import Recorder
from bot.policy.schema import Identity
from bot.publish.body.footer import NO_LINKS, Links
from bot.publish.bundle.read import Bundle
from bot.publish.change.publish import publish_change
from bot.publish.change.work import OpeningRefusedError, Work
from bot.publish.kind import check_repository, check_verb, has_change, kind_of
from bot.publish.published import Published
from bot.publish.pull import check_request
from bot.publish.remote import Remote
from bot.publish.rules import KnowRules, Rules
from bot.publish.telling import Telling
from bot.publish.thread.ending import Ending, ThreadUntoldError
from bot.publish.thread.place import Place, place_of

if TYPE_CHECKING:
    from bot.publish.plan.approved import Approval
    from bot.publish.writes.judged import Proposed


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
    workflow: Callable[[], tuple[Host, str]] | None = None,
) -> Published:
    """Publish `bundle` to the repository at `git_url`, working below `folder`, which must not exist.

    `identity` and `may_write` override the policy's. `repository` is the one we act for: a bundle for another
    is refused. With `dry_run` nothing is written, and every write is said through `say`. `rules` is called before
    the first of them. `workflow` is for a CI that has to wait, see `Work`. Raises `PublishError` and `GateError`, after
    the thread was told, also of what `rules` raises.
    """
    outcome = bundle.outcome
    check_repository(outcome, repository)
    recorder = Recorder(github, say, getattr(github, "leaving", None)) if dry_run else None
    host = recorder or github
    known = Rules(rules)
    told = Ending(host, outcome, links, place_of(outcome.request), known)
    remote = Remote(folder, git_url, token)
    try:
        check_verb(bundle)
        proposed = _proposed(bundle, remote, folder, links, known)
        publish_kind = _publisher_of(kind_of(bundle))
        if publish_kind is not None:
            known()
            if outcome.request.pull is not None:
                check_request(outcome.request, outcome.base_sha)
            notes = publish_kind(Telling(bundle, host, told.place, links, remote, folder, say))
            return _with_writes(Published(notes=notes), proposed, host)
        if not has_change(bundle):
            return _with_writes(Published(notes=told.ended()), proposed, host)
        approval = _check_approved(host, told.place, outcome.request)
        git = _bare(folder, outcome.base_sha)
        links = replace(links, plan=approval.url if approval else "")
        work = Work(
            bundle, host, remote, git, links, recorder, identity, may_write, rules=known, workflow=workflow
        )
        published = publish_change(work)
    except OpeningRefusedError as error:
        raise PublishError(told.failed(str(error), error.compare_url)) from error
    except GateError as error:
        raise GateError(told.failed(str(error))) from error
    except ThreadUntoldError:
        raise
    except KeyboardInterrupt:
        told.failed("Publishing was cancelled. Publish the bundle again, or run the job again.")
        raise
    except AgentError as error:
        raise PublishError(told.failed(str(error))) from error
    # In a dry run the thread's comments are not there to be finished.
    number = 0 if recorder is not None else published.pr_number
    notes = (*published.notes, *told.published(number, published))
    notes = (*notes, *_tell_carried_out(host, told.place, approval, number))
    return _with_writes(replace(published, notes=notes), proposed, host)


def _publisher_of(status: Status) -> Callable[[Telling], tuple[str, ...]] | None:
    """What publishes a run that came to no change, and returns soft failures; imported when it is needed."""
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


def _proposed(bundle: Bundle, remote: Remote, folder: Path, links: Links, known: Rules) -> Proposed | None:
    """What the run wants written on threads, judged before anything is published."""
    if bundle.writes is None:
        return None
    from bot.publish.writes.judged import judge

    return judge(bundle, remote, folder.with_name(f"{folder.name}-rules"), links, known())


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


def _bare(folder: Path, base_sha: str) -> Git:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        layout.make_git_dir(folder, bare=True, object_format=layout.object_format_of(base_sha))
    except OSError as error:
        raise PublishError(f"No git directory could be made at {folder}: {error.strerror}.") from error
    return Git(folder)

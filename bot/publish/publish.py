"""Publish a bundle: validate it, judge it, write to GitHub.

First the bundle's parts are checked, then the repository's own secret rules are loaded, then the result is written: a
pull request, a commit, a review, or a comment with the reason why there is none. All writes use `context.github`,
whose fields pass the outbound filter (`bot/gate/outbound.py`), or `Remote`, whose two pushes accept a commit that
`change/commit.py` has judged. Publishing twice changes nothing: the commit is the same, and the pull request and the
comments are found by their marks.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from bot.contracts.errors import AgentError, GateError, PublishError
from bot.contracts.outcome import Status
from bot.github.errors import RepositoryMovedError
from bot.publish.approval import PostedPlan, check_approval, report_execution
from bot.publish.change.on_pull import publish_on_pull
from bot.publish.change.pull_request import close_obsolete, publish_on_branch
from bot.publish.context import (
    OpeningRefusedError,
    PublishContext,
    check_repository,
    check_request,
    check_verb,
    has_change,
    kind_of,
    make_bare,
)
from bot.publish.plan import publish_plan
from bot.publish.result import (
    CancelledAfterPublishing,
    PublishResult,
    ThreadCommentError,
    publish_answer,
    report_change,
    report_failure,
    report_no_change,
)
from bot.publish.review.publish import publish_review
from bot.publish.writes import ValidatedWrites, apply_writes, validate_writes
from bot.verbs.registry import merges_base

_PUBLISHERS: Mapping[Status, Callable[[PublishContext], None]] = {
    Status.REVIEWED: publish_review,
    Status.PLANNED: publish_plan,
    Status.ANSWERED: publish_answer,
    Status.NEEDS_INPUT: publish_answer,
}
"""What posts a bundle's reply, where it has one."""


def publish(context: PublishContext, repository: str) -> PublishResult:
    """Publish the bundle of `context`. The git directory of its remote must not exist; it is created here.

    A bundle for another repository than `repository` is refused. Raises `PublishError` and `GateError`, after a comment
    in the thread, also for an error of `context.rules`.
    """
    check_repository(context.outcome, repository)
    try:
        check_verb(context.bundle)
        writes = validate_writes(context)  # before anything is published
        publisher = _PUBLISHERS.get(kind_of(context.bundle))
        is_merge = merges_base(context.request) and kind_of(context.bundle) is Status.NO_CHANGE
        if publisher is not None or not (has_change(context.bundle) or is_merge):
            if publisher is None:
                report_no_change(context)
                close_obsolete(context)
            elif not context.request.round:  # its comment has the question
                if context.request.pull is not None:
                    check_request(context.request, context.outcome.base_sha)
                publisher(context)
            return _write(context, writes, PublishResult())
        plan = check_approval(context.thread_ref, context.request)
        result = _publish_change(context, plan)
        if not context.github.is_dry:  # else the thread's comments do not exist
            try:
                report_change(context, result)
            except KeyboardInterrupt:
                raise CancelledAfterPublishing(result) from None
    except (ThreadCommentError, RepositoryMovedError):
        raise
    except CancelledAfterPublishing as stop:
        context.say(f"note: the change was published before that: {stop.result.pr_url}")
        report_change(context, stop.result)
        raise
    except KeyboardInterrupt:
        # Not "could not be published": GitHub may have received something.
        again = "Publish the bundle again, or run the job again."
        report_failure(context, again, heading="Publishing was cancelled")
        raise
    except AgentError as error:
        compare_url = error.compare_url if isinstance(error, OpeningRefusedError) else ""
        kind = GateError if isinstance(error, GateError) else PublishError
        raise kind(report_failure(context, str(error), compare_url)) from error
    number = 0 if context.github.is_dry else result.pr_number
    with context.tolerating("The plan could not be marked as carried out"):
        report_execution(context.thread_ref, plan, number)
    return _write(context, writes, result)


def _publish_change(context: PublishContext, plan: PostedPlan | None) -> PublishResult:
    make_bare(context.remote.git_dir, context.outcome.base_sha)
    thread = context.request.thread
    if plan and thread:
        url = f"{thread.url}#{plan.comment.data.anchor}"
        context = replace(context, links=context.links._replace(plan=url))
    if context.request.pull is not None or (thread is not None and thread.is_pull_request):
        return publish_on_pull(context)
    return publish_on_branch(context)


def _write(context: PublishContext, writes: ValidatedWrites | None, result: PublishResult) -> PublishResult:
    """Make the writes on threads, and return the whole result."""
    written, withheld = apply_writes(writes, context.github) if writes else ((), ())
    written = () if context.github.is_dry else written
    return result._replace(notes=tuple(context.failures), written=written, withheld=withheld)

"""`slash-agent publish`: publish a bundle on GitHub, from a clone that is separate from the run's work tree."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bot.contracts.errors import AgentError, PublishError, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Request, Tier
from bot.events.admission import tier_of
from bot.events.event_request import Cause, EventRequest, NoRequestError, RefusedError
from bot.events.read_event import READERS, read_event
from bot.events.resolve_request import difference, with_update
from bot.follow_up.act import end_round, stop_record
from bot.github.client import GitHub
from bot.github.errors import GitHubError, RepositoryMovedError
from bot.github.tokens import Access
from bot.policy.load import load_policy
from bot.policy.settings import Policy
from bot.publish.body.order_and_footer import Links
from bot.publish.bundle import Bundle, read_bundle
from bot.publish.context import PublishContext
from bot.publish.markdown import safe_line
from bot.publish.publish import publish
from bot.publish.remote import Remote
from bot.publish.result import PublishResult
from bot.publish.thread.comments import ThreadRef, thread_ref_of
from bot.publish.thread.markers import OVER, PROGRESS
from bot.session.context.github_env import WORKFLOW_TOKEN, GitHubEnvironment, read_github_environment
from bot.session.event.earlier_run import repeat_request
from bot.session.event.event_context import Say, client_for, connected, event_thread_ref
from bot.session.event.follow import begun_round, round_request
from bot.session.event.instant_answers import post_check
from bot.session.event.progress_comment import error_text
from bot.verbs.record import Earlier
from bot.verbs.registry import needs


@dataclass
class PublishJob:
    """The job that publishes. `say` writes a line of its log, and with `dry_run` each write to GitHub. `mask` gets each
    secret that is created. `approved`: a person looked at the change, so CI may start on it."""

    environment: Mapping[str, str]
    say: Say
    dry_run: bool = False
    mask: Say = lambda secret: None
    approved: bool = False

    @property
    def dry(self) -> Say | None:
        return self.say if self.dry_run else None

    @cached_property
    def where(self) -> GitHubEnvironment:
        return read_github_environment(self.environment)

    @cached_property
    def event_request(self) -> EventRequest | None:
        """The request of the job's event with the workflow's inputs; `None` outside a job of an event that may hold
        one. Raises `NoRequestError`."""
        get, where = self.environment.get, self.where
        name, payload = get("GITHUB_EVENT_NAME", ""), get("GITHUB_EVENT_PATH", "")
        if not payload or name not in READERS:
            return None
        inputs = where.inputs(get("SLASH_AGENT_INSTRUCTION", ""), get("SLASH_AGENT_TASK", ""))
        return read_event(name, Path(payload), inputs)

    @property
    def event_in_thread(self) -> EventRequest | None:
        """The event that began the run, `None` if it is of no thread."""
        with suppress(NoRequestError):
            return self.event_request if self.event_request and self.event_request.number else None
        return None

    def close_progress(self, error: str) -> None:
        """Report an unreadable bundle in the thread of the event."""
        if event := self.event_in_thread:
            name = event.repository.name
            _, github = connected(self.where, name, Access.COMMENT, self.mask)
            self.end_thread(event_thread_ref(event, github, self.where.run), error)

    def end_thread(self, thread_ref: ThreadRef, error: str) -> None:
        """Write the error in our comments of the request, unless they have its result. No new comment is written."""
        text = error_text(f"Publishing failed: {error}", self.where.run_url)
        try:
            for one in list(thread_ref._replace(lines=0).written()):
                if one.kind == PROGRESS and not one.has_result:
                    thread_ref.rewrite(one, text, OVER)
        except GitHubError as failure:
            self.say(f"note: the progress comment could not be finished: {failure}")


def publish_bundle(job: PublishJob, folder: Path) -> tuple[Outcome, PublishResult]:
    """Publish the bundle in `folder`, and return its outcome with what was published. Raises `AgentError`; the bundle
    stays unchanged.

    In a job of the event that began the run, actor, request and thread come from the event: a bundle that differs is
    not published. Without an event, GitHub is asked for the permission of the account that the bundle names.
    """
    try:
        bundle = read_bundle(folder)
    except UsageError as error:
        job.close_progress(str(error))
        raise
    old_name = job.where.acts_for or bundle.outcome.request.repository
    try:
        return _publish_as(job, bundle, old_name)
    except OSError as error:
        job.close_progress(error.strerror or str(error))
        raise
    except RepositoryMovedError:
        new = client_for(job.where, old_name).current_name()
        if new.lower() == old_name.lower():
            raise
        job.say(f"note: the repository {old_name} is called {new} now")
        return _publish_as(job, bundle, new)


def publish_note(job: PublishJob, note: str) -> None:
    """Put the reason why nothing came of the job's event, which the job that ran gives, on the pull request of the
    event as a neutral check, or in the comment of the round that this run has begun. Raises `UsageError` for an event
    with a command or without a pull request."""
    event_request = job.event_request
    if event_request is not None and event_request.cause is Cause.FOLLOW_UP:
        where, github = connected(job.where, event_request.repository.name, Access.PUBLISH, job.mask, job.dry)
        number, record = begun_round(github, event_request.number, where.run)
        if number:
            stop_record(github, number, record, safe_line(note))
        return
    if event_request is None or event_request.cause is Cause.COMMAND or not event_request.head_sha:
        raise UsageError("A note is for an event of a pull request without a command, and this job has none.")
    name = event_request.repository.name
    where, github = connected(job.where, name, Access.PUBLISH, job.mask, job.dry)
    post_check(github, event_request, note, where.run_url, job.say)


def _publish_as(job: PublishJob, bundle: Bundle, name: str) -> tuple[Outcome, PublishResult]:
    """`name` is the repository's present name, which git and an app's token need."""
    environment, say, request = job.environment, job.say, bundle.outcome.request
    old_name = job.where.acts_for or request.repository
    renamed = job.where.renamed(old_name, name)
    where, github = connected(renamed, name, Access.PUBLISH, job.mask, job.dry)
    # An event has the name that the repository had then, as the bundle has.
    try:
        _check_request(request, job, github)
    except PublishError as error:
        event = job.event_in_thread
        if found := event_thread_ref(event, github, where.run) if event else thread_ref_of(request, github):
            job.end_thread(found, str(error))
        raise
    if request.repository.lower() == old_name.lower():
        # GitHub's answers on pull requests have the new name. A bundle for another repository is refused later.
        request = request._replace(repository=name)
        bundle = bundle._replace(outcome=bundle.outcome._replace(request=request))
    own_token = environment.get(WORKFLOW_TOKEN, "")

    def workflow() -> tuple[GitHub, str]:
        return client_for(where, name, own_token), own_token

    # GITHUB_TOKEN, beside the token that the job acts with, reaches the job's own repository.
    has_own = own_token not in ("", where.token) and request.repository.lower() == where.repository.lower()
    with publishing_clone(where, request.repository) as remote:
        context = PublishContext(
            bundle=bundle,
            github=github.dry(say) if request.dry_run and not job.dry_run else github,
            remote=remote,
            links=Links(run=where.run_url, report=where.report_url),
            say=say,
            workflow=workflow if has_own else None,
            approved=job.approved,
        )
        published = (
            _publish_round(context, where.acts_for) if request.round else publish(context, where.acts_for)
        )
    return bundle.outcome, published


def _publish_round(context: PublishContext, repository: str) -> PublishResult:
    """Publish the bundle of a round, and record how the round ended, whatever comes of it."""
    github, number, result, problem = context.github, context.pull_number, PublishResult(), ""
    try:
        result = publish(context, repository)
    except AgentError as error:
        problem = str(error)
        raise
    finally:
        if not github.is_dry:
            report = context.links.report or context.links.run
            end_round(github, number, context.outcome, result, problem, report)
    return result


@contextmanager
def publishing_clone(where: GitHubEnvironment, repository: str) -> Iterator[Remote]:
    with tempfile.TemporaryDirectory(prefix="slash-agent-publish-") as scratch:
        yield Remote(Path(scratch) / "clone", where.git_url(repository), where.token)


def _check_request(request: Request, job: PublishJob, github: GitHub) -> None:
    try:
        event_request = job.event_request
    except NoRequestError as error:
        raise PublishError(
            f"{error.reason} The job that publishes takes the same `instruction` and `task` as the one that ran."
        ) from error
    if request.policy_file != job.where.policy_file:
        difference_text = f"the policy {request.policy_file[:100]!r}"
    elif event_request is None:
        difference_text = _actor_difference(request, github, bool(job.environment.get("GITHUB_EVENT_PATH")))
    else:
        difference_text = _event_difference(request, event_request, job.where, github)
    if difference_text == _WHO:
        _check_access(request, github)
    if difference_text:
        raise PublishError(
            f"The bundle is not for the event that this job is about: {difference_text} is another. "
            "The artifact may have been changed between the two jobs. Nothing was done."
        )


_WHO = "who asked"
_PEOPLE = (Tier.OUTSIDER, Tier.CONTRIBUTOR, Tier.MAINTAINER)


def _check_access(request: Request, github: GitHub) -> None:
    """Raise `PublishError` if GitHub now gives the actor less access than the request has."""
    actor = request.actor
    if actor.tier not in _PEOPLE:
        return
    known = github.permission(actor.login)
    tier = tier_of(known)
    if known.user_id in (0, actor.id) and _PEOPLE.index(tier) < _PEOPLE.index(actor.tier):
        raise PublishError(
            f"GitHub gives {actor.login} less access now ({tier}) than at the start of the run ({actor.tier}). Nothing "
            "was published. Give the access back and publish again, or let somebody who has it write the command."
        )


def _event_difference(
    request: Request, event_request: EventRequest, where: GitHubEnvironment, github: GitHub
) -> str:
    """Return what differs between the request and that of the event, or empty."""
    repository = event_request.repository
    if repository.clone_url:
        github.repository = repository

    def read_policy() -> Policy:
        text = github.file(where.policy_file, repository.default_branch)
        return load_policy(text, where.policy_file)

    if request.round and request.pull is not None:
        number, record = begun_round(github, request.pull.number, where.run)
        if number and event_request.cause is Cause.FOLLOW_UP:
            event_request = round_request(event_request, number, record)
    if event_request.cause is Cause.FAILED_RUN:
        with suppress(NoRequestError):  # then it is no update, and differs
            event_request = with_update(event_request, github, read_policy())
    command = event_request.command
    if command is not None and needs(command.verb, Earlier.REQUEST):
        thread_ref = event_thread_ref(event_request, github)
        try:
            event_request, _ = repeat_request(event_request, thread_ref, request.actor, read_policy())
        except RefusedError as error:
            raise PublishError(str(error)) from error
    return difference(request, event_request, github, read_policy)


def _actor_difference(request: Request, github: GitHub, of_event: bool) -> str:
    """Check the actor without an event that names one, since rules on paths depend on the tier. A schedule or a bot is
    known from its event only; without any event a person at a terminal publishes."""
    actor = request.actor
    if actor.tier is Tier.LOCAL:
        return "who asked, at a terminal,"
    if of_event and actor.tier in (Tier.SCHEDULE, Tier.BOT):
        return f"who asked, the tier {actor.tier},"
    if actor.tier in _PEOPLE:
        known = github.permission(actor.login)
        return "" if (known.user_id, tier_of(known)) == (actor.id, actor.tier) else _WHO
    return ""

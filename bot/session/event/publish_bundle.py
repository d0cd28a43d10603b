"""`slash-agent publish`: publish a bundle on GitHub, from a clone that is separate from the run's work tree."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bot.contracts.errors import PublishError, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Request, Tier
from bot.events.admission import tier_of
from bot.events.compare import difference
from bot.events.event import Event, OtherEvent, read_event
from bot.events.event_request import NoRequest, Refusal, WorkflowInputs, parse_event_request
from bot.gate.outbound import add_rules
from bot.gate.secrets import Finder
from bot.github.client import GitHub
from bot.github.errors import GitHubError, RepositoryMovedError
from bot.github.tokens import Access
from bot.policy.load import load_policy
from bot.policy.values import Policy
from bot.publish.body.title_and_footer import Links
from bot.publish.bundle.read import read_bundle
from bot.publish.bundle.write import Bundle
from bot.publish.context import PublishContext, ReadFile, SecretRules
from bot.publish.publish import publish
from bot.publish.remote import Remote
from bot.publish.result import PublishResult
from bot.publish.thread.comments import edit_comments
from bot.publish.thread.markers import OVER, PROGRESS, ThreadRef, thread_ref_of
from bot.session.context.base import finder_of
from bot.session.context.github_env import (
    WORKFLOW_TOKEN,
    GitHubEnvironment,
    read_github_environment,
    signed_in,
)
from bot.session.event.event_context import client_for, event_thread_ref
from bot.session.event.progress_comment import error_text
from bot.session.event.retry_continue import request_behind


@dataclass(frozen=True, slots=True)
class BundlePublished:
    """The bundle's outcome and what was published. `finder` knows the repository's rules for secrets."""

    outcome: Outcome
    published: PublishResult
    finder: Finder


def publish_bundle(
    folder: Path,
    environment: Mapping[str, str],
    *,
    dry_run: bool,
    say: Callable[[str], None],
    mask: Callable[[str], None] = lambda secret: None,
) -> BundlePublished:
    """Publish the bundle in `folder`. Raises `AgentError`; the bundle stays unchanged. `mask` gets each secret that is
    created.

    In a job of the event that began the run, actor, request and thread come from the event: a bundle that differs is
    not published. Without an event, GitHub is asked for the permission of the account that the bundle names.
    """
    try:
        bundle = read_bundle(folder)
    except UsageError as error:
        _close_progress(f"Publishing failed: {error}", environment, mask, say)
        raise
    where = read_github_environment(environment)
    _check_entry(bundle.outcome.request, where, environment.get("SLASH_AGENT_TASK", ""))
    old_name = where.acts_for or bundle.outcome.request.repository
    publishing = partial(_publish_as, bundle, where, environment, dry_run=dry_run, say=say, mask=mask)
    try:
        return publishing(old_name)
    except OSError as error:
        _close_progress(f"Publishing failed: {error.strerror or error}", environment, mask, say)
        raise
    except RepositoryMovedError:
        new = client_for(where, environment).current_name(old_name)
        if new.lower() == old_name.lower():
            raise
        say(f"note: the repository {old_name} is called {new} now")
        return publishing(new)


def _publish_as(
    bundle: Bundle,
    where: GitHubEnvironment,
    environment: Mapping[str, str],
    name: str,
    *,
    dry_run: bool,
    say: Callable[[str], None],
    mask: Callable[[str], None],
) -> BundlePublished:
    """`name` is the repository's present name, which git and an app's token need."""
    old_name = where.acts_for or bundle.outcome.request.repository
    job_env, where = where, signed_in(where.renamed(old_name, name), name, Access.PUBLISH)
    for secret in where.minted_secrets.values():
        mask(secret)
    github = client_for(where, environment)
    # An event has the name that the repository had then, as the bundle has.
    try:
        _check_request(bundle.outcome.request, environment, job_env, github)
    except PublishError as error:
        host = github.dry(say) if dry_run else github
        thread_ref = _event_thread(environment, job_env) or thread_ref_of(bundle.outcome.request)
        _end_thread(host, thread_ref, f"Publishing failed: {error}", where.run_url, say)
        raise
    bundle = _renamed(bundle, old_name, name)
    finder = Finder()

    def load_rules(read: ReadFile | None) -> Finder:
        nonlocal finder
        finder = know_rules(bundle.outcome.request, where, github, read)
        return finder

    def workflow() -> tuple[GitHub, str]:
        own = environment[WORKFLOW_TOKEN]
        client = client_for(where, environment, own)
        add_rules(client, finder)
        return client, own

    with tempfile.TemporaryDirectory(prefix="slash-agent-publish-") as scratch:
        request = bundle.outcome.request
        context = PublishContext(
            bundle=bundle,
            github=github.dry(say) if dry_run or request.dry_run else github,
            remote=Remote(Path(scratch) / "clone", where.git_url(request.repository), where.token),
            rules=SecretRules(load_rules),
            links=Links(run=where.run_url, report=where.report_url),
            say=say,
            workflow=workflow if _has_own_token(where, environment, request) else None,
        )
        published = publish(context, where.acts_for)
    return BundlePublished(bundle.outcome, published, finder)


def _renamed(bundle: Bundle, old_name: str, new: str) -> Bundle:
    """For the repository's new name, which GitHub's answers on pull requests have. One for another repository is left
    as it is, and refused later."""
    request = bundle.outcome.request
    if request.repository.lower() != old_name.lower():
        return bundle
    return replace(bundle, outcome=replace(bundle.outcome, request=replace(request, repository=new)))


def _close_progress(
    error_message: str,
    environment: Mapping[str, str],
    mask: Callable[[str], None],
    say: Callable[[str], None],
) -> None:
    """Report an unreadable bundle in the thread of the event."""
    if not environment.get("GITHUB_EVENT_PATH", ""):
        return
    where = read_github_environment(environment)
    thread_ref = _event_thread(environment, where)
    if thread_ref is None:
        return
    where = signed_in(where, thread_ref.repository, Access.COMMENT)
    for secret in where.minted_secrets.values():
        mask(secret)
    _end_thread(client_for(where, environment), thread_ref, error_message, where.run_url, say)


def _event_thread(environment: Mapping[str, str], where: GitHubEnvironment) -> ThreadRef | None:
    """Return the thread of the event that began the run, `None` without one."""
    name, payload = environment.get("GITHUB_EVENT_NAME", ""), environment.get("GITHUB_EVENT_PATH", "")
    if not payload:
        return None
    event_request = parse_event_request(read_event(name, Path(payload)), _inputs(environment, where))
    if isinstance(event_request, NoRequest) or not event_request.number:
        return None
    return event_thread_ref(event_request, where)


def _end_thread(
    github: GitHub, thread_ref: ThreadRef | None, error_message: str, run_url: str, say: Callable[[str], None]
) -> None:
    """Write the error in our comments of the request, unless they have its result. No new comment is written."""
    if thread_ref is None:
        return
    text = error_text(error_message, run_url)
    try:
        edit_comments(github, replace(thread_ref, lines=0), {PROGRESS: text}, OVER, if_open=True)
    except GitHubError as error:
        say(f"note: the progress comment could not be finished: {error}")


def _inputs(environment: Mapping[str, str], where: GitHubEnvironment) -> WorkflowInputs:
    """Return the workflow's inputs."""
    instruction, task = (environment.get(f"SLASH_AGENT_{name}", "") for name in ("INSTRUCTION", "TASK"))
    return WorkflowInputs(where.repository, instruction, task, url=where.run_url, target=where.target)


def _has_own_token(where: GitHubEnvironment, environment: Mapping[str, str], request: Request) -> bool:
    """Whether the job has GITHUB_TOKEN beside the token that it acts with, and that reaches the repository."""
    own = environment.get(WORKFLOW_TOKEN, "")
    return own not in ("", where.token) and request.repository.lower() == where.repository.lower()


def know_rules(
    request: Request, where: GitHubEnvironment, github: GitHub, read_local: ReadFile | None
) -> Finder:
    """Add the base branch's secret rules to the gate, whatever the bundle says. `read_local` reads local files."""

    def read_remote(path: str) -> str | None:
        return github.file(request.repository, path, request.base_ref) if request.base_ref else None

    read = read_local or read_remote
    text = read(where.policy_file)
    policy = load_policy(text, where.policy_file) if text is not None else load_policy(None)
    finder = finder_of(policy, read, f"on {request.base_ref}")
    if policy.detector.rules:
        add_rules(github, finder)
    return finder


def _check_entry(request: Request, where: GitHubEnvironment, task: str) -> None:
    """An entry of a maintenance plan names repository and task: the bundle must be for these."""
    if not where.target:
        return
    if (request.repository.lower(), request.task) != (where.target.lower(), task):
        raise PublishError(
            f"The bundle is for the task {request.task or '(none)'} of {request.repository}, and this job acts for "
            f"{task or '(none)'} of {where.target}. Somebody may have changed it on its way here; nothing was done."
        )


def _check_request(
    request: Request, environment: Mapping[str, str], where: GitHubEnvironment, github: GitHub
) -> None:
    name, payload = environment.get("GITHUB_EVENT_NAME", ""), environment.get("GITHUB_EVENT_PATH", "")
    event = read_event(name, Path(payload)) if payload else None
    if request.policy_file != where.policy_file:
        difference_text = f"the policy {request.policy_file[:100]!r}"
    elif event is None or isinstance(event, OtherEvent):
        difference_text = _actor_difference(request, github, event)
    else:
        difference_text = _event_difference(request, event, _inputs(environment, where), where, github)
    if difference_text == _WHO:
        _check_access(request, github)
    if difference_text:
        raise PublishError(
            f"The bundle is not for the event that this job is about: {difference_text} is another. "
            "Somebody may have changed it on its way here; nothing was done."
        )


_WHO = "who asked"
_PEOPLE = (Tier.OUTSIDER, Tier.CONTRIBUTOR, Tier.MAINTAINER)


def _check_access(request: Request, github: GitHub) -> None:
    """Raise `PublishError` if GitHub now gives the actor less access than the request has."""
    actor = request.actor
    if actor.tier not in _PEOPLE:
        return
    known = github.permission(request.repository, actor.login)
    tier = tier_of(known)
    if known.user_id in (0, actor.id) and _PEOPLE.index(tier) < _PEOPLE.index(actor.tier):
        raise PublishError(
            f"The run was for {actor.login}, who asked as {actor.tier} and is {tier} now: GitHub gives less access "
            "than when the run began. Nothing was published. Give the access back and publish again, or let somebody "
            "who has it write the command."
        )


def _event_difference(
    request: Request, event: Event, inputs: WorkflowInputs, where: GitHubEnvironment, github: GitHub
) -> str:
    """Return what differs between the request and the event with the workflow's inputs, or empty."""
    event_request = parse_event_request(event, inputs)
    if isinstance(event_request, NoRequest):
        raise PublishError(
            f"{event_request.reason} The job that publishes takes the same `instruction` and `task` as the one that "
            "ran."
        )
    repository = event_request.repository
    if repository.clone_url:
        github.remember(repository)

    def read_policy() -> Policy:
        text = github.file(repository.name, where.policy_file, repository.default_branch)
        return load_policy(text, where.policy_file)

    behind = request_behind(event_request, request.actor, github, read_policy)
    if isinstance(behind, Refusal):
        raise PublishError(behind.reason)
    return difference(request, behind, github, read_policy)


def _actor_difference(request: Request, github: GitHub, event: OtherEvent | None) -> str:
    """Check the actor without an event that names one, since rules on paths depend on the tier. A schedule or a bot is
    known from its event only; without any event a person at a terminal publishes."""
    actor = request.actor
    if actor.tier is Tier.LOCAL:
        return "who asked, at a terminal,"
    if event is not None and actor.tier in (Tier.SCHEDULE, Tier.BOT):
        return f"who asked, the tier {actor.tier},"
    if actor.tier in (Tier.MAINTAINER, Tier.CONTRIBUTOR, Tier.OUTSIDER):
        known = github.permission(request.repository, actor.login)
        if (known.user_id, tier_of(known)) != (actor.id, actor.tier):
            return _WHO
    return ""

"""`slash-agent publish`: a bundle to GitHub, from a folder that nothing of the run is in."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bot.contracts.errors import PublishError, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Request, Tier
from bot.gate.github import know
from bot.gate.secrets import Finder
from bot.github.app import Access
from bot.github.client import GitHub
from bot.intake.admission import Admission
from bot.intake.answers import Ignored, Refusal
from bot.intake.asked import Given, recognise
from bot.intake.event import Event, OtherEvent, read_event
from bot.intake.match import difference
from bot.intake.who import tier_of
from bot.policy.admit import admission
from bot.policy.load import load_policy
from bot.publish.body.footer import Links
from bot.publish.bundle.read import read_bundle
from bot.publish.publish import publish
from bot.publish.published import Published
from bot.publish.rules import Read
from bot.publish.thread.comments import edit_comments
from bot.publish.thread.markers import OVER, PROGRESS
from bot.run.again import event_behind
from bot.run.base import finder_of
from bot.run.clients import client_for
from bot.run.event import place_of_event
from bot.run.github_env import WORKFLOW_TOKEN, GitHubEnvironment, read_github_environment, signed_in
from bot.run.told import trouble_text


@dataclass(frozen=True, slots=True)
class BundlePublished:
    """What a bundle said, and what there is on GitHub now. `finder` knows the repository's rules for secrets."""

    outcome: Outcome
    published: Published
    finder: Finder


def publish_bundle(
    folder: Path,
    environment: Mapping[str, str],
    *,
    dry_run: bool,
    say: Callable[[str], None],
    mask: Callable[[str], None] = lambda secret: None,
) -> BundlePublished:
    """Publish the bundle in `folder`. Raises an `AgentError`; the bundle stays as it is. `mask` is told of a secret
    that was made on the way.

    In a job of the event that began the run, who asked for what in which thread is the event's to say: a bundle
    that says otherwise is not published. Without one, what the account may that it names is GitHub's to say.
    """
    try:
        bundle = read_bundle(folder)
    except UsageError as error:
        _close_progress(f"Publishing failed: {error}", environment, mask)
        raise
    where = read_github_environment(environment)
    _check_entry(bundle.outcome.request, where, environment.get("SLASH_AGENT_TASK", ""))
    where = signed_in(where, where.acts_for or bundle.outcome.request.repository, Access.PUBLISH)
    for secret in where.made.values():
        mask(secret)
    github = client_for(where, environment)
    _check_request(bundle.outcome.request, environment, where, github)
    finder = Finder()

    def know_rules(read: Read | None) -> Finder:
        nonlocal finder
        finder = _know_rules(bundle.outcome.request, where, github, read)
        return finder

    def workflow() -> tuple[GitHub, str]:
        own = environment[WORKFLOW_TOKEN]
        client = client_for(where, environment, own)
        know(client, finder)
        return client, own

    with tempfile.TemporaryDirectory(prefix="slash-agent-publish-") as scratch:
        published = publish(
            bundle,
            github,
            git_url=where.git_url(bundle.outcome.request.repository),
            token=where.token,
            folder=Path(scratch) / "clone",
            dry_run=dry_run or bundle.outcome.request.dry_run,
            repository=where.acts_for,
            links=Links(run=where.run_url, report=where.report_url),
            say=say,
            rules=know_rules,
            workflow=workflow if _has_own_token(where, environment, bundle.outcome.request) else None,
        )
    return BundlePublished(bundle.outcome, published, finder)


def _close_progress(trouble: str, environment: Mapping[str, str], mask: Callable[[str], None]) -> None:
    """Without a bundle the event says which thread waits for a result. Only a progress comment that is there is
    edited: nobody gets a new comment this way."""
    name, payload = environment.get("GITHUB_EVENT_NAME", ""), environment.get("GITHUB_EVENT_PATH", "")
    if not payload:
        return
    where = read_github_environment(environment)
    wanted = recognise(read_event(name, Path(payload)), _given(environment, where))
    if isinstance(wanted, Ignored) or not wanted.number:
        return
    where = signed_in(where, wanted.repository.name, Access.TALK)
    for secret in where.made.values():
        mask(secret)
    text = trouble_text(trouble, where.run_url)
    place = replace(place_of_event(wanted, where), lines=0)
    edit_comments(client_for(where, environment), place, {PROGRESS: text}, OVER)


def _given(environment: Mapping[str, str], where: GitHubEnvironment) -> Given:
    """What the workflow says beside the event."""
    instruction, task = (environment.get(f"SLASH_AGENT_{name}", "") for name in ("INSTRUCTION", "TASK"))
    return Given(where.repository, instruction, task, url=where.run_url, target=where.target)


def _has_own_token(where: GitHubEnvironment, environment: Mapping[str, str], request: Request) -> bool:
    """Whether the job has GITHUB_TOKEN beside the token that it acts with, and that reaches the repository."""
    own = environment.get(WORKFLOW_TOKEN, "")
    return own not in ("", where.token) and request.repository.lower() == where.repository.lower()


def _know_rules(
    request: Request, where: GitHubEnvironment, github: GitHub, has: Read | None = None
) -> Finder:
    """What the base branch's own rules find; known to the gate from here on, whatever the bundle says. `has` reads from
    what is here already."""

    def ask(path: str) -> str | None:
        return github.file(request.repository, path, request.base_ref) if request.base_ref else None

    read = has or ask
    text = read(where.policy_file)
    policy = load_policy(text, where.policy_file) if text is not None else load_policy(None)
    finder = finder_of(policy, read, f"on {request.base_ref}")
    if policy.detector.rules:
        know(github, finder)
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
        different = f"the policy {request.policy_file[:100]!r}"
    elif event is None or isinstance(event, OtherEvent):
        different = _actor_difference(request, github, event)
    else:
        different = _event_difference(request, event, _given(environment, where), where, github)
    if different:
        raise PublishError(
            f"The bundle is not for the event that this job is about: {different} is another. "
            "Somebody may have changed it on its way here; nothing was done."
        )


def _event_difference(
    request: Request, event: Event, given: Given, where: GitHubEnvironment, github: GitHub
) -> str:
    """What the request says otherwise than the event, with the words that the workflow gives to both of its jobs."""
    wanted = recognise(event, given)
    if isinstance(wanted, Ignored):
        raise PublishError(
            f"{wanted.reason} The job that publishes takes the same `instruction` and `task` as the one that ran."
        )
    repository = wanted.repository
    if repository.clone_url:
        github.know(repository)

    def admitted() -> Admission:
        text = github.file(repository.name, where.policy_file, repository.default_branch)
        return admission(load_policy(text, where.policy_file))

    behind = event_behind(event, request.actor, github, admitted)
    if isinstance(behind, Refusal):
        raise PublishError(behind.reason)
    return difference(request, behind, github, admitted, given)


def _actor_difference(request: Request, github: GitHub, event: OtherEvent | None) -> str:
    """Where no event tells what was asked, what can be known of who asked: rules on paths go by their tier. Nobody but
    the event knows of a schedule or a bot; without any there is somebody at a terminal who publishes."""
    actor = request.actor
    if actor.tier is Tier.LOCAL:
        return "who asked, at a terminal,"
    if event is not None and actor.tier in (Tier.SCHEDULE, Tier.BOT):
        return f"who asked, the tier {actor.tier},"
    if actor.tier in (Tier.MAINTAINER, Tier.CONTRIBUTOR, Tier.OUTSIDER):
        known = github.permission(request.repository, actor.login)
        if (known.user_id, tier_of(known)) != (actor.id, actor.tier):
            return "who asked"
    return ""

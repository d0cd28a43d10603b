"""`slash-agent review --post`: put the review of a local checkout on the pull request of its branch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from bot.checkout.local import resolve
from bot.contracts.errors import UsageError
from bot.github.tokens import Access
from bot.publish.bundle.read import read_bundle
from bot.publish.context import PublishContext, SecretRules
from bot.publish.publish import publish
from bot.publish.remote import Remote
from bot.publish.result import PublishResult
from bot.publish.review.posted_reviews import read_memory
from bot.session.context.github_env import read_github_environment, signed_in
from bot.session.context.review_scope import PullTarget
from bot.session.event.event_context import client_for
from bot.session.event.publish_bundle import know_rules


def find_target(repo: Path, repository: str, environment: Mapping[str, str]) -> PullTarget:
    """Return the open pull request of HEAD's branch in `repository`, and what earlier reviews of it came to. Raises
    `UsageError` if there is none, or if it has another head."""
    where = read_github_environment(environment)
    if not repository:
        raise UsageError("--post needs a remote `origin` on GitHub, and this checkout has none.")
    head = resolve(repo, "HEAD")
    where = signed_in(where, repository, Access.PUBLISH)
    github = client_for(where, environment)
    found = github.pulls_from(repository, head.branch) if head.branch else []
    if not found:
        raise UsageError(
            f"The branch {head.branch or '(none)'} has no open pull request in {repository}: open one, then --post."
        )
    pull = github.pull(repository, found[0].number)
    if pull.head_sha != head.sha:
        raise UsageError(
            f"HEAD is {head.sha[:12]}, and the head of #{pull.number} is {pull.head_sha[:12]}: push or pull first."
        )
    memory = read_memory(github, repository, pull.number)
    return PullTarget(repository, where.git_url(repository), pull, memory)


def post_review(
    bundle: Path, target: PullTarget, environment: Mapping[str, str], say: Callable[[str], None]
) -> PublishResult:
    """Publish the bundle of a local review as a job publishes its own: the gate and the pull request's base decide."""
    where = read_github_environment(environment)
    where = replace(signed_in(where, target.repository, Access.PUBLISH), target="")
    github = client_for(where, environment)
    read = read_bundle(bundle)
    with tempfile.TemporaryDirectory(prefix="slash-agent-publish-") as scratch:
        context = PublishContext(
            bundle=read,
            github=github,
            remote=Remote(Path(scratch) / "clone", target.clone_url, where.token),
            rules=SecretRules(partial(know_rules, read.outcome.request, where, github)),
            say=say,
        )
        return publish(context, target.repository)

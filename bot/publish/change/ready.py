"""The one judge of a change on its way out: the gate over the bundle's patch again, by the policy of a base commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bot.checkout.branches import Signature
from bot.policy.decide import may_write as paths_that_may_change
from bot.policy.load import load_policy
from bot.policy.schema import Policy
from bot.publish.base_file import read_base_file
from bot.publish.change.commit import Prepared, prepare_commit, server_host
from bot.publish.change.task import read_bounds
from bot.publish.change.work import Work


@dataclass(frozen=True, slots=True)
class Ready:
    """A commit that may be pushed, and what its policy says of it."""

    prepared: Prepared
    policy: Policy
    policy_sha: str
    author: Signature
    labels: tuple[str, ...] = ()


def make_ready(work: Work, policy_sha: str) -> Ready:
    file = work.request.policy_file
    policy = load_policy(read_base_file(work.git, policy_sha, file), file)
    policy, labels = read_bounds(work, policy, policy_sha)
    identity = work.identity or policy.identity
    author = Signature(identity.name, identity.email)
    prepared = prepare_commit(
        work.git,
        work.bundle,
        author,
        sign_off=policy.pull_request.sign_off,
        host=server_host(work.remote.url),
        may_write=work.may_write or paths_that_may_change(policy, work.request.actor.tier),
        finder=work.finder,
    )
    return Ready(prepared, policy, policy_sha, author, labels)


def sign_ready(work: Work, ready: Ready, there: Iterable[str]) -> Ready:
    """With the commit that GitHub makes where policy asks for signed ones; it may be among those `there`."""
    if not ready.policy.pull_request.signed:
        return ready
    from bot.publish.change.signing import signed

    return replace(ready, prepared=signed(work, ready.prepared, there))

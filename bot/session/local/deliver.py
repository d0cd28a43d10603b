"""The new branch that the end of a local run leaves. Imported then, since the first request waits for nothing of it."""

from __future__ import annotations

from pathlib import Path

from bot.checkout.branches import Signature, branch_name, commit_tree, create_branch
from bot.publish.body.title_and_footer import title
from bot.publish.change.commit import commit_message
from bot.run.value import RunResult


def make_branch(repo: Path, result: RunResult) -> str:
    """Commit the change to a new branch of `repo` and return its name. Raises `AgentError`."""
    assert result.verdict is not None
    identity = Signature(result.policy.identity.name, result.policy.identity.email)
    checkout = result.checkout
    commit = commit_tree(
        checkout.git,
        result.verdict.tree_sha,
        checkout.base_sha,
        commit_message(result.outcome),
        author=identity,
        committer=identity,
        when=result.outcome.ended_at,
    )
    name = branch_name(None, title(result.outcome))
    return create_branch(repo, name, source=checkout.git, commit=commit, base=checkout.base_sha)

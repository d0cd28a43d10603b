"""Merging a pull request."""

from __future__ import annotations

from bot.forge import errors, merging
from bot.forge.call import Call, Reply
from bot.forge.operations.pulls import found_pull
from bot.forge.router import Route
from bot.forge.state import Role


def check_if_merged(call: Call) -> Reply:
    _, _, pull = found_pull(call)
    if pull.merged_at is None:
        raise errors.not_found()
    return Reply(204)


def merge(call: Call) -> Reply:
    """With the head's id, only while it is still that."""
    repo, issue, pull = found_pull(call, write=True)
    if not call.caller.may(repo, "contents", "write"):
        raise call.caller.refusal()
    if call.caller.role(repo) < Role.WRITE:
        raise errors.forbidden("Must have write access to merge.")
    expected, method = call.text("sha"), call.text("merge_method") or "merge"
    if method == "rebase":
        raise errors.ApiError(405, "Rebase merges are not allowed on this repository.")
    if method not in ("merge", "squash"):
        raise errors.invalid("PullRequest", "merge_method")
    if issue.state == "closed" or pull.draft:
        state = "still a draft" if issue.state == "open" else "closed"
        raise errors.ApiError(405, f"Pull Request is {state}")
    if expected is not None and expected != pull.head_sha:
        raise errors.ApiError(409, "Head branch was modified. Review and try the merge again.")
    trial = merging.attempt(call.state, repo, issue, pull)
    if trial is None or trial.sha is None:
        raise errors.ApiError(405, "Pull Request is not mergeable")
    sha = merging.merge(
        call.state,
        repo,
        issue,
        pull,
        call.user,
        method=method,
        title=call.text("commit_title"),
        message=call.text("commit_message"),
    )
    return Reply(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


_MERGE = "/repos/{owner}/{repo}/pulls/{pull_number}/merge"

ROUTES: tuple[Route, ...] = (
    ("GET", _MERGE, check_if_merged),
    ("PUT", _MERGE, merge),
)

"""Commit statuses: one word a context, the last one counts."""

from __future__ import annotations

from bot.forge import checks, errors
from bot.forge.call import Call, Reply
from bot.forge.operations.repositories import revision
from bot.forge.router import Route
from bot.forge.shapes import checks as shapes
from bot.forge.state import Role


def create(call: Call) -> Reply:
    repo = call.repository("statuses", "write")
    call.require(repo, Role.WRITE, "Must have push access to create a commit status.")
    sha, word = call.params["sha"], call.required("state")
    if len(sha) != 40 or not repo.git.exists(sha):
        raise errors.ApiError(422, f"No commit found for SHA: {sha}")
    if word not in checks.STATES:
        raise errors.custom("Status", f"{word} is not a valid state")
    description = call.text("description")
    if description is not None and len(description) > 140:
        raise errors.custom("Status", "description is too long (maximum is 140 characters)")
    one = checks.Status(
        call.state.next_id(),
        sha,
        call.text("context") or "default",
        word,
        description,
        call.text("target_url"),
        call.user,
        call.state.now(),
    )
    repo.statuses.append(one)
    shape = shapes.status(call.site, repo, one)
    return Reply(201, shape, {"Location": shape["url"]})


def get_combined(call: Call) -> Reply:
    repo = call.repository("statuses")
    sha = revision(repo, call.params["ref"])
    return Reply(200, shapes.combined_status(call.site, repo, sha, checks.statuses_on(repo, sha)))


def list_for_ref(call: Call) -> Reply:
    repo = call.repository("statuses")
    found = checks.statuses_on(repo, revision(repo, call.params["ref"]), latest=False)
    return call.page(found, lambda one: shapes.status(call.site, repo, one))


_REPO = "/repos/{owner}/{repo}"

ROUTES: tuple[Route, ...] = (
    ("POST", f"{_REPO}/statuses/{{sha}}", create),
    ("GET", f"{_REPO}/commits/{{ref+}}/status", get_combined),
    ("GET", f"{_REPO}/commits/{{ref+}}/statuses", list_for_ref),
)

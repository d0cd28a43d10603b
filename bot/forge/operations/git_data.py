"""The git database: refs, commits, trees, blobs. Moving a branch moves the pull requests on it."""

from __future__ import annotations

import re

from bot.forge import errors, lag
from bot.forge.call import Call, Reply
from bot.forge.git import GitFailed, Ref
from bot.forge.router import Route
from bot.forge.shapes import commits
from bot.forge.state import Repository, Role

_SHA = re.compile(r"[0-9a-f]{40}")


def _existing(repo: Repository, name: str) -> Ref:
    ref = repo.git.ref(f"refs/{name}")
    if ref is None:
        raise errors.not_found()
    return ref


def get_ref(call: Call) -> Reply:
    repo = call.repository("contents")
    return Reply(200, commits.ref(call.site, repo, _existing(repo, call.params["ref"])))


def list_matching_refs(call: Call) -> Reply:
    repo = call.repository("contents")
    prefix = f"refs/{call.params['ref']}"
    found = [ref for ref in repo.git.refs("refs/") if ref.name.startswith(prefix)]
    return Reply(200, [commits.ref(call.site, repo, ref) for ref in found])


def _writable(call: Call) -> Repository:
    repo = call.repository("contents", "write")
    if call.caller.role(repo) < Role.WRITE:
        # GitHub hides what may not be written: a reader gets the same answer as for a wrong name.
        raise errors.not_found()
    return repo


def _commit_id(call: Call, repo: Repository) -> str:
    sha = call.required("sha")
    if not _SHA.fullmatch(sha):
        raise errors.ApiError(
            422, "The sha parameter must be exactly 40 characters and contain only [0-9a-f]."
        )
    if not repo.git.exists(sha):
        raise errors.ApiError(422, "Object does not exist")
    return sha


def create_ref(call: Call) -> Reply:
    repo = _writable(call)
    name = call.required("ref")
    sha = _commit_id(call, repo)
    if not name.startswith(("refs/heads/", "refs/tags/")) or not repo.git.name_is_valid(name):
        raise errors.ApiError(422, f"{name} is not a valid ref name.")
    if repo.git.ref(name):
        raise errors.ApiError(422, "Reference already exists")
    try:
        repo.git.set_ref(name, sha)
    except GitFailed as error:
        # `a` where `a/b` is there: git cannot hold both, and neither can GitHub.
        raise errors.ApiError(422, f"Reference cannot be created: {error}") from error
    ref = _existing(repo, name.removeprefix("refs/"))
    _after(call, repo)
    return Reply(
        201, commits.ref(call.site, repo, ref), {"Location": commits.ref(call.site, repo, ref)["url"]}
    )


def update_ref(call: Call) -> Reply:
    repo = _writable(call)
    ref = repo.git.ref(f"refs/{call.params['ref']}")
    if ref is None:
        raise errors.ApiError(422, "Reference does not exist")
    sha = _commit_id(call, repo)
    if not call.flag("force", default=False) and not repo.git.is_ancestor(ref.sha, sha):
        raise errors.ApiError(422, "Update is not a fast forward")
    repo.git.set_ref(ref.name, sha)
    moved = _existing(repo, call.params["ref"])
    _after(call, repo)
    return Reply(200, commits.ref(call.site, repo, moved))


def delete_ref(call: Call) -> Reply:
    repo = _writable(call)
    ref = repo.git.ref(f"refs/{call.params['ref']}")
    if ref is None:
        raise errors.ApiError(422, "Reference does not exist")
    if ref.name == f"refs/heads/{repo.default_branch}":
        raise errors.ApiError(422, "Cannot delete the default branch")
    repo.git.delete_ref(ref.name)
    _after(call, repo)
    return Reply(204)


def _after(call: Call, repo: Repository) -> None:
    repo.pushed_at = call.state.now()
    lag.after_push(call.state, repo)


def get_commit(call: Call) -> Reply:
    repo = call.repository("contents")
    sha = call.params["commit_sha"]
    if not _SHA.fullmatch(sha) or repo.git.kind(sha) != "commit":
        raise errors.not_found()
    return Reply(200, commits.git_commit(call.site, repo, repo.git.commit(sha)))


def get_tree(call: Call) -> Reply:
    repo = call.repository("contents")
    name = call.params["tree_sha"]
    sha = name if _SHA.fullmatch(name) and repo.git.exists(name) else repo.git.resolve(name)
    if sha is None or repo.git.kind(sha) not in ("commit", "tree"):
        raise errors.not_found()
    tree = repo.git.text("rev-parse", f"{sha}^{{tree}}")
    entries = repo.git.tree(tree, recursive=bool(call.query.get("recursive")))
    return Reply(200, commits.tree(call.site, repo, tree, entries))


def get_blob(call: Call) -> Reply:
    repo = call.repository("contents")
    sha = call.params["file_sha"]
    if not _SHA.fullmatch(sha) or repo.git.kind(sha) != "blob":
        raise errors.not_found()
    return Reply(200, commits.blob(call.site, repo, sha, repo.git.blob(sha)))


_GIT = "/repos/{owner}/{repo}/git"

ROUTES: tuple[Route, ...] = (
    ("GET", f"{_GIT}/ref/{{ref+}}", get_ref),
    ("GET", f"{_GIT}/matching-refs/{{ref+}}", list_matching_refs),
    ("POST", f"{_GIT}/refs", create_ref),
    ("PATCH", f"{_GIT}/refs/{{ref+}}", update_ref),
    ("DELETE", f"{_GIT}/refs/{{ref+}}", delete_ref),
    ("GET", f"{_GIT}/commits/{{commit_sha}}", get_commit),
    ("GET", f"{_GIT}/trees/{{tree_sha+}}", get_tree),
    ("GET", f"{_GIT}/blobs/{{file_sha}}", get_blob),
)

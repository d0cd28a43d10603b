"""Git database (refs, commits, trees, blobs) and contents. Moving a branch updates its pull requests."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime
from typing import Any

from slash_forge import errors, pulls
from slash_forge.call import Call, Reply, Route
from slash_forge.git import GitFailed, Ref, Signature
from slash_forge.operations.repositories import revision
from slash_forge.shapes import commits
from slash_forge.state import Repository, Role

_SHA = re.compile(r"[0-9a-f]{40}")


def _existing(repo: Repository, name: str) -> Ref:
    ref = repo.git.ref(f"refs/{name}")
    if ref is None:
        raise errors.not_found()
    return ref


def get_ref(call: Call) -> Reply:
    repo = call.repository("contents")
    return Reply(200, commits.ref(call.site, repo, _existing(repo, call.params["ref"])))


def _writable(call: Call) -> Repository:
    repo = call.repository("contents", "write")
    if call.caller.role(repo) < Role.WRITE:
        # As on GitHub, a reader gets the same error as for an unknown repository.
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
        # `a` conflicts with `a/b`.
        raise errors.ApiError(422, f"Reference cannot be created: {error}") from error
    ref = _existing(repo, name.removeprefix("refs/"))
    _after_push(call, repo)
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
    _after_push(call, repo)
    return Reply(200, commits.ref(call.site, repo, moved))


def delete_ref(call: Call) -> Reply:
    repo = _writable(call)
    ref = repo.git.ref(f"refs/{call.params['ref']}")
    if ref is None:
        raise errors.ApiError(422, "Reference does not exist")
    if ref.name == f"refs/heads/{repo.default_branch}":
        raise errors.ApiError(422, "Cannot delete the default branch")
    repo.git.delete_ref(ref.name)
    _after_push(call, repo)
    return Reply(204)


def _after_push(call: Call, repo: Repository) -> None:
    repo.pushed_at = call.state.now()
    pulls.after_push(call.state, repo)


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


_GIT = "/repos/{owner}/{repo}/git"


_MODES = {"100644": "blob", "100755": "blob", "040000": "tree", "160000": "commit", "120000": "blob"}


def create_blob(call: Call) -> Reply:
    repo = _writable(call)
    content, encoding = call.required("content"), call.text("encoding") or "utf-8"
    try:
        data = base64.b64decode(content, validate=True) if encoding == "base64" else content.encode()
    except (binascii.Error, UnicodeEncodeError) as error:
        raise errors.custom("Blob", "content is not valid Base64") from error
    sha = repo.git.write_blob(data)
    url = f"{call.site.api}/repos/{repo.full_name}/git/blobs/{sha}"
    return Reply(201, {"url": url, "sha": sha}, {"Location": url})


def create_tree(call: Call) -> Reply:
    """On top of `base_tree` where one is named; a null sha removes a path."""
    repo = _writable(call)
    fields, base = call.fields().get("tree"), call.text("base_tree")
    if not isinstance(fields, list) or not fields:
        raise errors.ApiError(422, "Invalid tree info")
    if base is not None and repo.git.kind(base) not in ("tree", "commit"):
        raise errors.ApiError(422, "base_tree is not a valid tree oid")
    lines = [_line(repo, entry) for entry in fields]
    try:
        sha = repo.git.write_tree(base, lines)
    except GitFailed as error:
        raise errors.ApiError(422, f"tree.path contains a malformed path component: {error}") from error
    return Reply(201, commits.tree(call.site, repo, sha, repo.git.tree(sha)))


def _line(repo: Repository, entry: Any) -> tuple[str, str, str | None]:
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise errors.ApiError(422, "Must supply a valid tree.path")
    if any(part.casefold() in ("", ".", "..", ".git") for part in entry["path"].split("/")):
        raise errors.ApiError(422, "tree.path contains a malformed path component")
    mode = entry.get("mode")
    if mode not in _MODES:
        raise errors.ApiError(422, "Must supply a valid tree.mode")
    if isinstance(entry.get("content"), str):
        return entry["path"], mode, repo.git.write_blob(entry["content"].encode())
    sha = entry.get("sha")
    if sha is not None and (not isinstance(sha, str) or repo.git.kind(sha) != _MODES[mode]):
        raise errors.ApiError(422, f"tree.sha {sha} is not a valid {_MODES[mode]}")
    return entry["path"], mode, sha


def create_commit(call: Call) -> Reply:
    repo = _writable(call)
    message, tree = call.required("message"), call.required("tree")
    parents = call.names("parents")
    if repo.git.kind(tree) != "tree":
        raise errors.ApiError(422, "Tree SHA does not exist")
    if any(repo.git.kind(sha) != "commit" for sha in parents):
        raise errors.ApiError(422, "Parent SHA does not exist or is not a commit object")
    own = call.state.signature(call.user)
    author = _signature(call, "author", own)
    committer = _signature(call, "committer", author)
    sha = repo.git.write_commit(tree, parents, message, author, committer)
    if call.caller.is_app and not call.fields().keys() & {"author", "committer", "signature"}:
        repo.verified.add(sha)
    shape = commits.git_commit(call.site, repo, repo.git.commit(sha))
    return Reply(201, shape, {"Location": shape["url"]})


def _signature(call: Call, name: str, default: Signature) -> Signature:
    fields = call.fields().get(name)
    if not isinstance(fields, dict):
        return default
    try:
        at = int(datetime.fromisoformat(fields["date"]).timestamp()) if fields.get("date") else default.at
    except (ValueError, TypeError) as error:
        raise errors.ApiError(422, f"Invalid request.\n\n{name}.date is not a date.") from error
    return Signature(str(fields.get("name") or default.name), str(fields.get("email") or default.email), at)


def list_commits(call: Call) -> Reply:
    """The newest commits of a branch, or of a commit, first."""
    repo = call.repository("contents")
    tip = revision(repo, call.query.get("sha") or repo.default_branch)
    return call.page(repo.git.commits([tip]), lambda item: commits.commit(call.state, call.site, repo, item))


def get(call: Call) -> Reply:
    """A file with its bytes, a folder as a list; `raw` gives the bytes alone."""
    repo = call.repository("contents")
    name = call.query.get("ref") or repo.default_branch
    path = call.params.get("path", "").strip("/")
    try:
        commit = revision(repo, name)
    except errors.ApiError as error:
        # This endpoint returns a 404 for an empty repository and for an unknown ref.
        message = (
            "This repository is empty." if error.status == 409 else f"No commit found for the ref {name}"
        )
        raise errors.ApiError(404, message) from error
    entry = repo.git.entry(commit, path)
    if entry is None:
        raise errors.not_found()
    if entry.kind == "tree":
        listed = repo.git.tree(entry.sha)
        prefix = f"{path}/" if path else ""
        return Reply(200, [commits.content(call.site, repo, name, prefix + one.path, one) for one in listed])
    if entry.kind == "commit":
        submodule = commits.content(call.site, repo, name, path, entry)
        return Reply(200, {**submodule, "submodule_git_url": ""})
    data = repo.git.blob(entry.sha)
    if call.wants("raw"):
        return Reply(200, data, content_type="application/vnd.github.raw; charset=utf-8")
    return Reply(200, commits.file_content(call.site, repo, name, path, entry=entry, data=data))


ROUTES: tuple[Route, ...] = (
    ("GET", f"{_GIT}/ref/{{ref+}}", get_ref),
    ("POST", f"{_GIT}/refs", create_ref),
    ("PATCH", f"{_GIT}/refs/{{ref+}}", update_ref),
    ("DELETE", f"{_GIT}/refs/{{ref+}}", delete_ref),
    ("GET", f"{_GIT}/commits/{{commit_sha}}", get_commit),
    ("GET", f"{_GIT}/trees/{{tree_sha+}}", get_tree),
    ("POST", f"{_GIT}/blobs", create_blob),
    ("POST", f"{_GIT}/trees", create_tree),
    ("POST", f"{_GIT}/commits", create_commit),
    ("GET", "/repos/{owner}/{repo}/commits", list_commits),
    ("GET", "/repos/{owner}/{repo}/contents", get),
    ("GET", "/repos/{owner}/{repo}/contents/", get),
    ("GET", "/repos/{owner}/{repo}/contents/{path+}", get),
)

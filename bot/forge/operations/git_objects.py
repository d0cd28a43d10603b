"""Commits by the API alone: blobs, trees, commits. Those that an app leaves unsigned, GitHub signs."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Any

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.git import GitFailed, Signature
from bot.forge.router import Route
from bot.forge.shapes import commits
from bot.forge.state import Repository, Role

_MODES = {"100644": "blob", "100755": "blob", "040000": "tree", "160000": "commit", "120000": "blob"}


def _writable(call: Call) -> Repository:
    repo = call.repository("contents", "write")
    if call.caller.role(repo) < Role.WRITE:
        raise errors.not_found()
    return repo


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
    sent, base = call.fields().get("tree"), call.text("base_tree")
    if not isinstance(sent, list) or not sent:
        raise errors.ApiError(422, "Invalid tree info")
    if base is not None and repo.git.kind(base) not in ("tree", "commit"):
        raise errors.ApiError(422, "base_tree is not a valid tree oid")
    lines = [_line(repo, entry) for entry in sent]
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
    author = _who(call, "author", own)
    committer = _who(call, "committer", author)
    sha = repo.git.write_commit(tree, parents, message, author, committer)
    if call.caller.is_app and not call.fields().keys() & {"author", "committer", "signature"}:
        repo.verified.add(sha)
    shape = commits.git_commit(call.site, repo, repo.git.commit(sha))
    return Reply(201, shape, {"Location": shape["url"]})


def _who(call: Call, name: str, default: Signature) -> Signature:
    sent = call.fields().get(name)
    if not isinstance(sent, dict):
        return default
    try:
        at = int(datetime.fromisoformat(sent["date"]).timestamp()) if sent.get("date") else default.at
    except (ValueError, TypeError) as error:
        raise errors.ApiError(422, f"Invalid request.\n\n{name}.date is not a date.") from error
    return Signature(str(sent.get("name") or default.name), str(sent.get("email") or default.email), at)


_GIT = "/repos/{owner}/{repo}/git"

ROUTES: tuple[Route, ...] = (
    ("POST", f"{_GIT}/blobs", create_blob),
    ("POST", f"{_GIT}/trees", create_tree),
    ("POST", f"{_GIT}/commits", create_commit),
)

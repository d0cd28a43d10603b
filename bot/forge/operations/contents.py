"""Files and folders at a commit, one at a time: how templates and policy files are read."""

from __future__ import annotations

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.operations.repositories import revision
from bot.forge.router import Route
from bot.forge.shapes import commits


def get(call: Call) -> Reply:
    """A file with its bytes, a folder as a list; `raw` gives the bytes alone."""
    repo = call.repository("contents")
    name = call.query.get("ref") or repo.default_branch
    path = call.params.get("path", "").strip("/")
    try:
        commit = revision(repo, name)
    except errors.ApiError as error:
        # Here, unlike elsewhere, an empty repository and an unknown ref are both "not found".
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
    return Reply(200, commits.file_content(call.site, repo, name, path, entry, data))


ROUTES: tuple[Route, ...] = (
    ("GET", "/repos/{owner}/{repo}/contents", get),
    ("GET", "/repos/{owner}/{repo}/contents/", get),
    ("GET", "/repos/{owner}/{repo}/contents/{path+}", get),
)

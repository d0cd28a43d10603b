"""Commits, refs, branches, trees and files."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from urllib.parse import quote

from slash_forge.diffs import ChangedFile
from slash_forge.git import Commit, Entry, Ref, Signature
from slash_forge.shapes.repositories import person
from slash_forge.shapes.site import Json, Site, node_id
from slash_forge.state import Repository, State, from_epoch

_UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}


def _verification(repo: Repository, item: Commit) -> Json:
    if item.sha not in repo.verified:
        return _UNSIGNED
    return {
        "verified": True,
        "reason": "valid",
        "signature": "-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n",
        "payload": item.message,
        "verified_at": from_epoch(item.committer.at),
    }


def _signature(signature: Signature) -> Json:
    return {"name": signature.name, "email": signature.email, "date": from_epoch(signature.at)}


def commit(state: State, site: Site, repo: Repository, item: Commit) -> Json:
    """The form in lists."""
    api = f"{site.api}/repos/{repo.full_name}"
    html = f"{site.html}/{repo.full_name}/commit"
    return {
        "sha": item.sha,
        "node_id": node_id("Commit", f"{repo.id}:{item.sha}"),
        "commit": {
            "author": _signature(item.author),
            "committer": _signature(item.committer),
            "message": item.message,
            "tree": {"sha": item.tree, "url": f"{api}/git/trees/{item.tree}"},
            "url": f"{api}/git/commits/{item.sha}",
            "comment_count": 0,
            "verification": _verification(repo, item),
        },
        "url": f"{api}/commits/{item.sha}",
        "html_url": f"{html}/{item.sha}",
        "comments_url": f"{api}/commits/{item.sha}/comments",
        "author": person(site, state.user_by_email(item.author.email)),
        "committer": person(site, state.user_by_email(item.committer.email)),
        "parents": [
            {"sha": sha, "url": f"{api}/commits/{sha}", "html_url": f"{html}/{sha}"} for sha in item.parents
        ],
    }


def commit_with_files(
    state: State, site: Site, repo: Repository, item: Commit, files: Sequence[ChangedFile]
) -> Json:
    additions = sum(file.additions for file in files)
    deletions = sum(file.deletions for file in files)
    return {
        **commit(state, site, repo, item),
        "stats": {"total": additions + deletions, "additions": additions, "deletions": deletions},
        "files": [changed_file(site, repo, item.sha, file) for file in files],
    }


def git_commit(site: Site, repo: Repository, item: Commit) -> Json:
    """The form of the git database API."""
    api = f"{site.api}/repos/{repo.full_name}/git"
    html = f"{site.html}/{repo.full_name}/commit"
    return {
        "sha": item.sha,
        "node_id": node_id("Commit", f"{repo.id}:{item.sha}"),
        "url": f"{api}/commits/{item.sha}",
        "html_url": f"{html}/{item.sha}",
        "author": _signature(item.author),
        "committer": _signature(item.committer),
        "tree": {"sha": item.tree, "url": f"{api}/trees/{item.tree}"},
        "message": item.message,
        "parents": [
            {"sha": sha, "url": f"{api}/commits/{sha}", "html_url": f"{html}/{sha}"} for sha in item.parents
        ],
        "verification": _verification(repo, item),
    }


def changed_file(site: Site, repo: Repository, head: str, item: ChangedFile) -> Json:
    api = f"{site.api}/repos/{repo.full_name}"
    html = f"{site.html}/{repo.full_name}"
    path = quote(item.path)
    shape: Json = {
        "sha": item.sha,
        "filename": item.path,
        "status": item.status,
        "additions": item.additions,
        "deletions": item.deletions,
        "changes": item.additions + item.deletions,
        "blob_url": f"{html}/blob/{head}/{path}",
        "raw_url": f"{html}/raw/{head}/{path}",
        "contents_url": f"{api}/contents/{path}?ref={head}",
    }
    if item.patch is not None:
        shape["patch"] = item.patch
    if item.previous is not None:
        shape["previous_filename"] = item.previous
    return shape


def ref(site: Site, repo: Repository, item: Ref) -> Json:
    api = f"{site.api}/repos/{repo.full_name}/git"
    return {
        "ref": item.name,
        "node_id": node_id("Ref", f"{repo.id}:{item.name}"),
        "url": f"{api}/{quote(item.name)}",
        "object": {"type": item.kind, "sha": item.sha, "url": f"{api}/{item.kind}s/{item.sha}"},
    }


def branch(state: State, site: Site, repo: Repository, name: str, tip: Commit) -> Json:
    api = f"{site.api}/repos/{repo.full_name}/branches/{quote(name)}"
    return {
        "name": name,
        "commit": commit(state, site, repo, tip),
        "_links": {"self": api, "html": f"{site.html}/{repo.full_name}/tree/{quote(name)}"},
        "protected": False,
        "protection": {
            "enabled": False,
            "required_status_checks": {"enforcement_level": "off", "contexts": [], "checks": []},
        },
        "protection_url": f"{api}/protection",
    }


def tree(site: Site, repo: Repository, sha: str, entries: Sequence[Entry]) -> Json:
    api = f"{site.api}/repos/{repo.full_name}/git"
    items = []
    for entry in entries:
        item: Json = {"path": entry.path, "mode": entry.mode, "type": entry.kind, "sha": entry.sha}
        if entry.kind == "blob":
            item["size"] = entry.size
        if entry.kind != "commit":
            item["url"] = f"{api}/{entry.kind}s/{entry.sha}"
        items.append(item)
    return {"sha": sha, "url": f"{api}/trees/{sha}", "tree": items, "truncated": False}


def blob(site: Site, repo: Repository, sha: str, content: bytes) -> Json:
    return {
        "sha": sha,
        "node_id": node_id("Blob", f"{repo.id}:{sha}"),
        "size": len(content),
        "url": f"{site.api}/repos/{repo.full_name}/git/blobs/{sha}",
        "content": base64.encodebytes(content).decode(),
        "encoding": "base64",
    }


def content(site: Site, repo: Repository, revision: str, path: str, entry: Entry) -> Json:
    """A file or folder as the contents API lists it, without its bytes."""
    api = f"{site.api}/repos/{repo.full_name}"
    html = f"{site.html}/{repo.full_name}"
    kind = _content_kind(entry)
    where = quote(path)
    self_url = f"{api}/contents/{where}?ref={quote(revision)}"
    git_url = f"{api}/git/{'trees' if kind == 'dir' else 'blobs'}/{entry.sha}"
    html_url = f"{html}/{'tree' if kind == 'dir' else 'blob'}/{quote(revision)}/{where}"
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": entry.sha,
        "size": entry.size,
        "url": self_url,
        "html_url": html_url,
        "git_url": git_url,
        "download_url": None if kind in ("dir", "submodule") else f"{html}/raw/{quote(revision)}/{where}",
        "type": kind,
        "_links": {"self": self_url, "git": git_url, "html": html_url},
    }


def file_content(
    site: Site, repo: Repository, revision: str, path: str, *, entry: Entry, data: bytes
) -> Json:
    shape = content(site, repo, revision, path, entry)
    if shape["type"] == "symlink":
        return {**shape, "target": data.decode(errors="replace")}
    return {**shape, "content": base64.encodebytes(data).decode(), "encoding": "base64"}


def _content_kind(entry: Entry) -> str:
    if entry.mode == "120000":
        return "symlink"
    return {"tree": "dir", "blob": "file", "commit": "submodule"}[entry.kind]


def short_branch(site: Site, repo: Repository, item: Ref) -> Json:
    url = f"{site.api}/repos/{repo.full_name}/commits/{item.sha}"
    return {
        "name": item.name.removeprefix("refs/heads/"),
        "commit": {"sha": item.sha, "url": url},
        "protected": False,
    }

"""Of pushes to branches."""

from __future__ import annotations

from bot.forge import diffs
from bot.forge.events.common import Json, payload
from bot.forge.git import Commit, Signature
from bot.forge.shapes.site import Site
from bot.forge.state import Repository, State, User, from_epoch

_NOTHING = "0" * 40
_MOST = 2048


def push(state: State, site: Site, repo: Repository, sender: User, ref: str, before: str, after: str) -> Json:
    """`before` or `after` of zeros is a branch that is new, or gone."""
    git, html = repo.git, f"{site.html}/{repo.full_name}"
    created, deleted = before == _NOTHING, after == _NOTHING
    since = [] if created else [f"^{before}"]
    found = [] if deleted else git.commits([after, *since], limit=1 if created else _MOST)[::-1]
    commits = [_commit(state, site, repo, one) for one in found]
    return payload(
        site,
        repo,
        sender,
        ref=ref,
        before=before,
        after=after,
        created=created,
        deleted=deleted,
        forced=not created and not deleted and not git.is_ancestor(before, after),
        base_ref=None,
        compare=f"{html}/compare/{before[:12]}...{after[:12]}",
        commits=[] if created else commits,
        head_commit=commits[-1] if commits else None,
        pusher={"name": sender.login, "email": state.signature(sender).email},
    )


def _commit(state: State, site: Site, repo: Repository, one: Commit) -> Json:
    parent = one.parents[0] if one.parents else diffs.empty_tree(repo.git)
    files = diffs.changed_files(repo.git, parent, one.sha)

    def named(*statuses: str) -> list[str]:
        return [file.path for file in files if file.status in statuses]

    return {
        "id": one.sha,
        "tree_id": one.tree,
        "distinct": True,
        "message": one.message,
        "timestamp": from_epoch(one.committer.at),
        "url": f"{site.html}/{repo.full_name}/commit/{one.sha}",
        "author": _who(state, one.author),
        "committer": _who(state, one.committer),
        "added": named("added", "copied", "renamed"),
        "removed": [*named("removed"), *(file.previous for file in files if file.previous)],
        "modified": named("modified", "changed"),
    }


def _who(state: State, who: Signature) -> Json:
    user = state.user_by_email(who.email)
    return {"name": who.name, "email": who.email, **({"username": user.login} if user else {})}

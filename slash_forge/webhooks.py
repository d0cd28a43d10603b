"""Event payloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slash_forge import diffs, pulls
from slash_forge.git import NULL_SHA, Commit, Signature
from slash_forge.reviews import Review, ReviewComment
from slash_forge.runs import Run
from slash_forge.shapes import actions, repositories, threads
from slash_forge.shapes import pulls as shapes
from slash_forge.shapes.site import Json, Site
from slash_forge.state import Comment, Issue, Label, Pull, Repository, State, User, from_epoch

# Merge settings that an event has in the repositories of head and base.
_MERGE_SETTINGS = {
    "allow_auto_merge": False,
    "allow_merge_commit": True,
    "allow_rebase_merge": True,
    "allow_squash_merge": True,
    "allow_update_branch": False,
    "delete_branch_on_merge": False,
    "merge_commit_message": "PR_TITLE",
    "merge_commit_title": "MERGE_MESSAGE",
    "squash_merge_commit_message": "COMMIT_MESSAGES",
    "squash_merge_commit_title": "COMMIT_OR_PR_TITLE",
    "use_squash_pr_title_as_default": False,
}


def _with_merge_settings(shape: Json) -> Json:
    for end in ("head", "base"):
        if shape[end]["repo"] is not None:
            shape[end]["repo"] |= _MERGE_SETTINGS
    return shape


def pull_request(
    site: Site,
    repo: Repository,
    issue: Issue,
    pull: Pull,
    *,
    action: str,
    sender: User | None,
    label: Label | None = None,
    assignee: User | None = None,
    before: str = "",
) -> Json:
    """Also the payload of `pull_request_target`. `before` is the head that synchronize moved away from."""
    full = shapes.full_pull(site, repo, issue, pull, pulls.measure(repo, pull))
    fields: Json = {"action": action, "number": issue.number, "pull_request": _with_merge_settings(full)}
    if action == "synchronize":
        fields |= {"before": before or pull.base_sha, "after": pull.head_sha}
    if action == "edited":
        fields["changes"] = {"title": {"from": issue.title}}
    if label is not None:
        fields["label"] = threads.label(site, repo, label)
    if assignee is not None:
        name = "requested_reviewer" if action.startswith("review_request") else "assignee"
        fields[name] = repositories.simple_user(site, assignee)
    return payload(site, repo, sender, **fields)


def review(site: Site, repo: Repository, issue: Issue, pull: Pull, one: Review, *, action: str) -> Json:
    """The sender is the review's author. Its state is in small letters here, and an empty body is null."""
    shape = shapes.review(site, repo, issue, one)
    shape |= {"state": one.state.lower(), "body": one.body or None}
    fields: Json = {"changes": {"body": {"from": one.body}}} if action == "edited" else {}
    return payload(
        site,
        repo,
        one.author,
        action=action,
        review=shape,
        pull_request=_with_merge_settings(shapes.simple_pull(site, repo, issue, pull)),
        **fields,
    )


def review_comment(
    site: Site, repo: Repository, issue: Issue, pull: Pull, one: ReviewComment, *, action: str
) -> Json:
    """The sender is the comment's author."""
    fields: Json = {"changes": {"body": {"from": one.body}}} if action == "edited" else {}
    return payload(
        site,
        repo,
        one.author,
        action=action,
        comment=shapes.comment(site, repo, issue, pull, one),
        pull_request=_with_merge_settings(shapes.simple_pull(site, repo, issue, pull)),
        **fields,
    )


def payload(site: Site, repo: Repository, sender: User | None, **fields: Any) -> Json:
    """The event's own fields first, as GitHub has them; `sender` None is a deleted account."""
    event: Json = {
        **fields,
        "repository": repositories.repository(site, repo),
        "sender": repositories.person(site, sender),
    }
    if repo.owner.kind == "Organization":
        event["organization"] = organisation(site, repo)
    return event


def organisation(site: Site, repo: Repository) -> dict[str, Any]:
    owner = repo.owner
    api = f"{site.api}/orgs/{owner.login}"
    simple = repositories.simple_user(site, owner)
    return {
        "login": owner.login,
        "id": owner.id,
        "node_id": simple["node_id"],
        "url": api,
        "repos_url": f"{api}/repos",
        "events_url": f"{api}/events",
        "hooks_url": f"{api}/hooks",
        "issues_url": f"{api}/issues",
        "members_url": f"{api}/members{{/member}}",
        "public_members_url": f"{api}/public_members{{/member}}",
        "avatar_url": simple["avatar_url"],
        "description": "",
    }


def issue_comment(site: Site, repo: Repository, issue: Issue, comment: Comment, action: str) -> Json:
    """The sender is the comment's author."""
    changes = {"changes": {"body": {"from": comment.body}}} if action == "edited" else {}
    return payload(
        site,
        repo,
        comment.author,
        action=action,
        issue=threads.issue(site, repo, issue),
        comment=threads.comment(site, repo, issue, comment),
        **changes,
    )


def issues(
    site: Site,
    repo: Repository,
    issue: Issue,
    action: str,
    sender: User | None,
    *,
    label: Label | None = None,
    assignee: User | None = None,
) -> Json:
    """`label` for labeled and unlabeled, `assignee` for assigned and unassigned."""
    fields: Json = {"action": action, "issue": threads.issue(site, repo, issue)}
    if label is not None:
        fields["label"] = threads.label(site, repo, label)
    if assignee is not None:
        fields["assignee"] = repositories.simple_user(site, assignee)
    if action == "edited":
        fields["changes"] = {"title": {"from": issue.title}}
    return payload(site, repo, sender, **fields)


def workflow_dispatch(
    site: Site, repo: Repository, sender: User, workflow: str, *, ref: str, inputs: Mapping[str, Any] | None
) -> Json:
    """`inputs` None is what GitHub sends where the workflow declares none."""
    return payload(
        site, repo, sender, inputs=None if inputs is None else dict(inputs), ref=ref, workflow=workflow
    )


def repository_dispatch(
    site: Site, repo: Repository, sender: User, event_type: str, client_payload: Mapping[str, Any]
) -> Json:
    """`event_type` becomes the action."""
    event = payload(
        site,
        repo,
        sender,
        action=event_type,
        branch=repo.default_branch,
        client_payload=dict(client_payload) or None,
    )
    # GitHub adds the installation of the app that sent it.
    return {**event, "installation": {"id": 1, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMQ=="}}


def schedule(site: Site, repo: Repository, cron: str, workflow: str) -> Json:
    """An event without a sender."""
    event = payload(site, repo, None, schedule=cron, workflow=workflow)
    del event["sender"]
    return event


def workflow_run(site: Site, repo: Repository, run: Run, action: str) -> Json:
    return payload(
        site,
        repo,
        run.actor,
        action=action,
        workflow=actions.workflow(site, repo, run.workflow),
        workflow_run=actions.run(site, repo, run),
    )


_MAX_COMMITS = 2048


def push(
    state: State, site: Site, repo: Repository, sender: User, *, ref: str, before: str, after: str
) -> Json:
    """`before` or `after` of zeros is a branch that is new, or gone."""
    git, html = repo.git, f"{site.html}/{repo.full_name}"
    created, deleted = before == NULL_SHA, after == NULL_SHA
    since = [] if created else [f"^{before}"]
    pushed = [] if deleted else git.commits([after, *since], limit=1 if created else _MAX_COMMITS)[::-1]
    commits = [_commit(state, site, repo, one) for one in pushed]
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
        "author": _user(state, one.author),
        "committer": _user(state, one.committer),
        "added": named("added", "copied", "renamed"),
        "removed": [*named("removed"), *(file.previous for file in files if file.previous)],
        "modified": named("modified", "changed"),
    }


def _user(state: State, signature: Signature) -> Json:
    user = state.user_by_email(signature.email)
    return {"name": signature.name, "email": signature.email, **({"username": user.login} if user else {})}

"""Check runs, suites, annotations and statuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from bot.forge.checks import Annotation, CheckRun, Status, Suite, combined
from bot.forge.git import Commit
from bot.forge.shapes.people import simple_user
from bot.forge.shapes.repositories import repository
from bot.forge.shapes.site import Site, node_id
from bot.forge.state import Repository, User, from_epoch

Json = dict[str, Any]

_ACTIONS = 41_898_282
_ACTIONS_APP = 15_368


def app(site: Site, bot: User) -> Json:
    """The app behind a bot's account."""
    slug = bot.login.removesuffix("[bot]")
    number = _ACTIONS_APP if bot.id == _ACTIONS else bot.id
    return {
        "id": number,
        "slug": slug,
        "node_id": node_id("App", number),
        "client_id": f"Iv1.{number:016x}",
        "owner": simple_user(site, bot),
        "name": slug.replace("-", " ").title(),
        "description": None,
        "external_url": f"{site.html}/apps/{slug}",
        "html_url": f"{site.html}/apps/{slug}",
        "created_at": bot.created_at,
        "updated_at": bot.created_at,
        "permissions": {"checks": "write", "metadata": "read"},
        "events": [],
    }


def pull_requests(site: Site, repo: Repository, sha: str) -> list[Json]:
    """Open ones of this repository whose head the commit is; those of forks are never told."""
    found = []
    for issue, pull in repo.pulls():
        if issue.state == "open" and pull.head_sha == sha and pull.head_repository is repo:
            brief = {"id": repo.id, "url": f"{site.api}/repos/{repo.full_name}", "name": repo.name}
            found.append(
                {
                    "id": pull.id,
                    "number": issue.number,
                    "url": f"{site.api}/repos/{repo.full_name}/pulls/{issue.number}",
                    "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": brief},
                    "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": brief},
                }
            )
    return found


def check_run(site: Site, repo: Repository, one: CheckRun) -> Json:
    api = f"{site.api}/repos/{repo.full_name}/check-runs/{one.id}"
    html = f"{site.html}/{repo.full_name}/runs/{one.id}"
    return {
        "id": one.id,
        "node_id": node_id("CheckRun", one.id),
        "head_sha": one.suite.sha,
        "external_id": one.external_id,
        "url": api,
        "html_url": html,
        "details_url": one.details_url or html,
        "status": one.status,
        "conclusion": one.conclusion,
        "started_at": one.started_at,
        "completed_at": one.completed_at,
        "output": {
            "title": one.title,
            "summary": one.summary,
            "text": one.text,
            "annotations_count": len(one.annotations),
            "annotations_url": f"{api}/annotations",
        },
        "name": one.name,
        "check_suite": {"id": one.suite.id},
        "app": app(site, one.suite.app),
        "pull_requests": pull_requests(site, repo, one.suite.sha),
    }


def annotation(site: Site, repo: Repository, sha: str, one: Annotation) -> Json:
    return {
        "path": one.path,
        "blob_href": f"{site.html}/{repo.full_name}/blob/{sha}/{quote(one.path)}",
        "start_line": one.start_line,
        "end_line": one.end_line,
        "start_column": one.start_column,
        "end_column": one.end_column,
        "annotation_level": one.level,
        "title": one.title,
        "message": one.message,
        "raw_details": one.raw_details,
    }


def check_suite(site: Site, repo: Repository, one: Suite, runs: Sequence[CheckRun], head: Commit) -> Json:
    api = f"{site.api}/repos/{repo.full_name}/check-suites/{one.id}"
    done = bool(runs) and all(run.status == "completed" for run in runs)
    bad = next(
        (run.conclusion for run in runs if run.conclusion not in ("success", "neutral", "skipped")), None
    )
    return {
        "id": one.id,
        "node_id": node_id("CheckSuite", one.id),
        "head_branch": one.branch,
        "head_sha": one.sha,
        "status": "completed" if done else "in_progress" if runs else "queued",
        "conclusion": (bad or "success") if done else None,
        "url": api,
        "before": None,
        "after": one.sha,
        "pull_requests": pull_requests(site, repo, one.sha),
        "app": app(site, one.app),
        "repository": repository(site, repo),
        "created_at": one.created_at,
        "updated_at": one.created_at,
        "head_commit": simple_commit(head),
        "latest_check_runs_count": len(runs),
        "check_runs_url": f"{api}/check-runs",
    }


def simple_commit(commit: Commit) -> Json:
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": from_epoch(commit.committer.at),
        "author": {"name": commit.author.name, "email": commit.author.email},
        "committer": {"name": commit.committer.name, "email": commit.committer.email},
    }


def _brief_status(site: Site, repo: Repository, one: Status) -> Json:
    return {
        "url": f"{site.api}/repos/{repo.full_name}/statuses/{one.sha}",
        "avatar_url": f"{site.html}/avatars/u/{one.creator.id}?v=4",
        "id": one.id,
        "node_id": node_id("StatusContext", one.id),
        "state": one.state,
        "description": one.description,
        "target_url": one.target_url,
        "context": one.context,
        "created_at": one.created_at,
        "updated_at": one.created_at,
    }


def status(site: Site, repo: Repository, one: Status) -> Json:
    return {**_brief_status(site, repo, one), "creator": simple_user(site, one.creator)}


def combined_status(site: Site, repo: Repository, sha: str, latest: Sequence[Status]) -> Json:
    api = f"{site.api}/repos/{repo.full_name}/commits/{sha}"
    return {
        "state": combined([one.state for one in latest]),
        "statuses": [_brief_status(site, repo, one) for one in latest],
        "sha": sha,
        "total_count": len(latest),
        "repository": repository(site, repo),
        "commit_url": api,
        "url": f"{api}/status",
    }

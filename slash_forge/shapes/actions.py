"""Workflows, runs, jobs, artifacts, check runs and statuses."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from urllib.parse import quote

from slash_forge.checks import Annotation, CheckRun, Status, combined
from slash_forge.git import Commit
from slash_forge.runs import Artifact, Job, Run, Workflow
from slash_forge.shapes.repositories import repository, simple_user
from slash_forge.shapes.site import Json, Site, node_id
from slash_forge.state import Repository, User, from_epoch


def workflow(site: Site, repo: Repository, one: Workflow) -> Json:
    html = f"{site.html}/{repo.full_name}"
    return {
        "id": one.id,
        "node_id": node_id("Workflow", one.id),
        "name": one.name,
        "path": one.path,
        "state": one.state,
        "created_at": one.created_at,
        "updated_at": one.created_at,
        "url": f"{site.api}/repos/{repo.full_name}/actions/workflows/{one.id}",
        "html_url": f"{html}/blob/{repo.default_branch}/{one.path}",
        "badge_url": f"{html}/workflows/{one.path}/badge.svg",
    }


def run(site: Site, repo: Repository, one: Run) -> Json:
    repo_api = f"{site.api}/repos/{repo.full_name}"
    api = f"{repo_api}/actions/runs/{one.id}"
    previous = f"{api}/attempts/{one.attempt - 1}" if one.attempt > 1 else None
    return {
        "id": one.id,
        "name": one.workflow.name,
        "node_id": node_id("WorkflowRun", one.id),
        "head_branch": one.branch,
        "head_sha": one.sha,
        "path": one.workflow.path,
        "display_title": one.title,
        "run_number": one.number,
        "event": one.event,
        "status": one.status,
        "conclusion": one.conclusion,
        "workflow_id": one.workflow.id,
        "check_suite_id": one.suite.id,
        "check_suite_node_id": node_id("CheckSuite", one.suite.id),
        "url": api,
        "html_url": f"{site.html}/{repo.full_name}/actions/runs/{one.id}",
        "pull_requests": pull_requests(site, repo, one.sha) if one.head_repository is repo else [],
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "actor": simple_user(site, one.actor),
        "triggering_actor": simple_user(site, one.actor),
        "run_attempt": one.attempt,
        "referenced_workflows": [],
        "run_started_at": one.created_at,
        "jobs_url": f"{api}/jobs",
        "logs_url": f"{api}/logs",
        "check_suite_url": f"{repo_api}/check-suites/{one.suite.id}",
        "artifacts_url": f"{api}/artifacts",
        "cancel_url": f"{api}/cancel",
        "rerun_url": f"{api}/rerun",
        "previous_attempt_url": previous,
        "workflow_url": f"{repo_api}/actions/workflows/{one.workflow.id}",
        "head_commit": simple_commit(one.head_repository.git.commit(one.sha)),
        "repository": repository(site, repo),
        "head_repository": repository(site, one.head_repository),
    }


def job(site: Site, repo: Repository, one: Job) -> Json:
    api = f"{site.api}/repos/{repo.full_name}"
    check, done = one.check, one.check.status == "completed"
    started = check.started_at or one.run.created_at
    return {
        "id": one.id,
        "run_id": one.run.id,
        "workflow_name": one.run.workflow.name,
        "head_branch": one.run.branch,
        "run_url": f"{api}/actions/runs/{one.run.id}",
        "run_attempt": one.attempt,
        "node_id": node_id("CheckRun", one.id),
        "head_sha": one.run.sha,
        "url": f"{api}/actions/jobs/{one.id}",
        "html_url": job_page(site, repo, one.run, one.id),
        "status": check.status,
        "conclusion": check.conclusion,
        "created_at": one.run.created_at,
        "started_at": started,
        "completed_at": check.completed_at,
        "name": one.name,
        "steps": [
            {
                "name": step.name,
                "status": "completed" if done else "queued",
                "conclusion": step.conclusion if done else None,
                "number": number,
                "started_at": started,
                "completed_at": check.completed_at,
            }
            for number, step in enumerate(one.steps, start=1)
        ],
        "check_run_url": f"{api}/check-runs/{one.id}",
        "labels": list(one.labels),
        "runner_id": 1,
        "runner_name": "GitHub Actions 1",
        "runner_group_id": 0,
        "runner_group_name": "GitHub Actions",
    }


def job_page(site: Site, repo: Repository, run: Run, number: int) -> str:
    return f"{site.html}/{repo.full_name}/actions/runs/{run.id}/job/{number}"


def artifact(site: Site, repo: Repository, one: Artifact) -> Json:
    api = f"{site.api}/repos/{repo.full_name}/actions/artifacts/{one.id}"
    return {
        "id": one.id,
        "node_id": node_id("Artifact", one.id),
        "name": one.name,
        "size_in_bytes": len(one.data),
        "url": api,
        "archive_download_url": f"{api}/zip",
        "expired": one.expired,
        "digest": f"sha256:{hashlib.sha256(one.data).hexdigest()}",
        "created_at": one.created_at,
        "expires_at": one.created_at,
        "updated_at": one.created_at,
        "workflow_run": {
            "id": one.run.id,
            "repository_id": repo.id,
            "head_repository_id": one.run.head_repository.id,
            "head_branch": one.run.branch,
            "head_sha": one.run.sha,
        },
    }


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
    """Open pull requests of this repository with that head; GitHub omits those of forks."""
    matches = []
    for issue, pull in repo.pulls():
        if issue.state == "open" and pull.head_sha == sha and pull.head_repository is repo:
            brief = {"id": repo.id, "url": f"{site.api}/repos/{repo.full_name}", "name": repo.name}
            matches.append(
                {
                    "id": pull.id,
                    "number": issue.number,
                    "url": f"{site.api}/repos/{repo.full_name}/pulls/{issue.number}",
                    "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": brief},
                    "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": brief},
                }
            )
    return matches


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

"""Workflows, their runs, jobs and artifacts."""

from __future__ import annotations

import hashlib
from typing import Any

from bot.forge.runs import Artifact, Job, Run, Workflow
from bot.forge.shapes.checks import pull_requests, simple_commit
from bot.forge.shapes.people import simple_user
from bot.forge.shapes.repositories import repository
from bot.forge.shapes.site import Site, node_id
from bot.forge.state import Repository

Json = dict[str, Any]


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

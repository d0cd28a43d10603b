"""Workflow runs, jobs, artifacts, and redirects to logs."""

from __future__ import annotations

from slash_forge import errors, runs
from slash_forge.call import Call, Reply, Route
from slash_forge.runs import Artifact, Job, Run
from slash_forge.shapes import actions as shapes
from slash_forge.state import Repository

# GitHub returns no more runs than this if a filter is set.
_MAX_FILTERED = 1000


def find_run(call: Call, *, write: bool = False) -> tuple[Repository, Run]:
    repo = call.actions(write=write)
    run = repo.runs.get(call.number("run_id"))
    if run is None:
        raise errors.not_found()
    return repo, run


def list_for_repo(call: Call) -> Reply:
    repo = call.repository("actions")
    return list_reply(call, repo, list(repo.runs.values()))


def list_reply(call: Call, repo: Repository, matches: list[Run]) -> Reply:
    """Newest first, after the query's filters."""
    query = call.query
    since = query.get("created", "")
    if since and not since.startswith(">="):
        raise errors.ApiError(422, f"This forge knows no range of dates but one with a beginning: {since}")
    chosen = [
        run
        for run in matches
        if query.get("actor", "").casefold() in ("", run.actor.login.casefold())
        and query.get("event") in (None, "", run.event)
        and query.get("status") in (None, "", run.status, run.conclusion)
        and run.created_at >= since.removeprefix(">=")
    ]
    chosen.sort(key=lambda run: (run.created_at, run.id), reverse=True)
    filtered = query.keys() - {"page", "per_page", "exclude_pull_requests"}
    chosen = chosen[:_MAX_FILTERED] if filtered else chosen
    return call.page(chosen, lambda run: shapes.run(call.site, repo, run), key="workflow_runs")


def get(call: Call) -> Reply:
    repo, run = find_run(call)
    return Reply(200, shapes.run(call.site, repo, run))


def cancel(call: Call) -> Reply:
    _, run = find_run(call, write=True)
    if run.status == "completed":
        raise errors.ApiError(409, "Cannot cancel a workflow run that is completed.")
    runs.cancel(call.state, run)
    return Reply(202, {})


# -- jobs


def list_jobs(call: Call) -> Reply:
    repo, run = find_run(call)
    matches = [one for one in run.jobs if call.query.get("filter") == "all" or one.attempt == run.attempt]
    return call.page(matches, lambda one: shapes.job(call.site, repo, one), key="jobs")


def _find_job(call: Call) -> tuple[Repository, Job]:
    repo = call.repository("actions")
    jobs = (job for run in repo.runs.values() for job in run.jobs)
    job = next((one for one in jobs if one.id == call.number("job_id")), None)
    if job is None:
        raise errors.not_found()
    return repo, job


def get_job(call: Call) -> Reply:
    repo, job = _find_job(call)
    return Reply(200, shapes.job(call.site, repo, job))


def job_logs(call: Call) -> Reply:
    _, job = _find_job(call)
    if call.caller.token is None:  # logs need one even in a public repository
        raise errors.forbidden("Must have admin rights to Repository.")
    if job.check.status != "completed":
        raise errors.not_found()
    if not job.log_kept:
        raise errors.ApiError(410, "Server Error")
    return call.redirect_to_store(runs.job_log(job).encode(), "text/plain; charset=utf-8")


def _artifact_list(call: Call, repo: Repository, matches: list[Artifact]) -> Reply:
    name = call.query.get("name")
    chosen = [one for one in matches if name in (None, one.name)]
    chosen.sort(key=lambda one: one.id, reverse=call.query.get("direction", "desc") == "desc")
    return call.page(chosen, lambda one: shapes.artifact(call.site, repo, one), key="artifacts")


def list_artifacts_for_repo(call: Call) -> Reply:
    repo = call.repository("actions")
    return _artifact_list(call, repo, list(repo.artifacts.values()))


def list_for_run(call: Call) -> Reply:
    repo, run = find_run(call)
    return _artifact_list(call, repo, [one for one in repo.artifacts.values() if one.run is run])


def download(call: Call) -> Reply:
    one = call.actions().artifacts.get(call.number("artifact_id"))
    if one is None:
        raise errors.not_found()
    if call.caller.token is None:
        raise errors.ApiError(401, "You must have the actions scope to download artifacts.")
    if call.params["archive_format"] != "zip":
        raise errors.not_found()
    if one.expired:
        raise errors.ApiError(410, "Artifact has expired")
    return call.redirect_to_store(one.data, "application/zip")


_ACTIONS = "/repos/{owner}/{repo}/actions"
_RUN, _JOB = f"{_ACTIONS}/runs/{{run_id}}", f"{_ACTIONS}/jobs/{{job_id}}"

ROUTES: tuple[Route, ...] = (
    ("GET", f"{_ACTIONS}/runs", list_for_repo),
    ("GET", _RUN, get),
    ("POST", f"{_RUN}/cancel", cancel),
    ("GET", f"{_RUN}/jobs", list_jobs),
    ("GET", _JOB, get_job),
    ("GET", f"{_JOB}/logs", job_logs),
    ("GET", f"{_ACTIONS}/artifacts", list_artifacts_for_repo),
    ("GET", f"{_RUN}/artifacts", list_for_run),
    ("GET", f"{_ACTIONS}/artifacts/{{artifact_id}}/{{archive_format}}", download),
)

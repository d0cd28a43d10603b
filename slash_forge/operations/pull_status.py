"""What follows a pull request to its merge: its roll-up of checks and its mergeability in GraphQL; updating its branch,
running failed jobs again, marking it ready, and auto-merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from slash_forge import checks, errors, pulls, reviews
from slash_forge.call import Call, Reply, Route
from slash_forge.checks import CheckRun, Status, Suite
from slash_forge.git import Commit
from slash_forge.graphql import Object, QueryError, connection
from slash_forge.operations.pulls import find_pull
from slash_forge.operations.runs import find_run
from slash_forge.runs import Run
from slash_forge.shapes.actions import job_page
from slash_forge.state import Issue, Pull, Repository, Role

_NODE = frozenset({"Node"})


def fields(call: Call, repo: Repository, issue: Issue, pull: Pull) -> dict[str, Any]:
    """The fields of a `PullRequest` that are about its way to the merge."""
    tip = repo.git.branch(pull.base_ref)
    measures = pulls.measure(repo, pull)
    return {
        "isDraft": pull.draft,
        "isInMergeQueue": pull.queued,
        "mergeable": lambda _: _mergeable(call, repo, issue, pull),
        "additions": measures.additions,
        "deletions": measures.deletions,
        "headRepository": pull.head_repository
        and Object("Repository", {"nameWithOwner": pull.head_repository.full_name}),
        "headRef": Object("Ref", {"target": commit(call, repo, pull.head_sha)})
        if pull.head_repository
        else None,
        "baseRef": _base(call, repo, pull.base_ref, tip) if tip else None,
        "labels": connection(
            "labels", "LabelConnection", issue.labels, lambda one: Object("Label", {"name": one.name}, _NODE)
        ),
        "commits": connection(
            "commits",
            "PullRequestCommitConnection",
            pulls.commits(repo, pull),
            lambda one: Object("PullRequestCommit", {"commit": _commit(call, one)}, _NODE),
        ),
    }


def _mergeable(call: Call, repo: Repository, issue: Issue, pull: Pull) -> str:
    """GitHub computes it after somebody asked."""
    if pull.computing:
        pull.computing -= 1
        return "UNKNOWN"
    trial = pulls.attempt(call.state, repo, issue, pull)
    if trial is None or not trial.known:
        return "UNKNOWN"
    return "MERGEABLE" if trial.sha else "CONFLICTING"


def latest_reviews(pull: Pull, *states: str) -> list[reviews.Review]:
    """The last submitted review of each account, of those with such a state."""
    submitted = [one for one in pull.reviews if one.submitted_at and (not states or one.state in states)]
    return list({one.author.id: one for one in submitted if one.author}.values())


def _base(call: Call, repo: Repository, branch: str, tip: str) -> Object:
    rules = [
        Object("RequiredStatusChecksParameters", {"requiredStatusChecks": [
            Object("StatusCheckConfiguration", {"context": name}) for name in _required_on(repo, branch)
        ]})
    ]  # fmt: skip
    listed = connection(
        "rules", "RepositoryRuleConnection", rules, lambda one: Object("RepositoryRule", {"parameters": one})
    )
    return Object("Ref", {"target": commit(call, repo, tip), "refUpdateRule": None, "rules": listed})


def commit(call: Call, repo: Repository, sha: str) -> Object:
    """A commit by its id alone, with its checks: the roll-up has the last run of each name for each suite."""
    every = checks.runs_on(repo, sha, latest=False)
    latest = {(one.suite.id, one.name): one for one in reversed(every)}
    rows: list[CheckRun | Status] = [*latest.values(), *checks.statuses_on(repo, sha)]

    def contexts(_: Mapping[str, Any]) -> Object | None:
        listed = connection(
            "contexts", "StatusCheckRollupContextConnection", rows, lambda one: _context(call, repo, one)
        )
        shown = {"contexts": listed, "state": _state(rows)}
        return Object("StatusCheckRollup", shown, _NODE) if rows else None

    suites = [one for one in repo.suites.values() if one.sha == sha]
    listed = connection(
        "checkSuites",
        "CheckSuiteConnection",
        suites,
        lambda suite: Object(
            "CheckSuite",
            {**_suite(call, repo, suite), "checkRuns": connection(
                "checkRuns",
                "CheckRunConnection",
                [run for run in every if run.suite is suite],
                lambda one: _context(call, repo, one),
            )},
            _NODE,
        ),
    )  # fmt: skip
    fields = {"oid": sha, "statusCheckRollup": contexts, "checkSuites": listed}
    return Object("Commit", fields, frozenset({"Node", "GitObject"}))


def _commit(call: Call, one: Commit) -> Object:
    user = call.state.user_by_email(one.author.email)
    person = Object("User", {"databaseId": user.id}) if user and user.kind == "User" else None
    author = Object("GitActor", {"email": one.author.email, "user": person})
    committer = Object("GitActor", {"email": one.committer.email})
    shown = {"oid": one.sha, "message": one.message, "author": author, "committer": committer}
    return Object("Commit", shown, _NODE)


def _context(call: Call, repo: Repository, one: CheckRun | Status) -> Object:
    def required(name: str) -> Any:
        return lambda arguments: name in _required(repo, arguments.get("pullRequestNumber"))

    if isinstance(one, Status):
        shown: dict[str, Any] = {
            "context": one.context,
            "state": one.state.upper(),
            "targetUrl": one.target_url,
        }
        return Object("StatusContext", {**shown, "isRequired": required(one.context)}, _NODE)
    run = _run_of(repo, one.suite)
    url = one.details_url or (run and job_page(call.site, repo, run, one.id))
    shown = {
        "name": one.name,
        "status": one.status.upper(),
        "conclusion": one.conclusion and one.conclusion.upper(),
        "detailsUrl": url,
        "isRequired": required(one.name),
        "checkSuite": Object("CheckSuite", _suite(call, repo, one.suite), _NODE),
    }
    return Object("CheckRun", shown, _NODE)


def _run_of(repo: Repository, suite: Suite) -> Run | None:
    return next((run for run in repo.runs.values() if run.suite is suite), None)


def _suite(call: Call, repo: Repository, suite: Suite) -> dict[str, Any]:
    """One of Actions has the state of its workflow run, also before that has a job."""
    run = _run_of(repo, suite)
    if run is None:
        return {"status": "QUEUED", "conclusion": None, "workflowRun": None}
    shown = {
        "databaseId": run.id,
        "event": run.event,
        "url": f"{call.site.html}/{repo.full_name}/actions/runs/{run.id}",
        "workflow": Object("Workflow", {"name": run.workflow.name}, _NODE),
        "file": Object("WorkflowRunFile", {"path": run.workflow.path}, _NODE),
    }
    return {
        "status": run.status.upper(),
        "conclusion": run.conclusion and run.conclusion.upper(),
        "workflowRun": Object("WorkflowRun", shown, _NODE),
    }


def _state(rows: list[CheckRun | Status]) -> str:
    states = [one.state if isinstance(one, Status) else one.conclusion for one in rows]
    passed = {
        "success": "success",
        "neutral": "success",
        "skipped": "success",
        "pending": "pending",
        None: "pending",
    }
    return checks.combined([passed.get(one, "failure") for one in states]).upper()


def _required(repo: Repository, number: int | None) -> list[str]:
    issue = repo.threads.get(number or 0)
    if issue is None or issue.pull is None:
        raise QueryError("NOT_FOUND", f"Could not resolve to a PullRequest with the number of {number}.")
    return list(_required_on(repo, issue.pull.base_ref))


def _required_on(repo: Repository, branch: str) -> Iterator[str]:
    for rule in repo.rules:
        if rule.kind == "required_status_checks" and fnmatchcase(branch, rule.pattern):
            listed: Any = rule.parameters.get("required_status_checks", ())
            yield from (str(one["context"]) for one in listed)


# -- what changes it


def update_branch(call: Call) -> Reply:
    """GitHub merges a little later; here it is done at once."""
    repo, _, pull = find_pull(call, write=True)
    if call.text("expected_head_sha") not in (None, pull.head_sha):
        raise errors.ApiError(422, "expected_head_sha must match the head ref's current sha.")
    source, tip = pull.head_repository, repo.git.branch(pull.base_ref)
    if source is None or tip is None or call.caller.role(source) < Role.WRITE:
        raise errors.forbidden("Resource not accessible by integration")
    if repo.git.is_ancestor(tip, pull.head_sha):
        raise errors.ApiError(422, "There are no new commits on the base branch.")
    tree = repo.git.merged_tree(pull.head_sha, tip)
    if tree is None:
        raise errors.ApiError(422, "merge conflict between base and head")
    message = f"Merge branch '{pull.base_ref}' into {pull.head_ref}\n"
    sha = repo.git.write_commit(tree, [pull.head_sha, tip], message, call.state.signature(call.user))
    source.git.set_ref(f"refs/heads/{pull.head_ref}", sha)
    pulls.after_push(call.state, source)
    return Reply(202, {"message": "Updating pull request branch.", "url": f"{call.site.api}{call.path}"})


def rerun_failed_jobs(call: Call) -> Reply:
    """The jobs become pending; a test sets their new results."""
    _, run = find_run(call, write=True)
    if run.status != "completed":
        raise errors.forbidden("This workflow is already running")
    run.status, run.conclusion, run.attempt = "queued", None, run.attempt + 1
    for job in run.jobs:
        if job.check.conclusion not in ("success", "skipped", "neutral"):
            job.check.status, job.check.conclusion, job.attempt = "queued", None, run.attempt
    return Reply(201, {})


def mark_ready(call: Call, repo: Repository, issue: Issue, pull: Pull, _: Mapping[str, Any]) -> None:
    if call.caller.is_app and not call.caller.may(repo, "contents", "write"):
        raise QueryError("FORBIDDEN", "Resource not accessible by integration")
    pull.draft = False


def enable_auto_merge(
    call: Call, repo: Repository, issue: Issue, pull: Pull, given: Mapping[str, Any]
) -> None:
    if given.get("expectedHeadOid") not in (None, pull.head_sha):
        raise QueryError("UNPROCESSABLE", "Head sha didn't match expected head oid")
    pull.auto_merge = pull.head_sha


MUTATIONS = {"markPullRequestReadyForReview": mark_ready, "enablePullRequestAutoMerge": enable_auto_merge}

ROUTES: tuple[Route, ...] = (
    ("PUT", "/repos/{owner}/{repo}/pulls/{pull_number}/update-branch", update_branch),
    ("POST", "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs", rerun_failed_jobs),
)

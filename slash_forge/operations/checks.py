"""Check runs, check suites and commit statuses. Only apps create check runs, here without annotations."""

from __future__ import annotations

from collections.abc import Mapping

from slash_forge import checks, errors
from slash_forge.call import Call, Reply, Route
from slash_forge.checks import CheckRun
from slash_forge.operations.repositories import revision
from slash_forge.shapes import actions as shapes
from slash_forge.state import Repository


def _invalid(message: str) -> errors.ApiError:
    return errors.ApiError(422, f"Invalid request.\n\n{message}")


def _writable(call: Call) -> Repository:
    repo = call.repository("checks", "write")
    _ = call.user
    if not call.caller.is_app:
        raise errors.forbidden("You must authenticate via a GitHub App.")
    return repo


def _check_run(call: Call, repo: Repository) -> CheckRun:
    match = repo.check_runs.get(call.number("check_run_id"))
    if match is None:
        raise errors.not_found()
    return match


def get(call: Call) -> Reply:
    repo = call.repository("checks")
    return Reply(200, shapes.check_run(call.site, repo, _check_run(call, repo)))


def create(call: Call) -> Reply:
    repo = _writable(call)
    name, sha = call.required("name"), call.required("head_sha")
    if len(sha) != 40 or not repo.git.exists(sha):
        raise _invalid(f"No commit found for SHA: {sha}")
    run = CheckRun(0, checks.Suite(0, sha, None, call.user, ""), name, "queued", None, None, None)
    _apply(call, run)
    run.suite = checks.suite(call.state, repo, sha, call.user)
    run.id = call.state.next_id()
    run.started_at = run.started_at or call.state.now()
    repo.check_runs[run.id] = run
    shape = shapes.check_run(call.site, repo, run)
    return Reply(201, shape, {"Location": shape["url"]})


def _apply(call: Call, run: CheckRun) -> None:
    """Status, conclusion and output. Everything is checked before anything is changed."""
    status, conclusion = call.text("status"), call.text("conclusion")
    if conclusion is not None and conclusion not in checks.CONCLUSIONS:
        raise _invalid(f"{conclusion} is not a member of {list(checks.CONCLUSIONS)}.")
    if status is not None and status not in checks.CHECK_STATUSES:
        raise _invalid(f"{status} is not a member of {list(checks.CHECK_STATUSES)}.")
    if status == "completed" and conclusion is None:
        raise _invalid('"conclusion" wasn\'t supplied.')
    output = _output(call)
    if status is not None:
        run.status = status
    if conclusion is not None:
        run.status, run.conclusion = "completed", conclusion
        run.completed_at = call.text("completed_at") or call.state.now()
    run.started_at = call.text("started_at") or run.started_at
    run.details_url = call.text("details_url") or run.details_url
    run.external_id = call.text("external_id") or run.external_id
    run.title = output.get("title", run.title)
    run.summary = output.get("summary", run.summary)
    run.text = output.get("text", run.text)


def _output(call: Call) -> Mapping[str, str]:
    fields = call.fields().get("output")
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise _invalid("For 'properties/output', it is not an object.")
    for name in ("title", "summary", "text"):
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            raise _invalid(f"For 'properties/output/{name}', {value!r} is not a string.")
        if value is not None and len(value.encode()) > errors.BODY_LIMIT - 1:
            raise _invalid(f"Output {name} exceeds a maximum bytesize of {errors.BODY_LIMIT - 1}.")
    for name in ("summary", "title"):
        if name not in fields:
            raise _invalid(f'"{name}" wasn\'t supplied.')
    return {name: fields[name] for name in ("title", "summary", "text") if fields.get(name) is not None}


def list_annotations(call: Call) -> Reply:
    repo = call.repository("checks")
    run = _check_run(call, repo)
    return call.page(run.annotations, lambda one: shapes.annotation(call.site, repo, run.suite.sha, one))


def list_for_ref(call: Call) -> Reply:
    repo = call.repository("checks")
    sha = revision(repo, call.params["ref"])
    return _list(call, repo, checks.runs_on(repo, sha, latest=call.query.get("filter") != "all"))


def _list(call: Call, repo: Repository, matches: list[CheckRun]) -> Reply:
    chosen = [one for one in matches if call.query.get("check_name") in (None, one.name)]
    return call.page(chosen, lambda one: shapes.check_run(call.site, repo, one), key="check_runs")


_REPO = "/repos/{owner}/{repo}"
_RUN = f"{_REPO}/check-runs/{{check_run_id}}"


def get_combined(call: Call) -> Reply:
    repo = call.repository("statuses")
    sha = revision(repo, call.params["ref"])
    return Reply(200, shapes.combined_status(call.site, repo, sha, checks.statuses_on(repo, sha)))


ROUTES: tuple[Route, ...] = (
    ("POST", f"{_REPO}/check-runs", create),
    ("GET", _RUN, get),
    ("GET", f"{_RUN}/annotations", list_annotations),
    ("GET", f"{_REPO}/commits/{{ref+}}/check-runs", list_for_ref),
    ("GET", f"{_REPO}/commits/{{ref+}}/status", get_combined),
)

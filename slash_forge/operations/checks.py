"""Check runs, check suites and commit statuses. Only apps create check runs, with at most 50 annotations a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slash_forge import checks, errors
from slash_forge.call import Call, Reply, Route
from slash_forge.checks import Annotation, CheckRun
from slash_forge.operations.repositories import revision
from slash_forge.shapes import actions as shapes
from slash_forge.state import Repository

_MAX_ANNOTATIONS = 50
_MAX_MESSAGE_BYTES = 65_536


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


def update(call: Call) -> Reply:
    repo = _writable(call)
    run = _check_run(call, repo)
    if run.suite.app is not call.user:
        raise errors.forbidden("Invalid app_id `{}` - check run can only be modified by its own app.")
    run.name = call.text("name") or run.name
    _apply(call, run)
    return Reply(200, shapes.check_run(call.site, repo, run))


def _apply(call: Call, run: CheckRun) -> None:
    """Status, conclusion and output. Everything is checked before anything is changed."""
    status, conclusion = call.text("status"), call.text("conclusion")
    if conclusion is not None and conclusion not in checks.CONCLUSIONS:
        raise _invalid(f"{conclusion} is not a member of {list(checks.CONCLUSIONS)}.")
    if status is not None and status not in checks.CHECK_STATUSES:
        raise _invalid(f"{status} is not a member of {list(checks.CHECK_STATUSES)}.")
    if status == "completed" and conclusion is None:
        raise _invalid('"conclusion" wasn\'t supplied.')
    output, annotations = _output(call)
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
    run.annotations += annotations


def _output(call: Call) -> tuple[Mapping[str, str], list[Annotation]]:
    fields = call.fields().get("output")
    if fields is None:
        return {}, []
    if not isinstance(fields, dict):
        raise _invalid("For 'properties/output', it is not an object.")
    for name in ("title", "summary", "text"):
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            raise _invalid(f"For 'properties/output/{name}', {value!r} is not a string.")
        if value is not None and len(value.encode()) > errors.BODY_LIMIT - 1:
            raise _invalid(f"Output {name} exceeds a maximum bytesize of {errors.BODY_LIMIT - 1}.")
    if "summary" not in fields or (call.params.get("check_run_id") is None and "title" not in fields):
        raise _invalid(f'"{"summary" if "summary" not in fields else "title"}" wasn\'t supplied.')
    listed = fields.get("annotations", [])
    if not isinstance(listed, list):
        raise _invalid("For 'properties/output/annotations', it is not an array.")
    if len(listed) > _MAX_ANNOTATIONS:
        raise _invalid(f"No more than {_MAX_ANNOTATIONS} items are allowed; {len(listed)} were supplied.")
    words = {name: fields[name] for name in ("title", "summary", "text") if fields.get(name) is not None}
    return words, [_annotation(one) for one in listed]


def _annotation(fields: Any) -> Annotation:
    if not isinstance(fields, dict):
        raise _invalid("An annotation is not an object.")
    kinds: Mapping[str, type] = {
        "path": str,
        "message": str,
        "annotation_level": str,
        "start_line": int,
        "end_line": int,
    }
    for name, kind in kinds.items():
        value = fields.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise _invalid(f'"{name}" wasn\'t supplied, or is not of type {kind.__name__}.')
    level, columns = fields["annotation_level"], "start_column" in fields or "end_column" in fields
    if level not in checks.LEVELS:
        raise _invalid(f"{level} is not a member of {list(checks.LEVELS)}.")
    if len(fields["message"].encode()) > _MAX_MESSAGE_BYTES:
        raise _invalid("Annotation message exceeds a maximum bytesize of 65536.")
    if fields["start_line"] < 1 or fields["end_line"] < fields["start_line"]:
        raise _invalid("Annotation start_line and end_line are not lines in order.")
    if columns and fields["start_line"] != fields["end_line"]:
        raise _invalid("Annotation columns need start_line and end_line to be the same.")
    return Annotation(
        fields["path"],
        fields["start_line"],
        fields["end_line"],
        level,
        fields["message"],
        fields.get("title"),
        fields.get("raw_details"),
        fields.get("start_column"),
        fields.get("end_column"),
    )


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
    ("PATCH", _RUN, update),
    ("GET", f"{_RUN}/annotations", list_annotations),
    ("GET", f"{_REPO}/commits/{{ref+}}/check-runs", list_for_ref),
    ("GET", f"{_REPO}/commits/{{ref+}}/status", get_combined),
)

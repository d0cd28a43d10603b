"""Workflows, the two ways to start one by the API, and Actions' settings of a repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slash_forge import errors, runs
from slash_forge.call import Call, Reply, Route
from slash_forge.operations.runs import list_reply
from slash_forge.runs import Workflow
from slash_forge.shapes import actions as shapes
from slash_forge.state import Repository, Role

_MAX_INPUTS = 25


def _find_workflow(call: Call, *, write: bool = False) -> tuple[Repository, Workflow]:
    repo = call.actions(write=write)
    workflow = runs.find_workflow(call.state, repo, call.params["workflow_id"])
    if workflow is None:
        raise errors.not_found()
    return repo, workflow


def get(call: Call) -> Reply:
    repo, one = _find_workflow(call)
    return Reply(200, shapes.workflow(call.site, repo, one))


def list_runs(call: Call) -> Reply:
    repo, one = _find_workflow(call)
    return list_reply(call, repo, [run for run in repo.runs.values() if run.workflow is one])


def dispatch(call: Call) -> Reply:
    """The file at `ref` decides whether it can be dispatched, and with which inputs."""
    repo, one = _find_workflow(call, write=True)
    ref = call.required("ref")
    name = ref.removeprefix("refs/heads/")
    sha = repo.git.branch(name) or repo.git.resolve(ref)
    if sha is None:
        raise errors.ApiError(422, f"No ref found for: {ref}")
    entry = repo.git.entry(sha, one.path)
    events = runs.parse_workflow(one.path, repo.git.blob(entry.sha))[1] if entry else {}
    if "workflow_dispatch" not in events:
        raise errors.ApiError(422, "Workflow does not have 'workflow_dispatch' trigger")
    if one.state != "active":
        raise errors.ApiError(422, "Cannot trigger a 'workflow_dispatch' on a disabled workflow")
    inputs = _inputs(call, (events["workflow_dispatch"] or {}).get("inputs") or {})
    runs.start(
        call.state,
        repo,
        one,
        event="workflow_dispatch",
        actor=call.user,
        sha=sha,
        app=call.state.actions,
        branch=name,
        inputs=inputs,
    )
    return Reply(204)


def _inputs(call: Call, declared: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = call.fields().get("inputs") or {}
    if not isinstance(fields, dict):
        raise errors.ApiError(422, "Invalid request.\n\nFor 'properties/inputs', it is not an object.")
    if len(fields) > _MAX_INPUTS:
        raise errors.ApiError(422, f"Invalid request.\n\nNo more than {_MAX_INPUTS} properties are allowed.")
    unexpected = [name for name in fields if name not in declared]
    if unexpected:
        raise errors.ApiError(422, f"Unexpected inputs provided: {unexpected}".replace("'", '"'))
    inputs = {}
    for name, settings in declared.items():
        settings = settings or {}
        value = fields.get(name, settings.get("default"))
        if settings.get("required") and value in (None, ""):
            raise errors.ApiError(422, f"Required input '{name}' not provided")
        options = settings.get("options")
        if settings.get("type") == "choice" and value is not None and value not in (options or []):
            message = f"Provided value '{value}' for input '{name}' not in the list of allowed values"
            raise errors.ApiError(422, message)
        inputs[name] = "" if value is None else value if isinstance(value, str) else str(value).lower()
    return inputs


# -- settings


def _administered(call: Call) -> Repository:
    repo = call.repository("administration")
    if call.caller.token is not None and not call.caller.token.may("administration", "read"):
        # Settings need the permission even in a public repository.
        raise call.caller.refusal()
    call.require(repo, Role.ADMIN)
    return repo


def get_permissions(call: Call) -> Reply:
    _administered(call)
    return Reply(200, {"enabled": True, "allowed_actions": "all", "sha_pinning_required": False})


def get_workflow_permissions(call: Call) -> Reply:
    repo = _administered(call)
    opens, default = repo.actions_may_open_pull_requests, repo.default_workflow_permissions
    return Reply(200, {"default_workflow_permissions": default, "can_approve_pull_request_reviews": opens})


_REPO = "/repos/{owner}/{repo}"
_WORKFLOWS = f"{_REPO}/actions/workflows"
_ONE = f"{_WORKFLOWS}/{{workflow_id}}"

ROUTES: tuple[Route, ...] = (
    ("GET", _ONE, get),
    ("GET", f"{_ONE}/runs", list_runs),
    ("POST", f"{_ONE}/dispatches", dispatch),
    ("GET", f"{_REPO}/actions/permissions", get_permissions),
    ("GET", f"{_REPO}/actions/permissions/workflow", get_workflow_permissions),
)

"""Artifacts of workflow runs. A download is a redirect to an address that must not be sent a token."""

from __future__ import annotations

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.operations.runs import found_run
from bot.forge.router import Route
from bot.forge.runs import Artifact
from bot.forge.shapes import actions as shapes
from bot.forge.state import Repository, Role


def _listed(call: Call, repo: Repository, found: list[Artifact]) -> Reply:
    name = call.query.get("name")
    chosen = [one for one in found if name in (None, one.name)]
    chosen.sort(key=lambda one: one.id, reverse=call.query.get("direction", "desc") == "desc")
    return call.page(chosen, lambda one: shapes.artifact(call.site, repo, one), within="artifacts")


def list_for_repo(call: Call) -> Reply:
    repo = call.repository("actions")
    return _listed(call, repo, list(repo.artifacts.values()))


def list_for_run(call: Call) -> Reply:
    repo, run = found_run(call)
    return _listed(call, repo, [one for one in repo.artifacts.values() if one.run is run])


def _found(call: Call, *, write: bool = False) -> tuple[Repository, Artifact]:
    repo = call.repository("actions", "write" if write else "read")
    if write:
        call.require(repo, Role.WRITE)
    found = repo.artifacts.get(call.number("artifact_id"))
    if found is None:
        raise errors.not_found()
    return repo, found


def get(call: Call) -> Reply:
    repo, one = _found(call)
    return Reply(200, shapes.artifact(call.site, repo, one))


def download(call: Call) -> Reply:
    _, one = _found(call)
    if call.caller.token is None:
        raise errors.ApiError(401, "You must have the actions scope to download artifacts.")
    if call.params["archive_format"] != "zip":
        raise errors.not_found()
    if one.expired:
        raise errors.ApiError(410, "Artifact has expired")
    return call.elsewhere(one.data, "application/zip")


def delete(call: Call) -> Reply:
    repo, one = _found(call, write=True)
    del repo.artifacts[one.id]
    return Reply(204)


_ACTIONS = "/repos/{owner}/{repo}/actions"
_ONE = f"{_ACTIONS}/artifacts/{{artifact_id}}"

ROUTES: tuple[Route, ...] = (
    ("GET", f"{_ACTIONS}/artifacts", list_for_repo),
    ("GET", f"{_ACTIONS}/runs/{{run_id}}/artifacts", list_for_run),
    ("GET", _ONE, get),
    ("DELETE", _ONE, delete),
    ("GET", f"{_ONE}/{{archive_format}}", download),
)

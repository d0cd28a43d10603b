"""Operations of GitHub Apps and of installations."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any

from slash_forge import errors
from slash_forge.access import TOKEN_SECONDS, App, Installation
from slash_forge.call import Call, Reply, Route
from slash_forge.shapes.repositories import repository, simple_user
from slash_forge.state import Repository, Role, Token, timestamp

Json = dict[str, Any]


def _app(call: Call) -> App:
    if call.caller.app is None:
        raise errors.ApiError(401, "A JSON web token could not be decoded")
    return call.caller.app


def _shape(call: Call, one: Installation) -> Json:
    api = f"{call.site.api}/app/installations/{one.id}"
    kind = one.account.kind
    return {
        "id": one.id,
        "account": simple_user(call.site, one.account),
        "repository_selection": "all" if one.repositories is None else "selected",
        "access_tokens_url": f"{api}/access_tokens",
        "repositories_url": f"{call.site.api}/installation/repositories",
        "html_url": f"{call.site.html}/settings/installations/{one.id}",
        "app_id": one.app.id,
        "client_id": f"Iv1.{one.app.id:016x}",
        "app_slug": one.app.slug,
        "target_id": one.account.id,
        "target_type": kind,
        "permissions": dict(one.app.permissions),
        "events": [],
        "created_at": one.created_at,
        "updated_at": one.created_at,
        "single_file_name": None,
        "suspended_by": None,
        "suspended_at": None,
    }


def _installation(call: Call) -> Installation:
    app = _app(call)
    match = call.state.installations.get(call.number("installation_id"))
    if match is None or match.app is not app:
        raise errors.not_found()
    return match


def installation_of_repository(call: Call) -> Reply:
    app = _app(call)
    repo = call.state.repository(f"{call.params['owner']}/{call.params['repo']}")
    for one in call.state.installations.values():
        if repo is not None and one.app is app and repo in _accessible(call, one):
            return Reply(200, _shape(call, one))
    raise errors.not_found()


def _accessible(call: Call, one: Installation) -> list[Repository]:
    return [
        repo
        for repo in call.state.repositories.values()
        if repo.owner is one.account and (one.repositories is None or repo.full_name in one.repositories)
    ]


def create_token(call: Call) -> Reply:
    """With all permissions and repositories of the installation, or with a subset."""
    one = _installation(call)
    granted = _permissions(call, one.app)
    accessible = _chosen(call, one)
    value = f"ghs_{secrets.token_hex(18)}"
    expires = call.state.epoch() + TOKEN_SECONDS
    names = frozenset(repo.full_name for repo in accessible)
    call.state.tokens[value] = Token(value, one.app.bot, granted, names, expires_at=expires, installation=one)
    selected = one.repositories is not None or call.fields().get("repositories")
    body: Json = {
        "token": value,
        "expires_at": timestamp(datetime.fromtimestamp(expires, UTC)),
        "permissions": {**granted, "metadata": "read"},
        "repository_selection": "selected" if selected else "all",
    }
    if selected:
        body["repositories"] = [repository(call.site, repo, Role.WRITE) for repo in accessible]
    return Reply(201, body)


def _permissions(call: Call, app: App) -> dict[str, Any]:
    # PyGithub sends an empty object for "all", and GitHub reads it so.
    requested = call.fields().get("permissions") or app.permissions
    if not isinstance(requested, dict):
        requested = dict(app.permissions)
    for name, access in requested.items():
        has = app.permissions.get(name)
        if (has is None and name != "metadata") or (access == "write" and has != "write"):
            raise errors.ApiError(422, "The permissions requested are not granted to this installation.")
    return {name: access for name, access in requested.items() if name != "metadata"}


def _chosen(call: Call, one: Installation) -> list[Repository]:
    accessible = _accessible(call, one)
    names = call.names("repositories") if call.fields().get("repositories") else None
    if names is None:
        return accessible
    chosen = [repo for repo in accessible if repo.name in names]
    if len(chosen) != len(set(names)):
        message = (
            "There is at least one repository that does not exist or is not accessible to the parent "
            "installation."
        )
        raise errors.ApiError(422, message)
    return chosen


_INSTALLATION = "/app/installations/{installation_id}"

ROUTES: tuple[Route, ...] = (
    ("POST", f"{_INSTALLATION}/access_tokens", create_token),
    ("GET", "/repos/{owner}/{repo}/installation", installation_of_repository),
)

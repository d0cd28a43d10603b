"""Of Actions' own making: dispatches, schedules, and workflow runs that other workflows wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.forge.events.common import Json, payload
from bot.forge.runs import Run
from bot.forge.shapes import actions
from bot.forge.shapes.site import Site
from bot.forge.state import Repository, User


def workflow_dispatch(
    site: Site, repo: Repository, sender: User, workflow: str, ref: str, inputs: Mapping[str, Any] | None
) -> Json:
    """`inputs` None is what GitHub sends where the workflow declares none."""
    return payload(
        site, repo, sender, inputs=None if inputs is None else dict(inputs), ref=ref, workflow=workflow
    )


def repository_dispatch(
    site: Site, repo: Repository, sender: User, event_type: str, client_payload: Mapping[str, Any]
) -> Json:
    """The type that the caller chose is the action."""
    made = payload(
        site,
        repo,
        sender,
        action=event_type,
        branch=repo.default_branch,
        client_payload=dict(client_payload) or None,
    )
    # Only apps can send it, and one always did.
    return {**made, "installation": {"id": 1, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMQ=="}}


def schedule(site: Site, repo: Repository, cron: str, workflow: str) -> Json:
    """Nobody's doing: no sender, and little else."""
    made = payload(site, repo, None, schedule=cron, workflow=workflow)
    del made["sender"]
    return made


def workflow_run(site: Site, repo: Repository, run: Run, action: str) -> Json:
    return payload(
        site,
        repo,
        run.actor,
        action=action,
        workflow=actions.workflow(site, repo, run.workflow),
        workflow_run=actions.run(site, repo, run),
    )

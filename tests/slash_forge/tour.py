"""A call of every operation the forge answers, in an order in which each succeeds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.slash_forge.conftest import Answer

# `{...}` is filled in from what is known; `=> name` keeps the answer's id under that name.
TOUR = """
GET /user
GET /users/ada
GET /rate_limit
GET /meta
GET /repos/{repo}
GET /repos/{repo}/collaborators
GET /repos/{repo}/collaborators/ada
GET /repos/{repo}/collaborators/ada/permission
GET /repos/{repo}/assignees/ada
GET /repos/{repo}/branches
GET /repos/{repo}/activity
GET /repos/{repo}/branches/agent/topic
GET /repos/{repo}/commits
GET /repos/{repo}/commits/main
GET /repos/{repo}/compare/main...agent/topic
GET /repos/{repo}/contents/
GET /repos/{repo}/contents/calc.py
GET /repos/{repo}/git/ref/heads/agent/topic
GET /repos/{repo}/git/matching-refs/heads/agent
GET /repos/{repo}/git/commits/{sha}
GET /repos/{repo}/git/trees/main
GET /repos/{repo}/git/blobs/{blob}
POST /repos/{repo}/git/refs {"ref": "refs/heads/other", "sha": "{sha}"}
PATCH /repos/{repo}/git/refs/heads/other {"sha": "{sha}", "force": true}
DELETE /repos/{repo}/git/refs/heads/other
GET /repos/{repo}/issues
POST /repos/{repo}/issues {"title": "Second", "labels": ["bug"], "assignees": ["ada"]}
GET /repos/{repo}/issues/{issue}
PATCH /repos/{repo}/issues/{issue} {"state": "closed", "state_reason": "completed"}
PUT /repos/{repo}/issues/{issue}/lock {"lock_reason": "resolved"}
DELETE /repos/{repo}/issues/{issue}/lock
POST /repos/{repo}/issues/{issue}/assignees {"assignees": ["ada"]}
DELETE /repos/{repo}/issues/{issue}/assignees {"assignees": ["ada"]}
GET /repos/{repo}/issues/comments
GET /repos/{repo}/issues/{issue}/comments
POST /repos/{repo}/issues/{issue}/comments {"body": "hello"}
GET /repos/{repo}/issues/comments/{comment}
PATCH /repos/{repo}/issues/comments/{comment} {"body": "hello again"}
POST /repos/{repo}/issues/comments/{comment}/reactions {"content": "eyes"} => reaction
GET /repos/{repo}/issues/comments/{comment}/reactions
DELETE /repos/{repo}/issues/comments/{comment}/reactions/{reaction}
POST /repos/{repo}/issues/{issue}/reactions {"content": "rocket"} => mine
GET /repos/{repo}/issues/{issue}/reactions
DELETE /repos/{repo}/issues/{issue}/reactions/{mine}
DELETE /repos/{repo}/issues/comments/{comment}
GET /repos/{repo}/labels
POST /repos/{repo}/labels {"name": "area", "color": "00ff00"}
GET /repos/{repo}/labels/area
PATCH /repos/{repo}/labels/area {"color": "0000ff", "description": "Where"}
POST /repos/{repo}/issues/{issue}/labels {"labels": ["area"]}
GET /repos/{repo}/issues/{issue}/labels
PUT /repos/{repo}/issues/{issue}/labels {"labels": ["area", "bug"]}
DELETE /repos/{repo}/issues/{issue}/labels/area
DELETE /repos/{repo}/issues/{issue}/labels
POST /repos/{repo}/pulls {"title": "Topic", "head": "agent/other", "base": "main", "draft": true} => -
GET /repos/{repo}/pulls
GET /repos/{repo}/pulls/{pull}
PATCH /repos/{repo}/pulls/{pull} {"body": "Text"}
GET /repos/{repo}/pulls/{pull}/files
GET /repos/{repo}/pulls/{pull}/commits
GET /repos/{repo}/pulls/{pull}/requested_reviewers
POST /repos/{repo}/pulls/{pull}/requested_reviewers {"reviewers": ["ada"]}
DELETE /repos/{repo}/pulls/{pull}/requested_reviewers {"reviewers": ["ada"]}
POST /repos/{repo}/pulls/{reviewed}/reviews {"event": "COMMENT", "body": "Fine"}
GET /repos/{repo}/pulls/{reviewed}/reviews
POST /repos/{repo}/pulls/{reviewed}/reviews {"comments": [{"path": "calc.py", "line": 1, "body": "Why?"}]} => pending
GET /repos/{repo}/pulls/{reviewed}/reviews/{pending}
PUT /repos/{repo}/pulls/{reviewed}/reviews/{pending} {"body": "Words"}
GET /repos/{repo}/pulls/{reviewed}/reviews/{pending}/comments
DELETE /repos/{repo}/pulls/{reviewed}/reviews/{pending}
POST /repos/{repo}/pulls/{reviewed}/reviews {"body": "Good"} => review
POST /repos/{repo}/pulls/{reviewed}/reviews/{review}/events {"event": "APPROVE"}
PUT /repos/{repo}/pulls/{reviewed}/reviews/{review}/dismissals {"message": "Old"}
POST /repos/{repo}/pulls/{reviewed}/comments {"path": "calc.py", "line": 1, "body": "x", "commit_id": "{sha}"} => remark
POST /repos/{repo}/pulls/{reviewed}/comments/{remark}/replies {"body": "y"}
GET /repos/{repo}/pulls/{reviewed}/comments
GET /repos/{repo}/pulls/comments
GET /repos/{repo}/pulls/comments/{remark}
PATCH /repos/{repo}/pulls/comments/{remark} {"body": "z"}
POST /repos/{repo}/pulls/comments/{remark}/reactions {"content": "heart"} => heart
GET /repos/{repo}/pulls/comments/{remark}/reactions
DELETE /repos/{repo}/pulls/comments/{remark}/reactions/{heart}
DELETE /repos/{repo}/pulls/comments/{remark}
GET /repos/{repo}/pulls/{pull}/merge
POST /repos/{repo}/statuses/{sha} {"state": "success", "context": "ci/build"}
GET /repos/{repo}/commits/{sha}/status
GET /repos/{repo}/commits/agent/topic/statuses
GET /repos/{repo}/check-runs/{check}
GET /repos/{repo}/check-runs/{check}/annotations
GET /repos/{repo}/commits/agent/topic/check-runs
GET /repos/{repo}/commits/agent/topic/check-suites => suite
GET /repos/{repo}/check-suites/{suite}
GET /repos/{repo}/check-suites/{suite}/check-runs
GET /repos/{repo}/actions/runs
GET /repos/{repo}/actions/runs/{run}
GET /repos/{repo}/actions/runs/{run}/jobs
GET /repos/{repo}/actions/runs/{run}/attempts/1/jobs
GET /repos/{repo}/actions/runs/{run}/logs
GET /repos/{repo}/actions/jobs/{job}
GET /repos/{repo}/actions/jobs/{job}/logs
GET /repos/{repo}/actions/runs/{run}/artifacts
GET /repos/{repo}/actions/artifacts
GET /repos/{repo}/actions/artifacts/{artifact}
GET /repos/{repo}/actions/artifacts/{artifact}/zip
DELETE /repos/{repo}/actions/artifacts/{artifact}
POST /repos/{repo}/actions/runs/{run}/rerun
POST /repos/{repo}/actions/runs/{run}/cancel
POST /repos/{repo}/actions/runs/{run}/rerun-failed-jobs
POST /repos/{repo}/actions/runs/{run}/force-cancel
GET /repos/{repo}/actions/workflows
GET /repos/{repo}/actions/workflows/ci.yml
GET /repos/{repo}/actions/workflows/ci.yml/runs
POST /repos/{repo}/actions/workflows/ci.yml/dispatches {"ref": "main", "inputs": {"level": "high"}}
PUT /repos/{repo}/actions/workflows/ci.yml/disable
PUT /repos/{repo}/actions/workflows/ci.yml/enable
POST /repos/{repo}/dispatches {"event_type": "go", "client_payload": {"a": 1}}
GET /repos/{repo}/actions/permissions
GET /repos/{repo}/actions/permissions/workflow
PUT /repos/{repo}/actions/permissions/workflow {"default_workflow_permissions": "write"}
GET /repos/{repo}/issues/events
GET /repos/{repo}/issues/{issue}/events => event
GET /repos/{repo}/issues/events/{event}
GET /repos/{repo}/issues/{issue}/timeline
GET /repos/{repo}/issues/{reviewed}/timeline
DELETE /repos/{repo}/labels/area
GET /search/issues?q=repo:{repo}+is:issue+label:bug
GET /repos/{repo}/rules/branches/agent/topic
GET /repos/{repo}/branches/main/protection
GET /repos/{repo}/commits/{sha}/pulls
GET /repos/{repo}/actions/secrets
POST /repos/{repo}/git/blobs {"content": "aGk=", "encoding": "base64"}
POST /repos/{repo}/git/trees {"base_tree": "{sha}", "tree": [{"path": "n", "mode": "100644", "content": "n"}]}
POST /repos/{repo}/git/commits {"message": "By the API", "tree": "{tree}", "parents": ["{sha}"]}
PUT /repos/{repo}/pulls/{reviewed}/merge {"merge_method": "squash"}
"""


def travel(
    ask: Callable[[str, str, Any], Answer], known: Mapping[str, str], check: Callable[[str, Answer], None]
) -> None:
    """Make the calls one after the other. What an earlier call did not give is filled in as 1."""
    filled = dict(known)
    for line in TOUR.strip().splitlines():
        call, _, kept = line.partition(" => ")
        method, path, *body = call.split(" ", 2)
        for name in _names(call):
            value = filled.get(name, "1")
            path = path.replace(f"{{{name}}}", value)
            body = [text.replace(f"{{{name}}}", value) for text in body]
        answer = ask(method, path, json.loads(body[0]) if body else None)
        check(call, answer)
        if kept and answer.status < 300:
            filled[kept] = _id(answer.json)


def _id(answer: Any) -> str:
    """Of an object, or of the first in a list, which may be wrapped in an object with its count."""
    if isinstance(answer, dict) and "id" in answer:
        return str(answer["id"])
    lists = (
        [answer] if isinstance(answer, list) else [one for one in answer.values() if isinstance(one, list)]
    )
    return next((str(one["id"]) for listing in lists for one in listing), "1")


def _names(call: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", call)

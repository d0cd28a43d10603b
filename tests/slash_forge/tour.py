"""A call of every operation the forge answers, in an order in which each succeeds."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.slash_forge.conftest import Answer

# `{...}` is filled in from what is known; `=> name` keeps the answer's id under that name.
TOUR = """
GET /user
GET /rate_limit
GET /repos/{repo}
GET /repos/{repo}/collaborators/ada
GET /repos/{repo}/collaborators/ada/permission
GET /repos/{repo}/activity
GET /repos/{repo}/branches
GET /repos/{repo}/branches/agent/topic
GET /repos/{repo}/compare/main...agent/topic
GET /repos/{repo}/contents/
GET /repos/{repo}/contents/calc.py
GET /repos/{repo}/commits?sha=main
GET /repos/{repo}/commits/main
GET /repos/{repo}/git/ref/heads/agent/topic
GET /repos/{repo}/git/commits/{sha}
GET /repos/{repo}/git/trees/main
POST /repos/{repo}/git/refs {"ref": "refs/heads/other", "sha": "{sha}"}
PATCH /repos/{repo}/git/refs/heads/other {"sha": "{sha}", "force": true}
DELETE /repos/{repo}/git/refs/heads/other
GET /repos/{repo}/issues
POST /repos/{repo}/issues {"title": "Second", "labels": ["bug"], "assignees": ["ada"]}
GET /repos/{repo}/issues/{issue}
PATCH /repos/{repo}/issues/{issue} {"state": "closed", "state_reason": "completed"}
GET /repos/{repo}/issues/comments
GET /repos/{repo}/issues/{issue}/comments
POST /repos/{repo}/issues/{issue}/comments {"body": "hello"}
GET /repos/{repo}/issues/comments/{comment}
PATCH /repos/{repo}/issues/comments/{comment} {"body": "hello again"}
POST /repos/{repo}/issues/comments/{comment}/reactions {"content": "eyes"} => reaction
GET /repos/{repo}/issues/comments/{comment}/reactions
POST /repos/{repo}/issues/{issue}/labels {"labels": ["area"]}
DELETE /repos/{repo}/issues/{issue}/labels/area
DELETE /repos/{repo}/issues/comments/{comment}
POST /repos/{repo}/pulls {"title": "Topic", "head": "agent/other", "base": "main", "draft": true} => -
GET /repos/{repo}/pulls
GET /repos/{repo}/pulls/{pull}
PATCH /repos/{repo}/pulls/{pull} {"body": "Text"}
GET /repos/{repo}/pulls/{pull}/files
GET /repos/{repo}/pulls/{pull}/commits
POST /repos/{repo}/pulls/{pull}/requested_reviewers {"reviewers": ["ada"]}
PUT /repos/{repo}/pulls/{pull}/update-branch
POST /repos/{repo}/pulls/{reviewed}/reviews {"event": "COMMENT", "body": "Fine"}
GET /repos/{repo}/pulls/{reviewed}/reviews
POST /repos/{repo}/pulls/{reviewed}/reviews {"comments": [{"path": "calc.py", "line": 1, "body": "Why?"}]} => pending
GET /repos/{repo}/pulls/{reviewed}/reviews/{pending}
PUT /repos/{repo}/pulls/{reviewed}/reviews/{pending} {"body": "Words"}
POST /repos/{repo}/pulls/{reviewed}/reviews {"event": "APPROVE"} => review
PUT /repos/{repo}/pulls/{reviewed}/reviews/{review}/dismissals {"message": "Old"}
POST /repos/{repo}/pulls/{reviewed}/comments/{remark}/replies {"body": "y"}
GET /repos/{repo}/pulls/{reviewed}/comments
GET /repos/{repo}/pulls/comments/{remark}
PATCH /repos/{repo}/pulls/comments/{remark} {"body": "z"}
POST /repos/{repo}/pulls/comments/{remark}/reactions {"content": "heart"} => heart
GET /repos/{repo}/pulls/comments/{remark}/reactions
GET /repos/{repo}/commits/{sha}/status
GET /repos/{repo}/check-runs/{check}
GET /repos/{repo}/check-runs/{check}/annotations
GET /repos/{repo}/commits/agent/topic/check-runs
GET /repos/{repo}/actions/runs
GET /repos/{repo}/actions/runs/{run}
GET /repos/{repo}/actions/runs/{run}/jobs
GET /repos/{repo}/actions/jobs/{job}
GET /repos/{repo}/actions/jobs/{job}/logs
GET /repos/{repo}/actions/runs/{run}/artifacts
GET /repos/{repo}/actions/artifacts
GET /repos/{repo}/actions/artifacts/{artifact}/zip
POST /repos/{repo}/actions/runs/{running}/cancel
POST /repos/{repo}/actions/runs/{run}/rerun-failed-jobs
GET /repos/{repo}/actions/workflows/ci.yml
GET /repos/{repo}/actions/workflows/ci.yml/runs
POST /repos/{repo}/actions/workflows/ci.yml/dispatches {"ref": "main", "inputs": {"level": "high"}}
GET /repos/{repo}/actions/permissions
GET /repos/{repo}/actions/permissions/workflow
GET /repos/{repo}/rules/branches/agent/topic
GET /repos/{repo}/rulesets?includes_parents=true
GET /repos/{repo}/actions/secrets
POST /repos/{repo}/git/blobs {"content": "aGk=", "encoding": "base64"}
POST /repos/{repo}/git/trees {"base_tree": "{sha}", "tree": [{"path": "n", "mode": "100644", "content": "n"}]}
POST /repos/{repo}/git/commits {"message": "By the API", "tree": "{tree}", "parents": ["{sha}"]}
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

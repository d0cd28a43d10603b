"""Each write of the API in words, for errors and for `--dry-run`, and a stand-in for its response in a dry run."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import Any
from urllib.parse import unquote

_REVIEW_STATES = {"COMMENT": "COMMENTED", "APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED"}
_STAND_IN: Mapping[str, Any] = {
    "id": 0,
    "number": 0,
    "sha": "",
    "user": {"login": "slash-agent", "id": 0, "type": "Bot"},
    "title": "",
    "html_url": "",
    "path": "",
    "state": "open",
    "locked": False,
    "created_at": None,
    "updated_at": None,
}


@dataclass(frozen=True, slots=True)
class Write:
    """One write that was not sent: a line without its final newline, and the text that it would have carried."""

    line: str
    body: str = ""

    def __str__(self) -> str:
        return f"would {self.line}" + (f":\n{indent(self.body.rstrip(), '    ')}" if self.body else "")


class DryRun:
    """Collects `writes` and passes each to `say` as text."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.writes: list[Write] = []

    def record(self, line: str, body: str = "") -> None:
        self.writes.append(Write(line, body))
        self._say(str(self.writes[-1]))


def stand_in(path: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON in place of GitHub's answer to a write of `fields` to the API's `path`; ids are 0."""
    answer = {**_STAND_IN, **fields}
    if "event" in fields:
        answer["state"] = _REVIEW_STATES.get(fields["event"], "PENDING")
    if "labels" in fields:
        answer["labels"] = [{"name": name} for name in fields["labels"]]
    for end in {"head", "base"} & fields.keys():
        answer[end] = {"ref": fields[end], "sha": "", "repo": {"full_name": _repository(path)}}
    return answer


def description(verb: str, path: str, fields: Mapping[str, Any]) -> str:
    """Return one write as a verb phrase, such as `comment on octo/hello#7`."""
    try:
        return _phrase(verb, path, fields)
    except (KeyError, IndexError, TypeError, ValueError):  # one that this package has no method for
        return f"send {verb} {path}"


def _phrase(verb: str, path: str, fields: Mapping[str, Any]) -> str:
    repository = _repository(path)
    match [verb, *map(unquote, path.split("/")[4:])]:
        case ["POST", "issues"]:
            labelled = f", labelled {', '.join(fields['labels'])}" if fields["labels"] else ""
            return f"open an issue in {repository}, titled {fields['title']!r}{labelled}"
        case ["PATCH", "issues", number] if "state" in fields:
            return f"close issue {repository}#{number} as {fields['state_reason'].replace('_', ' ')}"
        case ["PATCH", "issues", number]:
            return f"edit issue {repository}#{number}{_titled(fields)}"
        case ["POST", "issues", number, "labels"]:
            return f"label {repository}#{number} with {', '.join(fields['labels'])}"
        case ["DELETE", "issues", number, "labels", label]:
            return f"take the label {label} off {repository}#{number}"
        case ["POST", "issues", number, "comments"]:
            return f"comment on {repository}#{number}"
        case ["PATCH", "issues", "comments", "0"]:
            return f"edit the new comment in {repository}"
        case ["PATCH", "issues", "comments", comment]:
            return f"edit comment {comment} of {repository}"
        case ["DELETE", "issues", "comments", comment]:
            return f"delete comment {comment} of {repository}"
        case ["POST", "issues" | "pulls" as kind, "comments", comment, "reactions"]:
            what = "comment" if kind == "issues" else "review comment"
            return f"react to {what} {comment} of {repository} with {fields['content']}"
        case ["POST", "pulls"]:
            what = "a draft pull request" if fields["draft"] else "a pull request"
            return f"open {what} in {repository}, {fields['head']} onto {fields['base']}{_titled(fields)}"
        case ["PATCH", "pulls", number]:
            return f"edit pull request {repository}#{number}{_titled(fields)}"
        case ["POST", "pulls", number, "requested_reviewers"]:
            what = f"the new pull request in {repository}"
            if number != "0":
                what = f"pull request {repository}#{number}"
            return f"ask {', '.join(fields['reviewers'])} to review {what}"
        case ["POST", "pulls", number, "reviews"]:
            count = len(fields["comments"])
            at = fields["commit_id"][:12]
            return f"review {repository}#{number} at {at} ({fields['event']}, {count} comments)"
        case ["PUT", "pulls", number, "reviews", review]:
            return f"edit review {review} of {repository}#{number}"
        case ["PUT", "pulls", number, "reviews", review, "dismissals"]:
            return f"dismiss review {review} of {repository}#{number}"
        case ["POST", "pulls", number, "comments", comment, "replies"]:
            return f"reply to review comment {comment} on {repository}#{number}"
        case ["PATCH", "pulls", "comments", comment]:
            return f"edit review comment {comment} of {repository}"
        case ["POST", "check-runs"]:
            at = fields["head_sha"][:12]
            return f"report the check {fields['name']!r} on {at} of {repository}: {fields['conclusion']}"
        case ["POST", "access_tokens"]:
            return f"request a token of the app for {fields['repositories'][0]}"
        case ["POST", "actions", "runs", run, "cancel"]:
            return f"cancel run {run} of {repository}"
        case ["POST", "actions", "workflows", workflow, "dispatches"]:
            return f"start the workflow {workflow} on {fields['ref']} in {repository}"
        case ["POST", "git", "blobs"]:
            return f"store {len(base64.b64decode(fields['content'])):,} bytes in {repository}"
        case ["POST", "git", "trees"]:
            return f"store a tree in {repository}"
        case ["POST", "git", "commits"]:
            return f"make a commit on {fields['parents'][0][:12]} in {repository}"
    return f"send {verb} {path}"


def text_of(fields: Mapping[str, Any]) -> str:
    """Return the text of a write for people; empty for none."""
    if "output" in fields:
        return f"{fields['output']['title']}\n\n{fields['output']['summary']}"
    if "inputs" in fields:
        return "\n".join(f"{name}: {value}" for name, value in fields["inputs"].items())
    if "tree" in fields and "base_tree" in fields:
        return "\n".join(entry["path"] for entry in fields["tree"])
    body = str(fields.get("body") or fields.get("message") or "")
    remarks = [f"{_lines(one)}\n{indent(one['body'].rstrip(), '    ')}" for one in fields.get("comments", ())]
    return "\n\n".join([body.rstrip(), *remarks]) if remarks else body


def _repository(path: str) -> str:
    return "/".join(path.split("/")[2:4])


def _titled(fields: Mapping[str, Any]) -> str:
    return f", titled {fields['title']!r}" if "title" in fields else ""


def _lines(comment: Mapping[str, Any]) -> str:
    first = f"{comment['start_line']}-" if "start_line" in comment else ""
    return f"{comment['path']}:{first}{comment['line']} ({comment['side']})"

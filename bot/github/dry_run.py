"""Each write of the API in words, for errors and for `--dry-run`, and a stand-in for its response in a dry run."""

from collections.abc import Mapping
from contextlib import suppress
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


_PHRASES = (
    ("POST issues", "open an issue in {repository}, titled {title!r}{labelled}"),
    ("PATCH issues/*", "{change} issue {repository}#{0}{titled}{reason}"),
    ("POST issues/*/labels", "label {repository}#{0} with {labels}"),
    ("DELETE issues/*/labels/*", "take the label {1} off {repository}#{0}"),
    ("POST issues/*/comments", "comment on {repository}#{0}"),
    ("PATCH issues/comments/0", "edit the new comment in {repository}"),
    ("PATCH issues/comments/*", "edit comment {0} of {repository}"),
    ("DELETE issues/comments/*", "delete comment {0} of {repository}"),
    ("POST issues/comments/*/reactions", "react to comment {0} of {repository} with {content}"),
    ("POST pulls/comments/*/reactions", "react to review comment {0} of {repository} with {content}"),
    ("POST pulls", "open a {kind}pull request in {repository}, {head} onto {base}{titled}"),
    ("PATCH pulls/*", "edit pull request {repository}#{0}{titled}"),
    ("POST pulls/0/requested_reviewers", "ask {reviewers} to review the new pull request in {repository}"),
    ("POST pulls/*/requested_reviewers", "ask {reviewers} to review pull request {repository}#{0}"),
    ("POST pulls/*/reviews", "review {repository}#{0} at {commit_id:.12} ({event}, {remarks} comments)"),
    ("PUT pulls/*/reviews/*", "edit review {1} of {repository}#{0}"),
    ("PUT pulls/*/reviews/*/dismissals", "dismiss review {1} of {repository}#{0}"),
    ("POST pulls/*/comments/*/replies", "reply to review comment {1} on {repository}#{0}"),
    ("PATCH pulls/comments/*", "edit review comment {0} of {repository}"),
    ("POST check-runs", "report the check {name!r} on {head_sha:.12} of {repository}: {conclusion}"),
    ("POST access_tokens", "request a token of the app for {repositories}"),
    ("POST actions/runs/*/cancel", "cancel run {0} of {repository}"),
    ("POST actions/workflows/*/dispatches", "start the workflow {0} on {ref} in {repository}"),
    ("POST git/blobs", "store a file in {repository}"),
    ("POST git/trees", "store a tree in {repository}"),
    ("POST git/commits", "make a commit on {parents:.12} in {repository}"),
)
"""Verb and path of each write, without the repository, and what it does; the first that fits counts."""


def description(verb: str, path: str, fields: Mapping[str, Any]) -> str:
    """Return one write as a verb phrase, such as `comment on octo/hello#7`."""
    listed = {name: ", ".join(map(str, value)) for name, value in fields.items() if isinstance(value, list)}
    words = {
        **fields,
        **listed,
        "repository": _repository(path),
        "labelled": f", labelled {listed['labels']}" if listed.get("labels") else "",
        "titled": f", titled {fields['title']!r}" if "title" in fields else "",
        "change": "close" if "state" in fields else "edit",
        "reason": f" as {str(fields['state_reason']).replace('_', ' ')}" if "state_reason" in fields else "",
        "kind": "draft " if fields.get("draft") else "",
        "remarks": len(fields.get("comments", ())),
    }
    names = [verb, *map(unquote, path.split("/")[4:])]
    for pattern, phrase in _PHRASES:
        wanted = pattern.replace(" ", "/").split("/")
        pairs = list(zip(wanted, names, strict=False))
        if len(wanted) == len(names) and all(one in ("*", name) for one, name in pairs):
            given = [name for one, name in pairs if one == "*"]
            with suppress(LookupError, ValueError):  # a write that this package has no method for
                return phrase.format(*given, **words)
    return f"send {verb} {path}"


def text_of(fields: Mapping[str, Any]) -> str:
    """Return the text of a write for people; empty for none."""
    if "output" in fields:
        return f"{fields['output']['title']}\n\n{fields['output']['summary']}"
    if "tree" in fields and "base_tree" in fields:
        return "\n".join(entry["path"] for entry in fields["tree"])
    body = str(fields.get("body") or fields.get("message") or "")
    remarks = [f"{_lines(one)}\n{indent(one['body'].rstrip(), '    ')}" for one in fields.get("comments", ())]
    return "\n\n".join([body.rstrip(), *remarks]) if remarks else body


def _repository(path: str) -> str:
    return "/".join(path.split("/")[2:4])


def _lines(comment: Mapping[str, Any]) -> str:
    first = f"{comment['start_line']}-" if "start_line" in comment else ""
    return f"{comment['path']}:{first}{comment['line']} ({comment['side']})"

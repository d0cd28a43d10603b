"""Each write of the API in words, for errors and for `--dry-run`, and a stand-in for its response in a dry run."""

from collections.abc import Mapping
from textwrap import indent
from typing import Any
from urllib.parse import unquote

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
    if "labels" in fields:
        answer["labels"] = [{"name": name} for name in fields["labels"]]
    for end in {"head", "base"} & fields.keys():
        answer[end] = {"ref": fields[end], "sha": "", "repo": {"full_name": _repository(path)}}
    return answer


_PHRASES = {
    "POST issues": "open an issue in {repository}",
    "PATCH issues/*": "edit issue {repository}#{0}",
    "POST issues/*/labels": "label {repository}#{0}",
    "DELETE issues/*/labels/*": "take the label {1} off {repository}#{0}",
    "POST issues/*/comments": "comment on {repository}#{0}",
    "PATCH issues/comments/0": "edit the new comment in {repository}",
    "PATCH issues/comments/*": "edit comment {0} of {repository}",
    "DELETE issues/comments/*": "delete comment {0} of {repository}",
    "POST issues/comments/*/reactions": "react to comment {0} of {repository}",
    "POST pulls/comments/*/reactions": "react to review comment {0} of {repository}",
    "POST pulls": "open a pull request in {repository}",
    "PATCH pulls/*": "edit pull request {repository}#{0}",
    "POST pulls/0/requested_reviewers": "ask for a review of the new pull request in {repository}",
    "POST pulls/*/requested_reviewers": "ask for a review of pull request {repository}#{0}",
    "POST pulls/*/reviews": "review {repository}#{0}",
    "PUT pulls/*/reviews/*": "edit review {1} of {repository}#{0}",
    "PUT pulls/*/reviews/*/dismissals": "dismiss review {1} of {repository}#{0}",
    "POST pulls/*/comments/*/replies": "reply to review comment {1} on {repository}#{0}",
    "PATCH pulls/comments/*": "edit review comment {0} of {repository}",
    "POST check-runs": "report a check in {repository}",
    "POST access_tokens": "request a token of the app",
    "POST actions/runs/*/cancel": "cancel run {0} of {repository}",
    "POST actions/workflows/*/dispatches": "start the workflow {0} in {repository}",
    "POST git/blobs": "store a file in {repository}",
    "POST git/trees": "store a tree in {repository}",
    "POST git/commits": "make a commit in {repository}",
}
"""Verb and path of each write, without the repository, and what it does; the first that fits counts."""


def description(verb: str, path: str) -> str:
    """Return one write as a verb phrase, such as `comment on octo/hello#7`."""
    names = [verb, *map(unquote, path.split("/")[4:])]
    for pattern, phrase in _PHRASES.items():
        wanted = pattern.replace(" ", "/").split("/")
        pairs = list(zip(wanted, names, strict=False))
        if len(wanted) == len(names) and all(one in ("*", name) for one, name in pairs):
            values = [name for one, name in pairs if one == "*"]
            return phrase.format(*values, repository=_repository(path))
    return f"send {verb} {path}"


def text_of(fields: Mapping[str, Any]) -> str:
    """Return the fields of a write for people, its texts last; empty for none."""
    fields = {**fields, **fields.get("output", {})}
    texts = [str(fields.get(name) or "").rstrip() for name in ("summary", "body", "message")]
    remarks = [f"{_lines(one)}\n{indent(one['body'].rstrip(), '    ')}" for one in fields.get("comments", ())]
    long = ("summary", "body", "message", "comments", "output")
    short = [f"{name}: {value}" for name, value in fields.items() if name not in long]
    return "\n\n".join(filter(None, ["\n".join(short), *texts, *remarks]))


def _repository(path: str) -> str:
    return "/".join(path.split("/")[2:4])


def _lines(comment: Mapping[str, Any]) -> str:
    first = f"{comment['start_line']}-" if "start_line" in comment else ""
    return f"{comment['path']}:{first}{comment['line']} ({comment['side']})"

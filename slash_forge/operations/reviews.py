"""Reviews of a pull request. A review with an invalid comment creates nothing."""

from __future__ import annotations

from typing import Any, cast

from slash_forge import errors
from slash_forge import reviews as record
from slash_forge.call import Call, Reply, Route
from slash_forge.diffs import Side
from slash_forge.operations.pulls import ACTIONS_REFUSED, find_pull
from slash_forge.reviews import IN_REVIEW, AnchorRequest, Draft, Review, Unanchored, resolve_anchor, sentence
from slash_forge.shapes import pulls as shapes
from slash_forge.state import Issue, Pull, Repository, Role

_VERDICTS = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}
_TOO_LONG = f"body is too long (maximum is {errors.BODY_LIMIT} characters)"


def unprocessable(*reasons: str) -> errors.ApiError:
    return errors.ApiError(422, "Unprocessable Entity", reasons)


def _found(call: Call, *, write: bool = False) -> tuple[Repository, Issue, Pull, Review]:
    repo, issue, pull = find_pull(call, write=write)
    requested = call.number("review_id")
    for review in pull.reviews:
        if review.id == requested and _visible(call, review):
            return repo, issue, pull, review
    raise errors.not_found()


def _visible(call: Call, review: Review) -> bool:
    return review.submitted_at is not None or review.author is call.caller.user


def _reply(call: Call, repo: Repository, issue: Issue, review: Review) -> Reply:
    return Reply(200, shapes.review(call.site, repo, issue, review))


def list_for_pull(call: Call) -> Reply:
    repo, issue, pull = find_pull(call)
    matches = [one for one in pull.reviews if _visible(call, one)]
    return call.page(matches, lambda one: shapes.review(call.site, repo, issue, one))


def get(call: Call) -> Reply:
    repo, issue, _, review = _found(call)
    return Reply(200, shapes.review(call.site, repo, issue, review))


def create(call: Call) -> Reply:
    repo, issue, pull = find_pull(call, write=True)
    event = call.text("event")
    body = _checked_body(call) or ""
    check_open(call, repo, issue)
    commit = checked_commit(call, repo, pull)
    drafts = _drafts(call, repo, pull, commit)
    verdict = _verdict(call, repo, issue, event, body=body, commented=bool(drafts)) if event else "PENDING"
    if verdict == "PENDING" and any(not one.submitted_at and one.author is call.user for one in pull.reviews):
        raise unprocessable("User can only have one pending review per pull request")
    review = record.add_review(call.state, pull, call.user, body=body, verdict=verdict, commit=commit)
    for draft in drafts:
        record.add_thread(call.state, repo, issue, pull, review, draft=draft)
    return _reply(call, repo, issue, review)


def _checked_body(call: Call) -> str | None:
    body = call.text("body")
    if body is not None and len(body) > errors.BODY_LIMIT:
        raise unprocessable(_TOO_LONG)
    return body


def check_open(call: Call, repo: Repository, issue: Issue) -> None:
    _ = call.user
    if issue.locked and call.caller.role(repo) < Role.WRITE:
        raise errors.forbidden("Unable to create comment because issue is locked.")


def checked_commit(call: Call, repo: Repository, pull: Pull) -> str:
    """`commit_id`, which must be one of the pull request's; its head without one."""
    sha = call.text("commit_id") or pull.head_sha
    git, base = repo.git, record.base_of(repo, pull, pull.head_sha)
    if sha == pull.head_sha:
        return sha
    known = len(sha) == 40 and git.exists(sha)
    if not known or not git.is_ancestor(sha, pull.head_sha) or git.is_ancestor(sha, base):
        raise unprocessable("commit_id is not part of the pull request")
    return sha


def _drafts(call: Call, repo: Repository, pull: Pull, commit: str) -> list[Draft]:
    base = record.base_of(repo, pull, commit)
    drafts, mistakes = [], []
    fields = call.fields().get("comments") or []
    if not isinstance(fields, list):
        raise errors.ApiError(422, "Invalid request.\n\nFor 'properties/comments', it is not an array.")
    for index, item in enumerate(fields):
        try:
            drafts.append(resolve_anchor(repo.git, base, commit, _anchor_request(item, index)))
        except Unanchored as error:
            mistakes.append(IN_REVIEW[error.mistake])
    if mistakes:
        raise unprocessable(sentence(mistakes))
    return drafts


def _anchor_request(item: Any, index: int) -> AnchorRequest:
    where = f"For 'items/{index}'"
    if not isinstance(item, dict):
        raise errors.ApiError(422, f"Invalid request.\n\n{where}, it is not an object.")
    for name in ("path", "body"):
        if name not in item:
            raise errors.ApiError(422, f'Invalid request.\n\n{where}, "{name}" wasn\'t supplied.')
    kinds: dict[str, type] = {"path": str, "body": str, "side": str, "start_side": str}
    kinds |= {"line": int, "start_line": int, "position": int}
    for name, kind in kinds.items():
        value = item.get(name)
        if (value is not None or name in ("path", "body")) and (
            not isinstance(value, kind) or isinstance(value, bool)
        ):
            requested = "an integer" if kind is int else "a string"
            raise errors.ApiError(422, f"Invalid request.\n\n{where}/{name}, {value!r} is not {requested}.")
    check_comment_body(item["body"])
    side, start_side = item.get("side") or "RIGHT", item.get("start_side")
    if side not in ("LEFT", "RIGHT") or start_side not in ("LEFT", "RIGHT", None):
        raise Unanchored("line")
    return AnchorRequest(
        item["path"],
        item["body"],
        item.get("line"),
        cast(Side, side),
        item.get("start_line"),
        cast(Side | None, start_side),
        item.get("position"),
    )


def check_comment_body(body: str) -> None:
    """Raise a 422 for an empty or too long body."""
    if not body.strip():
        raise unprocessable("Body can't be blank")
    if len(body) > errors.BODY_LIMIT:
        raise unprocessable(_TOO_LONG)


def _verdict(call: Call, repo: Repository, issue: Issue, event: str, *, body: str, commented: bool) -> str:
    if event not in _VERDICTS:
        raise unprocessable(f"event {event!r} is not one of {', '.join(_VERDICTS)}")
    if call.user is issue.author and event != "COMMENT":
        deed = "approve" if event == "APPROVE" else "request changes on"
        raise unprocessable(f"Can not {deed} your own pull request")
    if event == "APPROVE" and call.caller.is_app and not repo.actions_may_open_pull_requests:
        raise errors.forbidden(ACTIONS_REFUSED)
    blank = not body.strip()
    if blank and (event == "REQUEST_CHANGES" or (event == "COMMENT" and not commented)):
        raise unprocessable("Could not submit review: body can't be blank")
    return _VERDICTS[event]


def update(call: Call) -> Reply:
    repo, issue, _, review = _found(call, write=True)
    if review.author is not call.user:
        raise errors.forbidden("Must have admin rights to Repository.")
    review.body = call.required("body")
    if len(review.body) > errors.BODY_LIMIT:
        raise unprocessable(_TOO_LONG)
    return _reply(call, repo, issue, review)


def dismiss(call: Call) -> Reply:
    repo, issue, _, review = _found(call, write=True)
    call.require(repo, Role.WRITE)
    _ = call.required("message")
    if review.state not in ("APPROVED", "CHANGES_REQUESTED"):
        raise unprocessable("Can not dismiss a commented pull request review")
    review.state = "DISMISSED"
    return _reply(call, repo, issue, review)


_REVIEWS = "/repos/{owner}/{repo}/pulls/{pull_number}/reviews"
_REVIEW = f"{_REVIEWS}/{{review_id}}"

ROUTES: tuple[Route, ...] = (
    ("GET", _REVIEWS, list_for_pull),
    ("POST", _REVIEWS, create),
    ("GET", _REVIEW, get),
    ("PUT", _REVIEW, update),
    ("PUT", f"{_REVIEW}/dismissals", dismiss),
)

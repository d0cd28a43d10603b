"""Reactions to issues and to comments: one of each kind a person."""

from __future__ import annotations

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.operations.review_comments import found_comment
from bot.forge.reviews import ReviewComment
from bot.forge.router import Route
from bot.forge.shapes import threads
from bot.forge.state import Comment, Issue, Reaction

Target = Issue | Comment | ReviewComment


def _issue(call: Call, *, write: bool = False) -> Target:
    return call.thread("write" if write else "read")[1]


def _comment(call: Call, *, write: bool = False) -> Target:
    return call.comment("write" if write else "read")[2]


def _review_comment(call: Call, *, write: bool = False) -> Target:
    return found_comment(call, "write" if write else "read")[3]


def _list(call: Call, target: Target) -> Reply:
    content = call.query.get("content")
    found = [one for one in target.reactions if content in (None, one.content)]
    return call.page(found, lambda one: threads.reaction(call.site, one))


def _create(call: Call, target: Target) -> Reply:
    user, content = call.user, call.required("content")
    if content not in threads.REACTIONS:
        raise errors.invalid("Reaction", "content")
    for one in target.reactions:
        if one.user is user and one.content == content:
            return Reply(200, threads.reaction(call.site, one))
    reaction = Reaction(call.state.next_id(), user, content, call.state.now())
    target.reactions.append(reaction)
    return Reply(201, threads.reaction(call.site, reaction))


def _delete(call: Call, target: Target) -> Reply:
    wanted = call.number("reaction_id")
    found = next((one for one in target.reactions if one.id == wanted), None)
    if found is None:
        raise errors.not_found()
    if found.user is not call.user:
        raise errors.forbidden("You can't delete a reaction that isn't yours.")
    target.reactions.remove(found)
    return Reply(204)


_ON_ISSUE = "/repos/{owner}/{repo}/issues/{issue_number}/reactions"
_ON_COMMENT = "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions"

_ON_REVIEW_COMMENT = "/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions"

ROUTES: tuple[Route, ...] = (
    ("GET", _ON_REVIEW_COMMENT, lambda call: _list(call, _review_comment(call))),
    ("POST", _ON_REVIEW_COMMENT, lambda call: _create(call, _review_comment(call, write=True))),
    (
        "DELETE",
        f"{_ON_REVIEW_COMMENT}/{{reaction_id}}",
        lambda call: _delete(call, _review_comment(call, write=True)),
    ),
    ("GET", _ON_COMMENT, lambda call: _list(call, _comment(call))),
    ("POST", _ON_COMMENT, lambda call: _create(call, _comment(call, write=True))),
    ("DELETE", f"{_ON_COMMENT}/{{reaction_id}}", lambda call: _delete(call, _comment(call, write=True))),
    ("GET", _ON_ISSUE, lambda call: _list(call, _issue(call))),
    ("POST", _ON_ISSUE, lambda call: _create(call, _issue(call, write=True))),
    ("DELETE", f"{_ON_ISSUE}/{{reaction_id}}", lambda call: _delete(call, _issue(call, write=True))),
)

"""Replies to the bot that are commands without `/agent`, if the policy has `replies: true`.

A comment on lines counts in a thread that the bot began, and a comment in the conversation if the bot's last comment
there is a question to its author. The bot is known by account id, so this works only as a GitHub App: any workflow can
write as `github-actions[bot]`.
"""

import re
from collections.abc import Iterable

from bot.events.event_request import REVIEW_COMMENT, NoRequestError
from bot.github.values import Account, CommentData
from bot.publish.result import posted_question
from bot.publish.thread.markers import acts_as_itself, asking_comment, mark_of
from bot.session.event.event_context import EventContext

MOST_REPLIES = 5
"""Replies of one thread that start runs."""
_MENTION = re.compile(r"(?<![\w`/])@([A-Za-z0-9][\w-]*)")


def check_reply(context: EventContext) -> None:
    """Raise `NoRequestError` unless the comment of the event is a reply that counts as a command. Called once the
    policy allows replies; the author's rights are checked like those of a command's author."""
    request, github = context.event_request, context.github
    me = github.me
    if me is None or not acts_as_itself(me):
        raise NoRequestError("a reply without `/agent` is read only if the bot acts as a GitHub App")
    body = request.source.body if request.source else ""
    own_name = me.login.removesuffix("[bot]").lower()
    if any(name.lower() != own_name for name in _MENTION.findall(body)):
        raise NoRequestError("the comment mentions another account, so it is not for this bot alone")
    comment_id = request.trigger.comment_id
    if request.trigger.event == REVIEW_COMMENT:
        root = request.anchor.id if request.anchor else 0
        thread = [
            one
            for one in github.review_comments(request.number)
            if root in (one.id, one.in_reply_to) and one.id < comment_id
        ]
        if not any(one.id == root and one.author.id == me.id for one in thread):
            raise NoRequestError("the comment has no `/agent` command, and this bot did not begin its thread")
        if sum(one.author.id != me.id for one in thread) >= MOST_REPLIES:
            raise NoRequestError(f"the thread has {MOST_REPLIES} replies already; write `/agent` for another")
    else:
        _check_question(list(github.comments(request.number)), context, me)


def _check_question(comments: Iterable[CommentData], context: EventContext, me: Account) -> None:
    """Only the account that the question is for answers it: the author of the comment that asked for the run."""
    request, comment_id = context.event_request, context.event_request.trigger.comment_id
    earlier = [one for one in comments if one.id < comment_id]
    own = [one for one in earlier if one.author.id == me.id]
    questions = [one for one in own if posted_question(one.body)]
    if not own or own[-1] not in questions:
        raise NoRequestError("the comment has no `/agent` command, and no question of this bot is open")
    if len(questions) > MOST_REPLIES:
        raise NoRequestError(f"{MOST_REPLIES} questions here are answered; write `/agent` for another")
    _, fields = mark_of(own[-1].body)
    asking, on_lines = asking_comment(fields.get("request", ""))
    actor = request.actor
    is_asker = any(one.id == asking and actor and one.author.id == actor.id for one in earlier)
    if on_lines or not is_asker or any(one.id > own[-1].id and one.author.id != me.id for one in earlier):
        raise NoRequestError("the open question of this bot is to another account, or was answered")

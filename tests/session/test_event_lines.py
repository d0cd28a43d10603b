"""Commands on lines of a diff: progress in the conversation, the answer in the thread on the lines."""

import re
from typing import Any

import pytest

from slash_forge.bundled import MAINTAINER
from tests.support.model_script import Say
from tests.support.stage import Stage

BOT = "github-actions[bot]"
EVENT = "pull_request_review_comment"
READING: dict[str, Any] = {"contents": "read", "issues": "write", "pull_requests": "read", "actions": "read"}


def open_pull(stage: Stage) -> int:
    stage.forge.commit(stage.repo, {"tidytime/units.py": "# new\n"}, branch="topic", author=MAINTAINER)
    return stage.forge.open_pull(stage.repo, MAINTAINER, "topic")


def ask(stage: Stage, number: int, body: str) -> tuple[int, Any]:
    """A comment on the first line of the diff; its id and its event."""
    comment = stage.forge.review_comment(stage.repo, number, MAINTAINER, "tidytime/units.py", 1, body=body)
    return comment, stage.forge.review_comment_event(stage.repo, comment)


def replies(stage: Stage, number: int, comment: int) -> list[str]:
    found = stage.get(f"pulls/{number}/comments?per_page=100")
    return [one["body"] for one in found if one.get("in_reply_to_id") == comment]


@pytest.mark.bubblewrap
def test_an_explanation_stands_under_the_lines_and_its_progress_in_the_conversation(stage: Stage):
    number = open_pull(stage)
    comment, event = ask(stage, number, "/agent explain this line")
    steps = [Say("It is a comment.")]
    ran = stage.run(
        model=steps, event=event, name=EVENT, token=stage.forge.token(BOT, READING, repo=stage.repo)
    )
    assert ran.code == 0, ran.output
    [progress] = stage.bot_comments(number)
    assert f"<!-- slash-agent progress request=r{comment} " in progress
    published = stage.publish()
    assert published.code == 0, published.output
    [answer] = replies(stage, number, comment)
    assert "It is a comment." in answer
    [progress] = stage.bot_comments(number)
    assert re.match(r"\*\*Answered\*\* \[here\]\(\S+/pull/\d+#discussion_r\d+\)\.\n", progress)
    assert stage.publish().code == 0
    assert len(replies(stage, number, comment)) == 1


def test_ids_of_the_two_kinds_of_comments_are_told_apart(stage: Stage):
    """GitHub numbers them apart, so the same number can stand for one of each."""
    number = open_pull(stage)
    comment, event = ask(stage, number, "/agent status")
    mark = f"<!-- slash-agent answer request={comment} -->"
    stage.forge.comment(stage.repo, number, BOT, f"of another\n\n{mark}")
    token = stage.forge.token(BOT, READING, repo=stage.repo)
    assert stage.run(event=event, name=EVENT, token=token).code == 0
    assert len(stage.bot_comments(number)) == 2

"""`continue` where the last run's artifact has expired: from the pull request that the bot made."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from slash_forge.bundled import MAINTAINER
from tests.support.fix_script import DESCRIBE, DONE, fix_steps
from tests.support.model_script import Call, Step
from tests.support.stage import BOT, Stage

pytestmark = pytest.mark.bubblewrap

MENDED = "remaining = round(abs(seconds))"
VIEW = Call("view", {"path": "tidytime/format.py"})
MORE = Call("write", {"path": "CHANGES.md", "content": "Durations carry.\n"})
RUN = {"contents": "read", "issues": "write", "actions": "read", "pull_requests": "read"}


def carry_out(stage: Stage, body: str, steps: Sequence[Step]) -> list[str]:
    """Ask, run, publish, in a run whose artifact expires at once. The requests to the model."""
    event, run = stage.ask(body), stage.add_run("success")
    token = stage.forge.token(BOT, RUN, repo=stage.repo)
    ran = stage.run(model=steps, event=event, token=token, GITHUB_RUN_ID=str(run))
    asked = [json.dumps(request.json) for request in ran.requests]
    assert ran.code == 0, ran.output
    stage.forge.add_artifact(stage.repo, run, "slash-agent", b"gone", expired=True)
    stage.publish_event(event)
    return asked


def fixed(stage: Stage) -> Any:
    """A pull request that `fix` made."""
    carry_out(stage, "/agent fix this", fix_steps())
    [pull] = stage.pulls()
    return pull


def files_of(stage: Stage, pull: Any) -> set[str]:
    return {file["filename"] for file in stage.get(f"pulls/{pull['number']}/files")}


@pytest.mark.slow
def test_an_open_pull_request_of_the_bots_is_gone_on_from(stage: Stage):
    first = fixed(stage)
    asked = carry_out(stage, "/agent continue and say so in CHANGES.md", [VIEW, MORE, DESCRIBE, DONE])
    assert "Its change is in the work tree already." in asked[0]
    assert f"It opened pull request #{first['number']}." in asked[0]
    # The file that it views is the mended one.
    assert MENDED not in asked[0]
    assert MENDED in asked[1]
    [pull] = stage.pulls()
    assert pull["number"] == first["number"]
    assert pull["head"]["sha"] != first["head"]["sha"]
    assert files_of(stage, pull) == {"tidytime/format.py", "CHANGES.md"}
    assert f"this continues from #{first['number']}" in pull["body"]


@pytest.mark.slow
def test_a_question_is_read_again_from_its_comment_where_its_bundle_is_gone(stage: Stage):
    question = "Which of the two roundings is meant?\n\n- `round` first\n- *truncate* first"
    carry_out(stage, "/agent fix only the carry", [VIEW, Call("ask_user", {"question": question})])
    [posted] = [body for body in stage.bot_comments() if "A question before this goes on" in body]
    asked = carry_out(stage, "/agent continue the first one", fix_steps())
    last = asked[0].partition("# The last run")[2]
    assert (
        "It asked:\\nWhich of the two roundings is meant?\\n\\n- `round` first\\n- *truncate* first" in last
    )
    assert "It was asked: only the carry" in last
    assert "this bot's own comment, which was read again" in last
    assert "The request above is the answer to its question." in asked[0]
    assert "> Which of the two" in posted
    assert len(stage.pulls()) == 1


@pytest.mark.slow
def test_a_strangers_pull_request_with_the_same_mark_is_not_gone_on_from(stage: Stage):
    first = fixed(stage)
    stage.forge.set_thread(stage.repo, first["number"], state="closed")
    branch = f"{first['head']['ref']}-2"
    evil = stage.forge.commit(stage.repo, {"evil.txt": "x\n"}, branch=branch, author=MAINTAINER)
    text = re.sub(r"head=[0-9a-f]+", f"head={evil}", first["body"])
    assert f"head={evil}" in text
    stage.forge.open_pull(stage.repo, MAINTAINER, branch, body=text)
    fork = stage.forge.fork(stage.repo, "mallory")
    stage.forge.commit(fork, {"evil.txt": "x\n"}, branch=first["head"]["ref"], author="mallory")
    stage.forge.open_pull(stage.repo, "mallory", f"mallory:{first['head']['ref']}", body=text)
    asked = carry_out(stage, "/agent continue", fix_steps())
    assert "which are not kept any more: go by the thread" in asked[0]
    assert b"evil.txt" not in (stage.bundle / "changes.patch").read_bytes()
    assert stage.branches()[branch] == evil

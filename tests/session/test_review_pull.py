"""`/agent review` on a pull request: from the comment to the review, over a forge and with a scripted model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.session.conftest import CommandResult
from tests.support.fix_script import VIEW, shell
from tests.support.model_script import Call, Say, Step
from tests.support.model_server import ModelServer
from tests.support.stage import Stage

pytestmark = pytest.mark.bubblewrap

MIRA = "mira-okafor"
CODE = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
# As a line of the diff, with its number; a thread's own hunk has none.
SHOWN = "    1 +def mean(values):"
DONE = Say("Adds a mean, which fails on nothing.")
BETTER = "    return total / len(values) if values else 0.0"


def report(**given: Any) -> Call:
    arguments = {
        "path": "stats.py",
        "line": 3,
        "severity": "major",
        "kind": "crash",
        "title": "Fails on nothing",
        "body": "B.",
    }
    return Call("report_finding", {**arguments, **given})


@pytest.fixture
def number(stage: Stage) -> int:
    """A pull request by a maintainer that adds stats.py and a line to README.md."""
    readme = "# Tidy time\n\nOne line.\n"
    stage.forge.commit(stage.repo, {"stats.py": CODE, "README.md": readme}, branch="topic", author=MIRA)
    return stage.forge.open_pull(stage.repo, MIRA, "topic")


def run_token(stage: Stage) -> str:
    granted = {"contents": "read", "issues": "write", "pull_requests": "read"}
    return stage.forge.token(permissions=granted, repo=stage.repo)  # type: ignore[arg-type]


def review(
    stage: Stage, number: int, *steps: Step, said: str = "/agent review"
) -> tuple[CommandResult, list[str]]:
    """The run and its publishing; what the model was told, by request but the one after its first look."""
    _, event = stage.forge.comment(stage.repo, number, MIRA, said)
    with ModelServer([VIEW, *steps, DONE]) as server:
        ran = stage.run(model=server, event=event, token=run_token(stage))
        told = [json.dumps(one.json["messages"][-1]) for one in server.requests]
    assert ran.code == 0, ran.output
    published = stage.publish()
    assert published.code == 0, published.output
    assert "no pull request" not in published.output
    return ran, [*told[:1], *told[2:]]


def remarks(stage: Stage, number: int) -> list[Any]:
    return list(stage.get(f"pulls/{number}/comments?per_page=100"))


def reviews(stage: Stage, number: int) -> list[Any]:
    return list(stage.get(f"pulls/{number}/reviews"))


def test_asked_for_it_is_one_review_with_suggestions(stage: Stage, number: int) -> None:
    review(stage, number, report(suggestion=BETTER), report(line=0, title="No test", severity="note"))
    (made,) = reviews(stage, number)
    assert made["body"].startswith("**2 findings:** 1 major, 1 note\n\nAdds a mean, which fails on nothing.")
    (remark,) = remarks(stage, number)
    assert (remark["path"], remark["line"], remark["side"]) == ("stats.py", 3, "RIGHT")
    assert f"```suggestion\n{BETTER}\n```" in remark["body"]
    assert stage.bot_comments(number)[-1].startswith("**Reviewed:** [2 findings](")


TESTS = """\
import unittest

from stats import mean


class Mean(unittest.TestCase):
    def test_of_two(self):
        self.assertEqual(mean([1, 3]), 2)
"""
TESTED = "version: 1\nchecks: [python3 -m unittest]\n"
PASSES = "tests related to it pass with it"


@pytest.mark.checks
@pytest.mark.parametrize(
    ("suggestion", "policy", "tried"),
    [
        (BETTER, TESTED, f"applies, parses, {PASSES}"),
        ("    return total", TESTED, "applies, parses"),
        pytest.param(BETTER, "checks: ['true']\n", "applies, parses", marks=pytest.mark.slow),
        pytest.param(
            BETTER, f"{TESTED}budget: {{check_minutes: 0}}\n", "applies, parses", marks=pytest.mark.slow
        ),
    ],
    ids=["passes", "fails", "no tests", "no time"],
)
def test_under_a_suggestion_stands_what_was_tried(
    stage: Stage, number: int, suggestion: str, policy: str, tried: str
) -> None:
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    stage.forge.commit(stage.repo, {"test_stats.py": TESTS}, branch="topic", author=MIRA)
    review(stage, number, report(suggestion=suggestion))
    (remark,) = remarks(stage, number)
    assert f"<sub>Tried: {tried}.</sub>" in remark["body"]


@pytest.mark.slow
@pytest.mark.checks
def test_a149_on_a_fork_it_is_read_only_and_no_test_of_the_fork_is_run(stage: Stage) -> None:
    stage.forge.commit(stage.repo, {".github/agent.yml": TESTED})
    fork = stage.forge.fork(stage.repo, "jonas-weber")
    files = {"stats.py": CODE, "test_stats.py": TESTS}
    stage.forge.commit(fork, files, branch="topic", author="jonas-weber")
    number = stage.forge.open_pull(stage.repo, "jonas-weber", "jonas-weber:topic")
    _, told = review(stage, number, report(suggestion=BETTER), shell("id"))
    assert 'no tool \\"bash\\"' in told[2]
    (remark,) = remarks(stage, number)
    assert "```suggestion" in remark["body"]
    assert "<sub>Tried: applies, parses.</sub>" in remark["body"]


@pytest.mark.slow
def test_a_push_after_a_review_that_had_nothing_to_say_is_looked_at_alone(stage: Stage, number: int) -> None:
    """Nobody asked, so nobody was told: the head that was seen is known all the same."""
    conversation = stage.get(f"issues/{number}/comments")
    _, told = pushed(stage, number, "opened")
    assert SHOWN in told[0]
    readme = "# Tidy time\n\nAnother line.\n"
    stage.forge.commit(stage.repo, {"README.md": readme}, branch="topic", author=MIRA)
    _, told = pushed(stage, number, "synchronize")
    assert "Another line." in told[0]
    assert SHOWN not in told[0]
    _, told = pushed(stage, number, "reopened")
    assert told == []
    assert (reviews(stage, number), stage.get(f"issues/{number}/comments")) == ([], conversation)


def pushed(stage: Stage, number: int, action: str) -> tuple[CommandResult, list[str]]:
    """An event that nobody wrote, in the two jobs of `review.yml` with their tokens."""
    event = stage.forge.pull_request_event(stage.repo, number, action)
    granted = {"contents": "read", "issues": "read", "pull_requests": "read", "checks": "read"}
    token = stage.forge.token(permissions=granted, repo=stage.repo)  # type: ignore[arg-type]
    with ModelServer([DONE]) as server:
        ran = stage.run(model=server, event=event, name="pull_request", token=token)
        told = [json.dumps(one.json["messages"][-1]) for one in server.requests]
    assert ran.code == 0, ran.output
    granted = {"contents": "read", "issues": "write", "pull_requests": "write", "checks": "write"}
    token = stage.forge.token(permissions=granted, repo=stage.repo)  # type: ignore[arg-type]
    stage.publish_event(event, "pull_request", token=token)
    return ran, told

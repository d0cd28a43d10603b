"""`/agent review` on a pull request, and what a review remembers of those before it: whole events on a forge."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.session.conftest import Cli, CommandResult
from tests.support.fix_script import VIEW, shell
from tests.support.model_script import Call, Say, Step
from tests.support.repositories import commit_all, git
from tests.support.stage import MODEL, Stage

pytestmark = pytest.mark.bubblewrap

MIRA = "mira-okafor"
CODE = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
BETTER = "    return total / len(values) if values else 0.0"
FIXED = f"def mean(values):\n    total = sum(values)\n{BETTER}\n"
DONE = Say("Adds a mean, which fails on nothing.")
POLICY = ".github/agent.yml"


def report(**given: Any) -> Call:
    arguments: dict[str, Any] = {"path": "stats.py", "line": 3, "severity": "major", "kind": "crash"}
    return Call("report_finding", {**arguments, "title": "Fails on nothing", "body": "B.", **given})


@dataclass
class Reviews:
    """One pull request by a maintainer, and its reviews."""

    stage: Stage
    number: int = 0

    def push(self, **files: str) -> str:
        named = {name.replace("_py", ".py"): text for name, text in files.items()}
        return self.stage.forge.commit(self.stage.repo, named, branch="topic", author=MIRA)

    def open(self, **files: str) -> Reviews:
        self.push(**files)
        self.number = self.stage.forge.open_pull(self.stage.repo, MIRA, "topic")
        return self

    def asked(self, *steps: Step, said: str = "/agent review", token: str | None = None) -> list[str]:
        """One review and its publishing; what the model was told, by request."""
        _, event = self.stage.forge.comment(self.stage.repo, self.number, MIRA, said)
        told = self.run(event, "issue_comment", VIEW, *steps)
        published = self.stage.publish(token=token or self.token("write"))
        assert published.code == 0, published.output
        assert "no pull request" not in published.output
        return told

    def run(self, event: Any, name: str, *steps: Step) -> list[str]:
        ran = self.stage.run(model=[*steps, DONE], event=event, name=name, token=self.token("read"))
        told = [json.dumps(one.json["messages"][-1]) for one in ran.requests]
        assert ran.code == 0, ran.output
        return told

    def token(self, contents: Any) -> str:
        granted: Any = {"contents": contents, "issues": "write", "pull_requests": "write", "checks": "write"}
        return self.stage.forge.token(permissions=granted, repo=self.stage.repo)

    @property
    def posted(self) -> list[Any]:
        return list(self.stage.get(f"pulls/{self.number}/reviews"))

    @property
    def states(self) -> list[str]:
        return [one["state"] for one in self.posted]

    def comments(self, replies: bool = False) -> list[Any]:
        every = self.stage.get(f"pulls/{self.number}/comments?per_page=100")
        return [one for one in every if bool(one.get("in_reply_to_id")) == replies]

    @property
    def last_word(self) -> str:
        return self.stage.bot_comments(self.number)[-1]


@pytest.fixture
def reviews(stage: Stage) -> Reviews:
    return Reviews(stage)


@pytest.mark.slow
def test_asked_for_it_is_one_review_with_suggestions(reviews: Reviews):
    reviews.open(stats_py=CODE)
    reviews.asked(report(suggestion=BETTER), report(line=0, title="No test", severity="note"))
    (made,) = reviews.posted
    assert made["body"].startswith("**2 findings:** 1 major, 1 note\n\nAdds a mean, which fails on nothing.")
    (remark,) = reviews.comments()
    assert (remark["path"], remark["line"], remark["side"]) == ("stats.py", 3, "RIGHT")
    assert f"```suggestion\n{BETTER}\n```" in remark["body"]
    assert reviews.last_word.startswith("**Reviewed:** [2 findings](")


TESTS = """\
import unittest

from stats import mean


class Mean(unittest.TestCase):
    def test_of_two(self):
        self.assertEqual(mean([1, 3]), 2)
"""
TESTED = "version: 1\nchecks: [python3 -m unittest]\n"


@pytest.mark.slow
@pytest.mark.checks
def test_a149_on_a_fork_it_is_read_only_and_no_test_of_the_fork_is_run(reviews: Reviews, stage: Stage):
    stage.forge.commit(stage.repo, {POLICY: TESTED})
    fork = stage.forge.fork(stage.repo, "jonas-weber")
    files = {"stats.py": CODE, "test_stats.py": TESTS}
    stage.forge.commit(fork, files, branch="topic", author="jonas-weber")
    reviews.number = stage.forge.open_pull(stage.repo, "jonas-weber", "jonas-weber:topic")
    told = reviews.asked(report(suggestion=BETTER), shell("id"))
    assert 'no tool \\"bash\\"' in told[3]
    (remark,) = reviews.comments()
    assert "```suggestion" in remark["body"]


@pytest.mark.slow
def test_a_fix_ends_the_request_for_changes_and_resolves_the_thread(reviews: Reviews):
    reviews.stage.forge.commit(reviews.stage.repo, {POLICY: "review: { request_changes: true }\n"})
    reviews.open(stats_py=CODE)
    reviews.asked(report(), report(line=0, title="No test", kind="missing-test", severity="note"))
    assert reviews.states == ["CHANGES_REQUESTED"]
    head = reviews.push(stats_py=FIXED)
    told = reviews.asked()
    assert "stats.py, major, crash: Fails on nothing (on lines that have changed since)" in told[0]
    assert reviews.states[0] == "DISMISSED"
    [answer] = reviews.comments(replies=True)
    assert answer["body"].strip() == f"No longer found as of {head}."
    assert f"No longer found as of {head}: No test." in reviews.posted[0]["body"]
    assert reviews.last_word.startswith("**No new findings.** No earlier finding is open.")


WONT_FIX = "Won't fix: it never is empty."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("login", "words", "settles"),
    [(MIRA, WONT_FIX, True), ("jonas-weber", WONT_FIX, False), (MIRA, "", True)],
)
def test_a_maintainers_wont_fix_or_a_resolved_thread_settles_a_finding_and_a_strangers_word_does_not(
    reviews: Reviews, login: str, words: str, settles: bool
):
    """A-130: who may not push here silences no finding. Without `words` the thread is resolved."""
    reviews.open(stats_py=CODE)
    reviews.asked(report())
    [comment] = reviews.comments()
    forge, repo = reviews.stage.forge, reviews.stage.repo
    if words:
        forge.reply(repo, comment["id"], login, words)
    else:
        forge.resolve(repo, comment["id"], login)
    told = reviews.asked(report(title="Division by zero", severity="critical"), said="/agent review --full")
    assert "An earlier review has this finding" in told[2]
    assert len(reviews.comments()) == 1
    ending = "No earlier finding is open." if settles else "1 major finding is still open"
    assert reviews.last_word.startswith(f"**No new findings.** {ending}")


def test_refused_reports_are_told_and_never_end_as_no_findings(reviews: Reviews):
    reviews.open(stats_py=CODE)
    wrong = [report(line=90 + n, title=f"Wrong {n}") for n in range(4)]
    told = reviews.asked(wrong, Say("All said."))
    assert "reports of yours were refused" in told[3]
    [posted] = reviews.posted
    assert posted["body"].startswith(
        "**No finding could be placed:** 4 reports of the model match no place in the diff."
    )
    assert (
        "a report that was refused: Wrong 0 (stats.py line 90): Its lines are not in the diff"
        in posted["body"]
    )


@pytest.mark.slow
def test_a_second_review_is_shown_two_new_lines_and_not_all_802(reviews: Reviews):
    lines = [f"value_{n} = {n}  # one of eight hundred lines\n" for n in range(800)]
    reviews.open(long_py="".join(lines))
    first = reviews.asked()
    reviews.push(long_py="".join([*lines[:400], "new_one = 1\nnew_two = 2\n", *lines[400:]]))
    second = reviews.asked()
    assert "+new_one = 1" in second[0]
    assert "  value_399 = 399" in second[0]
    assert "value_100 = 100" not in second[0]
    assert len(second[0]) < 6_000 < 40_000 < len(first[0])
    assert len(second) == 2


@pytest.mark.slow
def test_what_did_not_fit_is_looked_at_first_next_time_until_nothing_is_left(reviews: Reviews):
    """300 files with 1.3 million characters: three parts an event, and the fourth event has nothing to look at."""
    rows = "".join(f"    value_{n} = {n} * total\n" for n in range(100))
    files = {f"pkg/m{n:03}.py": f"def f{n}(total):\n{rows}    return total\n" for n in range(298)}
    reviews.open(**files, **{"docs/guide.md": "x\n", "action.yml": "on: push\n"})
    shown: list[set[str]] = []
    for event in range(3):
        told = reviews.asked(Say("One part."), Say("Another part."))
        texts = "\n".join(told)
        shown.append({name for name in (*files, "docs/guide.md", "action.yml") if f"## {name} (" in texts})
        if event < 2:
            body = reviews.posted[-1]["body"]
            waiting = 300 - sum(map(len, shown))
            assert body.startswith("**No findings in what was looked at.**")
            assert f"**Not looked at yet:** {waiting} files. The next review begins with them: `pkg/m" in body
    assert sum(map(len, shown)) == len(set().union(*shown)) == 300
    assert "action.yml" in shown[0]
    assert reviews.last_word.startswith("**No findings.**")
    assert reviews.asked() == []


# Posted from a terminal


MEAN = "def mean(values):\n    return sum(values) / len(values)\n"
FOUND = {
    "path": "stats.py",
    "line": 2,
    "severity": "major",
    "kind": "crash",
    "title": "Fails on nothing",
    "body": "B.",
}


@pytest.fixture
def number(stage: Stage) -> int:
    stage.forge.commit(stage.repo, {"stats.py": MEAN}, branch="topic", author=MIRA)
    return stage.forge.open_pull(stage.repo, MIRA, "topic")


@pytest.fixture
def clone(stage: Stage, tmp_path: Path) -> Path:
    folder = stage.clone(tmp_path / "clone")
    git(folder, "switch", "-q", "topic")
    return folder


def posted(cli: Cli, stage: Stage, clone: Path, *steps: Any) -> tuple[CommandResult, int]:
    ran = cli(
        "review", "--repo", clone, "--base", "origin/main", "--model", MODEL, "--post",
        model=[VIEW, *steps, Say("Adds a mean.")], GH_HOST=stage.forge.url.partition("://")[2],
        GH_ENTERPRISE_TOKEN=stage.sample.maintainer_token,
    )  # fmt: skip
    return ran, len(ran.requests)


@pytest.mark.slow
@pytest.mark.usefixtures("number")
def test_the_review_is_on_the_pull_request_and_a_second_one_asks_no_model(
    cli: Cli, stage: Stage, clone: Path, number: int
):
    (clone / ".github" / "agent.yml").write_text("version: 1\nsetup: ['true']\n")
    ran, _ = posted(cli, stage, clone, Call("report_finding", FOUND))
    assert ran.code == 0, ran.output
    assert "setup: true" in ran.err
    [comment] = stage.get(f"pulls/{number}/comments")
    assert (comment["path"], comment["line"], comment["user"]["login"]) == ("stats.py", 2, MIRA)
    ran, requests = posted(cli, stage, clone)
    assert (ran.code, requests) == (0, 0)
    assert "Nothing of the diff is new since" in ran.out
    assert "setup: true" not in ran.err


@pytest.mark.usefixtures("number")
def test_a_head_that_is_not_pushed_and_a_branch_without_a_pull_request_are_said(
    cli: Cli, stage: Stage, clone: Path
):
    (clone / "more.py").write_text("x = 1\n")
    commit_all(clone, "More")
    ran, requests = posted(cli, stage, clone)
    assert (ran.code, requests) == (2, 0)
    assert "push or pull first" in ran.err
    git(clone, "switch", "-q", "-c", "other")
    ran, _ = posted(cli, stage, clone)
    assert ran.code == 2
    assert "The branch other has no open pull request in riverbend/tidytime" in ran.err
    assert stage.writes() == []


@pytest.mark.usefixtures("number")
def test_a134_a_token_does_not_go_to_a_repository_that_is_on_another_server(
    cli: Cli, stage: Stage, clone: Path
):
    git(clone, "remote", "set-url", "origin", f"https://elsewhere.example/{stage.repo}")
    ran, requests = posted(cli, stage, clone)
    assert (ran.code, requests) == (2, 0)
    assert "There is no token for elsewhere.example" in ran.err

"""Which branch a result goes to: the decision alone."""

from __future__ import annotations

import pytest

from bot.contracts.errors import PublishError
from bot.contracts.threads import Account
from bot.github.values import PullData
from bot.publish.change.target import Candidate, choose_target
from bot.publish.own_pulls import OwnPull

NAME = "agent/issue-7-totals"
OLD, NEW, OTHER = "1" * 40, "2" * 40, "3" * 40


def pull(number: int, branch: str) -> PullData:
    author = Account("slash-agent[bot]", 9, "Bot")
    return PullData(number, f"https://x/{number}", "t", "b", branch, OLD, "octo/hello", "main", author)


def own(branch: str, recorded: str = OLD, *, untouched: bool = True) -> Candidate:
    one = OwnPull(pull(8 if branch == NAME else 9, branch), {"head": recorded})
    return Candidate(one, untouched=untouched)


OLDER = "agent/issue-7-older"


@pytest.mark.parametrize(
    ("heads", "pulls", "branch", "expected", "number"),
    [
        ({}, [], NAME, "", 0),
        ({NAME: OLD}, [own(NAME)], NAME, OLD, 8),
        ({OLDER: OLD}, [own(OLDER)], OLDER, OLD, 9),
        ({NAME: OTHER}, [own(NAME, untouched=False)], f"{NAME}-2", "", 0),
        ({NAME: OTHER, f"{NAME}-2": OTHER}, [], f"{NAME}-3", "", 0),
        ({NAME: NEW}, [], NAME, NEW, 0),  # from a run that could not open its pull request
        ({NAME: NEW}, [own(NAME)], NAME, NEW, 8),  # a push without its edit is finished
    ],
)
def test_what_branch_and_pull_request_a_result_goes_to(
    heads: dict[str, str], pulls: list[Candidate], branch: str, expected: str, number: int
) -> None:
    target = choose_target(NAME, NEW, heads, pulls)
    assert (target.branch, target.expected, target.done) == (branch, expected, False)
    assert (target.pull.number if target.pull else 0) == number
    assert target.left_alone == tuple(one.own.pull.number for one in pulls if not one.untouched)


def test_the_second_time_there_is_nothing_to_do() -> None:
    pulls = [own(NAME, untouched=False), own(f"{NAME}-2", NEW)]
    target = choose_target(NAME, NEW, {NAME: OTHER, f"{NAME}-2": NEW}, pulls)
    assert target.done
    assert target.pull is pulls[1].own.pull


@pytest.mark.parametrize(
    "other", [f"{NAME}/part", f"{NAME}/a/b", "agent/Issue-7-Totals", "agent/ISSUE-7-totals/x"]
)
def test_a_name_that_git_cannot_keep_beside_another_is_not_chosen(other: str) -> None:
    assert choose_target(NAME, NEW, {other: OTHER}, []).branch == f"{NAME}-2"


def test_a_hundred_taken_names_are_a_sentence() -> None:
    heads = {NAME: OTHER} | {f"{NAME}-{number}": OTHER for number in range(2, 200)}
    with pytest.raises(PublishError, match="taken"):
        choose_target(NAME, NEW, heads, [])

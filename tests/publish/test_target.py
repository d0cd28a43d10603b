"""Which branch a result goes to: the decision alone."""

from __future__ import annotations

import pytest

from bot.contracts.errors import PublishError
from bot.contracts.threads import Account
from bot.github.values import PullData
from bot.publish.change.target import OwnPull, choose_target

NAME = "agent/issue-7-totals"
OLD, NEW, OTHER = "1" * 40, "2" * 40, "3" * 40


def pull(number: int, branch: str) -> PullData:
    author = Account("slash-agent[bot]", 9, "Bot")
    return PullData(number, f"https://x/{number}", "t", "b", branch, OLD, "octo/hello", "main", author)


def test_a_new_result_gets_the_plain_name() -> None:
    target = choose_target(NAME, NEW, {}, [])
    assert (target.branch, target.expected, target.pull) == (NAME, "", None)


def test_our_open_pull_request_is_updated() -> None:
    own = OwnPull(pull(8, NAME), OLD, untouched=True)
    target = choose_target(NAME, NEW, {NAME: OLD}, [own])
    assert (target.branch, target.expected, target.pull) == (NAME, OLD, own.pull)


def test_our_pull_request_is_updated_even_under_an_older_title() -> None:
    own = OwnPull(pull(8, "agent/issue-7-older"), OLD, untouched=True)
    assert choose_target(NAME, NEW, {"agent/issue-7-older": OLD}, [own]).branch == "agent/issue-7-older"


def test_what_others_committed_to_is_left_alone() -> None:
    own = OwnPull(pull(8, NAME), OLD, untouched=False)
    target = choose_target(NAME, NEW, {NAME: OTHER}, [own])
    assert (target.branch, target.expected, target.pull) == (f"{NAME}-2", "", None)
    assert target.left_alone == (8,)


def test_a_name_that_somebody_took_is_not_touched() -> None:
    target = choose_target(NAME, NEW, {NAME: OTHER, f"{NAME}-2": OTHER}, [])
    assert (target.branch, target.expected) == (f"{NAME}-3", "")


def test_a_branch_with_this_very_commit_is_used_again() -> None:
    target = choose_target(NAME, NEW, {NAME: NEW}, [])
    assert (target.branch, target.expected, target.pull) == (NAME, NEW, None)


def test_the_second_time_there_is_nothing_to_do() -> None:
    touched = OwnPull(pull(8, NAME), OLD, untouched=False)
    second = OwnPull(pull(9, f"{NAME}-2"), NEW, untouched=True)
    target = choose_target(NAME, NEW, {NAME: OTHER, f"{NAME}-2": NEW}, [touched, second])
    assert target.done
    assert target.pull is second.pull


def test_a_push_without_its_edit_is_finished() -> None:
    own = OwnPull(pull(8, NAME), OLD, untouched=True)
    target = choose_target(NAME, NEW, {NAME: NEW}, [own])
    assert not target.done
    assert (target.expected, target.pull) == (NEW, own.pull)


@pytest.mark.parametrize(
    "other", [f"{NAME}/part", f"{NAME}/a/b", "agent/Issue-7-Totals", "agent/ISSUE-7-totals/x"]
)
def test_a_name_that_git_cannot_keep_beside_another_is_not_chosen(other: str) -> None:
    assert choose_target(NAME, NEW, {other: OTHER}, []).branch == f"{NAME}-2"


def test_a_hundred_taken_names_are_a_sentence() -> None:
    heads = {NAME: OTHER} | {f"{NAME}-{number}": OTHER for number in range(2, 200)}
    with pytest.raises(PublishError, match="taken"):
        choose_target(NAME, NEW, heads, [])

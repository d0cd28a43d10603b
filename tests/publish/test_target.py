"""Which branch a new pull request gets."""

import pytest

from bot.contracts.errors import PublishError
from bot.publish.change.pull_request import free_branch

NAME = "agent/issue-7-totals"
NEW, OTHER = "2" * 40, "3" * 40


@pytest.mark.parametrize(
    ("heads", "branch"),
    [
        ({}, NAME),
        ({NAME: OTHER}, f"{NAME}-2"),
        ({NAME: OTHER, f"{NAME}-2": OTHER}, f"{NAME}-3"),
        ({NAME: NEW}, NAME),  # from a run that could not open its pull request
        # Names that git cannot keep beside ours.
        ({f"{NAME}/part": OTHER}, f"{NAME}-2"),
        ({f"{NAME}/a/b": OTHER}, f"{NAME}-2"),
        ({"agent/Issue-7-Totals": OTHER}, f"{NAME}-2"),
        ({"agent/ISSUE-7-totals/x": OTHER}, f"{NAME}-2"),
    ],
)
def test_the_first_free_name_is_taken(heads: dict[str, str], branch: str):
    assert free_branch(NAME, NEW, heads, set()) == branch
    assert free_branch(NAME, NEW, heads, {branch}) != branch


def test_a_hundred_taken_names_are_a_sentence():
    heads = {NAME: OTHER} | {f"{NAME}-{number}": OTHER for number in range(2, 200)}
    with pytest.raises(PublishError, match="taken"):
        free_branch(NAME, NEW, heads, set())

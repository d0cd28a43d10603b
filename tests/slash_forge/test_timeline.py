"""What happened to threads; searching them; labels of a repository."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Connect, Wire, refusal

WireTo = Callable[..., Wire]


def test_labelling_and_assigning_have_times_of_their_own(forge: Forge, repo: Repository) -> None:
    number = forge.create_issue(REPO, "eve", "x", labels=["bug"], at="2026-01-01T00:00:00Z")
    issue = repo.get_issue(number)
    issue.add_to_labels("agent")
    issue.remove_from_labels("bug")
    forge.assign(REPO, number, "ada", "tom")
    forge.label(REPO, number, "ada", "urgent", "agent")
    result = list(repo.get_issue(number).get_events())
    assert [(one.event, one.actor.login) for one in result] == [
        ("labeled", "eve"),
        ("labeled", "github-actions[bot]"),
        ("unlabeled", "github-actions[bot]"),
        ("assigned", "ada"),
        ("labeled", "ada"),
    ]
    assert [one.label.name for one in result if one.label] == ["bug", "agent", "bug", "urgent"]
    assert (result[3].assignee.login, result[3].assigner.login) == ("tom", "ada")
    assert repo.get_issue(number).raw_data["updated_at"] == "2026-01-01T00:00:00Z"


def test_states_locks_and_titles_are_in_it_too(forge: Forge, repo: Repository) -> None:
    issue = repo.create_issue("Old")
    issue.edit(title="New")
    issue.edit(state="closed", state_reason="not_planned")
    issue.edit(state="open")
    issue.lock("resolved")
    issue.unlock()
    assert [one.event for one in issue.get_events()] == [
        "renamed",
        "closed",
        "reopened",
        "locked",
        "unlocked",
    ]
    forge.set_thread(REPO, issue.number, state="closed")
    assert next(one.event for one in repo.get_issues_events()) == "closed"


def test_a_timeline_mixes_events_and_words(forge: Forge, repo: Repository) -> None:
    forge.commit(REPO, {"x": "y"}, branch="topic")
    number = forge.open_pull(REPO, "ada", "topic")
    forge.label(REPO, number, "ada", "bug")
    forge.comment(REPO, number, "eve", "Nice")
    forge.review(REPO, number, "tom", "Good", state="APPROVED")
    assert [one.event for one in repo.get_issue(number).get_timeline()] == [
        "labeled",
        "commented",
        "reviewed",
    ]


@pytest.fixture
def threads(forge: Forge) -> None:
    forge.create_issue(
        REPO, "eve", "It subtracts", "The sum is wrong", labels=["bug"], at="2026-01-01T00:00:00Z"
    )
    forge.create_issue(REPO, "ada", "Docs", at="2026-02-01T00:00:00Z")
    forge.commit(REPO, {"x": "y"}, branch="topic")
    forge.open_pull(REPO, "ada", "topic", title="Add it up", draft=True, at="2026-03-01T00:00:00Z")
    forge.set_thread(REPO, 2, state="closed")
    forge.create_repository("acme", "secret", private=True)
    forge.create_issue("acme/secret", "acme", "It subtracts")


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("is:issue", [2, 1]),
        ("is:pr", [3]),
        ("is:pr is:draft head:topic base:main", [3]),
        ("is:issue is:open", [1]),
        ("is:issue state:closed", [2]),
        ("is:issue author:ada", [2]),
        ("is:issue -author:ada", [1]),
        ("is:issue label:bug", [1]),
        ("is:issue no:label", [2]),
        ("is:issue created:>=2026-01-15", [2]),
        ("is:issue wrong", [1]),
        ("is:issue wrong in:title", []),
        ('is:issue "it subtracts" in:title', [1]),
        ("is:issue org:acme", [2, 1]),
        ("is:issue repo:other/lib", []),
    ],
)
def test_searching(wire: WireTo, threads: None, query: str, numbers: list[int]) -> None:
    answer = wire().api("GET", f"/search/issues?q={query.replace(' ', '+').replace('>', '%3E')}").json
    assert ([one["number"] for one in answer["items"]], answer["total_count"]) == (numbers, len(numbers))


def test_a_search_says_which_kind(wire: WireTo, threads: None) -> None:
    for query in ("wrong", "", "is:issue+colour:red"):
        assert wire().api("GET", f"/search/issues?q={query}").status == 422


def test_private_threads_are_found_by_their_own(forge: Forge, connect: Connect, threads: None) -> None:
    matches = connect(forge.token("acme")).search_issues("is:issue subtracts", sort="created", order="asc")
    assert [one.repository.full_name for one in matches] == [REPO, "acme/secret"]


def test_labels_are_renamed_and_removed_everywhere(forge: Forge, repo: Repository) -> None:
    number = forge.create_issue(REPO, "eve", "x", labels=["bug"])
    label = repo.get_label("bug")
    label.edit("defect", "ff0000", "Wrong")
    assert [one.name for one in repo.get_issue(number).labels] == ["defect"]
    with refusal(422, "already_exists"):
        label.edit("wontfix", "ff0000")
    label.delete()
    assert repo.get_issue(number).labels == []
    with refusal(404):
        repo.get_label("defect")

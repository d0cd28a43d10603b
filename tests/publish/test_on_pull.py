"""A change to a pull request's head: onto it, onto a pull request of our own, and never over anybody's work."""

from dataclasses import replace
from typing import Any

import pytest

from bot.checkout.git import Git
from bot.contracts.errors import GateError, PublishError
from bot.contracts.pulls import PullRequest, PullState
from bot.policy.settings import Policy
from bot.publish.bundle import Bundle
from bot.publish.change.on_pull import PullHeadState, may_go_onto, own_target
from bot.publish.remote import Remote
from tests.publish.conftest import FIXED, REPO, World

BRANCH = "agent/pr-{}-round-totals-once-at-the-end"
POLICY = ".github/agent.yml"


def theirs(world: World, branch: str = "topic", **files: str) -> int:
    """A person's pull request from a branch of this repository."""
    world.forge.commit(REPO, {"notes.md": "draft\n", **files}, branch=branch, author="ann")
    return world.open(branch)


def forked(world: World, **files: str) -> int:
    """Bob's pull request from his fork."""
    fork = world.forge.fork(REPO, "bob")
    world.forge.commit(fork, {"notes.md": "bob's\n", **files}, branch="topic", author="bob")
    return world.open("bob:topic", "bob")


def bundle_on(world: World, number: int, *, changes: dict[str, str] | None = None, **fields: Any) -> Bundle:
    outcome = world.on_pull(number, **fields)
    return world.bundle(changes, request=outcome.request)


def parent(world: World, sha: str) -> str:
    return world.commit(sha).split("parent ", 1)[1][:40]


def set_policy(world: World, text: str) -> None:
    world.forge.commit(REPO, {POLICY: text})


# Onto the head of a person's pull request


def test_a_fix_on_somebodys_pull_request_is_one_draft_onto_its_branch(world: World):
    number = theirs(world)
    head = world.branches()["topic"]
    bundle = bundle_on(world, number)
    published = world.publish(bundle)
    pull = world.pulls()[0]
    assert published.created
    assert (pull["head"]["ref"], pull["base"]["ref"], pull["draft"]) == (BRANCH.format(number), "topic", True)
    assert parent(world, published.commit) == head
    assert world.branches()["topic"] == head
    assert f"Merging this adds its commit to #{number}" in pull["body"]
    assert f"Refs #{number}" in pull["body"]
    # Published again it changes nothing,
    before = (world.branches(), world.pulls(), world.writes())
    again = world.publish(bundle)
    assert (world.branches(), world.pulls(), world.writes()) == before
    assert (again.pr_number, again.created) == (published.pr_number, False)
    # and it is found after it was squashed, its branch deleted, and the pull request that it is for closed.
    world.forge.merge(REPO, published.pr_number, "ann", "squash")
    world.forge.delete_branch(REPO, published.branch)
    assert (world.publish(bundle).pr_number, len(world.pulls())) == (published.pr_number, 2)
    world.forge.set_thread(REPO, number, state="closed")
    assert world.publish(bundle).pr_number == published.pr_number


# Onto the head itself


@pytest.mark.slow
def test_where_policy_says_so_one_commit_goes_onto_the_head(world: World):
    set_policy(world, "push_to_head: true\n")
    number = theirs(world)
    head = world.branches()["topic"]
    bundle = bundle_on(world, number)
    published = world.publish(bundle)
    assert world.branches()["topic"] == published.commit
    assert parent(world, published.commit) == head
    assert world.show(published.commit, "invoice.py") == FIXED
    assert (published.pr_number, published.created, published.branch) == (number, False, "topic")
    assert published.pr_url == world.api(f"/pulls/{number}")["html_url"]
    assert len(world.pulls()) == 1
    comment = world.comments(number)[-1]
    assert published.commit in comment
    assert "Totals were rounded" in comment
    assert "Refs #" not in comment
    # Published again it changes nothing,
    before = (world.branches(), world.comments(number), world.writes())
    assert world.publish(bundle).commit == published.commit
    assert (world.branches(), world.comments(number), world.writes()) == before
    # nor does it when others went on.
    later = world.forge.commit(REPO, {"notes.md": "later\n"}, branch="topic", author="ann")
    world.publish(bundle)
    assert world.branches()["topic"] == later
    assert len(world.pulls()) == 1


@pytest.mark.slow
def test_onto_a_protected_head_it_is_a_pull_request_onto_its_branch(world: World):
    set_policy(world, "push_to_head: true\n")
    number = theirs(world)
    bundle = bundle_on(world, number)
    world.forge.protect(REPO, "topic")
    published = world.publish(bundle)
    assert published.created
    opened = world.api(f"/pulls/{published.pr_number}")
    assert opened["base"]["ref"] == "topic"
    assert "refused by a rule of the repository" in opened["body"]


@pytest.mark.slow
def test_the_policy_of_the_head_is_not_asked(world: World):
    number = theirs(world, **{POLICY: "push_to_head: true\nidentity: {name: evil, email: e@evil.example}\n"})
    published = world.publish(bundle_on(world, number))
    assert published.created
    assert "evil" not in world.commit(published.commit)


@pytest.mark.slow
def test_rules_are_the_base_branchs_as_it_is_now(world: World):
    number = theirs(world)
    bundle = bundle_on(world, number)
    set_policy(world, "rules:\n  - {effect: deny, paths: [invoice.py]}\n")
    with pytest.raises(GateError, match=r"invoice\.py"):
        world.publish(bundle)


PULL = PullRequest(9, PullState.OPEN, False, "bob", "b" * 40, "topic", REPO, "main", "a" * 40)
FORK = PULL._replace(head_repository="bob/hello")
PLAIN = Policy("agent.yml")
HERE = replace(PLAIN, push_to_head=True)


@pytest.mark.parametrize(
    ("pull", "state", "policy", "onto_head", "base", "note"),
    [
        (PULL, "", PLAIN, False, "topic", "Merging this adds its commit to #9."),
        (PULL, "", HERE, True, "topic", "Merging this adds its commit to #9."),
        (PULL, "ours", PLAIN, True, "topic", "Merging this adds its commit to #9."),
        (PULL, "moved", HERE, False, "topic", "this was made without its latest commits."),
        (PULL, "ours moved", PLAIN, False, "topic", "this was made without its latest commits."),
        (PULL._replace(head_ref="trunk"), "", HERE, False, "trunk", "Merging"),  # the default branch
        (PULL._replace(head_ref="main"), "ours", HERE, False, "main", "Merging"),  # its base
        (FORK, "fork", PLAIN, False, "main", "the commits of #9 by bob from bob/hello"),
        (FORK, "fork", HERE, False, "main", "the commits of #9 by bob from bob/hello"),
        (FORK, "fork moved", PLAIN, False, "main", "this was made without its latest commits."),
        (FORK._replace(head_repository=""), "fork", PLAIN, False, "main", "from the deleted fork of bob"),
    ],
)
def test_where_a_change_goes(
    pull: PullRequest, state: str, policy: Policy, onto_head: bool, base: str, note: str
):
    head = PullHeadState(pull, "fork" in state, "ours" in state, "moved" in state)
    assert may_go_onto(head, policy, "trunk") is onto_head
    target, words = own_target(head)
    assert (target, note in words) == (base, True)


# Our own


def test_on_our_own_pull_request_a_commit_is_added_that_no_other_result_takes_away(world: World):
    issue_base = world.base_sha
    opening = world.bundle({"README.md": "Bye\n"})
    number = world.publish(opening).pr_number
    [branch] = set(world.branches()) - {"main"}
    first = world.branches()[branch]
    published = world.publish(bundle_on(world, number))
    assert parent(world, published.commit) == first
    assert world.branches() == {"main": world.branches()["main"], branch: published.commit}
    assert [pull["number"] for pull in world.pulls()] == [number]
    # Not an older result that is published again,
    again = world.publish(opening)
    assert (again.pr_number, again.created) == (number, False)
    assert world.branches()[branch] == published.commit
    # nor a later run on the issue.
    world.base_sha = issue_base
    later = world.publish(world.bundle({"README.md": "Hello again\n"}))
    assert later.pr_number != number
    assert published.commit in world.branches().values()
    assert f"There are later commits on #{number}" in world.pulls()[0]["body"]


# A head that moves


def test_a_head_that_moves_is_not_overwritten(world: World, monkeypatch: pytest.MonkeyPatch):
    set_policy(world, "push_to_head: true\n")
    number = theirs(world)
    bundle = bundle_on(world, number)
    push_onto = Remote.push_onto
    later: list[str] = []

    def somebody_is_quicker(self: Remote, *args: Any, **options: Any) -> None:
        later.append(world.forge.commit(REPO, {"notes.md": "later\n"}, branch="topic", author="ann"))
        push_onto(self, *args, **options)

    monkeypatch.setattr(Remote, "push_onto", somebody_is_quicker)
    published = world.publish(bundle)
    assert world.branches()["topic"] == later[0]
    assert published.created
    assert "has moved on" in world.pulls()[0]["body"]


def test_a_head_that_was_rewritten_gets_nothing_and_the_thread_is_told(world: World):
    number = theirs(world)
    bundle = bundle_on(world, number)
    Git(world.forge.git_folder(REPO)).run("update-ref", "refs/heads/topic", world.branches()["main"])
    rewritten = world.forge.commit(REPO, {"notes.md": "other\n"}, branch="topic", author="ann")
    with pytest.raises(PublishError, match="its head was rewritten"):
        world.publish(bundle)
    assert set(world.branches()) == {"main", "topic"}
    assert world.branches()["topic"] == rewritten
    assert "changes.patch" in world.comments(number)[-1]


@pytest.mark.slow
@pytest.mark.parametrize("push", [True, False])
def test_a_pull_request_closed_in_the_meantime_gets_nothing(world: World, push: bool):
    set_policy(world, f"push_to_head: {str(push).lower()}\n")
    number = theirs(world)
    bundle = bundle_on(world, number)
    world.forge.set_thread(REPO, number, state="closed")
    before = world.branches()
    with pytest.raises(PublishError, match=f"#{number} was closed while"):
        world.publish(bundle)
    assert world.branches() == before


# Forks


def test_a_forks_pull_request_gets_one_and_one_only_here_with_its_commits_and_ours(world: World):
    number = forked(world)
    bundle = bundle_on(world, number)
    head = world.base_sha
    published = world.publish(bundle)
    pull = world.pulls()[0]
    assert (pull["head"]["ref"], pull["base"]["ref"], pull["draft"]) == (BRANCH.format(number), "main", True)
    assert parent(world, published.commit) == head
    assert world.show(published.commit, "notes.md") == "bob's\n"
    assert world.branches("bob/hello")["topic"] == head
    assert f"the commits of #{number} by bob from bob/hello" in pull["body"]
    # Published again it changes nothing.
    before = (world.branches(), world.pulls(), world.writes())
    assert world.publish(bundle).pr_number == published.pr_number
    assert (world.branches(), world.pulls(), world.writes()) == before


@pytest.mark.slow
def test_a_forks_code_is_not_put_where_workflows_would_run_it_unless_it_was_read(world: World):
    set_policy(world, "pull_request: {ci: start}\n")
    number = forked(world)
    bundle = bundle_on(world, number)
    token = world.app_token()
    with pytest.raises(PublishError, match=rf"name its commit: `/agent fix --sha {world.base_sha} "):
        world.publish(bundle, token=token)
    assert set(world.branches()) == {"main"}
    outcome = bundle.outcome
    trusting = outcome._replace(request=outcome.request._replace(trusted_sha=world.base_sha))
    assert world.publish(bundle._replace(outcome=trusting), token=token).created


@pytest.mark.parametrize("path", [".github/workflows/ci.yml", "CODEOWNERS", ".gitattributes"])
def test_a_forks_commits_that_change_protected_paths_are_never_put_here(world: World, path: str):
    number = forked(world, **{path: "on: push\n"})
    bundle = bundle_on(world, number, trusted_sha=world.github().pull(number).head_sha)
    with pytest.raises(PublishError, match="not put on a branch of this repository"):
        world.publish(bundle)
    assert set(world.branches()) == {"main"}


@pytest.mark.slow
def test_what_the_base_branch_changed_meanwhile_is_not_held_against_the_fork(world: World):
    number = forked(world)
    bundle = bundle_on(world, number)
    world.forge.commit(REPO, {".github/workflows/ci.yml": "on: push\n"})
    assert world.publish(bundle).created


# A bundle that somebody changed


def changed(bundle: Bundle, **fields: Any) -> Bundle:
    outcome = bundle.outcome
    assert outcome.request.pull is not None
    pull = outcome.request.pull._replace(**fields)
    return bundle._replace(outcome=outcome._replace(request=outcome.request._replace(pull=pull)))


def test_what_a_bundle_says_of_the_head_counts_for_nothing(world: World):
    """That the head is a branch of ours, here: GitHub is asked."""
    set_policy(world, "{push_to_head: true, pull_request: {ci: start}}\n")
    number = forked(world)
    bundle = bundle_on(world, number)
    lie = changed(bundle, head_repository=REPO, head_ref="main", author="ann")
    main = world.branches()["main"]
    with pytest.raises(PublishError, match="name its commit"):
        world.publish(lie, token=world.forge.token("ann"))
    assert world.branches()["main"] == main
    assert world.branches("bob/hello")["topic"] == world.base_sha


def test_a_bundle_with_another_pull_request_head_or_base_is_refused(world: World):
    other = theirs(world, "other", **{"other.md": "x\n"})
    # Its policy lets more.
    world.forge.commit(REPO, {POLICY: "push_to_head: true\n"}, branch="lax", author="ann")
    # Neither the base branch's policy nor the pull request knows it: an orphan that somebody pushed elsewhere.
    stray = world.forge.commit(REPO, {"evil.md": "x\n"}, branch="stray", author="bob")
    bundle = bundle_on(world, theirs(world))
    thread = bundle.outcome.request.thread
    assert thread is not None

    def requesting(bundle: Bundle, **fields: Any) -> Bundle:
        outcome = bundle.outcome
        return bundle._replace(outcome=outcome._replace(request=outcome.request._replace(**fields)))

    of_stray = changed(bundle, head_sha=stray)
    of_other = changed(bundle, number=other)
    refused = [
        (of_other, "its thread is another"),
        (requesting(of_other, thread=thread._replace(number=other)), "is not part of"),
        (changed(bundle, head_sha="0" * 40), r"the head of #.* was 000000000000"),
        (of_stray._replace(outcome=of_stray.outcome._replace(base_sha=stray)), "is not part of"),
        (requesting(bundle, pull=None), "names no pull request"),
        (requesting(bundle, base_ref="lax"), "is main, and the run was for lax"),
    ]
    before = world.branches(), len(world.pulls())
    for lie, words in refused:
        with pytest.raises(PublishError, match=words):
            world.publish(lie)
    assert (world.branches(), len(world.pulls())) == before

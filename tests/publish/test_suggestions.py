"""A change to a fork's head as one review of suggestions: all of it or none, and what is applied is what was judged."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from bot.checkout.git import Git
from bot.contracts.errors import GateError
from bot.publish.bundle import Bundle
from tests.publish.conftest import REPO, World
from tests.publish.reviewed import Reviewed, text

FORK = "bob/hello"
LINES = [f"line {number}" for number in range(1, 41)]


class Forked(Reviewed):
    """Bob's pull request: line 20 of a.txt is another, and b.py is new. `bundle` is of one comment under it."""

    @property
    def head(self) -> str:
        return self.world.branches(FORK)["topic"]

    def bundle(self, changes: dict[str, str], **fields: Any) -> Bundle:
        outcome = self.world.on_pull(self.number, **fields)
        return self.world.bundle(changes, request=outcome.request)

    def push(self, files: dict[str, str]) -> str:
        return self.world.forge.commit(FORK, files, branch="topic", author="bob")

    def show(self, path: str) -> str:
        return Git(self.world.forge.git_folder(FORK)).run("cat-file", "blob", f"topic:{path}").decode()

    def apply(self) -> dict[str, str]:
        """What GitHub's button makes of the suggestions: each takes the place of the lines that it stands on."""
        files: dict[str, list[str]] = {}
        for one in sorted(self.remarks(), key=lambda one: -int(one["line"])):
            lines = files.setdefault(one["path"], self.show(one["path"]).split("\n"))
            found = re.fullmatch(r"(`{3,})suggestion\n((?:.*\n)*?)\1", one["body"])
            assert found, one["body"]
            lines[(one["start_line"] or one["line"]) - 1 : one["line"]] = found[2].split("\n")[:-1]
        return {path: "\n".join(lines) for path, lines in files.items()}


HEAD = {"a.txt": text([*LINES[:19], "twenty", *LINES[20:]]), "b.py": "x = 1\ny = 2\n"}


@pytest.fixture
def pull(world: World) -> Forked:
    world.forge.commit(REPO, {"a.txt": text(LINES), "c.txt": "c\n"})
    fork = world.forge.fork(REPO, "bob")
    world.forge.commit(fork, HEAD, branch="topic", author="bob")
    return Forked(world, world.open("bob:topic", "bob"))


FITS = {"a.txt": HEAD["a.txt"].replace("line 21\n", "line 21\nmore\n"), "b.py": "x = 1\ny = 3\n"}


def test_a_change_to_shown_lines_is_one_review_of_suggestions(pull: Forked):
    bundle = pull.bundle(FITS)
    published = pull.publish(bundle)
    (review,) = pull.reviews()
    assert (review["state"], review["commit_id"]) == ("COMMENTED", pull.head)
    assert review["body"].startswith("**2 suggestions, which belong together.**")
    assert "Totals were rounded" in review["body"]
    assert pull.apply() == FITS
    assert (published.pr_number, published.pr_url) == (pull.number, review["html_url"])
    assert published.suggested
    assert len(pull.world.pulls()) == 1
    assert set(pull.world.branches()) == {"main"}
    assert pull.head == pull.world.base_sha
    # Published again it changes nothing.
    before = pull.world.writes()
    assert pull.publish(bundle) == published
    assert pull.world.writes() == before


@pytest.mark.slow
@pytest.mark.parametrize("then", ["applied", "closed", "forks: pull_request\n"])
def test_published_again_when_things_went_on_it_is_still_found(pull: Forked, then: str):
    bundle = pull.bundle(FITS)
    pull.publish(bundle)
    if then == "applied":
        pull.push(pull.apply())
    elif then == "closed":
        pull.world.forge.set_thread(REPO, pull.number, state="closed")
    else:
        pull.world.forge.commit(REPO, {".github/agent.yml": then})
    before = pull.world.writes()
    assert pull.publish(bundle).suggested
    assert pull.world.writes() == before
    assert len(pull.world.pulls()) == 1


# What does not fit goes the other way, all of it


UNFIT: dict[str, tuple[dict[str, str], str]] = {
    "a line that is not shown": ({**FITS, "a.txt": FITS["a.txt"].replace("line 3\n", "3\n")}, "does not show"),
    "what does not show": ({"b.py": "x = '\u202e'\ny = 2\n"}, "characters that do not show"),
    "a credential": ({"b.py": "x = 1\ny = 'ghp_" + "a1B2" * 9 + "'\n"}, "looks like a credential"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("changes", UNFIT)
def test_what_does_not_fit_is_wholly_a_pull_request(pull: Forked, changes: str):
    wanted, why = UNFIT[changes]
    published = pull.publish(pull.bundle(wanted))
    assert published.created
    assert pull.reviews() == []
    assert pull.remarks() == []
    assert pull.world.pulls()[0]["base"]["ref"] == "main"
    assert why in pull.world.pulls()[0]["body"].replace("\\", "")
    for path, said in wanted.items():
        assert pull.world.show(published.commit, path) == said


def is_refused(pull: Forked) -> None:
    body = {"message": "Validation Failed", "errors": ["Line could not be resolved"]}
    pull.world.forge.fail_next("POST", r"/reviews$", 422, body=body)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (lambda pull: pull.push({"d.txt": "later\n"}), "moved on since"),
        (lambda pull: pull.world.forge.delete_repository(FORK), "the fork is deleted"),
        (is_refused, "could not be resolved"),
    ],
)
def test_where_suggestions_are_of_no_use_it_is_a_pull_request(
    pull: Forked, happens: Callable[[Forked], None], why: str
):
    bundle = pull.bundle(FITS)
    happens(pull)
    published = pull.publish(bundle)
    assert published.created
    assert pull.reviews() == []
    assert why in pull.world.pulls()[0]["body"]
    before = pull.world.writes()
    assert pull.publish(bundle).pr_number == published.pr_number
    assert (pull.reviews(), pull.world.writes()) == ([], before)


@pytest.mark.slow
def test_a_stranger_who_copies_the_mark_silences_nobody(pull: Forked):
    bundle = pull.bundle(FITS)
    pull.publish(bundle)
    copied = pull.reviews()[0]["body"]
    other = pull.bundle(FITS)
    trigger, was = other.outcome.request.trigger, bundle.outcome.request.trigger
    assert trigger is not None
    assert was is not None
    copied = copied.replace(f"request={was.comment_id}", f"request={trigger.comment_id}")
    pull.world.forge.review(REPO, pull.number, "bob", copied)
    pull.publish(other)
    assert [one["user"]["login"] for one in pull.reviews()].count("github-actions[bot]") == 2


# A bundle that somebody changed


@pytest.mark.parametrize("path", [".github/workflows/ci.yml", "CODEOWNERS"])
def test_a_protected_path_is_tampering_also_where_the_fork_has_it(world: World, path: str):
    fork = world.forge.fork(REPO, "bob")
    world.forge.commit(fork, {path: "one\n"}, branch="topic", author="bob")
    pull = Forked(world, world.open("bob:topic", "bob"))
    with pytest.raises(GateError, match="never published"):
        pull.publish(pull.bundle({path: "two\n"}))
    assert pull.reviews() == []

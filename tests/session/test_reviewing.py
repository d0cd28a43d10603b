"""What a review looks at, and what becomes of a finding: against a forge, without a model."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bot.agent.findings import AnchoredFinding
from bot.checkout.clone import Checkout, Source, check_out
from bot.checkout.git import Git
from bot.checkout.objects import diff_between
from bot.checkout.pull import PullHead
from bot.contracts.pulls import Finding, Severity, Side
from bot.review.diff import parse_diff
from bot.review.diff_text import pieces_of
from bot.session.context.review_scope import Reviewing, ReviewRange, pull_range
from slash_forge import Forge
from tests.support.files import write_file
from tests.support.repositories import commit_all, git, make_repository

REPO = "octo/hello"
LINES = [f"line {number}" for number in range(1, 41)]


def text(**replaced: str) -> str:
    lines = list(LINES)
    for name, line in replaced.items():
        lines[int(name[1:]) - 1] = line
    return "".join(f"{line}\n" for line in lines)


class Pull:
    """Pull request 1: lines 5 and 30 of a.txt change."""

    def __init__(self, forge: Forge, folder: Path) -> None:
        self.forge = forge
        self.folder = folder
        self._numbers: Iterator[int] = count()
        self.push(a=text(l5="five", l30="thirty"))
        self.number = forge.open_pull(REPO, "octo", "topic")

    def push(self, branch: str = "topic", **files: str) -> str:
        return self.forge.commit(
            REPO, {f"{name}.txt": content for name, content in files.items()}, branch=branch
        )

    def head(self) -> str:
        return str(self.forge.branch_sha(REPO, "topic"))

    def range(self, since: str = "") -> ReviewRange:
        token = self.forge.token("octo")
        merge_base = Git(self.forge.git_folder(REPO)).run("merge-base", "main", self.head()).decode().strip()
        head = PullHead(self.number, self.head(), merge_base)
        source = Source(self.forge.clone_url(REPO), "refs/heads/main", token, head)
        checkout: Checkout = check_out(source, self.folder / str(next(self._numbers)))
        return pull_range(checkout, source, since)

    def merge_main(self) -> str:
        """A merge of main into the branch, as the button `Update branch` makes one."""
        git = Git(self.forge.git_folder(REPO))
        tree = git.run("merge-tree", "--write-tree", "topic", "main").decode().split()[0]
        parents = ["-p", self.head(), "-p", str(self.forge.branch_sha(REPO))]
        who = {
            f"GIT_{role}_{field}": "x@x" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")
        }
        merge = git.run("commit-tree", tree, *parents, "-m", "Merge", env=who).decode().strip()
        git.run("update-ref", "refs/heads/topic", merge)
        return self.push(touched="1\n")


@pytest.fixture
def pull(tmp_path: Path) -> Iterator[Pull]:
    with Forge() as forge:
        forge.add_user("octo")
        source = tmp_path / "source"
        write_file(source / "a.txt", text())
        forge.create_repository("octo", "hello", source)
        yield Pull(forge, tmp_path / "runs")


def hunks(found: ReviewRange) -> dict[str, list[int]]:
    pieces = pieces_of(found.diff, found.since)
    return {piece.name: [hunk.new_start for hunk in piece.file.hunks] for piece in pieces}


def test_it_is_what_the_head_changes_since_it_left_the_base(pull: Pull):
    pull.push("main", a=text(l20="twenty on main"))
    found = pull.range()
    assert hunks(found) == {"a.txt": [2, 27]}
    assert found.head_sha == pull.head()
    assert found.since_sha == ""


def test_since_a_commit_it_is_what_was_pushed_after_it(pull: Pull):
    before = pull.head()
    pull.push(a=text(l5="five", l30="thirty!"), b="new\n")
    found = pull.range(before)
    assert hunks(found) == {"a.txt": [27], "b.txt": [1]}
    assert (found.since_sha, found.left_out) == (before, ())


def test_what_a_merge_of_the_base_brought_in_is_not_new(pull: Pull):
    before = pull.head()
    pull.push("main", a=text(l20="twenty on main"), c="from main\n")
    pull.merge_main()
    assert hunks(pull.range(before)) == {"touched.txt": [1]}


def test_where_the_last_commit_is_gone_it_is_the_whole_diff_and_says_so(pull: Pull):
    found = pull.range("f" * 40)
    assert hunks(found) == {"a.txt": [2, 27]}
    assert found.since_sha == ""
    assert "nothing: the commit that was reviewed last, ffffffffffff, is gone" in found.left_out[0]


def test_nothing_pushed_is_nothing_new(pull: Pull):
    reviewing = Reviewing(pull.range(pull.head()), 20)
    assert reviewing.nothing_new


# What becomes of a finding


ONE = Finding("a.txt", 5, Severity.MAJOR, "Title", "Body")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> ReviewRange:
    """Lines 5 and 30 of a.txt change."""
    repo = make_repository(tmp_path_factory.mktemp("changed") / "repo", {"a.txt": text()})
    (repo / "a.txt").write_text(text(l5="five", l30="thirty"))
    before, after = git(repo, "rev-parse", "HEAD"), commit_all(repo)
    return ReviewRange(before, after, parse_diff(diff_between(Git(repo / ".git"), before, after)))


def judged(changed: ReviewRange, finding: Finding) -> AnchoredFinding | str:
    return Reviewing(changed, 20)._judge(finding)


WHOLE_FILE = {"line": 0, "start_line": 3, "suggestion": "x"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, ("five", 5, None)),
        ({"suggestion": "FIVE\n"}, ("five", 5, "FIVE")),
        # A finding on the file as a whole needs no line and takes no suggestion.
        (WHOLE_FILE, ("", 0, None)),
    ],
)
def test_a_finding_gets_its_text_and_its_fingerprint(
    changed: ReviewRange, change: dict[str, Any], expected: tuple[Any, ...]
):
    anchored = judged(changed, ONE._replace(**change))
    assert isinstance(anchored, AnchoredFinding)
    finding = anchored.finding
    assert (finding.text, finding.line, finding.suggestion) == expected
    assert len(finding.fingerprint) == 16


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"line": 20}, "Its lines are not in the diff. On the side RIGHT of a.txt the nearest lines are 2-8, 27-33"),
        ({"line": 5, "start_line": 20}, "Its lines are in the wrong order"),
        ({"side": Side.LEFT, "suggestion": "x"}, "Removed lines take no suggestion"),
        ({"suggestion": "five\n"}, "The suggestion is what the lines say already"),
        ({"path": "b.txt"}, "b.txt is not in the diff. Did you mean a.txt?"),
        ({"path": "../../etc/passwd", "line": 0}, "The file is not in the diff."),
    ],
)  # fmt: skip
def test_what_does_not_hold_goes_back_with_what_would(
    changed: ReviewRange, change: dict[str, Any], said: str
):
    refused = judged(changed, ONE._replace(**change))
    assert isinstance(refused, str)
    assert said in refused

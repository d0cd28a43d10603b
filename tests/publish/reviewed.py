"""A pull request on the forge, and bundles whose review is of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.checkout.git import Git
from bot.checkout.objects import diff_between
from bot.contracts.outcome import Outcome, Status
from bot.contracts.pulls import Finding, Review, Severity, Side
from bot.publish.bundle import Bundle, read_bundle, write_bundle
from bot.publish.result import PublishResult
from bot.publish.thread.comments import thread_ref_of
from bot.publish.thread.markers import PROGRESS
from bot.review.diff import Diff, parse_diff
from tests.publish.conftest import REPO, World

LINES = [f"line {number}" for number in range(1, 61)]


def text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def edited(**replaced: str) -> list[str]:
    """The lines with some replaced: `l10="ten"`."""
    lines = list(LINES)
    for name, line in replaced.items():
        lines[int(name[1:]) - 1] = line
    return lines


@dataclass
class Reviewed:
    """One pull request by ann, from the branch `topic`: lines 10 and 40 of a.txt change, b.py is new."""

    world: World
    number: int = 0

    @classmethod
    def begin(cls, world: World, policy: str = "") -> Reviewed:
        base = {"a.txt": text(LINES), **({".github/agent.yml": policy} if policy else {})}
        world.forge.commit(REPO, base)
        made = cls(world)
        made.push({"a.txt": text(edited(l10="ten", l40="forty")), "b.py": "x = 1\ny = 2\n"})
        made.number = world.open("topic")
        return made

    def push(self, files: Mapping[str, str | None]) -> str:
        return self.world.forge.commit(REPO, files, branch="topic", author="ann")

    @property
    def head(self) -> str:
        return self.world.branches()["topic"]

    @property
    def diff(self) -> Diff:
        """What the pull request changes, its base being the branch's first parent."""
        git = Git(self.world.forge.git_folder(REPO))
        merge_base = git.run("merge-base", "main", "topic").decode().strip()
        return parse_diff(diff_between(git, merge_base, self.head))

    def outcome(self, **fields: Any) -> Outcome:
        outcome = self.world.on_pull(self.number, verb="review", **fields)
        return outcome._replace(status=Status.REVIEWED, files=(), checks=(), patch_sha256="")

    def bundle(self, *findings: Finding, outcome: Outcome | None = None, **fields: Any) -> Bundle:
        """By a new command each, unless the outcome is given."""
        outcome = outcome or self.outcome()
        assert outcome.request.pull is not None
        review = Review("0" * 40, outcome.request.pull.head_sha, "The change counts in words.", findings)
        folder = self.world.room("bundle")
        write_bundle(Bundle(folder, outcome, review=review._replace(**fields)))
        return read_bundle(folder)

    def publish(self, bundle: Bundle, **options: Any) -> PublishResult:
        return self.world.publish(bundle, **options)

    def show_progress(self, bundle: Bundle) -> None:
        thread_ref = thread_ref_of(bundle.outcome.request, self.world.github())
        assert thread_ref is not None
        thread_ref.put(PROGRESS, "**Working**")

    # What is there now

    def reviews(self) -> list[dict[str, Any]]:
        return list(self.world.api(f"/pulls/{self.number}/reviews"))

    def remarks(self) -> list[dict[str, Any]]:
        return list(self.world.api(f"/pulls/{self.number}/comments?per_page=100"))


def finding(path: str = "a.txt", line: int = 10, **fields: Any) -> Finding:
    made = Finding(path, line, Severity.MAJOR, f"Wrong on {line}", "It goes wrong when read.")
    return made._replace(**fields)


def left(line: int, **fields: Any) -> Finding:
    return finding(line=line, side=Side.LEFT, **fields)

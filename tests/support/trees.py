"""A checkout in whose work tree a test acts as the agent."""

import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from bot.checkout.clone import Checkout, Source, check_out
from bot.checkout.git import Git
from bot.gate.change_limits import DEFAULT_LIMITS, ChangeLimits
from bot.gate.judge import Verdict, judge_tree
from tests.support.files import write_file
from tests.support.repositories import Repository


@dataclass(frozen=True)
class Bench:
    """`write` and `link` change the work tree as the agent; `judge` runs the gate on it."""

    checkout: Checkout
    repository: Repository

    @property
    def tree(self) -> Path:
        return self.checkout.tree

    def write(self, name: str, content: str | bytes = "x\n", *, mode: int | None = None) -> Path:
        return write_file(self.tree / name, content, mode)

    def link(self, name: str, target: str) -> None:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    def judge(
        self,
        *,
        limits: ChangeLimits = DEFAULT_LIMITS,
        may_write: Callable[[str], str | None] | None = None,
        edited: Collection[str] = (),
    ) -> Verdict:
        return judge_tree(self.checkout, limits=limits, may_write=may_write, edited=edited)

    def show(self, verdict: Verdict, path: str) -> bytes:
        """A file of the tree that would be published."""
        return self.checkout.git.run("cat-file", "blob", f"{verdict.tree_sha}:{path}")

    def paths(self, verdict: Verdict) -> list[str]:
        """Every path of the tree that would be published."""
        listing = self.checkout.git.run("ls-tree", "-r", "-z", "--name-only", verdict.tree_sha)
        return listing.decode("utf-8", "surrogateescape").split("\0")[:-1]


def bench(folder: Path, repository: Repository) -> Bench:
    return Bench(check_out(Source(str(repository.path), "HEAD"), folder / "run"), repository)


def bench_of(
    folder: Path, files: Mapping[str, str | bytes], links: Mapping[str, str] = MappingProxyType({})
) -> Bench:
    """One whose repository has these files and links, and no more."""
    repository = Repository(folder / "source")
    for name, target in links.items():
        (repository.path / name).parent.mkdir(exist_ok=True)
        (repository.path / name).symlink_to(target)
    repository.commit("Base", **files)
    return bench(folder, repository)


def copy_of_bench(pristine: Bench, folder: Path) -> Bench:
    """A copy below `folder` of a bench that nobody has written to. The source repository is shared."""
    run = folder / "run"
    shutil.copytree(pristine.tree.parent, run, symlinks=True)
    checkout = pristine.checkout._replace(git=Git(run / "trusted.git"), tree=run / "tree")
    return Bench(checkout, pristine.repository)

"""The checkers before and after, on real repositories.

python -m benchmarks.checkers commits DIR [--commits 100] [--checkers tsc,eslint] [--touching '*.ts']
python -m benchmarks.checkers seeded DIR...

DIR is a clone with what it needs installed (`node_modules`); it is not written to. `commits` compares each of the last
so many commits with its parent, and holds the result against the truth: the old line mapped through the diff. `seeded`
compares a tree with itself, and then with errors put into it.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.seeds import Seed, seeds
from benchmarks.table import Row, render
from bot.contracts.cancel import CancelToken
from bot.contracts.evidence import Answer, Problem
from bot.ecosystems.checker import Checker
from bot.evidence.checker_comparison import choose_checkers, limit_projects
from bot.evidence.problems import Delta, compare, normalised
from bot.session.checks.host_reports import parse_checker_run
from bot.session.checks.inspection import checker_arguments
from bot.workspace.client import Answer as Said
from bot.workspace.client import Workspace
from bot.workspace.probe import choose as choose_wall
from bot.workspace.start import StartOptions

FALSE_AT_MOST = 10
SEEN_SHARE = 0.95
OLD_AT_MOST = 2
_LIMIT = 600
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkers", description=__doc__)
    parser.add_argument("what", choices=("commits", "seeded"))
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--commits", type=int, default=100, metavar="N")
    parser.add_argument("--checkers", default="ruff,ty", metavar="NAMES", help="of commits")
    parser.add_argument(
        "--touching", default=".", metavar="PATHS", help="only commits that change some of them"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random errors")
    options = parser.parse_args(argv)
    rows = []
    for folder in options.folders:
        with tempfile.TemporaryDirectory(prefix="slash-agent-bench-") as made:
            if options.what == "commits":
                only = options.checkers.split(",")
                rows += commits_rows(folder.resolve(), Path(made), options.commits, only, options.touching)
            else:
                rows += seeded_rows(folder.resolve(), Path(made), options.seed)
        print(f"{folder.name}: {rows[-1].ours}", file=sys.stderr, flush=True)
    print(render(rows))
    return 0


def of_installed(package: str, folder: Path) -> list[Row]:
    """The rows of `seeded` for a package that is installed here, as a repository."""
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations, f"{package} is not installed"
    repository = folder / package
    source = spec.submodule_search_locations[0]
    shutil.copytree(source, repository / package, ignore=shutil.ignore_patterns("__pycache__"))
    git(repository, "init", "--quiet")
    git(repository, "add", "--all")
    return seeded_rows(repository, folder / "trees", seed=1)


@dataclass
class Judged:
    """Reported changes compared with the truth. `false` and `missed` describe the differences."""

    new: int = 0
    fixed: int = 0
    environment: int = 0
    existing: int = 0
    by_line: int = 0
    false: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


def commits_rows(
    repository: Path, folder: Path, commits: int, only: Sequence[str] = ("ruff", "ty"), touching: str = "."
) -> list[Row]:
    tree = folder / "tree"
    git(folder, "clone", "--quiet", "--shared", "--no-checkout", str(repository), str(tree))
    if (repository / "node_modules").is_dir():
        shutil.copytree(repository / "node_modules", tree / "node_modules", symlinks=True)
    wanted = ("log", "--first-parent", "--no-merges", f"-{commits}", "--format=%H", "--", touching)
    line = git(tree, *wanted).split()[::-1]
    judged = Judged()
    with workspace(tree, folder) as shop:
        git(tree, "checkout", "--quiet", "--force", f"{line[0]}^")
        before = look(shop, tree, only)
        parent = f"{line[0]}^"
        for number, commit in enumerate(line, 1):
            git(tree, "checkout", "--quiet", "--force", commit)
            if git(tree, "rev-parse", f"{commit}^") != git(tree, "rev-parse", parent):
                git(tree, "checkout", "--quiet", "--force", f"{commit}^")  # a merge lies between
                before = look(shop, tree, only)
                git(tree, "checkout", "--quiet", "--force", commit)
            after = look(shop, tree, only)
            judge(judged, before, after, Diff.between(tree, f"{commit}^", commit))
            before, parent = after, commit
            print(f"{number}/{len(line)} {commit[:10]}", file=sys.stderr, flush=True)
    for sentence in (*judged.false, *judged.missed):
        print(sentence, file=sys.stderr)
    wrong = len(judged.false) + len(judged.missed)
    return [
        Row(
            f"falsely new or missed, {len(line)} commits of {repository.name}",
            f"{len(judged.false)} + {len(judged.missed)}",
            f"{judged.new} new, {judged.fixed} fixed, {judged.environment} of the environment; "
            f"{judged.existing // len(line)} there each time; by line number {judged.by_line} new",
            "", f"at most {FALSE_AT_MOST}", wrong <= FALSE_AT_MOST,
        )
    ]  # fmt: skip


def judge(judged: Judged, before: Sequence[Problem], after: Sequence[Problem], diff: Diff) -> None:
    """The truth: a problem was there before if the line it is on stood in the file before and had one of the same tool
    and code; one on a line that the change rewrote, if a line that it took the place of had the very same one."""
    delta = compare(before, after, diff.renamed)
    truly_new, _ = diff.unmatched(before, after)
    ours = Counter(delta.new)
    truth = Counter(truly_new)
    judged.new += len(delta.new)
    judged.fixed += len(delta.fixed)
    judged.environment += len(delta.environment)
    judged.existing += len(set(before))
    places = {(each.path, each.tool, each.code, each.line) for each in before}
    judged.by_line += sum((each.path, each.tool, each.code, each.line) not in places for each in set(after))
    # Which of several equal problems of a file is called new is no matter of counting.
    loosely = _loose(truth) - _loose(ours + Counter(delta.environment)), _loose(ours) - _loose(truth)
    judged.missed += [f"missed: {key}" for key in loosely[0].elements()]
    judged.false += [f"falsely new: {key}" for key in loosely[1].elements()]


def _loose(problems: Counter[Problem]) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for problem, count in problems.items():
        found[problem.path, problem.tool, problem.code, normalised(problem.message)] += count
    return found


@dataclass(frozen=True)
class Diff:
    """`renamed` leads from new paths to old ones; `hunks` are by new path: old start and length, new start and
    length."""

    renamed: Mapping[str, str]
    hunks: Mapping[str, Sequence[tuple[int, int, int, int]]]
    created: frozenset[str]

    @classmethod
    def between(cls, tree: Path, old: str, new: str) -> Diff:
        renamed: dict[str, str] = {}
        words = git(tree, "diff-tree", "-r", "-z", "-M", "--name-status", old, new).split("\0")
        created = set()
        while len(words) > 1:
            if words[0].startswith("R"):
                renamed[words[2]] = words[1]
                words = words[3:]
            else:
                if words[0] == "A":
                    created.add(words[1])
                words = words[2:]
        hunks: defaultdict[str, list[tuple[int, int, int, int]]] = defaultdict(list)
        path = ""
        for line in git(tree, "diff-tree", "-r", "-p", "-U0", "-M", "--no-color", old, new).split("\n"):
            if line.startswith("+++ b/"):
                path = line[6:].rstrip("\t")
            elif found := _HUNK.match(line):
                a, b, c, d = (int(part) if part is not None else 1 for part in found.groups())
                hunks[path].append((a, b, c, d))
        return cls(renamed, hunks, frozenset(created))

    def unmatched(
        self, before: Sequence[Problem], after: Sequence[Problem]
    ) -> tuple[list[Problem], list[Problem]]:
        """What is truly new, and what is truly gone."""
        waiting = list(dict.fromkeys(before))
        by_place: defaultdict[tuple[object, ...], list[Problem]] = defaultdict(list)
        for problem in waiting:
            by_place[problem.path, problem.tool, problem.code, problem.line].append(problem)
        left: list[Problem] = []
        taken: set[int] = set()
        for problem in dict.fromkeys(after):
            partner = self._partner(problem, by_place, taken)
            if partner is None:
                left.append(problem)
            else:
                taken.add(id(partner))
        return left, [problem for problem in waiting if id(problem) not in taken]

    def _partner(
        self, problem: Problem, by_place: Mapping[tuple[object, ...], list[Problem]], taken: set[int]
    ) -> Problem | None:
        path = self.renamed.get(problem.path, problem.path)
        for line, exactly in self._old_lines(problem):
            candidates = by_place.get((path, problem.tool, problem.code, line), ())
            free = [each for each in candidates if id(each) not in taken]
            same = [each for each in free if normalised(each.message) == normalised(problem.message)]
            if same or (free and not exactly):
                return (same or free)[0]
        return None

    def _old_lines(self, problem: Problem) -> Iterator[tuple[int, bool]]:
        """The line before the change, or those that this one took the place of, for which the message counts too."""
        if problem.path in self.created:
            return
        moved = 0
        for old, removed, new, added in self.hunks.get(problem.path, ()):
            if added and new <= problem.line < new + added:
                yield from ((line, True) for line in range(old, old + removed))
                return
            # Of a side that has no lines the number is of the one before.
            next_old, next_new = old + (removed or 1), new + (added or 1)
            if problem.line >= next_new:
                moved = next_old - next_new
        yield problem.line + moved, False


def seeded_rows(repository: Path, folder: Path, seed: int) -> list[Row]:
    tree, again = folder / "before", folder / "after"
    for copy in (tree, again):
        shutil.copytree(repository, copy, symlinks=True, ignore=shutil.ignore_patterns("*.mp4"))
    with workspace(tree, folder) as shop:
        before = look(shop, tree)
    started = time.monotonic()
    with workspace(again, folder) as shop:
        same = compare(before, look(shop, again))
        took = time.monotonic() - started
        language = "typescript" if _count(tree, ".ts", ".mts") > _count(tree, ".py") else "python"
        suffixes = (".py",) if language == "python" else (".ts", ".mts")
        paths = [path for path in files_of(tree) if path.endswith(suffixes) and not path.endswith(".d.ts")]
        planted = seeds(again, paths, language, random.Random(seed))
        # An error of syntax keeps a compiler from looking for others: each of them by itself.
        alone = [[each] for each in planted if each.kind == "syntax"]
        seen: list[Seed] = []
        old: list[Problem] = []
        for batch in ([each for each in planted if each.kind != "syntax"], *alone):
            for each in batch:
                (again / each.path).write_text(each.text)
            after = look(shop, again)
            delta = compare(before, after)
            seen += [each for each in batch if _is_seen(each, delta)]
            old += _there_before(before, after, delta, tree, batch)
            for each in batch:
                shutil.copy2(tree / each.path, again / each.path)
    for each in planted:
        if each not in seen:
            print(f"not seen: {each.kind} {each.path}:{each.first}-{each.last}", file=sys.stderr)
    for problem in old:
        print(f"there before: {problem}", file=sys.stderr)
    name = repository.name
    return [
        Row(f"no edit, {name}", f"{len(same.new)} new", f"{same.remaining} there, {took:.1f} s", "", "0", not same.new),
        Row(
            f"seeded errors, {name}", f"{len(seen)} of {len(planted)} new",
            f"{len(old)} new that were there before", "", f"95 of 100, at most {OLD_AT_MOST}",
            len(seen) >= SEEN_SHARE * len(planted) and len(old) <= OLD_AT_MOST,
        ),
    ]  # fmt: skip


def _is_seen(seed: Seed, delta: Delta) -> bool:
    return any(each.path == seed.path and seed.first <= each.line <= seed.last for each in delta.new)


def _there_before(
    before: Sequence[Problem], after: Sequence[Problem], delta: Delta, tree: Path, planted: Sequence[Seed]
) -> list[Problem]:
    """Called new, though its line stood there before with one of the same tool, code and message."""
    hunks: dict[str, list[tuple[int, int, int, int]]] = {}
    for seed in planted:
        diff = subprocess.run(
            ["git", "diff", "--no-index", "-U0", "--no-color", "--", str(tree / seed.path), "-"],
            input=seed.text, text=True, capture_output=True, check=False,
        ).stdout  # fmt: skip
        hunks[seed.path] = [
            tuple(int(part) if part is not None else 1 for part in found.groups())  # type: ignore[misc]  # two
            for found in map(_HUNK.match, diff.split("\n"))
            if found
        ]
    truly_new, _ = Diff({}, hunks, frozenset()).unmatched(before, after)
    false = _loose(Counter(delta.new)) - _loose(Counter(truly_new))
    return [each for each in delta.new if false[each.path, each.tool, each.code, normalised(each.message)]]


@contextmanager
def workspace(tree: Path, folder: Path) -> Iterator[Workspace]:
    own = Path(tempfile.mkdtemp(dir=folder))
    shop = Workspace.start(
        choose_wall("auto").confinement,
        StartOptions(tree, own, os.environ, mount="/repository"),
        lambda question: Said(False),
    )
    with shop:
        yield shop


def look(shop: Workspace, tree: Path, only: Sequence[str] | None = None) -> list[Problem]:
    """All that the checkers of a run find in `tree`."""
    paths = files_of(tree)
    found: list[Problem] = []
    for checker in limit_projects(choose_checkers(paths, lambda path: _text(tree / path), only)):
        result = parse_checker_run(
            checker.name, shop.call("problems_of", _question(checker, paths), CancelToken()), 0
        )
        if result.run.answer is Answer.COMPLETE:
            found += result.problems
        elif result.run.answer is Answer.TIMED_OUT:
            raise SystemExit(f"{checker.name}: {result.run.note}")
    return found


def _question(checker: Checker, paths: Sequence[str]) -> dict[str, Any]:
    files = list(checker.files_of(paths)[0])
    return {
        "checker": checker_arguments(checker),
        "folder": checker.folder,
        "files": files,
        "timeout": _LIMIT,
    }


def files_of(tree: Path) -> list[str]:
    return [path for path in git(tree, "ls-files", "-z").split("\0") if path]


def _count(tree: Path, *suffixes: str) -> int:
    return sum(path.endswith(suffixes) for path in files_of(tree))


def _text(path: Path) -> str | None:
    return path.read_text(errors="replace") if path.is_file() else None


def git(folder: Path, *arguments: str) -> str:
    completed = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)
    return completed.stdout.decode(errors="replace").strip("\n")


if __name__ == "__main__":
    sys.exit(main())

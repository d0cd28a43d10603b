"""The truth that the comparison of checkers is held against: the old line mapped through the diff."""

from pathlib import Path

from benchmarks.checkers import Diff, Judged, judge
from bot.contracts.evidence import Problem, Severity
from tests.support.repositories import commit_all, git, make_repository


def at(line: int, path: str = "a.py", message: str = "m") -> Problem:
    return Problem("ty", path, line, 1, Severity.ERROR, "code", message)


def numbered(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_lines_are_followed_through_a_diff_and_a_rename(tmp_path: Path) -> None:
    old = [f"line {n}" for n in range(1, 21)]
    repository = make_repository(tmp_path / "r", {"a.py": numbered(*old)})
    first = git(repository, "rev-parse", "HEAD")
    new = ["inserted", *old[:4], *old[6:9], "line 10, edited", *old[10:]]
    (repository / "a.py").unlink()
    (repository / "b.py").write_text(numbered(*new))
    second = commit_all(repository)
    diff = Diff.between(repository, first, second)
    assert diff.renamed == {"b.py": "a.py"}

    def partner_of(line: int, before: list[Problem], message: str = "m") -> bool:
        return diff.unmatched(before, [at(line, "b.py", message)])[0] == []

    for number, text in enumerate(old, 1):
        if text in new:
            assert partner_of(new.index(text) + 1, [at(number)], "in other words")
            assert not partner_of(new.index(text) + 1, [at(number + 1)])
    edited = new.index("line 10, edited") + 1
    assert partner_of(edited, [at(10)])
    assert not partner_of(edited, [at(10)], "another")
    assert not partner_of(1, [at(1)])

    judged = Judged()
    judge(judged, [at(20), at(10), at(5)], [at(19, "b.py"), at(edited, "b.py"), at(1, "b.py", "new")], diff)
    assert (judged.new, judged.fixed, judged.false, judged.missed) == (1, 1, [], [])
    # Gone from one place and come up in another of the file: for the comparison the same, in truth a new one.
    judge(judged, [at(5)], [at(1, "b.py")], diff)
    assert (len(judged.missed), judged.false) == (1, [])

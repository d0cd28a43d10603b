"""The checkers before and after a change: run after the checks, on trees of their own."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.contracts.evidence import Answer
from bot.contracts.outcome import ChangedFile, CheckState
from bot.evidence.labels import no_figures
from bot.gate.judge import Verdict
from bot.run.stop_hook import StopHook
from bot.session.checks.inspection import Inspection
from bot.session.tools.result_tools import ResultTools
from tests.support.outcomes import REQUEST
from tests.support.rounds import Begin, Trial
from tests.support.runs import make_run

pytestmark = pytest.mark.checkers

BASE = {
    "a.py": "import json\n\n\ndef f(x: int) -> int:\n    return x + gone\n",
    "b.py": 'from a import f\n\nf("one")\n',
    "old.py": 'y: int = "two"\n',
}
# `tsc` stands for any checker that the repository brings, and may do what it likes.
FAKE = {
    "tsconfig.json": "{}",
    "version": "5",
    "node_modules/.bin/tsc": "#!/bin/bash\n[ $1 = --version ] && exec cat version\n. ./behaviour\n",
}


@pytest.fixture
def begin(begin: Begin) -> Callable[..., Trial]:
    """`named` are the checkers that the policy names."""

    def checked(
        files: Mapping[str, str], *checks: str, named: Sequence[str] | None = None, **more: Any
    ) -> Trial:
        return begin(files, *checks, checkers=f"[{', '.join(named)}]" if named else "", **more)

    return checked


def test_what_is_new_what_is_gone_and_what_only_moved(begin: Begin):
    trial = begin(BASE, "true")
    trial.rounds.start()
    tree = trial.changed_tree(
        {
            "a.py": "# A line above.\n" + BASE["a.py"].replace("import json\n", "") + "\n\nf(None)\n",
            "old.py": None,
            "moved.py": BASE["old.py"],
        }
    )
    comparisons = trial.compare(tree)
    assert list(comparisons) == ["ruff", "ty"]
    ruff, ty = comparisons["ruff"], comparisons["ty"]
    assert ([each.code for each in ruff.fixed], ruff.new_count, ruff.remaining) == (["F401"], 0, 1)
    assert [(each.path, each.line, each.snippet) for each in ty.new] == [("a.py", 8, "f(None)")]
    assert (ty.fixed_count, ty.remaining) == (0, 3)
    assert ty.version.startswith("ty 0")
    assert ty.command == "ty check --output-format concise --exit-zero"
    # After the checks, on trees that these did not write in; a second question is no second run.
    assert trial.compare(tree) == comparisons
    assert sorted(trial.opened) == ["checkers-after-1", "checkers-before", "checks-after-1", "checks-before"]
    assert trial.opened.index("checks-before") < trial.opened.index("checkers-before")
    assert trial.opened.index("checks-after-1") < trial.opened.index("checkers-after-1")
    assert [record.run.state for record in trial.records] == [CheckState.PASSED] * 2


@pytest.mark.slow
def test_a_checker_has_one_core(begin: Begin):
    trial = begin(FAKE | {"behaviour": 'echo "a.ts(1,1): error TS1: $(nproc)"\n'})
    tsc = trial.compare(trial.changed_tree({"behaviour": "echo 'a.ts(1,1): error TS1: 1'\n"}))["tsc"]
    assert (tsc.before.problems, tsc.new_count, tsc.fixed_count) == (1, 0, 0)


def test_the_model_is_told_of_new_errors_of_the_checkers_that_a_project_uses_and_of_no_others(begin: Begin):
    trial = begin({"a.py": "", "lib/b.py": "", "lib/Makefile": "lint:\n\truff check\n"})
    tree = trial.changed_tree({"a.py": "print(gone)\n", "lib/b.py": "print(lost)\n"})
    comparisons = trial.compare(tree)
    assert (comparisons["ruff"].new_count, comparisons["ty"].new_count) == (2, 2)
    verdict = Verdict(tree, b"", b"", (ChangedFile("a.py", "modified", "100644", "", 1, 0),), ())
    gate = SimpleNamespace(close_and_judge=lambda: verdict)
    parts: Any = SimpleNamespace(rounds=trial.rounds, review=None, results=ResultTools(), workspace=gate)
    message = StopHook(trial.rounds.run, parts).before_end() or ""
    assert "lib/b.py:1:7 ruff F821" in message
    assert "a.py" not in message.replace("lib/b.py", "")
    assert " ty " not in message


def test_a_repository_that_no_checker_is_for_gets_no_workspace(begin: Begin):
    trial = begin({"README.md": "words\n"})
    assert trial.compare(trial.changed_tree({"README.md": "other words\n"})) == {}
    assert trial.opened == []


@pytest.mark.slow
def test_one_that_hangs_and_those_it_leaves_no_time_are_not_known_and_not_run_with_the_change(begin: Begin):
    trial = begin(FAKE | {"a.sh": "\n", "behaviour": "sleep 600\n"}, minutes=0.2, named=("tsc", "bash"))
    comparisons = trial.compare(trial.changed_tree({"behaviour": "echo 'a.ts(1,1): error TS1: m'\n"}))
    tsc, bash = comparisons["tsc"], comparisons["bash"]
    assert (tsc.before.answer, tsc.after.answer, tsc.new_count) == (Answer.TIMED_OUT, Answer.UNAVAILABLE, 0)
    assert tsc.before.note.startswith("it did not end in ")
    assert tsc.before.note.endswith("; checkers have a share of 30 % of budget.check_minutes")
    assert tsc.before.duration < 60
    assert tsc.after.note == "not run with the change, since it gave no result before it"
    assert (bash.before.answer, bash.complete) == (Answer.TIMED_OUT, False)
    assert bash.before.note.startswith(
        "the time for checkers was spent before it; checkers have a share of 30 %"
    )


def test_each_tree_has_another_place_and_the_problem_is_the_same(begin: Begin):
    trial = begin(FAKE | {"behaviour": 'echo "$PWD/a.ts(1,1): error TS1: in $PWD/a.ts"\n'})
    tsc = trial.compare(trial.changed_tree({"version": "6"}))["tsc"]
    assert (tsc.new_count, tsc.fixed_count, tsc.remaining) == (0, 0, 1)
    assert (tsc.version, tsc.after.note) == ("5", "with the change it is another version: 6")


def test_a69_one_that_the_change_blinds_is_not_compared(begin: Begin):
    trial = begin({"a.py": "import os\n", "b.py": "x = 1\n", "ruff.toml": ""}, named=("ruff",))
    change = {".gitignore": "*.py\n", "b.py": "import json\nimport sys\n"}
    ruff = trial.compare(trial.changed_tree(change))["ruff"]
    assert (ruff.before.problems, ruff.new_count, ruff.fixed_count) == (1, 0, 0)
    assert ruff.after.note == "its configuration changed, in .gitignore"
    assert no_figures(ruff) == "not comparable: its configuration changed"


@pytest.mark.slow
def test_one_that_brings_its_workspace_down_takes_no_check_with_it(begin: Begin):
    kill_the_host = (
        "read -r _ _ _ host _ < /proc/$PPID/stat\n"
        '[ "$(cat /proc/$host/comm)" = slash-toolhost ] && kill -9 $host\nsleep 60\n'
    )
    trial = begin(FAKE | {"x.sh": "echo\n", "behaviour": kill_the_host}, "true")
    tree = trial.changed_tree({"behaviour": "exit 0\n"})
    assert [result.after.state for result in trial.rounds.results(tree)] == [CheckState.PASSED]
    assert not any(name.endswith("-again") for name in trial.opened)
    comparisons = {each.tool: each for each in trial.rounds.inspection.results(tree)}
    assert comparisons["tsc"].before.note.startswith("The tool host failed during problems_of")
    assert not any(each.complete for each in comparisons.values())


# One TypeScript for all, above the projects that use it.
SHARED = {"node_modules/.bin/tsc": "#!/bin/bash\n[ $1 = --version ] && echo 5 && exit\n. ./behaviour\n"}


def project(folder: str, *errors: str) -> dict[str, str]:
    """One in which tsc says so of its `a.ts`."""
    says = "".join(f"echo 'a.ts({error}'\n" for error in errors)
    return {
        f"{folder}/{name}": text
        for name, text in (("tsconfig.json", "{}"), ("a.ts", f"1\n2\n{folder[:1]}\n"), ("behaviour", says))
    }


OLD, NEW = "1,1): error TS2322: m", "2,1): error TS2304: n"


@pytest.mark.slow
def test_a_project_that_the_change_removes_or_adds_is_not_compared(begin: Begin):
    trial = begin(SHARED | project("web", OLD) | project("api", OLD), named=("tsc",))
    tree = trial.changed_tree(dict.fromkeys(project("web")) | project("site", NEW) | project("api", OLD, NEW))
    trial.rounds.results(tree)
    api, web = trial.rounds.inspection.results(tree)
    assert ([each.path for each in api.new], api.fixed, api.remaining) == (["api/a.ts"], (), 1)
    assert (web.projects, web.complete, web.after.note) == (("web",), False, "the change removes its project")


@pytest.mark.parametrize(
    ("verb", "policy", "some"),
    [
        ("fix", "", True), ("plan", "", False), ("review", "", False), ("explain", "", False),
        ("fix", "diagnostics: {off: true}\n", False), ("fix", "diagnostics: {checkers: none}\n", False),
        ("fix", "diagnostics: {checkers: [ty]}\n", True),
    ],
)  # fmt: skip
def test_who_only_reads_runs_no_checker_and_neither_does_a_policy_that_wants_none(
    tmp_path: Path, verb: str, policy: str, some: bool
):
    run = make_run(tmp_path, None, f"version: 1\n{policy}", request=REQUEST._replace(verb=verb))
    assert Inspection(run).is_wanted == some

"""Which problems are new, which are gone and which only moved."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.evidence import Answer, CheckerComparison, Problem, Severity, ToolRun
from bot.ecosystems.checker import Checker
from bot.ecosystems.registry import checkers
from bot.evidence.checker_comparison import MOST_PROBLEMS, ProjectRun, ProjectRuns, compare_projects
from bot.evidence.labels import no_figures
from bot.evidence.problems import compare, missing_module, new_errors, new_errors_message
from tests.support.outcomes import TY_PROBLEM, ty_problem


def gone(module: str, code: str = "import-not-found", path: str = "a.py") -> Problem:
    return ty_problem(
        code=code, path=path, message=f"Cannot resolve imported module `{module}`", snippet=module
    )


@pytest.mark.parametrize(
    ("before", "after", "new", "fixed"),
    [
        ([TY_PROBLEM], [ty_problem(line=90, column=1)], 0, 0),  # it moved
        ([TY_PROBLEM], [ty_problem(snippet="f('y')")], 0, 0),  # the line was edited, the problem stayed
        ([TY_PROBLEM], [TY_PROBLEM, ty_problem(line=9)], 1, 0),  # a second one like it
        ([TY_PROBLEM, ty_problem(line=9)], [TY_PROBLEM], 0, 1),
        ([TY_PROBLEM], [ty_problem(message="Expected `int`, found `bytes`")], 1, 1),
        ([TY_PROBLEM], [ty_problem(code="unsound")], 1, 1),
        ([TY_PROBLEM], [ty_problem(tool="mypy")], 1, 1),
        ([TY_PROBLEM], [ty_problem(path="b.py")], 1, 1),
        ([ty_problem(message="redefined from line 3")], [ty_problem(message="redefined from line 40")], 0, 0),
        ([ty_problem(message="unused (column 3)")], [ty_problem(message="unused (column 4)")], 0, 0),
        ([ty_problem(message="takes 1 argument")], [ty_problem(message="takes 2 arguments")], 1, 1),
        ([ty_problem(message="f has too many lines (53).")], [ty_problem(message="f has too many lines (9).")],
         0, 0),
        ([ty_problem(message="f has too many lines (53).")], [ty_problem(message="g has too many lines (53).")],
         1, 1),
        ([ty_problem(message="`f` is too complex (12 > 10)")], [ty_problem(message="`f` is too complex (13 > 10)")],
         0, 0),
        ([ty_problem(message="f has a complexity of 21.")], [ty_problem(message="f has a complexity of 22.")], 0, 0),
        ([ty_problem(message="Too many arguments in call (5)")], [ty_problem(message="No argument fits (5)")], 1, 1),
        ([ty_problem(message="Expected (5)")], [ty_problem(message="Expected (6)")], 1, 1),
        ([TY_PROBLEM, TY_PROBLEM], [TY_PROBLEM], 0, 0),  # said twice of one place
    ],
)  # fmt: skip
def test_a_problem_is_known_by_file_tool_code_and_message(
    before: list[Problem], after: list[Problem], new: int, fixed: int
):
    delta = compare(before, after)
    assert (len(delta.new), len(delta.fixed)) == (new, fixed)
    assert delta.remaining == len(dict.fromkeys(after)) - new


def test_of_several_equal_problems_the_one_on_a_new_line_is_new():
    first, last = ty_problem(line=3), ty_problem(line=8, snippet="g('x')")
    added = ty_problem(line=5, snippet="f('new')")
    assert compare([first, ty_problem(line=7, snippet="g('x')")], [first, added, last]).new == (added,)


def test_a_renamed_file_takes_its_problems_with_it():
    moved = ty_problem(path="src/a.py", line=4)
    assert compare([TY_PROBLEM], [moved], {"src/a.py": "a.py"}) == ((), (), (), 1)
    assert len(compare([TY_PROBLEM], [moved]).new) == 1
    # And the name that became free may be given to another file, with problems of its own.
    both = compare([TY_PROBLEM, ty_problem(path="b.py")], [moved, TY_PROBLEM], {"src/a.py": "b.py"})
    assert both == ((), (), (), 2)


@pytest.mark.parametrize(
    ("missing_before", "new", "counts"),
    [
        ("numpy", "numpy", False),
        ("numpy", "numpy.linalg", False),
        ("numpy.linalg", "numpy", True),
        ("numpy", "numpydoc", True),
        (".generated", ".generated", True),  # beside another file it is another module
    ],
)
def test_what_was_missing_already_is_the_environments(missing_before: str, new: str, counts: bool):
    delta = compare([gone(missing_before, path="old.py")], [gone(missing_before, path="old.py"), gone(new)])
    assert (len(delta.new), len(delta.environment)) == ((1, 0) if counts else (0, 1))


def test_another_problem_that_quotes_a_missing_module_counts():
    delta = compare([gone("numpy")], [gone("numpy"), ty_problem(message="`numpy` is shadowed")])
    assert delta.environment == ()


@pytest.mark.parametrize(
    ("code", "message", "module"),
    [
        ("TS2307", "Cannot find module 'zod' or its corresponding type declarations.", "zod"),
        ("reportMissingImports", 'Import "requests" could not be resolved', "requests"),
        ("import-not-found", 'Cannot find implementation or library stub for module named "yaml"', "yaml"),
        ("", "no required module provides package github.com/a/b; to add it:", "github.com/a/b"),
    ],
)
def test_each_tool_says_in_its_own_words_what_is_missing(code: str, message: str, module: str):
    said = ty_problem(code=code, message=message)
    assert missing_module(said) == module
    assert len(compare([said], [said, ty_problem(code=code, message=message, path="b")]).environment) == 1


_SOME = st.lists(
    st.builds(
        Problem, st.sampled_from(["ty", "ruff"]), st.sampled_from(["a", "b"]), st.integers(0, 4), st.just(1),
        st.sampled_from(list(Severity)), st.just("E"), st.sampled_from(["m", "n"]), snippet=st.sampled_from(["s", "t"]),
    )
)  # fmt: skip


@settings(max_examples=40)
@given(_SOME, _SOME)
def test_nothing_is_lost_and_an_unchanged_tree_has_nothing_new(before: list[Problem], after: list[Problem]):
    delta = compare(before, after)
    assert len(delta.new) + delta.remaining == len(set(after))
    assert len(delta.fixed) + delta.remaining == len(set(before))
    back = compare(after, before)
    assert (len(back.new), len(back.fixed)) == (len(delta.fixed), len(delta.new))
    assert compare(after, after[::-1]) == ((), (), (), len(set(after)))


# Comparing checkers


RAN = ToolRun(Answer.COMPLETE, 1)
KNOWN = {checker.name: checker for checker in checkers()}


def in_folder(name: str, folder: str = "") -> Checker:
    return KNOWN[name]._replace(folder=folder)


def side(*problems: Problem, run: ToolRun = RAN, version: str = "1") -> ProjectRun:
    return ProjectRun(run, problems, version)


def looked(name: str, before: Sequence[Problem], after: Sequence[Problem], folder: str = "") -> ProjectRuns:
    return ProjectRuns(in_folder(name, folder), side(*before), side(*after))


def one(name: str, before: Sequence[Problem], after: Sequence[Problem]) -> CheckerComparison:
    (row,) = compare_projects([looked(name, before, after)], {})
    return row


@pytest.mark.parametrize("answer", [Answer.TIMED_OUT, Answer.UNAVAILABLE])
def test_where_one_side_did_not_answer_nothing_is_compared(answer: Answer):
    silent = ToolRun(answer)
    for before, after in ((side(run=silent), side(TY_PROBLEM)), (side(TY_PROBLEM), side(run=silent))):
        (result,) = compare_projects([ProjectRuns(KNOWN["ty"], before, after)], {})
        assert not result.complete
        assert (result.new_count, result.fixed_count, result.remaining) == (0, 0, 0)
        assert (result.new, result.fixed) == ((), ())


def test_where_a_new_error_hides_others_none_is_fixed():
    """As `cargo check` and `go vet` do it, whose errors of a file that does not parse are all that is left."""
    warned = ty_problem(severity=Severity.WARNING, message="just a warning")
    now = one("cargo", [TY_PROBLEM], [ty_problem(code="")])
    assert (now.new_count, now.fixed, now.fixed_count) == (1, (), 0)
    assert "what is fixed is not known" in now.after.note
    now = one("tsc", [TY_PROBLEM, ty_problem(line=9)], [ty_problem(code="TS1005")])
    assert (now.new_count, now.fixed_count, now.complete) == (1, 0, True)
    for name, after in (("ruff", [warned]), ("ruff", [ty_problem(code="F401")]), ("cargo", [])):
        mended = one(name, [TY_PROBLEM], after)
        assert (mended.fixed_count, mended.after.note) == (1, "")


def test_what_an_error_hid_may_be_among_the_new_problems():
    result = one("tsc", [ty_problem(code="TS1005")], [TY_PROBLEM])
    assert (result.complete, result.new_count, result.fixed_count) == (True, 1, 1)
    assert "some new problems may be older" in result.after.note
    assert one("tsc", [ty_problem(code="TS1005")], []).after.note == ""


def test_ten_thousand_new_problems_are_counted_and_some_shown_errors_first():
    many = [ty_problem(line=n, message=f"Name `x{n}` is not defined") for n in range(1, 10_001)]
    many[6000] = ty_problem(line=6001, message="the one error")
    many = [many[6000]] + [each._replace(severity=Severity.WARNING) for each in many]
    result = one("ty", [TY_PROBLEM], many)
    assert (result.new_count, result.fixed_count, len(result.new)) == (10_001, 1, MOST_PROBLEMS)
    assert result.new[0].severity is Severity.ERROR


def test_the_model_is_told_of_new_errors_only_each_with_its_line():
    warned = ty_problem(severity=Severity.WARNING, message="just a warning")
    result = one("ty", [TY_PROBLEM], [TY_PROBLEM, warned, ty_problem(path="b.py", code="")])
    message = new_errors_message(new_errors([result]))
    assert "| b.py:3:5 ty: Expected `int`, found `str`\n|   3 | f('x')\n" in message
    assert "a.py" not in message
    many = one("ty", [], [ty_problem(line=n, snippet=str(n), code=str(n)) for n in range(30)])
    assert "and 20 more" in new_errors_message(new_errors([many]))


def test_an_error_of_syntax_in_one_project_hides_nothing_in_another():
    syntax, there = ty_problem(code="TS1005", path="web/a.ts"), ty_problem(code="TS2322", path="api/a.ts")
    projects = [looked("tsc", [syntax], [], "web"), looked("tsc", [], [there], "api")]
    (row,) = compare_projects(projects, {})
    assert (row.new, row.after.note) == ((there,), "")
    projects = [
        looked("tsc", [ty_problem(path="web/b.ts")], [syntax], "web"),
        looked("tsc", [there], [], "api"),
    ]
    (row,) = compare_projects(projects, {})
    assert (row.new, row.fixed) == ((syntax,), (there,))


def test_many_projects_are_one_row_that_counts_what_two_of_them_say_once():
    shared, own = ty_problem(path="lib/a.ts"), ty_problem(path="web/a.ts")
    projects = [looked("tsc", [], [shared, own], "web"), looked("tsc", [], [shared], "api")]
    (row,) = compare_projects(projects, {}, [f"more/{number}" for number in range(7)])
    assert (row.new_count, row.after.problems, row.projects) == (2, 2, ("web", "api"))
    assert row.named == "tsc 1 in 2 projects"
    assert row.command == "tsc --noEmit --pretty false -p .  # in web, api"
    assert row.before.note == (
        "7 more projects not looked at: more/0, more/1, more/2, more/3, more/4 and 2 more"
    )


def test_one_that_gives_no_answer_has_a_row_of_its_own_and_those_of_one_reason_share_it():
    missing = ToolRun(Answer.UNAVAILABLE, note="tsc is not installed")
    projects = [
        ProjectRuns(in_folder("tsc", folder), side(run=missing), side(run=missing)) for folder in ("x", "y")
    ]
    rows = compare_projects([looked("tsc", [TY_PROBLEM], [], "web"), *projects], {})
    assert [(row.projects, row.complete, row.fixed_count) for row in rows] == [
        (("web",), True, 1),
        (("x", "y"), False, 0),
    ]
    assert (rows[0].named, rows[1].before.note) == ("tsc 1 in web", "tsc is not installed")


def test_a_file_that_moves_to_another_project_takes_its_problems_with_it():
    projects = [looked("tsc", [TY_PROBLEM], [], "a"), looked("tsc", [], [ty_problem(path="b.py")], "b")]
    (row,) = compare_projects(projects, {"b.py": "a.py"})
    assert (row.new_count, row.fixed_count, row.remaining) == (0, 0, 1)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (Answer.COMPLETE, Answer.COMPLETE, ""),
        (Answer.COMPLETE, Answer.TIMED_OUT, "not known"),
        (Answer.TIMED_OUT, Answer.UNAVAILABLE, "not known"),
        (Answer.UNAVAILABLE, Answer.COMPLETE, "not compared"),
    ],
)
def test_only_a_checker_that_answered_twice_has_figures(before: Answer, after: Answer, words: str):
    assert no_figures(CheckerComparison("ty", "1", "ty check", ToolRun(before), ToolRun(after))) == words

"""Which problems are new, which are gone and which only moved."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.evidence import Problem, Severity
from bot.evidence.problems import compare, missing_module
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

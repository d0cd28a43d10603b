from bot.maintenance.due_tasks import Decision
from bot.maintenance.task import read_task
from bot.report.summary import MOST_ROWS, dashboards_summary, plan_summary

REPO = "octo/hello"


def decision(name: str, why: str = "It is due.", *, run: bool = True) -> Decision:
    return Decision(read_task("Do it.\n", f".github/agent/{name}.md"), run, why)


def test_what_the_matrix_has_no_room_for_is_left_and_not_said_to_run():
    due = decision("links"), decision("tests"), decision("words", "No.", run=False)
    decided = [(REPO, one) for one in due]
    summary = plan_summary(decided, {(REPO, "links")}, [])
    assert "1 task to run now, 1 left for the next plan, 1 waiting." in summary
    assert "| octo/hello | links | **runs** | It is due. |" in summary
    assert "| octo/hello | tests | left | It is due, and the matrix is full" in summary
    assert "| octo/hello | words | waits | No. |" in summary


def test_a_long_list_is_cut_and_what_runs_stays():
    waiting = [(f"octo/r{n}", decision("links", "Not due.", run=False)) for n in range(MOST_ROWS + 4)]
    summary = plan_summary([*waiting, (REPO, decision("tests"))], {(REPO, "tests")}, [])
    assert summary.count("| waits |") == MOST_ROWS - 1
    assert "| **runs** |" in summary
    assert summary.endswith("5 more tasks: see the log.\n")


def test_other_peoples_words_stay_in_their_cell():
    evil = "a | b |\n| c\n# Head\n<img src=x> ::error::x ghp_" + "a1B2" * 9
    summary = plan_summary([(REPO, decision("links", evil, run=False))], set(), [evil, "<b>@all"])
    [row] = [line for line in summary.splitlines() if "links" in line]
    assert row.count("|") - row.count("\\|") == 5
    assert "ghp_" not in summary
    assert "<b>" not in summary.replace("\\<b", "")
    assert not [line for line in summary.splitlines() if line.startswith("# ")]


def test_dashboards_beyond_the_screen_are_counted():
    summary = dashboards_summary(
        [f"octo/r{n}: no tasks, no dashboard" for n in range(MOST_ROWS + 2)], ["octo/x: gone"]
    )
    assert "- 2 more: see the log." in summary
    assert "- octo/x: gone" in summary
